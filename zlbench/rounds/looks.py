"""When is a row settled? By the looks that the report judges by (`zlbench.inference.sequential`), row by row.

An effect settles a row only where it would stay significant among all rows of the campaign; no effect does where the
interval lies within what nobody cares about. What only the report can know (the other rows' variances, the controls)
is left out here: it may judge a settled row with more or less certainty, by the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum

from zlbench.inference.sequential import Seen, Sequential, look_at, put_together, reached, scipy_stats
from zlbench.inference.series import LEAST_SD, mean_of, variance_of
from zlbench.inference.types import ALPHA, DELTA
from zlbench.rounds.order import sides_of

_Looks = Sequence[tuple[int, float]]


class Settled(str, Enum):
    """Why a row needs no more rounds."""

    EFFECT = "effect"
    NO_EFFECT = "no effect"


def settle(
    differences: Mapping[str, Mapping[int, float]], *, looks: Sequence[int], weights: Sequence[float], now: int,
    rows: int, delta: float = DELTA,
) -> dict[str, Settled]:  # fmt: skip
    """Rows that are settled after round `now`, each by what was known at its look.

    Args:
        differences: ln B - ln A by row and round, of valid pairs only.
        looks: rounds after which is looked, in order; weights: their shares of alpha.
        rows: how many rows the campaign has in all.
    """
    shares = list(zip(looks, weights, strict=True))
    seen = {
        name: [one for number, one in _seen(by_round, shares) if number <= now]
        for name, by_round in differences.items()
    }
    found: dict[str, Settled] = {}
    # All tests of all rows in one call.
    tested = iter(look_at([one for some in seen.values() for one in some], alpha=ALPHA))
    for name, some in seen.items():
        at_looks = [next(tested) for _ in some]
        for upto in range(1, len(at_looks) + 1):
            why = _settled(put_together(at_looks[:upto]), alpha=ALPHA / max(1, rows), delta=delta)
            if why is not None:
                found[name] = why
                break
    return found


def _seen(by_round: Mapping[int, float], looks: _Looks) -> list[tuple[int, Seen]]:
    """What each look knew, with the round after which it was."""
    rounds = sorted(by_round)
    found = []
    for index, n in reached([(number, sides_of(number)[0] == "A") for number in rounds], looks):
        number, weight = looks[index]
        known = [by_round[k] for k in rounds[:n]]
        mean = mean_of(known)
        error = math.sqrt(max(variance_of(known, mean), LEAST_SD**2) / n)
        found.append((number, Seen(weight=weight, n=n, estimate=mean, error=error, df=n - 1)))
    return found


def _settled(sequential: Sequential, *, alpha: float, delta: float) -> Settled | None:
    if sequential.p <= alpha:
        return Settled.EFFECT
    return Settled.NO_EFFECT if sequential.within(delta) else None


def require() -> None:
    """Say at the beginning what would be missing at the first look.

    Raises:
        PreflightError: there is no scipy.
    """
    scipy_stats()
