"""Time by captured graph: the device's own time of a call, with the host out of the way.

One call is thrown away (it compiles and tunes), a steady warm-up by the caller's budget follows, then several calls are
recorded into one graph and that is replayed about ten times. A sample is one replay over its number of calls; with a
flushed second-level cache it is one call, timed by events inside the graph between two flushes.
"""

from __future__ import annotations

import gc
import statistics
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from zlbench_plugins.capture_errors import Phase, Severity, raise_if_unusable, reason, severity
from zlbench_plugins.failures import FailureKind, classify
from zlbench_plugins.rng_stand_in import rng_stand_in
from zlbench_plugins.timing_card import Card

WARMUP_CALLS = (5, 200)
"""Fewest and most calls of the steady warm-up."""
MOST_CALLS = 1000
"""Most calls in one graph; with a flushed cache a tenth, since each flush costs more than a small kernel."""
REPLAYS = (3, 10)
PROBE_MS = 2.0
PROBE_CALLS = 10
EMPTY = "Graph is empty"
"""In Torch's warning about a graph into which nothing was recorded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """One thing to time, and how long: milliseconds of warm-up and of measuring."""

    call: Callable[[], object]
    warmup_ms: float
    rep_ms: float
    grads: Sequence[Any] = ()
    """Tensors whose gradients are dropped before each call, so that they do not add up."""

    def __call__(self) -> None:
        """Make one call."""
        for tensor in self.grads:
            tensor.grad = None
        self.call()


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why there is no graph of a call; the card goes on."""

    phase: Phase
    reason: str


class NothingCapturedError(RuntimeError):
    """A capture recorded no work: the call ran on the host, on another stream, or not at all."""


class Graph:
    """A captured graph of what `record` does; its memory is given back by `release`."""

    def __init__(self, card: Card, record: Callable[[], None]) -> None:
        self._card = card
        pool = card.module.graph_pool_handle()
        self._graph = card.new_graph()
        capture = card.module.graph(self._graph, pool=pool, stream=card.side)
        ended = False
        with _prepared(card) as warned:
            try:
                with card.quiet():
                    capture.__enter__()
                try:
                    record()
                finally:
                    capture.__exit__(None, None, None)
                    ended = True
            except BaseException:
                if ended:
                    self.release()
                else:
                    card.abandon(self._graph, pool)
                raise
        if any(EMPTY in str(warning.message) for warning in warned):
            self.release()
            raise NothingCapturedError("captured nothing")

    def replay(self) -> None:
        """Launch it once on the current stream."""
        with self._card.quiet():
            self._graph.replay()

    def release(self) -> None:
        """Give its memory back."""
        self._graph.reset()


