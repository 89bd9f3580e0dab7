"""How a pair is measured: cell by cell on a card, kernel by kernel without one. Both leave the same directories."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zlbench import layout, store
from zlbench.axis import Axis
from zlbench.cells import REQUEST, CellOutcome, CellSpec, CellState
from zlbench.engine.compile_rounds import CompileRounds, finished_round
from zlbench.engine.items import Items
from zlbench.engine.local import WorkerSpec
from zlbench.measure.identity import SuiteFacts, write_identity
from zlbench.measure.prepare import Prepared
from zlbench.measure.replays import still_replays
from zlbench.measure.request import Request
from zlbench.measure.runner import CellRunner, Finished, finished_outcome
from zlbench.pair import JudgedPair, judge_pair
from zlbench.process import terminable
from zlbench.rounds.cells import PairSpec
from zlbench.rounds.order import Slot, sides_of
from zlbench.telemetry.read import OF_CELL

TELEMETRY = OF_CELL
"""What was seen of the card (or host) while a cell ran, in its directory; begun with when it ran."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hooks:
    """Who is told.

    Args:
        begin: a cell that begins now; without a device both sides take turns, and a whole pair begins.
        finished: a cell whose directory is complete, and whether it was so before.
        tick: called now and then while cells run.
        note: takes lines for people.
    """

    begin: Callable[[CellSpec], None]
    finished: Callable[[CellSpec, CellOutcome], None]
    tick: Callable[[], None]
    note: Callable[[str], None]


class Pairs(Protocol):
    """Measures pairs inside an `open` block."""

    def open(self) -> AbstractContextManager[None]:
        """Have what is needed to measure."""

    def measure(self, spec: PairSpec, number: int, rows: Sequence[str] | None) -> Mapping[str, CellOutcome]:
        """Measure what is not finished of a round; a side behind one that did not end well is not begun."""

    def judge(self, spec: PairSpec, axis: Axis, *, allow_mismatch: bool) -> JudgedPair:
        """Judge the first pair by IR and machine code."""

    def close(self, spec: PairSpec) -> None:
        """An operator is done with."""


class CardPairs:
    """One cell after the other, in workers that stay from the first to the last."""

    def __init__(
        self, request: Request, prepared: Prepared, workers: Sequence[WorkerSpec], *, folder: Path, hooks: Hooks
    ) -> None:
        self._folder = folder
        self._hooks = hooks
        self._times: dict[str, float] = {}
        self._measured: list[Path] = []
        self._runner = CellRunner(
            request, prepared, workers, jobs=1, on_finished=self._finished, on_begin=self._begin, on_tick=hooks.tick,
            on_note=hooks.note, on_ended=self._ended,
        )  # fmt: skip
        self._keep_binaries = request.resolved.flag("keep_binaries")

    @contextmanager
    def open(self) -> Iterator[None]:
        """Have the card to ourselves."""
        with self._runner.session(self._folder):
            yield

    def measure(self, spec: PairSpec, number: int, rows: Sequence[str] | None) -> Mapping[str, CellOutcome]:
        """Measure what is not finished of a round, in its order."""
        found: dict[str, CellOutcome] = {}
        for side in sides_of(number):
            cell = spec.cell(Slot(round=number, side=side), rows)
            path = Path(cell.out_dir)
            known = finished_outcome(path)
            if known is None or not still_replays(cell):
                self._runner.measure([cell])
                known = CellOutcome.from_json(store.read_json(path / store.RESULT))
            elif (path / "kernels").is_dir():
                self._measured.append(path)  # the driver died before it read the costs of this cell
            found[side] = known
            if not known.kept:
                break
        return found

    def judge(self, spec: PairSpec, axis: Axis, *, allow_mismatch: bool) -> JudgedPair:
        """Judge the first pair by IR and machine code."""
        return judge_pair(spec.folder, op=spec.a.op, axis=axis, allow_mismatch=allow_mismatch, names=("r1_A", "r1_B"))

    def close(self, spec: PairSpec) -> None:
        """Read the costs of what was measured; its binaries are not needed any more."""
        del spec
        done, self._measured = self._measured, []
        self._runner.coster.add(done, keep_binaries=self._keep_binaries)

    def _begin(self, spec: CellSpec) -> None:
        self._times[spec.cell] = time.time()
        self._hooks.begin(spec)

    def _ended(self, spec: CellSpec) -> CellSpec:
        """Keep when it ran before its result makes it final."""
        note_times(Path(spec.out_dir), self._times[spec.cell], time.time())
        return spec

    def _finished(self, finished: Finished) -> None:
        self._measured.append(Path(finished.spec.out_dir))
        self._hooks.finished(finished.spec, finished.outcome)


