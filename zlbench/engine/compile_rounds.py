"""Compile-time rounds of one operator after the other: both sides resident, kernel by kernel, each round two cells.

A round ends as two ordinary cell directories, ``r<k>_A`` and ``r<k>_B``, with a row for every kernel that both sides
compile. A round whose directories are complete is not measured again. What an operator prepared lies beside them in
``prepare_<side>``, and ``items.json`` says what is measured and which kernels exist on one side only.

    with CompileRounds(request, prepared, workers) as rounds:
        items = rounds.prepare(spec_a, spec_b, directory)
        for number in range(1, 7):
            done = rounds.round(number)
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.backend import Timer
from zlbench.builds.check import check_imported
from zlbench.builds.probe import Observed
from zlbench.cells import REQUEST, CellOutcome, CellSpec, CellState, read_json_lines
from zlbench.engine.alternate import TURNS, Alternation, Taken
from zlbench.engine.items import Items, join
from zlbench.engine.local import WorkerSpec
from zlbench.engine.side import Prepared, Reading, ResidentSide, SideLostError
from zlbench.errors import UsageError
from zlbench.measure.identity import SuiteFacts, write_identity
from zlbench.measure.prepare import Prepared as Builds
from zlbench.measure.request import Request
from zlbench.measure.runner import clear, finished_outcome

ITEMS = "items.json"
MEASURE_TIMEOUT_S = 300.0
"""Limit of one compilation; those of one kernel take a second or two, and some minutes on a loaded machine at worst."""
_IR_PLUGIN = "zlbench_plugins.ir_meta"
_DEVICE_PLUGIN = "zlbench_plugins.device"
_PREPARE_TRIES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """A round whose two directories are complete."""

    number: int
    outcomes: Mapping[str, CellOutcome]
    taken: tuple[Taken, ...] = ()
    """Every measurement in its order; empty where the round was there already."""
    reused: bool = False


def round_dir(directory: Path, number: int, side: str) -> Path:
    """Cell directory of one side of a round."""
    return directory / f"r{number}_{side}"


def finished_round(directory: Path, number: int) -> Round | None:
    """A round that need not be measured again."""
    outcomes = {side: finished_outcome(round_dir(directory, number, side)) for side in ("A", "B")}
    known = {side: outcome for side, outcome in outcomes.items() if outcome is not None}
    return Round(number=number, outcomes=known, reused=True) if len(known) == len(outcomes) else None


class CompileRounds:
    """Both sides' workers, resident for operator after operator.

    Args:
        workers: as `worker_specs` describes them; their work directory has been made.
        core: the processor that both sides stay on, one at a time; None takes the last one that this process may use.
        measure_timeout_s: limit of one compilation.
        turns: compilations of a kernel on each side in a round, whose mean is the round's value.
        note: told in a line of everything that goes wrong.
    """

    def __init__(
        self, request: Request, builds: Builds, workers: Sequence[WorkerSpec], *, core: int | None = None,
        measure_timeout_s: float = MEASURE_TIMEOUT_S, turns: int = TURNS, note: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._request = request
        self._builds = builds
        self._turns = turns
        self._note = note
        self._facts = SuiteFacts(request.provider)
        core = _core(core)
        limits = {"prepare": float(request.resolved.value("cell_timeout")), "measure": measure_timeout_s}
        self._sides = {
            worker.side: _OneSide(ResidentSide(worker, check=self._check, core=core), limits) for worker in workers
        }
        if sorted(self._sides) != ["A", "B"]:
            raise UsageError("rounds need two sides, A and B")
        self._directory = Path()
        self._items = Items(metric="", common=(), labels={}, only={}, not_repeatable={})
        self._alternation = Alternation(self._sides, turns=turns)

    def __enter__(self) -> CompileRounds:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End both sides with all that they started."""
        for side in self._sides.values():
            side.resident.close()

    def prepare(self, spec_a: CellSpec, spec_b: CellSpec, directory: Path) -> Items:
        """Make both sides ready for one operator, and say what its rounds measure.

        A side that dies in it is tried once more, and is named in `Items.lost` then.

        Raises:
            PreflightError: a worker cannot be started, or is not the compiler that was asked for.
        """
        with store.clear_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
        # What an operator's items have cost so far is not forgotten when its sides are renewed.
        if directory != self._directory:
            self._alternation = Alternation(self._sides, turns=self._turns, say=self._note)
        self._alternation.renewed()
        self._directory = directory
        ready: dict[str, Prepared] = {}
        lost: dict[str, str] = {}
        for label, spec in (("A", spec_a), ("B", spec_b)):
            side = self._sides[label]
            side.asked, side.spec = spec, _resident_spec(spec, directory / f"prepare_{label}")
            found = self._make_ready(side)
            if isinstance(found, Prepared):
                ready[label] = found
            else:
                lost[label] = str(found)
        self._items = join(ready, lost, {label: side.kernels() for label, side in self._sides.items()})
        for label in self._sides:
            for marker in self._items.markers(label):
                self._note(marker)
        store.write_json(directory / ITEMS, self._items.to_json())
        return self._items

    def _make_ready(self, side: _OneSide) -> Prepared | SideLostError:
        lost: SideLostError | None = None
        for _ in range(_PREPARE_TRIES):
            try:
                return side.again()
            except SideLostError as error:
                self._note(f"side {side.label} was lost while it was prepared: {error}")
                lost = error
        assert lost is not None
        return lost

    def round(self, number: int, items: Sequence[str] | None = None) -> Round:
        """Measure one round, or take it from the disk; both of its directories are complete on return.

        Args:
            number: counted from 1; odd rounds begin with A, even ones with B.
            items: kernels that are not settled yet; None measures all.
        """
        known = finished_round(self._directory, number)
        if known is not None:
            return known
        wanted = self._items.common if items is None else tuple(item for item in self._items.common if item in items)
        cells = {label: _Cell(self, number, label) for label in self._sides}
        taken: list[Taken] = []
        if not self._items.lost:
            for one in self._alternation.round(number, wanted):
                cells[one.side].add(one)
                taken.append(one)
        outcomes = {label: cell.finish(self._alternation.given_up.get(label)) for label, cell in cells.items()}
        return Round(number=number, outcomes=outcomes, taken=tuple(taken))

    def renew(self) -> Items:
        """Go on in fresh processes, workers included: what one process adds to every value of a side ends with it.

        A side that cannot be made ready is in `Items.lost`, as after `prepare`.
        """
        specs = [self._sides[label].asked for label in ("A", "B")]
        if specs[0] is None or specs[1] is None:
            raise UsageError("there is no operator yet whose sides could be renewed")
        self.close()
        return self.prepare(specs[0], specs[1], self._directory)

    def _check(self, side: str, observed: Mapping[str, object]) -> None:
        check_imported(side, self._builds.manifests[side], Observed.from_dict(dict(observed)))

    def begin_cell(self, number: int, label: str) -> tuple[CellSpec, Path]:
        """Make the directory of one side of a round, with what its process told when it was prepared."""
        side = self._sides[label]
        path = round_dir(self._directory, number, label)
        assert side.spec is not None
        spec = replace(side.spec, cell=f"{self._directory.name}/{path.name}", out_dir=str(path))
        clear(path)
        store.write_json(path / REQUEST, spec.to_json())
        prepared = Path(side.spec.out_dir)
        if (process := store.read_json(prepared / "process.json")) is not None:
            store.write_json(path / "process.json", process)
        planned = [event for event in read_json_lines(prepared / "events.jsonl") if event["event"] == "planned"]
        store.write_text(path / "events.jsonl", "".join(json.dumps(event) + "\n" for event in planned))
        return spec, path

    def identify(self, spec: CellSpec) -> None:
        """Write a cell's identity."""
        side = next(side for side in self._request.sides if side.label == spec.side)
        write_identity(self._request, spec, side, self._builds.manifests[spec.side], self._facts)

    @property
    def items(self) -> Items:
        """What is measured now."""
        return self._items


