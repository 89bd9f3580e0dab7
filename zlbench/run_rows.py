"""What one run left about its rows: those with a result by name, and the rows that it has none of, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.backend import Timer
from zlbench.cells import CellOutcome, CellState, read_json_lines
from zlbench.identity import RunIdentity, read_identity

CARD_BUSY = "CARD_BUSY"
NO_COUNTERPART = "UNEQUAL_ROWS"
"""Reason of a row that a side neither measured nor planned."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRows:
    """What one run left about its rows."""

    rows: Sequence[Mapping[str, Any]] = ()
    missing: Sequence[Mapping[str, Any]] = ()
    """Planned rows without a result, from not_measured.jsonl."""
    outcome: CellOutcome | None = None
    timer: str = ""
    """The timer that rows were tried with."""
    l2: str | None = None

    @classmethod
    def read(cls, run_dir: Path, identity: RunIdentity | None = None, outcome: CellOutcome | None = None) -> RunRows:
        """Read a run directory, finished or not.

        Args:
            identity, outcome: where somebody has read them.
        """
        known = identity or read_identity(run_dir)
        result = store.read_json(run_dir / store.RESULT) if outcome is None else None
        outcome = CellOutcome.told(result) if result else outcome
        rows = read_json_lines(run_dir / "rows.jsonl")
        if outcome is not None and any(word == CARD_BUSY for word, _ in outcome.marked()):
            # When in the cell the other process ran is not known: every row is marked.
            rows = [{**row, "markers": [*(row.get("markers") or ()), CARD_BUSY]} for row in rows]
        return cls(
            rows=rows,
            missing=read_json_lines(run_dir / "not_measured.jsonl"),
            outcome=outcome,
            timer=(known.caliber.timer if known else None) or "",
            l2=known.caliber.l2 if known else None,
        )

    @property
    def measured(self) -> list[Mapping[str, Any]]:
        """Rows that came to a result, whatever it is worth."""
        return [row for row in self.rows if row.get("status") == "SUCCESS"]

    @property
    def whole(self) -> bool:
        """Whether every row that was planned came to a result."""
        return not self.missing and len(self.measured) == len(self.rows)

    @property
    def compile_only(self) -> bool:
        """Whether nothing was ever timed here, so that there is no latency to miss."""
        timers = {str(row.get("timer")) for row in self.measured} or {self.timer}
        return timers == {Timer.COMPILE.value}

    @property
    def skipped(self) -> bool:
        """Whether the operator skipped itself."""
        return self.outcome is not None and self.outcome.state is CellState.SKIPPED

    @property
    def markers(self) -> frozenset[str]:
        """Words that the plugins of this run said."""
        return frozenset(word for word, _ in self.outcome.marked()) if self.outcome else frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row as people find it again."""

    name: str
    """By which sides are matched; empty for one that came no further than its inputs."""
    dtype: str
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """A row that a side did not measure; a reason is empty on the side that did."""

    row: Row
    before: str = ""
    after: str = ""
    note: str = ""

    @property
    def sides(self) -> str:
        """``A``, ``B`` or ``A,B``: who lost it."""
        return ",".join(label for label, reason in (("A", self.before), ("B", self.after)) if reason)

    @property
    def reason(self) -> str:
        """Why, in one word where both sides say the same."""
        return " and ".join(dict.fromkeys(reason for reason in (self.before, self.after) if reason))


def by_name(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Rows under the names by which sides are matched; more than one under a name is a fault of its run."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(name_of(row), []).append(row)
    return found


def name_of(row: Mapping[str, Any]) -> str:
    """Name of a row, equal on both sides; empty for one that came no further than its inputs."""
    return str(row.get("row") or "")


def described(row: Mapping[str, Any]) -> Row:
    """What people find a row by."""
    shape = row.get("shape")
    return Row(
        name=name_of(row),
        dtype=str(row.get("dtype") or "-"),
        label=str(row.get("label") or ("-" if shape is None else shape)),
    )


_Slot = tuple[str, str, int]


def _slot(row: Mapping[str, Any]) -> _Slot | None:
    """Place of a row in the plan; None for one that no plan announced."""
    index = row.get("shape_index")
    return (str(row.get("op")), str(row.get("dtype")), index) if isinstance(index, int) and index >= 0 else None


class _Gaps:
    """Rows that one side has no result of, and what it says of them."""

    def __init__(self, side: RunRows) -> None:
        measured = {name_of(row) for row in side.measured}
        failed = [row for row in side.rows if row.get("status") != "SUCCESS" and name_of(row) not in measured]
        self.rows: list[Mapping[str, Any]] = [*failed, *side.missing]
        self._state = side.outcome.state if side.outcome else None
        self._by_name = {name_of(row): row for row in self.rows if name_of(row)}
        self._by_slot = {slot: row for row in self.rows if (slot := _slot(row)) is not None}
        self._used: set[int] = set()

    def take(self, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The gap in which this row, known from the other side, is missing."""
        slot = _slot(row)
        found = self._by_name.get(name_of(row)) or (self._by_slot.get(slot) if slot is not None else None)
        if found is not None:
            self._used.add(id(found))
        return found

    def left(self) -> list[Mapping[str, Any]]:
        """Gaps that no row of the other side has explained."""
        return [row for row in self.rows if id(row) not in self._used]

    def why(self, gap: Mapping[str, Any] | None) -> str:
        """The reason in one word: that of the row, else how the whole side ended."""
        if gap is not None:
            return str(gap.get("failure") or gap.get("status") or "FAILED")
        if self._state is None or self._state in (CellState.OK, CellState.OP_FAILED):
            return NO_COUNTERPART
        return str(self._state.value)


def lost_rows(one: RunRows, other: RunRows) -> list[Lost]:
    """Rows that one side or both lack, each once."""
    a, b, before, after = _Gaps(one), _Gaps(other), by_name(one.measured), by_name(other.measured)
    found = []
    for name, rows in before.items():
        if name not in after:
            gap = b.take(rows[0])
            found.append(Lost(row=described(rows[0]), after=b.why(gap), note=_said(gap)))
    for name, rows in after.items():
        if name not in before:
            gap = a.take(rows[0])
            found.append(Lost(row=described(rows[0]), before=a.why(gap), note=_said(gap)))
    # What neither side measured.
    found.extend(
        Lost(row=described(row), before=a.why(row), after=b.why(b.take(row)), note=_said(row)) for row in a.left()
    )
    found.extend(
        Lost(row=described(row), before=a.why(a.take(row)), after=b.why(row), note=_said(row)) for row in b.left()
    )
    return found


def _said(gap: Mapping[str, Any] | None) -> str:
    return "" if gap is None else str(gap.get("error") or gap.get("detail") or "")
