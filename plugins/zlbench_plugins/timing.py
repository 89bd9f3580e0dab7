"""How one call of an operator becomes numbers: the timer is part of the caliber and each row says which one it got.

The suite's own `get_latency` is called, in the suite's own order (baseline, then operator), with our timers where it
looks for Triton's. A row that cannot be captured is timed without a graph and says so; a number that the suite made
with a loop of its own is never called a graph's.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from zlbench import backend as backends
from zlbench.backend import Backend, Timer
from zlbench.errors import UsageError
from zlbench_plugins.bench_stand_in import BenchStandIn
from zlbench_plugins.canary import MARKER as NOT_INDEPENDENT
from zlbench_plugins.canary import baseline_is_independent
from zlbench_plugins.capture_errors import (
    CapturePoisonedError,
    DeviceLostError,
    Fallback,
    Phase,
    raise_if_unusable,
)
from zlbench_plugins.context import CellContext
from zlbench_plugins.failures import one_line
from zlbench_plugins.seed import seed_all
from zlbench_plugins.timing_card import Card, open_card

PARALLEL_WORKER = "FLAGGEMS_BENCH_PARALLEL_WORKER"
"""Set by FlagGems in the processes that it starts itself for --parallel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """Latencies in milliseconds, None where nothing was timed, with the timer and the cache that gave them."""

    timer: str
    latency_ms: float | None = None
    baseline_ms: float | None = None
    l2: str | None = None
    """Second-level cache before each timed call; None where the suite's own loop decided."""
    baseline_timer: str | None = None
    baseline_fallback: dict[str, Any] | None = None
    baseline_error: str | None = None
    """Why the baseline has no time although it was wanted."""
    baseline_independent: bool | None = None
    """Whether the baseline is another implementation than the operator; None where it was not timed."""
    fallback: dict[str, Any] | None = None
    """Phase and reason, where a graph was wanted for the operator and could not be had."""


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
    is made up.

    Args:
        capture: False where a capture of this row has poisoned a process before.
        baseline: whether Torch's own implementation is timed as well.

    Raises:
        DeviceLostError: the context on the card is lost.
        CapturePoisonedError: a failed capture made this process unusable.
        UsageError: the suite measures on several cards at a time.
    """
    if context.spec.timer == Timer.COMPILE.value:
        _call_once(bench, suite, args, kwargs)
        return Measurement(timer=Timer.COMPILE.value)
    _refuse_parallel()
    row = _Row(context, bench, args, kwargs, capture=capture)
    wanted = baseline and context.spec.baseline != "none"
    context.doing = "baseline"
    base = _baseline(row, bench) if wanted else None
    context.doing = "row"
    independent = _independent(context, bench) if isinstance(base, _Latency) else None
    # A kernel with random numbers is specialised by their offset. How often the baseline and earlier rows were called
    # is a matter of time, so each row starts from the same.
    seed_all(context.spec.seed)
    found = _with_operator(bench, suite, lambda operator: row.latency(operator, "operator"))
    measured = Measurement(
        timer=found.timer.value,
        latency_ms=found.milliseconds,
        l2=context.spec.l2 if found.ours else None,
        baseline_independent=independent,
        fallback=found.fallback.to_json() if found.fallback else None,
    )
    if isinstance(base, _Latency):
        refused = base.fallback.to_json() if base.fallback else None
        return replace(
            measured, baseline_ms=base.milliseconds, baseline_timer=base.timer.value, baseline_fallback=refused
        )
    return replace(measured, baseline_error=base)


def _baseline(row: _Row, bench: Any) -> _Latency | str:
    """Time the baseline; it is a control, so what goes wrong in it is written down and costs the operator nothing.

    Raises:
        DeviceLostError: the context on the card is lost.
        CapturePoisonedError: marked as the baseline's; the row is measured again without it.
    """
    try:
        return row.latency(bench.torch_op, "baseline")
    except DeviceLostError:
        raise
    except CapturePoisonedError as error:
        error.of = "baseline"
        raise
    except Exception as error:  # noqa: BLE001 - whatever another implementation raises is no fault of the operator
        return one_line(error)


def lost_or_failed(context: CellContext, error: Exception) -> Exception:
    """What an error of a row outside of any timer means: the card may be lost since, and then says so when asked.

    Returns the error itself where the card answers, or where there is none.
    """
    if context.spec.timer == Timer.COMPILE.value or isinstance(error, DeviceLostError | CapturePoisonedError):
        return error
    backend = backends.get(context.spec.backend)
    card = _card(context, backend)
    if card is None:
        return error
    try:
        raise_if_unusable(backend, error, card.answers, phase=None)
    except (DeviceLostError, CapturePoisonedError) as told:
        return told
    return error


def _independent(context: CellContext, bench: Any) -> bool | None:
    """Whether the baseline that has just run is something else than the operator; its launches are not the row's.

    None where nobody counts launches: a baseline of no telling name may have gone through the compiler unseen.
    """
    launched, context.launches = bool(context.launches), {}
    independent = baseline_is_independent(bench, context.spec.package, launched=launched)
    if not independent:
        context.warn(NOT_INDEPENDENT, str(getattr(bench, "op_name", context.spec.op)))
        return False
    return True if context.recorder is not None and context.hooks.get("launch_enter_hook") else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Latency:
    milliseconds: float
    timer: Timer
    ours: bool
    single: bool = True
    """Whether the suite asked for one number, whose median over several calls means something."""
    fallback: Fallback | None = None


class _Row:
    """One input case of one benchmark."""

    def __init__(
        self, context: CellContext, bench: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, capture: bool
    ) -> None:
        self._context = context
        self._bench = bench
        self._args, self._kwargs = args, kwargs
        self._backend = backends.get(context.spec.backend)
        self._card = _card(context, self._backend)
        self._graphs = context.spec.timer == Timer.CUDA_GRAPH.value and self._card is not None
        self._captured = self._graphs and capture
        self._forbidden = "" if not self._graphs else self._why_not(capture=capture)

    def _why_not(self, *, capture: bool) -> str:
        if not capture:
            return "a capture of this row made the process before unusable"
        names = {str(getattr(self._bench, "op_name", "")), self._context.spec.op}
        return f"never captured on {self._backend.name}" if names & set(self._backend.never_captured) else ""

    def latency(self, op: Any, of: str) -> _Latency:
        """Time one implementation: once by graph, else as often as the caliber says, of which the median counts."""
        first = self._once(op, graphs=self._graphs and not self._forbidden)
        if self._forbidden:
            first = replace(first, fallback=Fallback(phase=Phase.CAPTURE, reason=self._forbidden))
        if first.timer is Timer.CUDA_GRAPH:
            return first
        repeat = self._context.spec.direct_repeat if first.single else 1
        more = [self._once(op, graphs=False).milliseconds for _ in range(repeat - 1)]
        fallback = replace(first.fallback, repeat=repeat) if first.fallback else None
        if fallback is not None:
            self._context.warn("BENCHMARK_DIRECT_NO_CUDAGRAPH", f"row={self._context.row} of={of} {fallback}")
        median = statistics.median([first.milliseconds, *more])
        return replace(first, milliseconds=median, fallback=fallback)

    def _once(self, op: Any, *, graphs: bool) -> _Latency:
        home = self._card.module.current_stream() if self._card is not None and graphs else None
        stand_in = BenchStandIn(self._context, self._card, graphs=graphs, home=home)
        # Autograd runs a backward pass on the streams of its forward pass, which has to be the captured one.
        backward = graphs and self._card is not None and getattr(self._bench, "is_backward", False)
        with self._telling_lost_from_failed(), stand_in.in_place():
            with self._card.on_side() if backward and self._card is not None else nullcontext():
                value = self._bench.get_latency(op, *self._args, **self._kwargs)
            answered = stand_in.answered
            refusal = answered.refusal
            return _Latency(
                milliseconds=_milliseconds(value),
                timer=answered.timer,
                ours=answered.ours,
                single=not answered.sequences,
                fallback=Fallback(phase=refusal.phase, reason=refusal.reason) if refusal else None,
            )

    @contextmanager
    def _telling_lost_from_failed(self) -> Iterator[None]:
        try:
            try:
                yield
            except (DeviceLostError, CapturePoisonedError):
                raise
            except Exception as error:
                if self._card is not None:
                    answers = self._card.answers
                    raise_if_unusable(self._backend, error, answers, phase=None, captured=self._captured)
                raise
        except CapturePoisonedError as error:
            self._context.warn("BENCHMARK_CAPTURE_POISONED", f"row={self._context.row} reason={error}")
            raise


_cards: weakref.WeakKeyDictionary[CellContext, Card | None] = weakref.WeakKeyDictionary()


def _card(context: CellContext, backend: Backend) -> Card | None:
    """The card of this process, opened once: its side stream owns memory."""
    if context not in _cards:

        @contextmanager
        def quiet() -> Iterator[None]:
            before, context.sweeping = context.sweeping, True
            try:
                yield
            finally:
                context.sweeping = before

        _cards[context] = open_card(backend, quiet)
    return _cards[context]


def _refuse_parallel() -> None:
    """Refuse a suite that spreads its rows over cards: what runs beside a row is part of its time."""
    config = getattr(sys.modules.get("benchmark.conftest"), "Config", None)
    if getattr(config, "parallel", 0) or os.environ.get(PARALLEL_WORKER):
        raise UsageError(
            "the suite's --parallel measures on several cards at a time",
            hint="Measuring is one process at a time. To spread the tuning before it: --parallel-warmup N.",
        )


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
