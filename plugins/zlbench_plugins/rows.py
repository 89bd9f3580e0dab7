"""Rows as measured: `Benchmark.run` of the suite goes row by row, and each row is on the disk before the next begins.

The suite's classes, inputs and operators stay as they are. What changes is the loop: a failing shape or dtype costs
its own row instead of the table, and every row carries its full input identity.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NoReturn

import pytest

from zlbench.errors import DEVICE_LOST_EXIT, DISK_FULL_EXIT
from zlbench.text import plural
from zlbench_plugins import harness_table, inputs, own_loop
from zlbench_plugins.canary import wants_baseline
from zlbench_plugins.capture_errors import CapturePoisonedError
from zlbench_plugins.cases import Case, begin_behind, cases
from zlbench_plugins.context import CellContext, current
from zlbench_plugins.failures import FailureKind, classify, one_line
from zlbench_plugins.past import Past, read_past
from zlbench_plugins.placement import Placement
from zlbench_plugins.rates import rates, release_memory
from zlbench_plugins.timing import lost_or_failed, measure

LEFT_OUT = "left_out"


class RowRunner:
    """Stands in for the suite's `Benchmark.run` in one cell."""

    def __init__(self, context: CellContext) -> None:
        self.context = context
        self._counts: dict[str, int] = {}
        """Rows of one table with equal inputs so far."""
        self._sequence = 0
        """Number of the next row in this cell, over all its benchmarks."""
        self._started = 0.0
        past = read_past(context) if context.spec.continued else Past()
        done = (*past.rows, *({**event, "status": LEFT_OUT} for event in past.left_out))
        self._kept = {int(row["sequence"]): row for row in done}
        self._named = [str(row.get("row", "")) for row in done]
        self._uncapturable, self._without_baseline = past.uncapturable, past.without_baseline
        self._announced = past.announced
        self._placement = Placement(context)

    def run(self, bench: Any) -> None:
        """Measure every row of `bench`; fails the test at the end if any row failed."""
        dtypes = self.configure(bench)
        failed = 0
        for place, dtype in enumerate(dtypes):
            rows = self._take_kept(bench, dtype)
            begin = begin_behind(rows)
            first = len(rows) - begin.known
            found = cases(bench, dtype, self.context.spec.seed, begin, before=self._place)
            for number, case in enumerate(found, start=first):
                if number >= first + begin.known:
                    baseline = wants_baseline(self.context.spec, place, number)
                    rows.append(self.row(bench, dtype, case, baseline=baseline))
                del case  # else the inputs of two rows would fill the card while the next are built
            rows = [row for row in rows if row["status"] != LEFT_OUT]
            harness_table.show(bench, dtype, self.context.spec, rows)
            failed += sum(row["status"] != "SUCCESS" for row in rows)
        self.context.events.append({"event": "completed", "op": bench.op_name})
        if failed:
            pytest.fail(f"{plural(failed, 'row')} of {bench.op_name} failed; see rows.jsonl", pytrace=False)

    def configure(self, bench: Any) -> list[Any]:
        """Let the suite configure a benchmark, say what will be measured, and return the dtypes."""
        refused = ""
        try:
            bench.init_user_config()
        except Exception as error:
            refused = self._refused_dtypes(bench) if classify(error) is FailureKind.DTYPE else ""
            if not refused:
                raise
        if refused:
            pytest.fail(refused, pytrace=False)
        dtypes = list(bench.to_bench_dtypes)
        if self.context.spec.quick:
            dtypes, bench.shapes = dtypes[:1], list(bench.shapes or ())[:1]
        self._announce(bench, dtypes)
        return dtypes

    def _announce(self, bench: Any, dtypes: Sequence[Any]) -> None:
        """Write down what will be measured, once a cell: what a crash leaves out is known from it."""
        if str(bench.op_name) in self._announced:
            return
        self.context.events.append(
            {
                "event": "planned",
                "op": bench.op_name,
                "dtypes": [inputs.dtype_name(dtype) for dtype in dtypes],
                "shapes": [inputs.describe(shape) for shape in bench.shapes or ()],
            }
        )

    def _refused_dtypes(self, bench: Any) -> str:
        """Record a failed row for each dtype that was asked for and that the operator does not take; say which."""
        known = [inputs.dtype_name(dtype) for dtype in getattr(bench, "dtypes", None) or ()]
        refused = [dtype for dtype in self.context.spec.dtypes if dtype not in known]
        if not known or not refused:
            return ""
        said = f"{bench.op_name} does not take {', '.join(refused)} (takes {', '.join(known)})"
        for dtype in refused:
            sequence = self._next()
            if sequence in self._kept:
                continue
            self.context.begin_row()
            self.context.end_row(
                {
                    "op": bench.op_name, "dtype": dtype, "shape": None, "shape_index": None, "origin": "dtypes",
                    "sequence": sequence, "status": "FAILED", "failure": FailureKind.DTYPE.value,
                    "phase": "dtypes", "error": said,
                }
            )  # fmt: skip
        return said

    def _take_kept(self, bench: Any, dtype: Any) -> list[dict[str, Any]]:
        """The rows of a table that earlier processes of this cell have measured, in order."""
        taken: list[dict[str, Any]] = []
        table = (bench.op_name, inputs.dtype_name(dtype))
        while (row := self._kept.get(self._sequence)) is not None and (row["op"], row["dtype"]) == table:
            taken.append(row)
            self._next()
        return taken

    def _place(self) -> None:
        """Somewhere else for the inputs that are made next."""
        self._placement.renew(self._sequence)

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence - 1

    def row(self, bench: Any, dtype: Any, case: Case, *, baseline: bool) -> dict[str, Any]:
        """Measure one row, or take it from the process before; it is on the disk before the next begins.

        One that is none of those asked for comes back unmeasured, as `LEFT_OUT`.
        """
        sequence = self._next()
        if sequence in self._kept:
            return self._kept[sequence]
        name = inputs.dtype_name(dtype)
        record: dict[str, Any] = {
            "op": bench.op_name,
            "dtype": name,
            "shape": inputs.describe(case.shape),
            "shape_index": case.index,
            "origin": self._origin(bench, case),
            "sequence": sequence,
        }
        self._started = time.perf_counter()
        self.context.begin_row()
        self.context.events.append({"event": "started", **record})
        try:
            if case.error is not None:
                raise case.error
            args, kwargs = bench.unpack_to_args_kwargs(case.value)
            described = inputs.identity(args, kwargs)
            record |= {"label": inputs.label(described), "input": described, "row": self._name(bench, name, described)}
            if self.context.spec.rows is not None and record["row"] not in self.context.spec.rows:
                self.context.events.append({"event": "left_out", **record})
                return {**record, "status": LEFT_OUT}
            self.context.row = record["row"]
            capture = sequence not in self._uncapturable
            baseline = baseline and sequence not in self._without_baseline
            result = measure(self.context, bench, self._suite, args, kwargs, capture=capture, baseline=baseline)
            record |= asdict(result)
            record |= rates(self.context, bench, args, kwargs, result)
        except Exception as error:  # noqa: BLE001 - whatever an operator raises costs this row alone
            told = lost_or_failed(self.context, error)
            if isinstance(told, CapturePoisonedError):
                # The process is of no use any more. A fresh one measures this row again.
                self.context.events.append(
                    {"event": "capture_poisoned", "sequence": sequence, "of": told.of, "error": one_line(told)}
                )
                _leave(told)
            return self._finish(record, told, phase="measure" if case.error is None else "inputs")
        return self._finish(record, None, phase="")

    def _finish(self, record: dict[str, Any], error: Exception | None, *, phase: str) -> dict[str, Any]:
        if self.context.recorder is not None:
            record["compile_ms"] = self.context.recorder.take_compile_ms()
        # What the row cost, compiling and tuning included: rows are spread over cards by it.
        record["elapsed_s"] = round(time.perf_counter() - self._started, 4)
        record["status"] = "SUCCESS" if error is None else "FAILED"
        kind = None if error is None else classify(error)
        if error is not None and kind is not None:
            record |= {"failure": kind.value, "phase": phase, "error": one_line(error)}
            traceback.print_exception(error, file=sys.stderr)
            if kind is FailureKind.DISK_FULL:
                pytest.exit("the disk is full", returncode=DISK_FULL_EXIT)
        self.context.end_row(record)
        if error is not None and kind is FailureKind.DEVICE_LOST:
            self.context.warn("DEVICE_LOST", f"row={record.get('row', record['shape'])} {one_line(error)}")
            _leave(error)
        if error is not None:
            release_memory(self.context)
        return record

    def _name(self, bench: Any, dtype: str, described: dict[str, Any]) -> str:
        """Identity of a row, equal on both sides; equal inputs in one table are told apart by their order."""
        name = f"{bench.op_name}|{dtype}|{inputs.digest(described)}"
        if name not in self._counts:
            self._counts[name] = sum(known.partition("#")[0] == name for known in self._named)
        self._counts[name] += 1
        return f"{name}#{self._counts[name]}" if self._counts[name] > 1 else name

    def _origin(self, bench: Any, case: Case) -> str:
        if case.index < 0:
            return "hard-coded"
        return self.context.origins.get(str(bench.op_name), self.context.spec.shape_mode)

    @property
    def _suite(self) -> Any:
        return sys.modules.get(self.context.spec.package)


