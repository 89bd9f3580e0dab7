"""Looks at a row while it is measured, and what they may say together. Rounds stop by it and reports judge by it.

At a look with weight w the p-value counts as p / w, and the interval has the level 1 - alpha w. The weights add up to
1, so that over all looks together no more than alpha is used up, whatever the rule is by which a row stops.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from zlbench.errors import PreflightError
from zlbench.inference.types import FEWEST_PAIRS


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What is known of a row at one look.

    Args:
        weight: this look's share of alpha.
        n: pairs; estimate: mean of d.
        error: standard error of the estimate, above 0; df: its degrees of freedom.
    """

    weight: float
    n: int
    estimate: float
    error: float
    df: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What one look says.

    Args:
        p: two-sided, of this look alone.
        quantile: of Student's t at this look's share of alpha; low, high: the interval that it gives.
    """

    seen: Seen
    p: float
    quantile: float

    @property
    def low(self) -> float:
        """Lower end at this look's share of alpha."""
        return self.seen.estimate - self.quantile * self.seen.error

    @property
    def high(self) -> float:
        """Upper end at this look's share of alpha."""
        return self.seen.estimate + self.quantile * self.seen.error


@dataclass(frozen=True, kw_only=True, slots=True)
class Sequential:
    """A row over all its looks; none where it never had enough pairs.

    Args:
        p: valid under any stopping rule.
        low, high: the repeated confidence interval: where the intervals of all looks overlap, or that of the last
            look where its estimate lies outside. It always holds the last estimate.
    """

    looks: tuple[Look, ...]
    p: float
    low: float
    high: float

    def within(self, delta: float) -> bool:
        """Whether the interval lies inside ±delta.

        Args:
            delta: relative; as a logarithm the same distance both ways, so that swapping the sides changes nothing.
        """
        bound = math.log1p(delta)
        return -bound < self.low and self.high < bound


def reached(pairs: Sequence[tuple[int, bool]], looks: Sequence[tuple[int, float]]) -> list[tuple[int, int]]:
    """Which looks a row was there for: index of the look, and how many of its pairs were known then.

    A look that brought no new pair is none: the row was settled, or its pairs were lost. Nor is one whose pairs all
    had the same side first: what coming second costs would pass for an effect. What was measured after the last look
    counts at the last one.

    Args:
        pairs: number of each round with a valid pair, in order, and whether side A came first.
        looks: number of rounds and weight of each.
    """
    rounds, orders = [number for number, _ in pairs], [first for _, first in pairs]
    found, before = [], 0
    for index, (number, _) in enumerate(looks):
        n = bisect_right(rounds, number) if index < len(looks) - 1 else len(rounds)
        if n > before and n >= FEWEST_PAIRS and len(set(orders[:n])) > 1:
            found.append((index, n))
        before = n
    return found


def look_at(seen: Sequence[Seen], *, alpha: float) -> list[Look]:
    """Test many looks at once, of any rows: two-sided t of the estimate against 0."""
    if not seen:
        return []
    t = student()
    dfs = [one.df for one in seen]
    tails = t.sf([abs(one.estimate) / one.error for one in seen], dfs).tolist()
    quantiles = t.isf([alpha * one.weight / 2 for one in seen], dfs).tolist()
    return [
        Look(seen=one, p=min(1.0, 2 * tail), quantile=quantile)
        for one, tail, quantile in zip(seen, tails, quantiles, strict=True)
    ]


def put_together(looks: Sequence[Look]) -> Sequential:
    """Put the looks at one row together."""
    if not looks:
        return Sequential(looks=(), p=1.0, low=-math.inf, high=math.inf)
    p = min(1.0, *(look.p / look.seen.weight for look in looks))
    low, high = max(look.low for look in looks), min(look.high for look in looks)
    last = looks[-1]
    if not low <= last.seen.estimate <= high:  # looks that contradict each other: the last knows most
        low, high = last.low, last.high
    return Sequential(looks=tuple(looks), p=p, low=low, high=high)


def student() -> Any:
    """Student's t of scipy."""
    return scipy_stats().t


def scipy_stats() -> ModuleType:
    """scipy.stats. Imported when first needed, in the driver alone; a measured interpreter never sees it.

    Raises:
        PreflightError: there is none.
    """
    try:
        from scipy import stats
    except ImportError as error:
        raise PreflightError(
            f"scipy cannot be imported by {__name__}: {error}",
            check="driver-imports",
            hint="Reports and --until-settled need it beside nox and zlbench: pip install 'scipy>=1.11', or "
            "python3 noxfile.py …\nRounds of a fixed number need none: --rounds 6.",
        ) from error
    return stats  # type: ignore[no-any-return]
