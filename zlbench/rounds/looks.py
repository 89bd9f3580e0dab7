"""When is a row settled? A t-test at a few looks whose error probabilities are shares of one, so that stopping is free.

At a look with weight w the p-value counts as p / w, and the interval has the level 1 - alpha w: over all looks together
no more than alpha is used up, whatever the rule is by which a row stops. An effect settles a row only where it would
stay significant among all rows of the campaign; no effect does where the interval lies within what nobody cares about.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any

from zlbench.errors import PreflightError

ALPHA = 0.05
DELTA = 0.01
"""Relative difference below which nobody cares, of ln B - ln A."""
FLOOR = 1e-5
"""Standard deviation that a row has at least: a timer's steps are no certainty."""
FEWEST = 3
"""Pairs without which a look sees nothing."""


class Settled(str, Enum):
    """Why a row needs no more rounds."""

    EFFECT = "effect"
    NO_EFFECT = "no effect"


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What one look saw of a row.

    Args:
        n: pairs.
        estimate: mean of the differences.
        p: two-sided, of this look alone.
        low, high: interval of this look alone, at its share of alpha.
    """

    n: int
    estimate: float
    p: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Sequential:
    """A row over all looks so far."""

    looks: tuple[Look, ...]
    p: float
    """Valid under any stopping rule."""
    low: float
    high: float
    """The repeated confidence interval: where the intervals of all looks overlap."""

    def settled(self, *, alpha: float, delta: float) -> Settled | None:
        """Whether it needs no more rounds.

        Args:
            alpha: for an effect: the error probability that it may have among all the other rows.
        """
        if self.p <= alpha:
            return Settled.EFFECT
        return Settled.NO_EFFECT if -delta < self.low and self.high < delta else None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"n": self.looks[-1].n, "estimate": self.looks[-1].estimate, "p": self.p,
                "low": _finite(self.low), "high": _finite(self.high)}  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def look(differences: Sequence[float], weight: float, *, alpha: float = ALPHA) -> Look:
    """Look at a row once.

    Args:
        differences: ln B - ln A of each valid pair.
        weight: this look's share of alpha.
    """
    n = len(differences)
    if n < FEWEST:
        mean = statistics.fmean(differences) if differences else math.nan
        return Look(n=n, estimate=mean, p=1.0, low=-math.inf, high=math.inf)
    t = _scipy_stats().t
    mean = statistics.fmean(differences)
    error = max(statistics.stdev(differences), FLOOR) / math.sqrt(n)
    half = float(t.isf(alpha * weight / 2, n - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, n - 1))
    return Look(n=n, estimate=mean, p=p, low=mean - half, high=mean + half)


def sequential(seen: Sequence[tuple[Sequence[float], float]], *, alpha: float = ALPHA) -> Sequential:
    """Put the looks at a row together.

    Args:
        seen: for each look all differences known then, and its weight.
    """
    looks = tuple(look(differences, weight, alpha=alpha) for differences, weight in seen)
    p = min((one.p / weight for one, (_, weight) in zip(looks, seen, strict=True)), default=1.0)
    low, high = max(one.low for one in looks), min(one.high for one in looks)
    if low > high:  # looks that contradict each other: the last knows most
        low, high = looks[-1].low, looks[-1].high
    return Sequential(looks=looks, p=min(1.0, p), low=low, high=high)


def settle(
    differences: Mapping[str, Mapping[int, float]], *, looks: Sequence[int], weights: Sequence[float], now: int,
    rows: int, delta: float = DELTA,
) -> dict[str, Settled]:  # fmt: skip
    """Rows that are settled after round `now`, each by what was known at its look.

    Args:
        differences: by row and round, of valid pairs only.
        looks: rounds after which is looked, in order; weights: their shares of alpha.
        rows: how many rows the campaign has in all.
    """
    found: dict[str, Settled] = {}
    past = [(number, weight) for number, weight in zip(looks, weights, strict=True) if number <= now]
    for name, by_round in differences.items():
        for upto in range(1, len(past) + 1):
            seen = [([by_round[k] for k in sorted(by_round) if k <= n], weight) for n, weight in past[:upto]]
            verdict = sequential(seen).settled(alpha=ALPHA / max(1, rows), delta=delta)
            if verdict is not None:
                found[name] = verdict
                break
    return found


def _scipy_stats() -> ModuleType:
    """Student's t. Imported when first needed, in the driver alone; a measured interpreter never sees it."""
    try:
        from scipy import stats
    except ImportError as error:
        raise PreflightError(
            f"scipy cannot be imported by {__name__}: {error}",
            check="driver-imports",
            hint="--until-settled needs it beside nox and zlbench: pip install 'scipy>=1.11', or python3 noxfile.py …\n"
            "A fixed number of rounds needs none: --rounds 6.",
        ) from error
    return stats  # type: ignore[no-any-return]


def require() -> None:
    """Say at the beginning what would be missing at the first look.

    Raises:
        PreflightError: there is no scipy.
    """
    _scipy_stats()
