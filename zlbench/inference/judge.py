"""The verdict: the first of five that applies, in the order of the measurement contract."""

from __future__ import annotations

import math
from collections.abc import Mapping

from zlbench.inference.evaluate import Evaluated
from zlbench.inference.sequential import scipy_stats
from zlbench.inference.types import Settings, Verdict


def adjust(some: Mapping[tuple[str, str], Evaluated]) -> dict[tuple[str, str], float]:
    """Adjust p-values by Benjamini and Hochberg, subjects among themselves and controls among themselves.

    What is asked of a control is whether it is falsely flagged; it must not change what is said of a subject.
    """
    found: dict[tuple[str, str], float] = {}
    for control in (False, True):
        keys = [key for key, one in some.items() if one.row.control is control]
        if keys:
            ps = [some[key].sequential.p for key in keys]
            found.update(zip(keys, scipy_stats().false_discovery_control(ps).tolist(), strict=True))
    return found


def judge(one: Evaluated, q: float, settings: Settings) -> Verdict:
    """Say what may be said of a valid row.

    Args:
        q: adjusted p-value.
    """
    sequential = one.sequential
    apart = sequential.low > 0 or sequential.high < 0
    # Without controls, this floor is all that stands between a claim and noise that the pairs do not show.
    if q <= settings.q and apart and abs(one.estimate) >= one.floor:
        return Verdict.SLOWER if sequential.low > 0 else Verdict.FASTER
    if sequential.within(settings.delta):
        return Verdict.NO_DIFFERENCE
    if one.mde <= math.log1p(2 * settings.delta):
        return Verdict.NOT_DETECTABLE
    return Verdict.INCONCLUSIVE
