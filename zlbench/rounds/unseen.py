"""How much of the rounds the sampler saw: where cells are shorter than its interval, it sees them by chance only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zlbench.rounds.names import Metric
from zlbench.rounds.plan import RepeatPlan
from zlbench.rounds.records import End
from zlbench.telemetry.read import TELEMETRY
from zlbench.telemetry.validity import UNSEEN
from zlbench.text import plural

_USUAL_S = 1.0
"""What is proposed where the interval is longer; each reading starts the card's tool, which takes about a tenth."""


def unseen_line(ends: Sequence[End], *, interval_s: float) -> str:
    """In how many pairs neither side was seen at work, and what to do about it; "" where all were seen, or none could
    be since the sampler is off.
    """
    unseen, pairs = sum(end.unseen for end in ends), sum(end.rounds for end in ends)
    if not unseen or not interval_s:
        return ""
    shorter = min(_USUAL_S, interval_s / 5)
    return (
        f"in {unseen} of {plural(pairs, 'pair')} {UNSEEN}: cells are shorter than the sampler's {interval_s:g} s, so "
        f"that throttling and clocks are not known of them (next time: --telemetry-interval {shorter:g})"
    )


def can_be_seen(plan: RepeatPlan, root: Path) -> bool:
    """Whether seeing a card at work is asked for at all, and the sampler has told anything."""
    return plan.metric is Metric.LATENCY and any(
        _has_readings(plan.folder(root, lane) / TELEMETRY) for lane in plan.lanes
    )


def _has_readings(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return bool(stream.readline() and stream.readline())
    except OSError:
        return False