class _OneSide:
    """One resident side, ready for one operator, which can be made ready again."""

    def __init__(self, resident: ResidentSide, limits_s: Mapping[str, float]) -> None:
        self.resident = resident
        self.asked: CellSpec | None = None
        self.spec: CellSpec | None = None
        """The same in its own directory."""
        self._limits_s = limits_s

    @property
    def label(self) -> str:
        return self.resident.label

    def measure(self, item: str) -> Reading:
        return self.resident.measure(item, self._limits_s["measure"])

    def again(self) -> Prepared:
        assert self.spec is not None
        folder = Path(self.spec.out_dir)
        self.resident.release()
        with store.clear_errors(folder):
            if folder.exists():
                folder.rename(_next_free(folder))
        clear(folder)
        store.write_json(folder / REQUEST, self.spec.to_json())
        return self.resident.prepare(self.spec, self._limits_s["prepare"])

    def kernels(self) -> dict[str, dict[str, Any]]:
        """Descriptions of the kernels that it compiled, by name."""
        assert self.spec is not None
        return {record["kernel"]: record for record in read_json_lines(Path(self.spec.out_dir) / "kernels.jsonl")}


class _Cell:
    """The directory of one side of a round while it is written: a row at a time, the result last."""

    def __init__(self, rounds: CompileRounds, number: int, side: str) -> None:
        self._rounds = rounds
        self._side = side
        self._number = number
        self._spec, self._path = rounds.begin_cell(number, side)
        self._started = time.monotonic()
        self._states: list[tuple[CellState, str]] = []

    def add(self, one: Taken) -> None:
        """Append one row; it is on its way to the disk before the next measurement begins."""
        self._states.append((one.state, one.error))
        row = _row(one, self._rounds.items, self._spec.op, self._number, len(self._states) - 1)
        with store.clear_errors(self._path), (self._path / "rows.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, separators=(",", ":")) + "\n")

    def finish(self, given_up: SideLostError | None) -> CellOutcome:
        """Write identity and result."""
        items = self._rounds.items
        bad = [error for state, error in self._states if state is not CellState.OK]
        state, detail = CellState.OK, ""
        if items.lost:
            state = CellState.CRASH if self._side in items.lost else CellState.NOT_RUN
            detail = "; ".join(f"side {side} could not be made ready: {why}" for side, why in items.lost.items())
        elif given_up is not None:
            state, detail = given_up.state, str(given_up)
        elif not self._states:
            state, detail = CellState.NOTHING_MEASURED, "no kernel is compiled on both sides"
        elif bad:
            state, detail = CellState.OP_FAILED, bad[0]
        outcome = CellOutcome(
            state=state,
            returncode=0,
            elapsed_s=round(time.monotonic() - self._started, 3),
            rows_ok=len(self._states) - len(bad),
            rows_failed=len(bad),
            kernels=len(self._states),
            detail=detail,
            markers=items.markers(self._side),
        )
        self._rounds.identify(self._spec)
        store.write_json(self._path / store.RESULT, outcome.to_json())
        return outcome


def _row(one: Taken, items: Items, op: str, number: int, sequence: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "op": op, "dtype": "-", "shape": None, "shape_index": None, "origin": "kernel", "sequence": sequence,
        "row": one.item, "label": items.labels.get(one.item, one.item), "timer": Timer.COMPILE.value,
        "round": number, "first": one.first, "metric": items.metric, "latency_ms": None, "baseline_ms": None,
    }  # fmt: skip
    if not one.readings:
        failure = {"failure": one.state.value, "phase": "measure", "error": one.error}
        return {**row, "compile_ms": None, "value": None, "status": "FAILED", **failure, "kernels": []}
    values = one.values
    return {
        **row,
        "compile_ms": values.get("cpu_ms"),
        "value": values[items.metric],
        "turns": [reading.values[items.metric] for reading in one.readings],
        "wall_ms": values.get("wall_ms"),
        "stages": {name: used.get(items.metric) for name, used in one.stages.items()},
        "stages_ms": one.stages_ms,
        "status": "SUCCESS",
        "kernels": [],
    }


def _resident_spec(spec: CellSpec, folder: Path) -> CellSpec:
    """The cell as it is prepared: kernels are named by the plugin that records them, whatever else was asked for."""
    plugins = spec.plugins
    if _IR_PLUGIN not in plugins:
        after = plugins.index(_DEVICE_PLUGIN) + 1 if _DEVICE_PLUGIN in plugins else 0
        plugins = (*plugins[:after], _IR_PLUGIN, *plugins[after:])
    return replace(spec, cell=f"{folder.parent.name}/{folder.name}", out_dir=str(folder), plugins=plugins)


def _next_free(folder: Path) -> Path:
    """Where to keep what an earlier preparation left, with its log."""
    number = 1
    while (path := folder.with_name(f"{folder.name}.before{number}")).exists():
        number += 1
    return path


def _core(asked: int | None) -> int:
    allowed = os.sched_getaffinity(0)
    if asked is None:
        return max(allowed)
    if asked not in allowed:
        raise UsageError(f"core {asked} is not one of those that this process may use: {sorted(allowed)}")
    return asked
