"""What a suite's `get_latency` finds in place of Triton's do_bench: our timers, for the time of that one call.

Suites look it up as an attribute when they time, so that their own `get_latency`, with whatever a class overrides,
stays what is called. It steps aside, and the original answers, wherever one number is not what is asked for (quantiles,
all samples), and where somebody else times: an autotuner that sweeps, or an operator that times its own variants.
"""

from __future__ import annotations

import importlib
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from zlbench.backend import Timer
from zlbench_plugins._patch import PatchSet
from zlbench_plugins.context import CellContext
from zlbench_plugins.direct_timer import time_warm
from zlbench_plugins.graph_timer import Refusal, Timed, time_by_graph
from zlbench_plugins.timing_card import Card

_MODULES = ("triton.testing", "triton.musa_testing")
"""Where suites look for do_bench; the second where Triton for MUSA has its own."""
_WARMUP_MS = 25.0
"""Triton's own budget, for a suite that names none: do_bench_cudagraph has no argument for it."""
_REP_MS = {"do_bench": 100.0, "do_bench_cudagraph": 20.0}
_SUMMARIES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.mean,
    "median": statistics.median,
    "min": min,
    "max": max,
}


@dataclass(kw_only=True, slots=True)
class Answered:
    """How the calls of one `get_latency` were timed."""

    timers: list[Timer] = field(default_factory=list)
    refusal: Refusal | None = None
    sequences: bool = False
    """Whether somebody asked for more than one number."""

    @property
    def timer(self) -> Timer:
        """What the number of that `get_latency` may be called: a graph's only where nothing else is in it."""
        graphs = bool(self.timers) and all(timer is Timer.CUDA_GRAPH for timer in self.timers)
        return Timer.CUDA_GRAPH if graphs and not self.sequences else Timer.DIRECT

    @property
    def ours(self) -> bool:
        """Whether the number is made of ours: what a suite's own loop does to the caches is not known."""
        return bool(self.timers) and not self.sequences


class BenchStandIn:
    """Our timers under the names that the suite uses.

    Args:
        card: None where there is none that we can time on: then nothing is replaced.
        graphs: whether to try a graph first.
        home: stream on which to time without a graph, where it matters.
    """

    def __init__(self, context: CellContext, card: Card | None, *, graphs: bool, home: Any = None) -> None:
        self._context = context
        self._card = card
        self._graphs = graphs
        self._home = home
        self._busy = True
        """Out of place, or timing: whoever asks then gets the original, also who kept our function."""
        self.answered = Answered()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace do_bench and do_bench_cudagraph wherever suites look for them."""
        patches = PatchSet()
        try:
            for module in _modules() if self._card is not None else ():
                for name in _REP_MS:
                    if hasattr(module, name):
                        patches.set(module, name, self._replacement(module, name))
            self._busy = False
            yield
        finally:
            self._busy = True
            patches.undo()

    def _replacement(self, module: Any, name: str) -> Callable[..., Any]:
        original = getattr(module, name)
        plain = getattr(module, "do_bench", original)

        def bench(  # noqa: PLR0917 - Triton's signature
            fn: Callable[[], object],
            warmup: float | None = None,
            rep: float | None = None,
            grad_to_none: Any = None,
            quantiles: Any = None,
            return_mode: str = "mean",
            **rest: Any,
        ) -> Any:
            given = {"warmup": warmup, "rep": rep, "grad_to_none": grad_to_none, "quantiles": quantiles}
            given = {key: value for key, value in given.items() if value is not None}
            if self._steps_aside(quantiles, return_mode):
                return original(fn, **given, return_mode=return_mode, **rest)
            timed = Timed(
                call=fn,
                warmup_ms=self._warmup_ms(warmup),
                rep_ms=float(rep if rep is not None else _REP_MS[name]),
                grads=tuple(grad_to_none or ()),
            )
            return self._time(timed, plain, return_mode)

        if name == "do_bench":
            return bench

        def bench_cudagraph(
            fn: Callable[[], object], rep: float | None = None, grad_to_none: Any = None, quantiles: Any = None,
            return_mode: str = "mean", **rest: Any,
        ) -> Any:  # fmt: skip
            return bench(fn, None, rep, grad_to_none, quantiles, return_mode, **rest)

        return bench_cudagraph

    def _warmup_ms(self, given: float | None) -> float:
        """The budget that the suite passes on, else the cell's; none at all is one as well."""
        if given is not None:
            return float(given)
        budget = self._context.spec.warmup_ms
        return float(_WARMUP_MS if budget is None else budget)

    def _steps_aside(self, quantiles: Any, return_mode: str) -> bool:
        if self._busy or self._context.sweeping:
            return True
        if quantiles is not None or return_mode not in _SUMMARIES:
            self.answered.sequences = True
            return True
        return False

    def _time(self, timed: Timed, plain: Callable[..., Any], return_mode: str) -> float:
        assert self._card is not None
        flushed = self._context.spec.l2 != "warm"
        self._busy = True
        try:
            if self._graphs and self.answered.refusal is None:
                found = time_by_graph(self._card, timed, flushed=flushed)
                if not isinstance(found, Refusal):
                    self.answered.timers.append(Timer.CUDA_GRAPH)
                    return _SUMMARIES[return_mode](found)
                self.answered.refusal = found
            self.answered.timers.append(Timer.DIRECT)
            with self._at_home():
                if not flushed:
                    return _SUMMARIES[return_mode](time_warm(self._card, timed))
                grads = list(timed.grads) or None
                number = plain(
                    timed.call, warmup=timed.warmup_ms, rep=timed.rep_ms, grad_to_none=grads, return_mode=return_mode
                )
                return float(number)
        finally:
            self._busy = False

    def _at_home(self) -> AbstractContextManager[Any]:
        """The suite's own stream: an operator that uses that one by name would not be seen from another."""
        return nullcontext() if self._home is None or self._card is None else self._card.module.stream(self._home)


def _modules() -> list[Any]:
    try:
        importlib.import_module(_MODULES[0])
    except ImportError:
        return []
    return [sys.modules[name] for name in _MODULES if name in sys.modules]
