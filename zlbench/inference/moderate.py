"""Variances shared between the rows of a campaign: the only statistics here that scipy does not have.

Source: G. K. Smyth, Linear models and empirical Bayes methods (2004), section 6.2: ln s² of all rows has a mean and a
variance that the two parameters of the prior explain. Three additions. Where rows are no more unlike than chance makes
them, the prior is their pooled variance, and no row gets more degrees of freedom than all rows have together (both as
in its author's later software). And fewer than 20 rows share nothing: the prior would itself be guesswork, and a row
whose noise it underestimates a false claim (of rows without a difference, 4 rounds: 1.1 % have p < 0.5 % where 5 rows
share, 0.8 % where 20 do, 0.5 % where 400 do).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from zlbench.inference.types import Prior

NOTHING_SHARED = Prior(df=0.0, variance=0.0)
FEWEST_ROWS = 20
"""Rows that are needed to say how unlike rows are."""


def estimate_prior(variances: Sequence[float], dfs: Sequence[int]) -> Prior:
    """Estimate the prior of rows' variances.

    Args:
        variances: of each row, above 0; dfs: degrees of freedom of each.
    """
    from scipy import optimize, special

    if len(variances) < FEWEST_ROWS:
        return NOTHING_SHARED
    halves = [df / 2 for df in dfs]
    logs = [
        math.log(variance) - shift + math.log(half)
        for variance, shift, half in zip(variances, special.digamma(halves).tolist(), halves, strict=True)
    ]
    mean = math.fsum(logs) / len(logs)
    spread = math.fsum([(value - mean) ** 2 for value in logs]) / (len(logs) - 1)
    spread -= math.fsum(special.polygamma(1, halves).tolist()) / len(logs)
    if spread <= 0:
        pooled = math.fsum([s * df for s, df in zip(variances, dfs, strict=True)]) / math.fsum(dfs)
        return Prior(df=math.inf, variance=pooled)
    # 1/x < trigamma(x) < 1/x + 1/x², so the root lies between these two.
    low, high = 1 / spread, (1 + math.sqrt(1 + 4 * spread)) / (2 * spread)
    half = float(optimize.brentq(lambda x: float(special.polygamma(1, x)) - spread, low * 0.999, high * 1.001))
    return Prior(df=2 * half, variance=math.exp(mean + float(special.digamma(half)) - math.log(half)))


def moderate(variance: float, df: float, prior: Prior, *, most_df: float) -> tuple[float, float]:
    """Share one row's variance with the prior: the variance to work with, and its degrees of freedom."""
    if math.isinf(prior.df):
        return prior.variance, most_df
    total = prior.df + df
    return (prior.df * prior.variance + df * variance) / total, min(total, most_df)
