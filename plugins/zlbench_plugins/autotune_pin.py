"""Pinned autotuning where nothing can be timed: `--configs first|all|K` decides what an autotuner compiles.

`first` is the first config that compiles for the target, K the first K of them, `all` every one that pruning left.
With no device there is no winner, so every config that was compiled counts as used and is compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from zlbench_plugins.context import CellContext, current


class ConfigBudget:
    """How many more configs of the sweep in progress may be compiled."""

    def __init__(self, policy: str) -> None:
        self.limit = math.inf if policy == "all" else 1 if policy == "first" else int(policy)
        self.left = self.limit
        self.taken = 0

    def start_sweep(self) -> None:
        """Forget the sweep before."""
        self.left = self.limit
        self.taken = 0

    def bench(self, kernel_call: Callable[[], object], *, quantiles: Sequence[float] = (), **_: object) -> list[float]:
        """Compile one config while the budget lasts; the order of the configs stands in for their times."""
        width = max(1, len(quantiles))
        if self.left <= 0:
            return [math.inf] * width
        kernel_call()
        self.left -= 1
        self.taken += 1
        return [float(self.taken)] * width


def install(context: CellContext) -> None:
    """Wrap `triton.runtime.autotuner.Autotuner.run` for this process."""
    try:
        from triton.runtime.autotuner import Autotuner
    except ImportError:
        context.hooks["autotuner"] = False
        return
    context.hooks["autotuner"] = True
    budget = ConfigBudget(context.spec.configs)
    original = Autotuner.run

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        budget.start_sweep()
        self.do_bench = budget.bench
        known = set(self.cache)
        result = original(self, *args, **kwargs)
        for key in set(self.cache) - known:
            _record(context, self, key)
        return result

    context.patches.set(Autotuner, "run", run)


def _record(context: CellContext, tuner: Any, key: tuple[object, ...]) -> None:
    """Keep what was compiled for one tuning key: two sides that differ here did not compile the same configs."""
    timings = getattr(tuner, "configs_timings", None) or {}
    compiled = [str(config) for config, times in timings.items() if not math.isinf(_first(times))]
    base = getattr(tuner, "base_fn", None)
    context.tunings.append(
        {
            "kernel": getattr(base, "__name__", "?"),
            "key": [str(part) for part in key],
            "policy": context.spec.configs,
            "chosen": str(tuner.cache[key]),
            "compiled": compiled,
            "configs": len(tuner.configs),
        }
    )


def _first(times: Any) -> float:
    return float(times[0]) if isinstance(times, list | tuple) else float(times)


def pytest_configure() -> None:
    """Install for the cell of this process, if it runs without a device."""
    context = current()
    if context.spec.timer == "compile":
        install(context)
