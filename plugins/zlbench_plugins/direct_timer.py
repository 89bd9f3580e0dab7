"""Time without a graph: every call is launched by the host, and what the host needs for that is part of the time.

Triton's own do_bench does that with a flushed second-level cache; this is the same with the cache left as it is.
"""

from __future__ import annotations

from zlbench_plugins.graph_timer import Timed
from zlbench_plugins.timing_card import Card

_ESTIMATE_CALLS = 5
_FAST_CALLS = 1000
"""Calls where the estimate is below what events can tell."""


def time_warm(card: Card, timed: Timed) -> list[float]:
    """Milliseconds of each call between two events, warmed up and repeated by the budgets."""
    timed()
    card.synchronize()
    start, end = card.event(), card.event()
    start.record()
    for _ in range(_ESTIMATE_CALLS):
        timed()
    end.record()
    card.synchronize()
    estimate = float(start.elapsed_time(end)) / _ESTIMATE_CALLS
    for _ in range(_calls(timed.warmup_ms, estimate)):
        timed()
    marks = [(card.event(), card.event()) for _ in range(_calls(timed.rep_ms, estimate))]
    for before, after in marks:
        for tensor in timed.grads:
            tensor.grad = None
        before.record()
        timed.call()
        after.record()
    card.synchronize()
    return [float(before.elapsed_time(after)) for before, after in marks]


def _calls(budget_ms: float, estimate_ms: float) -> int:
    return max(1, int(budget_ms / estimate_ms)) if estimate_ms > 0 else _FAST_CALLS
