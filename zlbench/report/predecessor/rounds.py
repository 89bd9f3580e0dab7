"""Pairs of the predecessor's runs put together: guarded, matched row by row, with what its logs leave in doubt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zlbench import guard
from zlbench.backend import Timer
from zlbench.report.model import Header, Measured, OpReadings
from zlbench.report.predecessor.cell import OldCell, complaints, not_recorded
from zlbench.report.predecessor.tables import OldTables, verdict_lines
from zlbench.report.predecessor.upstream_table import NO_GRAPH, REPLAY_FALLBACK
from zlbench.report.reading.collect import Collected
from zlbench.report.reading.sightings import points
from zlbench.rounds.names import MARKERS, Metric
from zlbench.text import plural

_DOUBTS = {
    NO_GRAPH: "the log does not say which rows were timed without a graph; "
    "a round in which the sides differ in how many has no row that is not named",
    REPLAY_FALLBACK: "the log does not say which rows ran on another config than the recorded one; "
    "a round in which the sides differ in how many has no row",
}
_NO_ZONE = "telemetry.tsv of the predecessor has times without their zone, which are taken for UTC"


@dataclass(kw_only=True)
class OldRounds:
    """What was read so far.

    Args:
        titles: names of the sides, where their directories have such.
        screen: the tables of the root.
        switches: of each side, as status.tsv has it; none where it has none.
    """

    titles: tuple[str, str] = ("", "")
    screen: OldTables = field(default_factory=OldTables)
    switches: dict[str, str] = field(default_factory=dict)
    _found: list[Collected] = field(default_factory=list)
    _complaints: dict[tuple[str, str, str, str], guard.Complaint] = field(default_factory=dict)
    _first: dict[str, OldCell] = field(default_factory=dict)
    """The first run of each side that counts."""
    _tables: dict[Path, OldTables] = field(default_factory=dict)
    _doubts: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    """By operator and marker: how often each side said it without a word of the row."""

    def begin(self, name: str, directory: str) -> Collected:
        """A new operator."""
        self._found.append(Collected(op=name, directory=directory))
        return self._found[-1]

    def tables_of(self, folder: Path) -> OldTables:
        """The tables beside an operator's directory, or in it where it is a root of its own."""
        for place in (folder.parent, folder):
            found = self._tables.get(place) or OldTables.read(place)
            if found.known:
                return self._tables.setdefault(place, found)
        return OldTables()

    def take(self, into: Collected, number: int, cells: tuple[OldCell, OldCell], *, a_first: bool) -> None:
        """Take a round, where both of its runs came to a good end."""
        failed = []
        for side, cell in zip("AB", cells, strict=True):
            into.said(side, cell.outcome)
            into.fallbacks.update({word: len(said) for word in MARKERS if (said := cell.log.said(word))})
            if cell.outcome is not None and not cell.outcome.kept:
                failed.append(f"round {number} {side}: {cell.outcome.state.value}")
        into.failed += failed
        if failed or any(cell.outcome is None for cell in cells):
            into.missing += not failed
            return
        into.rounds.add(number)
        a, b = cells
        for side, cell in zip("AB", cells, strict=True):
            self._first.setdefault(side, cell)
        for found in complaints(a, b, op=into.op):
            self._complaints.setdefault((found.op, found.field, found.before, found.after), found)
        # Of a run that did not write its timer down the other's is taken: who allows that answers for it.
        known = a.timer or b.timer or "unknown"
        counts = [_unnamed(cell, cell.timer or known) for cell in cells]
        for side, own in zip("AB", counts, strict=True):
            self._doubt(into, side, own)
        rows = [
            cell.rows(cell.timer or known, {word for word in own if own[word] > other[word]})
            for cell, own, other in zip(cells, counts, reversed(counts), strict=True)
        ]
        into.add(number, rows[0], rows[1], a_first=a_first)

    def _doubt(self, into: Collected, side: str, counts: Mapping[str, int]) -> None:
        """Count what happened to rows that the log does not name."""
        for word, count in counts.items():
            if count:
                self._doubts.setdefault((into.directory, word), {"A": 0, "B": 0})[side] += count

    def measured(self, title: str, *, allow: bool) -> Measured:
        """Everything as one value.

        Raises:
            NotComparableError: the sides answer different questions.
        """
        warnings = guard.refuse(self._complaints.values(), allow=allow)
        known = (self.screen, *self._tables.values())
        screen = next((tables for tables in known if tables.verdicts), OldTables())
        header = Header(
            title=title, metric=Metric.LATENCY if self._found else None, a=self._side("A"), b=self._side("B"),
            axis=self._axis(), conditions=self._conditions(), warnings=(*warnings, *self._taken_for_equal()),
            screen=verdict_lines(screen.verdicts),
        )  # fmt: skip
        rounds = max((max(into.rounds, default=0) for into in self._found), default=0)
        return Measured(
            header=header, ops=tuple(map(self._value, self._found)), planned=plural(rounds, "round") if rounds else "",
            looks=((rounds, 1.0),) if rounds else (),
            sides={side: cell.data for side, cell in self._first.items() if cell.data},
            telemetry=tuple(
                point
                for place, tables in sorted(self._tables.items())
                for lane, readings in tables.telemetry.items()
                for point in points(lane if len(self._tables) == 1 else f"{place.name} {lane}", readings)
            ),
            notes=(_NO_ZONE,) if any(tables.telemetry for tables in self._tables.values()) else (),
            reason="" if self._found else "this is a screen of the predecessor: it has verdicts and no rounds",
        )  # fmt: skip

    def _value(self, into: Collected) -> OpReadings:
        for word, doubt in _DOUBTS.items():
            if counts := self._doubts.get((into.directory, word)):
                into.notes[f"{word} {counts['A']} on A, {counts['B']} on B: {doubt}"] = None
        return into.value()

    def _side(self, side: str) -> str:
        switch = self.switches.get(side, "")
        named = self.titles["AB".index(side)] or str(self._data(side).get("provider") or "")
        return " ".join(filter(None, (named, switch and f"switch {switch}"))) or "?"

    def _axis(self) -> str:
        """Whether status.tsv has the switch's name or, which differs, its values: only one of both is in it."""
        values = set(self.switches.values())
        return "" if not values else "switch" if len(values) > 1 else f"switch {values.pop()}"

    def _conditions(self) -> tuple[str, ...]:
        data = self._data("A")
        shown = (
            ("backend", "{}"), ("device", "device {}"), ("vendor", "vendor {}"), ("timer", "{}"),
            ("bench_level", "level {}"), ("shape_mode", "shapes {}"), ("tuner_cache", "{} tuner cache"),
            ("direct_repeat", "direct repeat {}"),
        )  # fmt: skip
        return tuple(form.format(data[key]) for key, form in shown if data.get(key) not in (None, ""))

    def _taken_for_equal(self) -> tuple[str, ...]:
        identity = self._first["A"].identity if "A" in self._first else None
        names = not_recorded(identity) if identity is not None else []
        line = f"[caliber] warning: not written down, and taken for equal: {', '.join(names)}"
        return (line,) if names else ()

    def _data(self, side: str) -> Mapping[str, Any]:
        return self._first[side].data if side in self._first else {}


def _unnamed(cell: OldCell, timer: str) -> dict[str, int]:
    """How often each marker was said without a word of the row; who times directly anyway has no graph to miss."""
    graphs = timer != Timer.DIRECT.value
    return {word: cell.somewhere.get(word, 0) if graphs or word != NO_GRAPH else 0 for word in _DOUBTS}
