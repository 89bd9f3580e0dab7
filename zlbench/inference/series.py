"""A sample made ready: pairs that hold numbers, in order, with what may be said of them without any other row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from zlbench.inference.types import FEWEST_PAIRS, Pair, Sample, Why

LEAST_SD = 1e-5
"""Standard deviation of d that a row has at least: values that are all the same are no certainty."""
_WIDEST = 1500.0
"""|ln B - ln A| of two positive floating-point numbers is below this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """A row, or an operator's means over its rows.

    Args:
        differences: of each pair, in order of the rounds.
        step: resolution of one side's values, 0 without one.
        least_variance: of d, from the step: both sides are rounded to it.
        why: why it has no verdict.
    """

    key: tuple[str, str]
    pairs: tuple[Pair, ...]
    differences: list[float]
    step: float
    least_variance: float
    control: bool
    counted: bool
    why: Why | None

    @property
    def valid(self) -> bool:
        """Whether a verdict may be had."""
        return self.why is None

    @property
    def rounding(self) -> float:
        """Variance of d that rounding both sides to the step makes."""
        return 2 * self.step * self.step / 12

    def quantised(self, variance: float) -> bool:
        """Whether so small a sample variance of d is hidden by the step.

        Rounding is a matter of luck that averages out only where noise moves the values over several steps. Below that
        each round repeats the same rounding, and two sides may lie a step apart for next to nothing.
        """
        return self.step > 0 and variance <= self.rounding


def make_series(sample: Sample, looks: Sequence[tuple[int, float]] = ()) -> Series:
    """Make a sample ready; pairs that are no numbers are none.

    Args:
        looks: number of rounds and weight of each. Of a row that is not at its end, pairs after the last look that was
            due are left for the next one: a report made in between would be a look that nobody has paid for.
    """
    due = _due(sample, looks)
    pairs = tuple(
        sorted(
            (pair for pair in sample.pairs if _is_pair(pair) and (not due or pair.round <= due)),
            key=lambda pair: pair.round,
        )
    )
    step = sample.resolution if 0 < sample.resolution < _WIDEST else 0.0
    return Series(
        key=sample.key, pairs=pairs, differences=[pair.log_b - pair.log_a for pair in pairs], step=step,
        least_variance=max(2 * step * step / 12, LEAST_SD * LEAST_SD), control=sample.control, counted=sample.counted,
        why=_why(sample, pairs) or (Why.NO_LOOK if due == 0 else None),
    )  # fmt: skip


def _due(sample: Sample, looks: Sequence[tuple[int, float]]) -> int | None:
    """Round of the last look that was due, 0 before the first; None where all of them were."""
    if sample.rounds_done is None or not looks or sample.rounds_done >= looks[-1][0]:
        return None
    return max((number for number, _ in looks if number <= sample.rounds_done), default=0)


def _is_pair(pair: Pair) -> bool:
    return abs(pair.log_a) < _WIDEST and abs(pair.log_b) < _WIDEST  # False for NaN


def _why(sample: Sample, pairs: Sequence[Pair]) -> Why | None:
    if sample.why is not None and (sample.why is not Why.PAIRS_DISTURBED or len(pairs) < FEWEST_PAIRS):
        return sample.why
    if len(pairs) < FEWEST_PAIRS:
        return Why.FEW_PAIRS
    if len({pair.a_first for pair in pairs}) == 1:
        return Why.ORDER_CONFOUNDED
    return None


def mean_of(values: Sequence[float]) -> float:
    """Mean; exact to the last bit, so that neither order nor sign of the values matters."""
    return math.fsum(values) / len(values)


def variance_of(values: Sequence[float], mean: float) -> float:
    """Sample variance (n - 1); 0 for one value."""
    return math.fsum([(value - mean) ** 2 for value in values]) / max(1, len(values) - 1)


def sd_of(values: Sequence[float]) -> float | None:
    """Sample standard deviation; None for fewer than two values.

    `statistics.stdev` counts in fractions, which takes 20 times as long.
    """
    return math.sqrt(variance_of(values, mean_of(values))) if len(values) > 1 else None
