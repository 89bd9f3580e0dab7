"""Verdicts in words with their figures."""

from __future__ import annotations

import math

from zlbench.inference.types import Verdict, Why

_WHY = {
    Why.FEW_PAIRS: "fewer than 4 valid pairs",
    Why.ORDER_CONFOUNDED: "the same side came first in every round",
    Why.PAIRS_DISTURBED: "pairs stayed disturbed after every retry",
    Why.NO_LOOK: "not at its end: no look yet",
    Why.CALIBER: "the sides were measured in different ways",
}

NO_ROWS = "invalid: none of its rows counts"
"""Of an operator."""


def percent(logarithm: float) -> str:
    """Format a difference above 0, given as a logarithm, as percent."""
    value = 100 * math.expm1(min(logarithm, 100.0))
    if value >= 1000:
        return "over 1000 %"
    if value < 0.005:
        return "0.01 %"
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %" if value >= 0.995 else f"{value:.2f} %"


def plain_percent(fraction: float) -> str:
    """Format a fraction that somebody chose: ``1 %``, ``0.5 %``."""
    return f"{100 * fraction:g} %"


def invalid(why: Why) -> str:
    """Why there is no verdict."""
    return f"invalid: {why.value} ({_WHY[why]})"


def verdict_in_words(verdict: Verdict, *, delta: float, mde: float, rounds: int | None) -> str:
    """Say a verdict on valid rows.

    Args:
        mde: as a logarithm; rounds: how many are needed, None where no number of them is enough.
    """
    if verdict is Verdict.NO_DIFFERENCE:
        return f"no difference beyond ±{plain_percent(delta)}"
    if verdict is Verdict.NOT_DETECTABLE:
        return f"no detectable difference (MDE {percent(mde)})"
    if verdict is Verdict.INCONCLUSIVE:
        more = f"needs about {rounds} rounds" if rounds is not None else "more rounds do not help"
        return f"inconclusive (MDE {percent(mde)}, {more})"
    return str(verdict.value)