class CompilePairs:
    """Both sides at once, taking turns kernel by kernel."""

    def __init__(
        self, request: Request, prepared: Prepared, workers: Sequence[WorkerSpec], *, core: int | None, hooks: Hooks
    ) -> None:
        self._request = request
        self._prepared = prepared
        self._workers = workers
        self._core = core
        self._hooks = hooks
        self._rounds: CompileRounds | None = None
        self._ready = ""
        """The operator that both sides are ready for."""
        self._items: Items | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Have both sides' workers, which start when first needed."""
        with (
            terminable(),
            CompileRounds(
                self._request, self._prepared, self._workers, core=self._core, note=self._hooks.note
            ) as self._rounds,
        ):
            yield

    def measure(self, spec: PairSpec, number: int, rows: Sequence[str] | None) -> Mapping[str, CellOutcome]:
        """Measure a round, where it is not finished."""
        known = finished_round(spec.folder, number)
        if known is not None:
            return known.outcomes
        rounds = self._prepare(spec)
        cells = [spec.cell(Slot(round=number, side=side), rows) for side in sides_of(number)]
        begun = time.time()
        for cell in cells:
            self._hooks.begin(cell)
        done = rounds.round(number, rows)
        for cell in cells:
            note_times(Path(cell.out_dir), begun, time.time())
            self._hooks.finished(cell, done.outcomes[cell.side])
        return done.outcomes

    def _prepare(self, spec: PairSpec) -> CompileRounds:
        assert self._rounds is not None
        if self._ready != str(spec.folder):
            self._rounds.prepare(spec.a, spec.b, spec.folder)
            self._ready = str(spec.folder)
        return self._rounds

    def judge(self, spec: PairSpec, axis: Axis, *, allow_mismatch: bool) -> JudgedPair:
        """Judge what both sides prepared: a round compiles kernels again and keeps nothing of them."""
        names = ("prepare_A", "prepare_B")
        if not all((spec.folder / name / REQUEST).is_file() for name in names):
            self._prepare(spec)
        for name in names:
            self._lay_out(spec.folder / name)
        return judge_pair(spec.folder, op=spec.a.op, axis=axis, allow_mismatch=allow_mismatch, names=names)

    def _lay_out(self, path: Path) -> None:
        """Complete a directory in which an operator was prepared as any cell's is."""
        spec = CellSpec.from_json(store.read_json(path / REQUEST))
        records = layout.CellRecords.read(path)
        layout.lay_out(path, records)
        bad = next((str(row.get("error")) for row in records.rows if row["status"] != "SUCCESS"), "")
        outcome = layout.outcome(
            path, records, state=CellState.OP_FAILED if bad else CellState.OK, returncode=0, signal=None,
            elapsed_s=0.0, detail=bad,
        )  # fmt: skip
        side = next(side for side in self._request.sides if side.label == spec.side)
        manifest = self._prepared.manifests[spec.side]
        write_identity(self._request, spec, side, manifest, SuiteFacts(self._request.provider))
        store.write_json(path / store.RESULT, outcome.to_json())

    def close(self, spec: PairSpec) -> None:
        """Nothing is left over."""


def note_times(cell: Path, started: float, ended: float) -> None:
    """Write down when a cell ran, by the clock that telemetry goes by."""
    store.write_json(cell / TELEMETRY, {"started": round(started, 3), "ended": round(ended, 3)})


def times_of(cell: Path) -> tuple[float, float] | None:
    """When a cell ran; by the age of its files where a crash kept it from being written down."""
    known = store.read_json(cell / TELEMETRY)
    if isinstance(known, dict):
        return float(known["started"]), float(known["ended"])
    try:
        return (cell / REQUEST).stat().st_mtime, (cell / store.RESULT).stat().st_mtime
    except OSError:
        return None
