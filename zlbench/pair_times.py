"""What one pair of a screen says of times: a change to look into, or this machine's noise; never a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from zlbench.compare import Comparison, Exclusion, compare
from zlbench.judge import Judgement, MachineCode, Verdict
from zlbench.run_rows import RunRows
from zlbench.text import change

LEGEND = "one pair: B against A, + is slower, indicative only; noise: the row that moved most under equal code"


class Meaning(str, Enum):
    """What the difference of times of an operator is."""

    CHANGE = "change"
    """Something differs that can change times."""
    NOISE = "noise"
    """Both sides run the same code: the difference is that of this machine, for this operator."""
    NONE = ""
    """There is nothing to conclude from it, or nothing at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairTimes:
    """Times of an operator's single pair on a card."""

    comparison: Comparison
    meaning: Meaning

    @property
    def text(self) -> str:
        """For the table: ``−2.9 %``, ``noise 0.6 %`` (of the row that moved most), ``-``."""
        if self.meaning is Meaning.NOISE and self.comparison.largest_change is not None:
            return f"noise {change(self.comparison.largest_change).lstrip('+')}"
        if self.meaning is Meaning.CHANGE and self.comparison.change is not None:
            return change(self.comparison.change)
        return "-"

    def fields(self) -> dict[str, str]:
        """The columns of screen.tsv, changes in percent."""
        compared = self.comparison
        known = self.meaning is not Meaning.NONE and compared.change is not None
        changes = [pair.change for pair in compared.counted] if known else []
        return {
            "latency_meaning": self.meaning.value if known else "",
            "latency_change": f"{100 * (compared.change or 0):.3f}" if known else "",
            "latency_min": f"{100 * min(changes):.3f}" if changes else "",
            "latency_max": f"{100 * max(changes):.3f}" if changes else "",
            "latency_rows": str(len(compared.rows)),
            "latency_excluded_timer": str(compared.count(Exclusion.TIMER_MISMATCH)),
            "canary_drift": f"{100 * compared.canary.drift:.3f}" if compared.canary else "",
        }


TIME_COLUMNS = (
    "latency_meaning", "latency_change", "latency_min", "latency_max", "latency_rows", "latency_excluded_timer",
    "canary_drift",
)  # fmt: skip
"""Columns of screen.tsv; empty with no device."""


def read_times(
    pair_dir: Path, *, op: str, judgement: Judgement, names: tuple[str, str] = ("A", "B")
) -> PairTimes | None:
    """Compare the times of a judged pair; None where nothing was timed, or not under one caliber."""
    if judgement.verdict in (Verdict.NO_ROWS, Verdict.NOT_COMPARABLE):
        return None
    sides = [RunRows.read(pair_dir / name) for name in names]
    if all(side.compile_only or not side.measured for side in sides):
        return None
    return PairTimes(comparison=compare(*sides, op=op), meaning=meaning(judgement))


def meaning(judgement: Judgement) -> Meaning:
    """What a difference of times can mean under a verdict.

    The machine code decides where it is known: equal code runs alike whatever became of the IR, and other code under
    equal IR may not. Where it is unknown the IR does.
    """
    if judgement.verdict not in (Verdict.IR_CHANGED, Verdict.NO_IR_DIFF):
        return Meaning.NONE
    same = {MachineCode.SAME: True, MachineCode.CHANGED: False}
    equal = same.get(judgement.machine_code, judgement.verdict is Verdict.NO_IR_DIFF)
    return Meaning.NOISE if equal else Meaning.CHANGE
