"""Benchmarks whose class has a `run()` of its own: that loop stays, and every pair of its measurements is one row.

Such a class asks `get_latency` for the baseline and then for the operator, at times with different inputs for each. The
pair is measured and recorded as any other row; a row that fails costs itself, and the loop goes on with the next input.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from zlbench.text import plural
from zlbench_plugins._patch import PatchSet, subclasses
from zlbench_plugins.canary import wants_baseline
from zlbench_plugins.cases import Case, cases
from zlbench_plugins.context import CellContext
from zlbench_plugins.shape_adapters.families import SAME_LOOP

_PLACED = ("init_user_config", "get_input_iter", "get_latency")


class Runner(Protocol):
    """What is asked of the row loop."""

    context: CellContext

    def run(self, bench: Any) -> None:
        """Measure every row in the loop's own way."""

    def configure(self, bench: Any) -> list[Any]:
        """Configure a benchmark; returns the dtypes to measure."""

    def row(self, bench: Any, dtype: Any, case: Case, *, baseline: bool) -> dict[str, Any]:
        """Measure and record one row."""


class _Later(float):
    """A latency that is known when the row is done: the suite keeps the baseline's before it asks for the other."""

    known = math.nan

    def __new__(cls, value: float = math.nan) -> _Later:
        return super().__new__(cls, value)

    def __format__(self, spec: str) -> str:
        return format(self.known, spec)

    def __truediv__(self, other: float) -> float:
        return self.known / other


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    op: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    answer: _Later


class _Pair:
    """A benchmark as the row loop sees it: operator and baseline as one pair of measurements had them."""

    def __init__(self, bench: Any, operator: Any, latency: Callable[..., Any], baseline: _Asked | None) -> None:
        self._bench = bench
        self.gems_op = operator
        self.get_latency = latency
        self.torch_op = bench.torch_op if baseline is None else _with_its_inputs(baseline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bench, name)

    def unpack_to_args_kwargs(self, given: Any) -> Any:
        """The loop has unpacked its input already."""
        return given


class _Source:
    """A benchmark whose inputs come from where they came before this module stood in between."""

    def __init__(self, bench: Any, inputs: Callable[[Any], Iterator[Any]]) -> None:
        vars(self).update(_bench=bench, get_input_iter=inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bench, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._bench, name, value)


class OwnLoop:
    """One `run()` of a class's own, from its configuration to its last row."""

    def __init__(self, bench: Any, runner: Runner) -> None:
        self._bench = bench
        self._runner = runner
        self._latency: Callable[..., Any] = bench.get_latency
        self._inputs: Callable[[Any], Iterator[Any]] = bench.get_input_iter
        self._dtypes: list[Any] = []
        self._dtype: Any = None
        self._case: Case | None = None
        self._wants_baseline = False
        self._asked: _Asked | None = None
        self._measuring = False
        self.rows = self.failed = 0
        self.left: BaseException | None = None
        """Why this process ends here; the class's own `except Exception` may take it for a failure of its operator."""
        bench.init_user_config = self._configure

    def _configure(self) -> None:
        bench = self._bench
        del bench.init_user_config
        self._dtypes = self._runner.configure(bench)
        bench.to_bench_dtypes = self._dtypes
        self._inputs = bench.get_input_iter
        bench.get_input_iter, bench.get_latency = self._cases, self._answer

    def _cases(self, dtype: Any) -> Iterator[Any]:
        """The inputs of the class, one shape at a time; one that cannot be built is a failed row, not the end."""
        place = self._dtypes.index(dtype) if dtype in self._dtypes else 0
        spec = self._runner.context.spec
        self._dtype = dtype
        for number, case in enumerate(cases(_Source(self._bench, self._inputs), dtype, spec.seed)):
            if case.error is not None:
                self._keep(self._runner.row(self._bench, dtype, case, baseline=False))
                continue
            self._case, self._asked = case, None
            self._wants_baseline = wants_baseline(spec, place, number)
            yield case.value
        self._case = None

    def _answer(self, op: Any, *args: Any, **kwargs: Any) -> float:
        """In place of `get_latency`: note the baseline, and measure the pair when the operator is asked for."""
        if self._measuring or self._case is None:
            return float(self._latency(op, *args, **kwargs))
        bench = self._bench
        if self._asked is None and op is bench.torch_op and op is not bench.gems_op:
            self._asked = _Asked(op=op, args=args, kwargs=kwargs, answer=_Later())
            return self._asked.answer
        asked, self._asked = self._asked, None
        pair = _Pair(bench, op, self._latency, asked)
        case = Case(shape=self._case.shape, index=self._case.index, value=(list(args), kwargs))
        # Where the operator is Torch's name with the suite behind it, the suite is behind it now: too late for Torch.
        baseline = self._wants_baseline and asked is not None and bench.gems_op is not None
        self._measuring = True
        try:
            row = self._runner.row(pair, self._dtype, case, baseline=baseline)
        except BaseException as error:
            self.left = error
            raise
        finally:
            self._measuring = False
        self._keep(row)
        if asked is not None and row.get("baseline_ms") is not None:
            asked.answer.known = row["baseline_ms"]
        return math.nan if row.get("latency_ms") is None else float(row["latency_ms"])

    def _keep(self, row: Mapping[str, Any]) -> None:
        self.rows += 1
        self.failed += row["status"] == "FAILED"


def step_aside(bench: Any) -> None:
    """Take back what stands in a benchmark object's way: its class's loop has called the base class's after all."""
    for name in _PLACED:
        own = vars(bench).get(name)
        if isinstance(getattr(own, "__self__", None), OwnLoop):
            delattr(bench, name)


def wrap(benchmark: type[Any], runner: Runner, patches: PatchSet, *, querying: Callable[[], bool]) -> None:
    """Stand in every `run()` that a subclass brings along."""
    for cls in subclasses(benchmark):
        original = vars(cls).get("run")
        if original is None or hasattr(original, "by_zlbench"):
            continue

        def run(self: Any, original: Any = original, cls: type[Any] = cls) -> None:
            if querying():
                original(self)
            elif cls.__name__ in SAME_LOOP:
                runner.run(self)
            else:
                _run(self, original, runner)

        run.by_zlbench = True  # type: ignore[attr-defined]
        patches.set(cls, "run", run)


def _run(bench: Any, original: Callable[[Any], Any], runner: Runner) -> None:
    loop = OwnLoop(bench, runner)
    try:
        original(bench)
    finally:
        step_aside(bench)
        if loop.left is not None:
            raise loop.left
    if not loop.rows:
        name = type(bench).__name__
        runner.context.warn("PATCH_NOT_IN_FORCE", f"{name}.run() measured nothing through get_latency: it has no rows")
        return
    runner.context.events.append({"event": "completed", "op": bench.op_name})
    if loop.failed:
        pytest.fail(f"{plural(loop.failed, 'row')} of {bench.op_name} failed; see rows.jsonl", pytrace=False)


def _with_its_inputs(asked: _Asked) -> Callable[..., Any]:
    """The baseline with the inputs that its own measurement had, whatever the operator's are."""

    def baseline(*_args: Any, **_kwargs: Any) -> Any:
        return asked.op(*asked.args, **asked.kwargs)

    return functools.update_wrapper(baseline, asked.op, updated=()) if callable(asked.op) else baseline
