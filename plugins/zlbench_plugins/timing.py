"""How one call of an operator becomes numbers: the timer is part of the caliber and each row says which one it got."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from zlbench_plugins.context import CellContext


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """Latencies in milliseconds, None where nothing was timed, and the timer that gave them."""

    timer: str
    latency_ms: float | None = None
    baseline_ms: float | None = None


def measure(
    context: CellContext,
    bench: Any,
    suite: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    capture: bool = True,
    baseline: bool = True,
) -> Measurement:
    """Run the benchmark's operator for one input case with the timer of the caliber.

    The device-less timer `compile` calls the operator once: everything compiles, nothing is launched, and no latency
    is made up. Every other timer goes through the suite's own `get_latency`, in the suite's own order; the direct one
    as often as the caliber says, and the median counts.
    """
    if context.spec.timer == "compile":
        _call_once(bench, suite, args, kwargs)
        return Measurement(timer="compile")
    repeat = context.spec.direct_repeat if context.spec.timer == "direct" else 1

    def latency(op: Any) -> float:
        return statistics.median(_milliseconds(bench.get_latency(op, *args, **kwargs)) for _ in range(repeat))

    timed = latency(bench.torch_op) if baseline else None
    return Measurement(timer=context.spec.timer, latency_ms=_with_operator(bench, suite, latency), baseline_ms=timed)


def _milliseconds(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number) or number <= 0:
        raise ValueError(f"the timer returned {number} ms")
    return number


def _with_operator(bench: Any, suite: Any, use: Callable[[Any], Any]) -> Any:
    """Apply `use` to the operator under test: the benchmark's own, or Torch's name with the suite behind it."""
    operator = getattr(bench, "gems_op", None)
    if operator is not None:
        return use(operator)
    switch = getattr(suite, "use_gems", None)
    # zero_ is left out as upstream does, since timers use it to flush caches.
    excluded = [] if getattr(bench, "op_name", "") == "zero_" else ["zero_"]
    with switch(exclude=excluded) if switch is not None else nullcontext():
        return use(bench.torch_op)


def _call_once(bench: Any, suite: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    def call(operator: Any) -> None:
        out = operator(*args, **kwargs)
        if not getattr(bench, "is_backward", False):
            return
        import torch

        leaves = [arg for arg in args if torch.is_tensor(arg) and arg.requires_grad]
        torch.autograd.grad((out,), leaves, grad_outputs=(torch.ones_like(out),), retain_graph=True)

    _with_operator(bench, suite, call)
