"""Pinned autotuning where nothing can be timed: `--configs first|all|K` decides what an autotuner compiles.

`first` is the first config that compiles for the target, K the first K of them, `all` every one that pruning left.
With no device there is no winner, so every config that was compiled counts as used and is compared. No cache of
winners is asked: what a card chose is no answer here, and nothing of here is an answer for a card.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from zlbench_plugins import tuner_access, tuner_database
from zlbench_plugins.context import CellContext, current
from zlbench_plugins.tuner_access import PrivateView, TunedCall, TunerHooks


class ConfigBudget:
    """How many more configs of the sweep in progress may be compiled."""

    def __init__(self, policy: str) -> None:
        self.limit = math.inf if policy == "all" else 1 if policy == "first" else int(policy)
        self.left = self.limit
        self.taken = 0
        self._answers: dict[Any, Any] = {}

    def start_sweep(self) -> None:
        """Forget the sweep before."""
        self.left = self.limit
        self.taken = 0
        self._answers = {}

    def answer(self, config: Any, bench: Callable[[], Any]) -> Any:
        """What `bench` says of a config, once a sweep: equal ones further down its list must not make it a loser.

        FlagGems has such lists (one with False and one with 0), and keeps the last answer of equal configs.
        """
        if config not in self._answers:
            self._answers[config] = bench()
        return self._answers[config]

    def bench(self, kernel_call: Callable[[], object], *, quantiles: Sequence[float] = (), **_: object) -> list[float]:
        """Compile one config while the budget lasts; the order of the configs stands in for their times."""
        width = max(1, len(quantiles))
        if self.left <= 0:
            return [math.inf] * width
        kernel_call()
        self.left -= 1
        self.taken += 1
        return [float(self.taken)] * width


_hooks: TunerHooks | None = None


def install(context: CellContext) -> None:
    """Pin every tuner of this process: Triton's own, and one of the suite that overrides its `run`."""
    global _hooks  # noqa: PLW0603 - pytest calls this module's functions, there is no object to keep it in
    budget = ConfigBudget(context.spec.configs)

    def around(call: TunedCall, run: Callable[[], Any]) -> Any:
        budget.start_sweep()
        call.tuner.do_bench = budget.bench
        result = run()
        if call.view.stored:
            _record(context, call)
        return result

    _hooks = TunerHooks(context, PrivateView, around)
    _hooks.install()
    base = tuner_access.autotuner_class()
    original = getattr(base, "_bench", None)
    if original is None:
        return

    def bench(tuner: Any, *args: Any, config: Any, **meta: Any) -> Any:
        return budget.answer(config, lambda: original(tuner, *args, config=config, **meta))

    context.patches.set(base, "_bench", bench)


def _record(context: CellContext, call: TunedCall) -> None:
    """Keep what was compiled for one tuning key: two sides that differ here did not compile the same configs."""
    compiled = [str(config) for config, time in call.timings.items() if not tuner_access.failed(time)]
    context.tunings.append(
        {
            "kernel": call.kernel,
            "key": [str(part) for part in call.view.key],
            "policy": context.spec.configs,
            "chosen": str(call.view.taken),
            "compiled": compiled,
            "configs": len(call.tuner.configs),
        }
    )


def pytest_configure() -> None:
    """Install for the cell of this process, if it runs without a device."""
    context = current()
    if context.spec.timer == "compile":
        install(context)


def pytest_collection_modifyitems() -> None:
    """A suite's own tuner is imported with its benchmarks."""
    if _hooks is not None:
        _hooks.install()
        tuner_database.hide_stored_times(current())


def pytest_runtest_setup() -> None:
    """Or with the first benchmark that runs."""
    pytest_collection_modifyitems()
