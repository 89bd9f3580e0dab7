"""From the two cell directories of an operator to its guarded verdict: the one way, for a screen and for a rescore."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zlbench import guard
from zlbench.axis import Axis
from zlbench.cells import CellOutcome
from zlbench.compare_table import drift_notes
from zlbench.identity import RunIdentity, read_identity
from zlbench.judge import Judgement, MachineCode, SideFacts, Verdict, judge, not_comparable
from zlbench.pair_times import PairTimes, read_times

SHAPES_NOT_IN_FORCE = "SHAPES_NOT_IN_FORCE"
_MARKED = re.compile(r"([A-Z_]+) op=(\S+) (side=.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedPair:
    """An operator's verdict and what led to it."""

    a: SideFacts
    b: SideFacts
    judgement: Judgement
    identity: RunIdentity | None
    """That of side A, whose caliber stands in the table."""
    notes: tuple[str, ...]
    """Lines for people: differences of caliber, what plugins said, a dead switch, a card that drifted."""
    times: PairTimes | None = None
    """Times of the pair, where it was timed on one card with its settings unchanged."""


def judge_pair(
    pair: Path, *, op: str, axis: Axis | None, stamps: Sequence[str] = (), allow_mismatch: bool = False,
    names: tuple[str, str] = ("A", "B"),
) -> JudgedPair:  # fmt: skip
    """Judge the cells A and B below `pair`, and withdraw the verdict where they answer different questions.

    Args:
        axis: what was declared to differ; None where that is not known any more.
        stamps: patterns of IR attributes beyond the axis' own.
        allow_mismatch: let a difference of caliber stand as a note.
        names: the directories of the two cells below `pair`.
    """
    patterns = (*(axis.stamps if axis is not None else ()), *stamps)
    a, b = (SideFacts.read(pair / name, patterns) for name in names)
    before, after = (read_identity(pair / name) for name in names)
    judgement = judge(a, b)
    notes = markers(op, a.outcome, b.outcome)
    timed = True
    # Sides without rows have no conditions to compare: that they have none is the finding.
    if a.rows and b.rows:
        complaints = guard.complaints(before, after, axis, op=op)
        notes = [*map(str, complaints), *notes]
        refused = [complaint for complaint in complaints if complaint.severity is guard.Severity.REFUSE]
        timed = allow_mismatch or not any(complaint.times_only for complaint in refused)
        notes += [] if timed else [f"TIMES_WITHHELD op={op} the sides ran on cards that are not alike"]
        fatal = [str(complaint) for complaint in refused if not complaint.times_only]
        fatal += [f"{SHAPES_NOT_IN_FORCE} {label}: {text}" for label, text in shapes_not_in_force(a.outcome, b.outcome)]
        if fatal and not allow_mismatch:
            judgement = not_comparable(judgement, "; ".join(fatal))
    if axis is not None and is_dead_switch(axis, judgement):
        notes.append(f"SWITCH_NO_IR_DIFF op={op} switch={','.join(switch.name for switch in axis.switches)}")
    times = read_times(pair, op=op, judgement=judgement, names=names) if timed else None
    if times is not None:
        notes += drift_notes(times.comparison)
    return JudgedPair(a=a, b=b, judgement=judgement, identity=before, notes=tuple(notes), times=times)


def shapes_not_in_force(a: CellOutcome | None, b: CellOutcome | None) -> list[tuple[str, str]]:
    """Sides whose rows are not those asked for, each with what its plugins said."""
    return [
        (label, text)
        for label, outcome in (("A", a), ("B", b))
        for word, text in (outcome.marked() if outcome else ())
        if word == SHAPES_NOT_IN_FORCE
    ]


def unfit_shapes(op: str, a: CellOutcome | None, b: CellOutcome | None) -> list[guard.Complaint]:
    """The same as the guard says it."""
    return [
        guard.Complaint(
            op=op, field=f"shapes of side {label}", before="asked for", after="not in force",
            marker=SHAPES_NOT_IN_FORCE, note=text,
        )
        for label, text in shapes_not_in_force(a, b)
    ]  # fmt: skip


def is_dead_switch(axis: Axis, judgement: Judgement) -> bool:
    """Whether a switch axis is known to change nothing in this operator; code that nobody could read proves nothing."""
    return (
        bool(axis.switches)
        and not axis.differs_in_build
        and not axis.null_test
        and judgement.verdict is Verdict.NO_IR_DIFF
        and judgement.machine_code is MachineCode.SAME
    )


def grouped(notes: Sequence[str]) -> list[str]:
    """The notes for people: what plugins said alike of many operators stands once, with all their names."""
    found: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        marked = _MARKED.match(note)
        key = (marked[1], marked[3]) if marked else (note, "")
        found.setdefault(key, []).extend([marked[2]] if marked else [])
    return [f"{word} op={','.join(ops)} {rest}" if ops else word for (word, rest), ops in found.items()]


def markers(op: str, a: CellOutcome | None, b: CellOutcome | None) -> list[str]:
    """``PATCH_NOT_IN_FORCE op=topk side=A,B Benchmark.run``: what plugins said, once for both sides."""
    said: dict[tuple[str, str], list[str]] = {}
    for label, outcome in (("A", a), ("B", b)):
        for marker in outcome.marked() if outcome else ():
            said.setdefault(marker, []).append(label)
    return [f"{word} op={op} side={','.join(labels)} {text}" for (word, text), labels in said.items()]