def _leave(error: Exception) -> NoReturn:
    """End this process at once: what is left of the cell is done by a fresh one.

    Nothing is torn down. On a lost card every call may raise or hang, and all that was measured is on the disk.
    """
    traceback.print_exception(error, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(DEVICE_LOST_EXIT)


def pytest_collection_modifyitems() -> None:
    """Replace `Benchmark.run` once the suite's own conftest has set up its configuration."""
    base = sys.modules.get("benchmark.base")
    benchmark = getattr(base, "Benchmark", None)
    context = current()
    if benchmark is None:
        context.warn("HARNESS_NOT_FOUND", "the suite has no benchmark.base.Benchmark: rows cannot be recorded")
        return
    if "measured_by_zlbench" in vars(benchmark):
        return
    runner = RowRunner(context)
    original = benchmark.run

    def run(self: Any) -> Any:
        own_loop.step_aside(self)
        return original(self) if _querying() else runner.run(self)

    context.patches.set(benchmark, "run", run)
    context.patches.set(benchmark, "measured_by_zlbench", runner)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """Stand in the loops that classes bring along, now that their files are imported."""
    benchmark = getattr(sys.modules.get("benchmark.base"), "Benchmark", None)
    runner = getattr(benchmark, "measured_by_zlbench", None)
    if benchmark is not None and runner is not None:
        own_loop.wrap(benchmark, runner, runner.context.patches, querying=_querying)


def _querying() -> bool:
    """Whether the suite is only asked for its shapes."""
    return bool(getattr(getattr(sys.modules.get("benchmark.base"), "Config", None), "query", False))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep why a test was skipped, or failed outside any row: the driver never guesses from a log."""
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        current().events.append({"event": "skipped", "reason": str(reason).removeprefix("Skipped: ")})
    elif report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        text = getattr(crash, "message", None) or str(report.longrepr)
        current().events.append({"event": "failed", "when": report.when, "text": " ".join(text.split())[:500]})


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Keep why a benchmark file could not be imported."""
    if report.failed:
        lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
        current().events.append({"event": "not_collected", "text": lines[-1].strip()[:500] if lines else ""})


def pytest_sessionfinish() -> None:
    """Say so when somebody replaced a hook after us: the rows would not be what they claim."""
    context = current()
    for label in context.patches.not_in_force():
        context.warn("PATCH_NOT_IN_FORCE", label)