class GraphTimer:
    """Samples of one call by graph; `phase` says how far it got."""

    def __init__(self, card: Card, timed: Timed, *, flushed: bool) -> None:
        self._card = card
        self._timed = timed
        self._flushed = flushed
        self.phase = Phase.WARMUP

    def samples(self) -> list[float]:
        """Milliseconds of one call, one number a replay, or one a call with a flushed cache."""
        per_call = self._warm_up()
        calls = _between(PROBE_MS / per_call if per_call > 0 else PROBE_CALLS, 1, PROBE_CALLS)
        with self._captured(lambda: self._record(calls)) as probe:
            device_ms = statistics.median(self._replays(probe, 1 if per_call > PROBE_MS else 3)) / calls
            if self._flushed:
                return self._flushed_samples(device_ms)
            wanted = self._calls_in_graph(device_ms, self._most_calls(per_call, calls))
            if wanted <= calls:
                return [ms / calls for ms in self._replays(probe, self._times(device_ms * calls))]
        with self._captured(lambda: self._record(wanted)) as graph:
            return [ms / wanted for ms in self._replays(graph, self._times(device_ms * wanted))]

    def _warm_up(self) -> float:
        """Call until caches, clocks and tuners are steady; returns milliseconds of a call as the host sees it."""
        self._timed()
        self._card.synchronize()
        fewest, most = WARMUP_CALLS
        times = []
        for _ in range(fewest):
            start = self._card.clock()
            self._timed()
            self._card.synchronize()
            times.append((self._card.clock() - start) * 1000)
        per_call = statistics.median(times)
        wanted = most if per_call <= 0 else _between(self._timed.warmup_ms / per_call, fewest, most)
        for _ in range(wanted - fewest):
            self._timed()
        self._card.synchronize()
        return per_call

    def _record(self, calls: int) -> None:
        for _ in range(calls):
            self._timed()

    def _calls_in_graph(self, device_ms: float, most: int) -> int:
        """So many that ten replays take the time of the budget."""
        return most if device_ms <= 0 else _between(self._timed.rep_ms / REPLAYS[1] / device_ms, 1, most)

    def _most_calls(self, host_ms: float, fewest: int) -> int:
        """Recording takes host time as well: no longer than the budget."""
        return MOST_CALLS if host_ms <= 0 else _between(self._timed.rep_ms / host_ms, fewest, MOST_CALLS)

    def _times(self, replay_ms: float) -> int:
        return REPLAYS[1] if replay_ms <= 0 else _between(self._timed.rep_ms / replay_ms, *REPLAYS)

    @contextmanager
    def _captured(self, record: Callable[[], None]) -> Iterator[Graph]:
        self.phase = Phase.CAPTURE
        graph = Graph(self._card, record)
        self.phase = Phase.REPLAY
        try:
            yield graph
            self._card.synchronize()
        finally:
            graph.release()

    def _replays(self, graph: Graph, times: int) -> list[float]:
        """Milliseconds of each replay. All are queued behind a discarded one, so that no launch is part of a time."""
        marks = [self._card.event() for _ in range(times + 1)]
        graph.replay()
        marks[0].record()
        for mark in marks[1:]:
            graph.replay()
            mark.record()
        self._card.synchronize()
        return [float(start.elapsed_time(end)) for start, end in pairwise(marks)]

    def _flushed_samples(self, device_ms: float) -> list[float]:
        calls = self._calls_in_graph(device_ms, MOST_CALLS // 10)
        marks = [(self._card.event(external=True), self._card.event(external=True)) for _ in range(calls)]
        buffer = self._card.empty_cache_buffer()

        def record() -> None:
            for start, end in marks:
                self._card.flush(buffer)
                start.record()
                self._timed()
                end.record()

        found: list[float] = []
        with self._captured(record) as graph:
            # The first is thrown away. Each replay writes the same events, so they are read before the next.
            for number in range(1 + self._times(device_ms * calls)):
                graph.replay()
                self._card.synchronize()
                if number:
                    found += [float(start.elapsed_time(end)) for start, end in marks]
        return found


def time_by_graph(card: Card, timed: Timed, *, flushed: bool) -> list[float] | Refusal:
    """Samples of a call, or why it has to be timed without a graph.

    Raises:
        DeviceLostError: the context on the card is lost.
        CapturePoisonedError: the capture failed and took the process with it.
        Exception: what the operator raised before anything was captured, where a second try would raise it again.
    """
    if flushed and not card.external_events:
        return Refusal(phase=Phase.CAPTURE, reason="this torch cannot time inside a graph (no external events)")
    timer = GraphTimer(card, timed, flushed=flushed)
    try:
        with card.on_side():
            return timer.samples()
    except Exception as error:
        raise_if_unusable(card.backend, error, card.answers, phase=timer.phase)
        if timer.phase is Phase.WARMUP and not _worth_another_way(card, error):
            raise
        # Returned and not raised: the traceback would keep the operator's memory while it is timed the other way.
        said = str(error) if isinstance(error, NothingCapturedError) else reason(card.backend, error)
        return Refusal(phase=timer.phase, reason=said)


def _worth_another_way(card: Card, error: Exception) -> bool:
    """Whether a call that failed on the side stream may do better on the suite's own.

    Not one that wants too much memory, does not compile or is a mistake of Python's kind.
    """
    if severity(card.backend, error) is Severity.CAPTURE:
        return True
    runtime = isinstance(error, RuntimeError) and not isinstance(error, NotImplementedError | RecursionError)
    return runtime and classify(error) is FailureKind.ERROR


@contextmanager
def _prepared(card: Card) -> Iterator[list[warnings.WarningMessage]]:
    """Stand-in random numbers, warnings kept, and no garbage collection while a graph is captured.

    A collection may drop the last reference to a compiled kernel; unloading it is illegal during a capture.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        with rng_stand_in(card.module), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield warned
    finally:
        if collecting:
            gc.enable()


def _between(value: float, fewest: int, most: int) -> int:
    return max(fewest, min(most, int(value)))
