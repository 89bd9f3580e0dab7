"""A small picture of one interval, in percent of its width: zero, the band too small to matter and the mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_FAR = 4
"""So many times what is usual is far out."""
Interval = tuple[float | None, float | None, float | None]
"""Estimate, low, high, in percent of change; what is not known or not finite is None."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Strip:
    """Places from 0 (left) to 100; `cut_low`, `cut_high`: the interval goes on beyond the edge."""

    at: float
    low: float
    high: float
    cut_low: bool = False
    cut_high: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """From -most to +most percent, linear, zero in the middle."""

    most: float
    band: float
    """Half of the width of ±delta."""

    @classmethod
    def of(cls, intervals: Sequence[Interval], delta: float) -> Scale:
        """One on which ±delta and everything is to be seen; where something is far out, 19 of 20 estimates are."""
        sizes = sorted(abs(estimate) for estimate, _, _ in intervals if estimate is not None)
        usual = sizes[min(len(sizes) - 1, int(0.95 * len(sizes)))] if sizes else 0.0
        ends = max((abs(end) for interval in intervals for end in interval[1:] if end is not None), default=0.0)
        most = _round_up(max(2 * delta, 1.02 * ends if ends <= _FAR * usual else 1.5 * usual))
        return cls(most=most, band=50 * delta / most)

    def strip(self, interval: Interval) -> Strip | None:
        """None where there is no estimate."""
        estimate, low, high = interval
        if estimate is None:
            return None
        low, high = (estimate if end is None else end for end in (low, high))
        places = [
            round(50 + 50 * max(-self.most, min(self.most, value)) / self.most, 2) for value in (estimate, low, high)
        ]
        return Strip(at=places[0], low=places[1], high=places[2], cut_low=low < -self.most, cut_high=high > self.most)


def _round_up(value: float) -> float:
    """To one of these steps times a power of ten."""
    power = 10.0**-6
    while power * 10 <= value:
        power *= 10
    return next((power * step for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8) if power * step >= value), power * 10)
