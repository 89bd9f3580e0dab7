"""One operator while its rounds are read: rows side by side, what is left out and why, what its cells said."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zlbench.backend import Timer
from zlbench.cells import CellOutcome
from zlbench.compare import Exclusion, compare
from zlbench.compare_table import nothing
from zlbench.report.model import LeftOut, OpReadings, Reading, RowReadings
from zlbench.rounds.names import MARKERS
from zlbench.run_rows import Lost, Row, RunRows, by_name, described


@dataclass(kw_only=True, slots=True)
class _Row:
    """One row: its readings by timer (compile times: by unit), since those of one are no rounds of the other."""

    row: Row
    unit: str
    counted: dict[str, bool] = field(default_factory=dict)
    l2: str = ""
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def value(self) -> RowReadings:
        timers = sorted(self.readings, key=lambda timer: (len(self.readings[timer]), self.counted[timer]))
        timer = timers.pop() if timers else ""
        latency = self.unit == "ms"
        left_out = [*self.left_out]
        for other in timers:
            note = f"{other} on both sides, {timer} in other rounds"
            left_out += [
                LeftOut(round=reading.round, reason=Exclusion.TIMER_MISMATCH.value, note=note)
                for reading in self.readings[other]
            ]
        return RowReadings(
            name=self.row.name, dtype=self.row.dtype, label=self.row.label,
            unit=self.unit if latency else timer or self.unit,
            readings=tuple(sorted(self.readings.get(timer, ()), key=lambda item: item.round)),
            left_out=tuple(sorted(left_out, key=lambda item: item.round)),
            timer=timer if latency else Timer.COMPILE.value, l2=self.l2,
            counted=self.counted.get(timer, True),
        )  # fmt: skip


@dataclass(kw_only=True)
class Collected:
    """One operator, its shards together."""

    op: str
    directory: str
    control: bool = False
    rounds: set[int] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    missing: int = 0
    rerun: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    verdict: str = ""
    machine_code: str = ""
    nothing: str = ""
    """The word for an operator of which no pair could be compared so far, and `nothing_note` the sentence."""
    nothing_note: str = ""
    _rows: dict[str, _Row] = field(default_factory=dict)
    _lost: dict[tuple[str, str], str] = field(default_factory=dict)
    _said: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def said(self, side: str, outcome: CellOutcome | None) -> None:
        """Note what a cell's plugins had to say."""
        for marker in outcome.marked() if outcome is not None else ():
            self._said.setdefault(marker, set()).add(side)

    def add(self, number: int, a: RunRows, b: RunRows, *, a_first: bool) -> None:
        """Take the latencies of a round."""
        compared = compare(a, b, op=self.op)
        if compared.marker:
            self.nothing, self.nothing_note = compared.marker, nothing(compared)
        for pair in compared.rows:
            into = self._row(pair.row, "ms")
            into.counted.setdefault(pair.timer, pair.counted)
            into.l2 = pair.l2
            reading = Reading(round=number, before=pair.before_ms, after=pair.after_ms, a_first=a_first)
            into.readings.setdefault(pair.timer, []).append(reading)
        for excluded in compared.excluded:
            self._row(excluded.row, "ms").left_out.append(
                LeftOut(round=number, reason=excluded.reason.value, note=excluded.note)
            )
        for lost in compared.lost:
            self._lose(number, lost, "ms")

    def add_values(self, number: int, a: RunRows, b: RunRows, *, a_first: bool) -> None:
        """Take the values of a compile round, each of which is that of a kernel."""
        before, after = by_name(a.measured), by_name(b.measured)
        for name in dict.fromkeys((*before, *after)):
            known = (before.get(name) or after[name])[0]
            values = [_value(side.get(name, ())) for side in (before, after)]
            unit = str(known.get("metric") or "cpu_ms")
            if values[0] is None or values[1] is None:
                self._lose(number, _without_value(described(known), values), unit)
                continue
            into = self._row(described(known), unit)
            other = str(after[name][0].get("metric") or "cpu_ms")
            if other != unit:
                note = f"{unit} on A, {other} on B"
                into.left_out.append(LeftOut(round=number, reason=Exclusion.TIMER_MISMATCH.value, note=note))
                continue
            first = before[name][0].get("first")
            into.counted.setdefault(unit, True)
            into.readings.setdefault(unit, []).append(
                Reading(round=number, before=values[0], after=values[1],
                        a_first=first if isinstance(first, bool) else a_first)
            )  # fmt: skip

    def leave_out(self, word: str, note: str) -> None:
        """Nothing of what was measured may be told: an operator whose sides are no two things to compare."""
        self.nothing, self.nothing_note = word, note
        for row in self._rows.values():
            rounds = sorted(reading.round for readings in row.readings.values() for reading in readings)
            row.left_out += [LeftOut(round=number, reason=word, note=note) for number in rounds]
            row.readings.clear()

    def value(self) -> OpReadings:
        """What was read, as a value."""
        rows = tuple(row.value() for row in self._rows.values())
        empty = not any(row.readings for row in rows)
        return OpReadings(
            op=self.op, directory=self.directory, control=self.control, rows=rows, rounds=tuple(sorted(self.rounds)),
            failed=tuple(self.failed), invalid=tuple(self.invalid), rerun=self.rerun, lost=tuple(self._lost.values()),
            expected=len(rows) + sum(not name for name, _ in self._lost),
            fallbacks=tuple((word, self.fallbacks[word]) for word in MARKERS if self.fallbacks[word]),
            notes=tuple(self.notes), verdict=self.verdict, machine_code=self.machine_code, missing=self.missing,
            nothing=self.nothing if empty else "", nothing_note=self.nothing_note if empty else "",
            markers=tuple((word, _with_side(text, sides)) for (word, text), sides in self._said.items()),
        )  # fmt: skip

    def _row(self, row: Row, unit: str) -> _Row:
        found = self._rows.get(row.name)
        if found is None:
            found = self._rows[row.name] = _Row(row=row, unit=unit)
        return found

    def _lose(self, number: int, lost: Lost, unit: str) -> None:
        """Note a row that a side did not measure; one that came no further than its inputs has no name."""
        where = " and ".join(lost.sides.split(","))
        self._lost.setdefault((lost.row.name, "" if lost.row.name else f"{lost.row.dtype} {lost.row.label}"),
                              f"{_text(lost.row)}: {lost.reason} on {where}")  # fmt: skip
        if lost.row.name:
            note = f"on {where}: {lost.note}" if lost.note else f"on {where}"
            self._row(lost.row, unit).left_out.append(
                LeftOut(round=number, reason=lost.reason, note=note[:300], lost=True)
            )


def _with_side(text: str, sides: Collection[str]) -> str:
    """What a cell said; with its side where the other never said it, and the words do not tell."""
    return text if len(sides) > 1 or text.startswith("side=") else f"side={''.join(sides)} {text}".rstrip()


def _text(row: Row) -> str:
    return row.label if row.dtype == "-" else f"{row.dtype} {row.label}"


def _value(rows: Sequence[Mapping[str, Any]]) -> float | None:
    value = rows[0].get("value", rows[0].get("compile_ms")) if len(rows) == 1 else None
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    return float(value) if good and value is not None else None


def _without_value(row: Row, values: Iterable[float | None]) -> Lost:
    before, after = ("" if value is not None else "no value" for value in values)
    return Lost(row=row, before=before, after=after)
