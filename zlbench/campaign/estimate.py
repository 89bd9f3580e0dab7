"""How long a campaign is likely to take, from what a screen's pairs took. Values in, values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zlbench.partition_plan import Plan
from zlbench.screen.candidates import Candidate

_SECONDS = ("partition", "report")
"""Steps that only read files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """Minutes by step; a step that nobody knows is not in it."""

    minutes: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    """The screen that they come from."""

    def text(self, name: str) -> str:
        """``about 3.2 min``, ``seconds``, ``minutes unknown``."""
        if name in _SECONDS:
            return "seconds"
        known = self.minutes.get(name)
        return "minutes unknown" if known is None else f"about {known:.1f} min"

    @property
    def note(self) -> str:
        """Where they come from."""
        if not self.source:
            return "minutes are known once these operators have been screened"
        return f"minutes from {self.source}"


def estimate(screen: Path, candidates: Sequence[Candidate], plan: Plan, *, jobs: int) -> Estimate:
    """Estimate from a screen and the partition of it.

    Args:
        jobs: cells of a screen that run side by side.
    """
    pairs = [item.pair_s for item in candidates]
    known = [value for value in pairs if value is not None]
    minutes = {}
    if known:
        minutes["screen"] = sum(known) / len(known) * len(pairs) / jobs / 60
    if plan.timed:
        minutes["ab_repeat"] = plan.critical_path_s / 60
    return Estimate(minutes=minutes, source=str(screen))
