"""What coming second costs: regression of d on the order, of many rows at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zlbench.inference.sequential import student
from zlbench.inference.series import Series, mean_of, variance_of
from zlbench.inference.types import OrderEffect


def order_effects(rows: Sequence[Series]) -> list[OrderEffect]:
    """Regress each valid row's d on its order, +1 where A came first.

    With two values of the regressor this is the t-test of two groups with equal variances, which scipy does for all
    rows at once; `scipy.stats.linregress` gives the same slope and p, one row at a time.
    """
    if not rows:
        return []
    found = [_slope(row) for row in rows]
    tails = student().sf([t for _, t, _ in found], [df for _, _, df in found]).tolist()
    return [OrderEffect(slope=slope, p=min(1.0, 2 * tail)) for (slope, _, _), tail in zip(found, tails, strict=True)]


def _slope(row: Series) -> tuple[float, float, int]:
    """Slope, its |t| and the degrees of freedom."""
    groups = [[pair.log_b - pair.log_a for pair in row.pairs if pair.a_first is first] for first in (True, False)]
    means = [mean_of(values) for values in groups]
    n, (first, second) = len(row.pairs), map(len, groups)
    squares = math.fsum(
        variance_of(values, mean) * (len(values) - 1) for values, mean in zip(groups, means, strict=True)
    )
    variance = max(squares / (n - 2), row.least_variance)
    slope = (means[0] - means[1]) / 2
    return slope, 2 * abs(slope) / math.sqrt(variance * (1 / first + 1 / second)), n - 2
