"""Read one pair of finished runs, or every pair of a screen: a round each, and so nothing that anybody may claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zlbench import store
from zlbench.guard import Complaint
from zlbench.identity import FILE_NAME
from zlbench.judge import SideFacts, judge
from zlbench.report.model import OpReadings
from zlbench.report.reading.cell import Cell, CellReader
from zlbench.report.reading.collect import Collected
from zlbench.report.reading.read import RoundsRead
from zlbench.rounds.names import MARKERS
from zlbench.rounds.status import marker_counts
from zlbench.run_pairs import RunPair

COMPILED = "these runs only compiled, so there is no latency to compare"
_ROUND = 1


def read_pairs(pairs: Iterable[RunPair]) -> RoundsRead:
    """Read pairs of runs, each as the one round that it is."""
    read = [_Pair.read(pair) for pair in pairs]
    axis = next((pair.dirs.axis.describe for pair in read if pair.dirs.axis is not None), "")
    sides = {
        side: store.read_json(cells[0].path / FILE_NAME) or {}
        for side, cells in (("A", [pair.a for pair in read]), ("B", [pair.b for pair in read]))
        if cells
    }
    return RoundsRead(
        plan={"metric": "latency_ms", "rounds": {"fixed": _ROUND}, "axis": {"describe": axis}},
        ops=tuple(pair.op for pair in read),
        complaints=tuple(complaint for pair in read for complaint in pair.complaints),
        before=next((pair.a.identity for pair in read if pair.a.identity is not None), None),
        after=next((pair.b.identity for pair in read if pair.b.identity is not None), None),
        cells=2 * len(read),
        sides=sides,
        places={pair.op.directory: [(pair.a.path, pair.b.path)] for pair in read},
        reason=COMPILED if read and all(pair.compiled for pair in read) else "",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    dirs: RunPair
    a: Cell
    b: Cell
    op: OpReadings
    complaints: Sequence[Complaint]
    compiled: bool
    """Whether neither side timed anything."""

    @classmethod
    def read(cls, dirs: RunPair) -> _Pair:
        reader = CellReader(axis=dirs.axis)
        a, b = reader.read(dirs.a), reader.read(dirs.b)
        rows = (a.rows(), b.rows())
        into = Collected(op=dirs.name(a.identity, b.identity), directory=dirs.directory, rounds={_ROUND})
        # Sides without rows have no conditions to compare: that they have none is the finding.
        both = all(side.measured for side in rows)
        complaints = reader.complaints(a, b, op=into.op) if both else ()
        compiled = all(side.compile_only for side in rows)
        _say(into, (a, b))
        if all(side.skipped for side in rows):
            into.nothing, into.nothing_note = "SKIPPED", "it skipped itself on both sides"
        elif compiled:
            into.nothing, into.nothing_note = "NOTHING_MEASURED", COMPILED
        else:
            into.add(_ROUND, *rows, a_first=True)
        stamps = dirs.axis.stamps if dirs.axis is not None else ()
        judgement = judge(SideFacts.read(a.path, stamps), SideFacts.read(b.path, stamps))
        into.verdict, into.machine_code = judgement.verdict.value, judgement.machine_code.value
        return cls(dirs=dirs, a=a, b=b, op=into.value(), complaints=complaints, compiled=compiled)


def _say(into: Collected, cells: tuple[Cell, Cell]) -> None:
    """What the cells said, and how they ended."""
    for side, cell in zip("AB", cells, strict=True):
        into.said(side, cell.outcome)
        if cell.outcome is not None:
            counts = marker_counts(cell.path, cell.outcome)
            into.fallbacks.update({word: number for word, number in zip(MARKERS, counts, strict=True) if number})
            if not cell.outcome.complete:
                into.notes[f"side {side} ended with {cell.outcome.state.value} {cell.outcome.detail}".rstrip()] = None
