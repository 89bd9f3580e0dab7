"""Free comparisons of a side with itself. In ABBA the second cell of a pair and the first of the next are one side's.

They lie as far apart as the two cells of a pair, so their differences are what equal sides would show in this row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from zlbench.inference.moderate import estimate_prior, moderate
from zlbench.inference.series import LEAST_SD, Series, mean_of, variance_of

NORMAL_975 = NormalDist().inv_cdf(0.975)
"""Quantile of the normal distribution that 95 % of |values| lie below."""


def free_pairs(row: Series) -> list[float]:
    """Differences between neighbouring cells of the same side, later minus earlier."""
    found = []
    for one, two in zip(row.pairs, row.pairs[1:], strict=False):
        if one.a_first != two.a_first:
            found.append(two.log_b - one.log_b if one.a_first else two.log_a - one.log_a)
    return found


def floors(rows: Sequence[Series]) -> list[float]:
    """For each valid row, the 95 % quantile of |mean| of as many pairs of the same side as it has pairs.

    A row has n - 1 free pairs at most, so their mean square is shared with the other rows as variances are. Their mean
    is known to be 0, so nothing is subtracted, and drift between neighbouring cells raises the floor. Where a timer's
    step hides the noise, a difference must be two steps, for one may be next to nothing.
    """
    free = [free_pairs(row) for row in rows]
    squares = [max(math.fsum([x * x for x in some]) / len(some), LEAST_SD**2) for some in free]
    dfs = [len(some) for some in free]
    prior = estimate_prior(squares, dfs)
    shown = [
        NORMAL_975 * math.sqrt(moderate(square, df, prior, most_df=math.inf)[0] / len(row.pairs))
        for row, square, df in zip(rows, squares, dfs, strict=True)
    ]
    return [max(floor, 1.5 * row.step) if _hidden(row) else floor for row, floor in zip(rows, shown, strict=True)]


def _hidden(row: Series) -> bool:
    return row.quantised(variance_of(row.differences, mean_of(row.differences)))
