"""A torch with a card whose time is computed: streams, events, graphs, generators, and failures on request.

One queue of work; a kernel takes as long as it says, launches cost the host `launch_ms` and `graph_launch_ms`, an event
is stamped when the queue comes to it. A capture behaves as Torch's does in all that timers rely on: what is recorded
does not run, waiting for the card invalidates it, its end then fails and leaves stream, allocator and generator as they
were, an empty graph is only warned about, and the default generator believes in a capture until one ends well.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

REFUSED = "CUDA error: operation not permitted when stream is capturing"
INVALID = "CUDA error: operation failed due to a previous error during capture"
ILLEGAL = "CUDA error: an illegal memory access was encountered"
POISONED = "Offset increment outside graph capture encountered unexpectedly."
HINTS = (
    "\nSearch for `cudaErrorStreamCaptureUnsupported' in the documentation."
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace may be incorrect."
    "\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"
    "\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)


class Stream:
    def __init__(self, name: str = "side") -> None:
        self.name = name
        self.waited_for: list[str] = []

    def wait_stream(self, other: Stream) -> None:
        self.waited_for.append(other.name)


class State:
    """State of a generator: what a capture registers, and what a suite reads."""

    def __init__(self, offset: int = 0) -> None:
        self.offset, self.capturing = offset, False

    def clone(self) -> State:
        return State(self.offset)


class Generator:
    def __init__(self, card: FakeCard) -> None:
        self.card, self.state = card, State()

    def get_state(self) -> State:
        return self.state.clone()

    def set_state(self, state: State) -> None:
        if self.card.capture is not None:
            raise RuntimeError("Cannot call CUDAGeneratorImpl::set_state during CUDA graph capture.")
        self.state = state.clone()

    def clone_state(self) -> Any:
        return SimpleNamespace(state=self.state.clone())

    def graphsafe_get_state(self) -> Any:
        return SimpleNamespace(state=self.state)

    def graphsafe_set_state(self, other: Any) -> None:
        self.state = other.state

    def initial_seed(self) -> int:
        return 42


class OldGenerator(Generator):
    """Of a Torch whose generator states cannot be exchanged."""

    clone_state = graphsafe_get_state = graphsafe_set_state = property()  # type: ignore[assignment]


class Event:
    def __init__(self, card: FakeCard, *, enable_timing: bool = False, external: bool = False) -> None:
        assert enable_timing
        self.card, self.external, self.at = card, external, -1.0

    def record(self) -> None:
        if self.card.capture is not None:
            assert self.external, "an ordinary event keeps no time inside a graph"
            self.card.capture.work.append(self.stamp)
            return
        self.card.queue(0.0)
        self.stamp()

    def stamp(self) -> None:
        self.at = self.card.busy_until

    def elapsed_time(self, end: Event) -> float:
        assert self.card.now >= end.at >= self.at >= 0, "read before the card was waited for"
        return end.at - self.at


class Graph:
    def __init__(self, card: FakeCard) -> None:
        self.card, self.work, self.valid, self.released = card, [], True, False
        self.work: list[Callable[[], None]]
        card.graphs.append(self)

    def replay(self) -> None:
        self.card.trip("replay")
        assert not self.released
        self.card.replays.append(len(self.work))
        self.card.now += self.card.graph_launch_ms
        self.card.queue(0.0)
        for step in self.work:
            step()

    def reset(self) -> None:
        self.released = True


class FakeCard:
    """The card and its state; `torch` is what to import."""

    def __init__(
        self,
        *,
        launch_ms: float = 0.005,
        graph_launch_ms: float = 0.005,
        external_events: bool = True,
        old: bool = False,
    ) -> None:
        self.now = self.busy_until = 0.0
        self.launch_ms, self.graph_launch_ms = launch_ms, graph_launch_ms
        self.capture: Graph | None = None
        self.graphs: list[Graph] = []
        self.replays: list[int] = []
        """Steps of each replayed graph, in order."""
        self.launched = 0
        """Kernels launched outside of captures."""
        self.lost = self.stuck = ""
        """What every wait says from now on."""
        self.trips: dict[str, Callable[[], None]] = {}
        """What happens at ``replay``, ``begin`` or ``end`` of a capture."""
        self.home = Stream("home")
        self.current = self.home
        self.ended_pools: list[Any] = []
        self.released_pools: list[Any] = []
        self.external_events = external_events
        self.cuda = self._module((OldGenerator if old else Generator)(self))
        self.torch = ModuleType("torch")
        self.torch.cuda = self.cuda  # type: ignore[attr-defined]
        self.torch.float32, self.torch.int32 = "float32", "int32"  # type: ignore[attr-defined]
        self.torch.empty = lambda *_, **__: SimpleNamespace(zero_=lambda: self.kernel(0.1))  # type: ignore[attr-defined]
        self.torch._C = SimpleNamespace(  # type: ignore[attr-defined]
            _cuda_endAllocateToPool=lambda _, pool: self.ended_pools.append(pool),
            _cuda_releasePool=lambda _, pool: self.released_pools.append(pool),
        )

    def install(self, monkeypatch: Any, *, testing: ModuleType | None = None) -> None:
        """Let this process import the fake torch, and a Triton that has nothing but `testing`."""
        monkeypatch.setitem(sys.modules, "torch", self.torch)
        monkeypatch.delitem(sys.modules, "triton.runtime", raising=False)
        if testing is not None:
            triton = ModuleType("triton")
            triton.testing = testing  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, "triton", triton)
            monkeypatch.setitem(sys.modules, "triton.testing", testing)

    def _module(self, generator: Generator) -> SimpleNamespace:
        return SimpleNamespace(
            Stream=Stream, stream=self._on, current_stream=lambda: self.current, current_device=lambda: 0,
            synchronize=self.synchronize, Event=self._event, CUDAGraph=lambda: Graph(self), graph=self._capturing,
            graph_pool_handle=lambda: (0, len(self.graphs) + 1), default_generators=(generator,),
        )  # fmt: skip

    @property
    def generator(self) -> Generator:
        return self.cuda.default_generators[0]

    def clock(self) -> float:
        """Seconds of the host."""
        return self.now / 1000

    def queue(self, ms: float) -> None:
        self.busy_until = max(self.busy_until, self.now) + ms

    def kernel(self, ms: float) -> None:
        """Launch a kernel of so many milliseconds on the current stream."""
        if self.capture is not None:
            self.capture.work.append(lambda: self.queue(ms))
            return
        self.launched += 1
        self.now += self.launch_ms
        self.queue(ms)

    def item(self) -> None:
        """Read a value back: a synchronisation of the host, which no capture allows."""
        self.synchronize()

    def rand(self) -> None:
        """Torch's own random numbers: an offset of the default generator's state."""
        state = self.generator.state
        if state.capturing and self.capture is None:
            raise RuntimeError(POISONED)
        state.offset += 4

    def synchronize(self) -> None:
        for said in (self.lost, self.stuck):
            if said:
                raise RuntimeError(said + HINTS)
        if self.capture is not None:
            self.capture.valid = False
            raise RuntimeError(REFUSED + HINTS)
        self.now = max(self.now, self.busy_until)

    def trip(self, where: str) -> None:
        self.trips.get(where, lambda: None)()

    @contextmanager
    def _on(self, stream: Stream) -> Iterator[None]:
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    def _event(self, enable_timing: bool = False, **how: Any) -> Event:
        if how and not self.external_events:
            raise TypeError("'external' is an invalid keyword argument")
        return Event(self, enable_timing=enable_timing, **how)

    @contextmanager
    def _capturing(self, graph: Graph, pool: Any, stream: Stream) -> Iterator[None]:
        self.trip("begin")
        before, self.current = self.current, stream
        state = self.generator.state
        self.capture, state.capturing = graph, True
        try:
            yield
        finally:
            self.capture = None
            self.trip("end")
            if not graph.valid:
                raise RuntimeError(INVALID + HINTS)  # the stream stays, the state goes on capturing: as in Torch
            state.capturing = False
            self.current = before
            if not graph.work:
                warnings.warn("The CUDA Graph is empty. This usually means that …", stacklevel=2)
