"""What is measured in rounds: operators that a screen kept or that somebody named, and controls that go along. Pure,
but for reading the screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.partition_plan import Kind, Piece, Work
from zlbench.screen.candidates import Candidate, read_candidates, row_costs

FEWEST_CONTROLS, MOST_CONTROLS = 4, 8
_SHARE = 0.2
"""More than the fewest go along while they all take no more than this part of the subjects' time."""
UNCALIBRATED = "UNCALIBRATED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Screened:
    """A finished screen, as far as rounds ask."""

    path: Path
    candidates: tuple[Candidate, ...]
    plan: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Screened:
        """Read its table and its plan."""
        plan = store.read_json(path / "plan.json")
        return cls(path=path, candidates=tuple(read_candidates(path)), plan=plan if isinstance(plan, Mapping) else {})

    def find(self, directory: str) -> Candidate | None:
        """The line of an operator."""
        return next((item for item in self.candidates if item.directory == directory), None)

    def word(self, candidate: Candidate) -> str:
        """How to ask for the operator again, with the dtypes that it was screened with."""
        cells = (cell for cell in self.plan.get("cells", ()) if cell["cell"].rpartition("/")[0] == candidate.directory)
        cell = next(cells, None)
        if cell is None:
            return f"{candidate.op}:{candidate.op_file}" if candidate.op_file else candidate.op
        return f"{cell['op']}::{','.join(cell['dtypes'])}" if cell.get("dtypes") else str(cell["op"])

    def subjects(self, verdicts: Sequence[str]) -> list[Candidate]:
        """Operators with one of these verdicts; without any, those whose code differs or may differ."""
        return [item for item in self.candidates if (item.verdict in verdicts if verdicts else item.chosen)]

    def work(self, candidate: Candidate, *, extra: bool = False) -> Work:
        """An operator with what its pair and rows took."""
        rows = row_costs(self.path / candidate.directory)
        return Work(op=candidate.op, directory=candidate.directory, pair_s=candidate.pair_s, rows=rows, extra=extra)


def choose_controls(
    candidates: Sequence[Candidate], *, taken: Sequence[str], asked: int | None, subjects_s: float
) -> list[Candidate]:
    """Operators whose code is equal on both sides, cheapest first, those of equal cost by name.

    Args:
        taken: directories that are measured anyway.
        asked: how many; None takes 4, and up to 8 as long as they are cheap beside the subjects.
        subjects_s: seconds of one pair of every subject; 0 where nobody knows.
    """
    fit = [item for item in candidates if item.control and item.directory not in taken]
    fit.sort(key=lambda item: (item.pair_s is None, item.pair_s or 0.0, item.directory))
    if asked is not None:
        return fit[:asked]
    chosen = fit[:FEWEST_CONTROLS]
    for item in fit[FEWEST_CONTROLS:MOST_CONTROLS]:
        if sum(one.pair_s or 0.0 for one in (*chosen, item)) > _SHARE * subjects_s:
            break
        chosen.append(item)
    return chosen


def control_pieces(controls: Sequence[Candidate], rounds: int) -> list[Piece]:
    """What controls are to a plan."""
    return [
        Piece(op=item.op, directory=item.directory, kind=Kind.CONTROL, seconds=rounds * (item.pair_s or 0.0))
        for item in controls
    ]


def calibration_note(count: int, *, asked: int | None, screen: Path | None) -> str:
    """What it means that there are fewer controls than it takes; "" where there are enough."""
    if count >= FEWEST_CONTROLS:
        return ""
    if asked == 0:
        why = "--controls 0"
    elif screen is None:
        why = "no screen to take them from"
    elif asked is not None and count == asked:
        why = f"--controls {asked}"
    else:
        why = f"the screen has {'no more' if count else 'no'} operators with equal machine code"
    return f"{UNCALIBRATED} controls={count}: {why}; what the sides differ in besides the change is not subtracted"
