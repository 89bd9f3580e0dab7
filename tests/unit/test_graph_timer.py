"""Time by captured graph on a card whose time is computed: what is called how often, and what failures cost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fakes import fake_timing
from fakes.fake_timing import FakeCard
from zlbench_plugins.capture_errors import CapturePoisonedError, DeviceLostError, Phase
from zlbench_plugins.direct_timer import time_warm
from zlbench_plugins.graph_timer import Refusal, Timed, time_by_graph
from zlbench_plugins.timing_card import Card

from zlbench import backend as backends


def card_of(fake: FakeCard) -> Card:
    return Card(backends.get("cuda"), fake.torch, clock=fake.clock)


def timed(call: Callable[[], object], *, warmup_ms: float = 25.0, rep_ms: float = 100.0, grads: tuple = ()) -> Timed:
    return Timed(call=call, warmup_ms=warmup_ms, rep_ms=rep_ms, grads=grads)


def samples(fake: FakeCard, call: Callable[[], object], *, flushed: bool = False, **budget: float) -> list[float]:
    found = time_by_graph(card_of(fake), timed(call, **budget), flushed=flushed)
    assert isinstance(found, list), found
    return found


def refusal(fake: FakeCard, call: Callable[[], object], *, flushed: bool = False) -> Refusal:
    found = time_by_graph(card_of(fake), timed(call), flushed=flushed)
    assert isinstance(found, Refusal), found
    return found


class TestBudgets:
    @pytest.mark.parametrize(
        ("kernel_ms", "launch_ms", "warmup_ms", "calls"),
        [
            (0.5, 0.0, 25.0, 50),  # the budget
            (0.001, 0.0, 25.0, 200),  # never more
            (100.0, 0.0, 25.0, 5),  # never fewer
            (0.001, 0.5, 25.0, 49),  # by what a call costs the host, not the card
        ],
    )
    def test_warm_up(self, kernel_ms: float, launch_ms: float, warmup_ms: float, calls: int) -> None:
        fake = FakeCard(launch_ms=launch_ms)
        samples(fake, lambda: fake.kernel(kernel_ms), warmup_ms=warmup_ms)
        assert fake.launched == 1 + calls  # one is thrown away

    @pytest.mark.parametrize(
        ("kernel_ms", "in_graph", "replays"),
        [
            (0.02, 500, 10),  # ten replays of 10 ms each
            (0.0005, 1000, 10),  # never more calls in one graph
            (4.0, 2, 10),
            (20.0, 1, 5),
            (90.0, 1, 3),  # never fewer replays
        ],
    )
    def test_calls_in_the_graph(self, kernel_ms: float, in_graph: int, replays: int) -> None:
        fake = FakeCard(launch_ms=0.0)
        found = samples(fake, lambda: fake.kernel(kernel_ms))
        assert found == pytest.approx([kernel_ms] * replays)
        assert fake.replays[-replays - 1 :] == [in_graph] * (replays + 1)  # one is thrown away

    def test_the_graph_is_sized_by_the_card_s_time_and_not_the_host_s(self) -> None:
        fake = FakeCard(launch_ms=0.1)
        assert samples(fake, lambda: fake.kernel(0.02)) == pytest.approx([0.02] * 10)
        assert fake.replays[-1] == 500

    def test_recording_it_takes_no_longer_than_the_budget(self) -> None:
        fake = FakeCard(launch_ms=1.0)
        assert samples(fake, lambda: fake.kernel(0.02)) == pytest.approx([0.02] * 10)
        assert fake.replays[-1] == pytest.approx(100, abs=3)

    def test_a_slow_call_is_captured_once(self) -> None:
        fake = FakeCard()
        samples(fake, lambda: fake.kernel(50.0))
        assert len(fake.graphs) == 1

    def test_the_first_call_is_thrown_away(self) -> None:
        fake = FakeCard(launch_ms=0.0)
        first = iter([500.0])
        samples(fake, lambda: fake.kernel(next(first, 0.5)), warmup_ms=25.0)
        assert fake.launched == 51

    def test_a_slow_launch_of_a_graph_is_no_part_of_its_time(self) -> None:
        fake = FakeCard(launch_ms=0.0, graph_launch_ms=0.15)
        assert samples(fake, lambda: fake.kernel(0.02)) == pytest.approx([0.02] * 10)


class TestFlushed:
    def test_one_sample_a_call_without_the_flush(self) -> None:
        fake = FakeCard(launch_ms=0.0)
        found = samples(fake, lambda: fake.kernel(0.5), flushed=True)
        assert found == pytest.approx([0.5] * 20 * 10)  # 20 calls a graph, 10 replays
        assert fake.replays[-1] == 20 * 4  # flush, event, call, event

    def test_fewer_calls_a_graph_than_with_a_warm_cache(self) -> None:
        fake = FakeCard(launch_ms=0.0)
        samples(fake, lambda: fake.kernel(0.001), flushed=True)
        assert fake.replays[-1] == 100 * 4

    def test_a_torch_that_cannot_time_inside_a_graph(self) -> None:
        fake = FakeCard(external_events=False)
        found = refusal(fake, lambda: fake.kernel(0.5), flushed=True)
        assert "external events" in found.reason
        assert fake.launched == 0


class TestGradients:
    def test_are_dropped_before_every_call(self) -> None:
        fake = FakeCard()
        tensor = type("Leaf", (), {"grad": None})()

        def backward() -> None:
            assert tensor.grad is None
            tensor.grad = 1.0
            fake.kernel(0.5)

        assert isinstance(time_by_graph(card_of(fake), timed(backward, grads=(tensor,)), flushed=False), list)
        tensor.grad = None
        assert time_warm(card_of(fake), timed(backward, grads=(tensor,)))


class TestStreams:
    def test_all_on_one_side_stream_behind_the_suite_s_work(self) -> None:
        fake = FakeCard()
        seen = set()
        card = card_of(fake)

        def call() -> None:
            seen.add(fake.current)
            fake.kernel(0.5)

        time_by_graph(card, timed(call), flushed=False)
        time_by_graph(card, timed(call), flushed=False)
        assert seen == {card.side}
        assert card.side.waited_for == ["home", "home"]
        assert fake.home.waited_for == ["side", "side"]
        assert fake.current is fake.home

    def test_graphs_give_their_memory_back(self) -> None:
        fake = FakeCard()
        for _ in range(3):
            samples(fake, lambda: fake.kernel(0.02))
        assert len(fake.graphs) == 6
        assert all(graph.released for graph in fake.graphs)


class TestFailures:
    def test_a_host_synchronisation_refuses_the_capture(self) -> None:
        fake = FakeCard()

        def call() -> None:
            fake.kernel(0.5)
            fake.item()

        found = refusal(fake, call)
        # The first error, and not that the capture could not be ended; no hints.
        assert found == Refusal(phase=Phase.CAPTURE, reason=f"RuntimeError: {fake_timing.REFUSED}")
        assert fake.current is fake.home

    def test_the_allocator_stops_recording_into_a_pool_whose_capture_failed(self) -> None:
        fake = FakeCard()
        refusal(fake, fake.item)
        assert fake.ended_pools == fake.released_pools == [(0, 1)]

    def test_an_error_that_ends_the_capture_well_only_drops_the_graph(self) -> None:
        fake = FakeCard()

        def call() -> None:
            fake.kernel(0.5)
            if fake.capture is not None:
                raise RuntimeError("no room in the graph's pool")

        assert refusal(fake, call).reason == "RuntimeError: no room in the graph's pool"
        assert fake.ended_pools == []
        assert [graph.released for graph in fake.graphs] == [True]

    def test_a_failed_capture_does_not_poison_random_numbers(self) -> None:
        fake = FakeCard()

        def call() -> None:
            fake.rand()
            fake.kernel(0.5)
            fake.item()

        before = fake.generator.state
        refusal(fake, call)
        assert fake.generator.state is before
        fake.rand()

    def test_an_older_torch_is_poisoned_and_its_words_are_known(self) -> None:
        fake = FakeCard(old=True)
        refusal(fake, fake.item)
        with pytest.raises(RuntimeError, match="Offset increment") as poisoned:
            fake.rand()
        with pytest.raises(CapturePoisonedError):
            time_by_graph(card_of(fake), timed(fake.rand), flushed=False)
        assert poisoned

    def test_an_empty_graph_is_no_measurement(self) -> None:
        fake = FakeCard()
        found = refusal(fake, lambda: None)
        assert found == Refusal(phase=Phase.CAPTURE, reason="captured nothing")

    def test_an_empty_graph_between_flushes_is_none_either(self) -> None:
        assert refusal(FakeCard(), lambda: None, flushed=True).reason == "captured nothing"

    def test_at_replay(self) -> None:
        fake = FakeCard()

        def fail() -> None:
            raise RuntimeError("CUDA error: out of memory" + fake_timing.HINTS)

        fake.trips["replay"] = fail
        found = refusal(fake, lambda: fake.kernel(0.5))
        assert found == Refusal(phase=Phase.REPLAY, reason="RuntimeError: CUDA error: out of memory")
        assert all(graph.released for graph in fake.graphs)

    @pytest.mark.parametrize("phase", ["warm-up", "capture", "replay"])
    def test_a_lost_context_is_never_a_refusal(self, phase: str) -> None:
        fake = FakeCard()

        def lose() -> None:
            fake.lost = fake_timing.ILLEGAL
            raise RuntimeError(fake_timing.ILLEGAL + fake_timing.HINTS)

        def call() -> None:
            fake.kernel(0.5)
            if phase == "warm-up" or (phase == "capture" and fake.capture is not None):
                lose()

        if phase == "replay":
            fake.trips["replay"] = lose
        with pytest.raises(DeviceLostError, match="illegal memory access") as lost:
            time_by_graph(card_of(fake), timed(call), flushed=False)
        assert "device-side" not in str(lost.value)
        assert lost.value.__cause__ is not None

    def test_a_card_that_does_not_answer_after_a_capture_is_poisoned(self) -> None:
        fake = FakeCard()

        def call() -> None:
            fake.kernel(0.5)
            if fake.capture is not None:
                fake.stuck = fake_timing.INVALID
                fake.item()

        with pytest.raises(CapturePoisonedError, match="previous error during capture"):
            time_by_graph(card_of(fake), timed(call), flushed=False)

    def test_an_error_that_waits_for_the_next_caller_loses_nothing(self) -> None:
        """CUDA hands some errors to whoever calls next, once."""
        fake = FakeCard()
        synchronize, left = fake.cuda.synchronize, iter([fake_timing.INVALID])

        def once() -> None:
            if fake.graphs and fake.capture is None and (said := next(left, None)):
                raise RuntimeError(said)
            synchronize()

        fake.cuda.synchronize = once
        assert refusal(fake, fake.item).phase is Phase.CAPTURE

    @pytest.mark.parametrize(
        "error",
        [
            MemoryError("no"),
            type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory."),
            type("OutOfResources", (Exception,), {})("out of resource: shared memory"),
            type("CompilationError", (Exception,), {})("at 3:4"),
            NotImplementedError("not for this dtype"),
            TypeError("missing an argument"),
            AssertionError("rank"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_what_the_operator_raises_by_itself_is_not_tried_again(self, error: Exception) -> None:
        fake = FakeCard()
        tries = []

        def call() -> None:
            tries.append(1)
            raise error

        with pytest.raises(type(error)) as raised:
            time_by_graph(card_of(fake), timed(call), flushed=False)
        assert raised.value is error
        assert len(tries) == 1

    def test_what_may_be_the_side_stream_s_fault_is_refused_in_warm_up(self) -> None:
        fake = FakeCard()

        def call() -> None:
            if fake.current is not fake.home:
                raise RuntimeError("this library only knows the default stream")

        assert refusal(fake, call).phase is Phase.WARMUP

    def test_an_interrupt_goes_through_and_leaves_order(self) -> None:
        fake = FakeCard()

        def call() -> None:
            fake.kernel(0.5)
            if fake.capture is not None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            time_by_graph(card_of(fake), timed(call), flushed=False)
        assert fake.current is fake.home
        assert all(graph.released for graph in fake.graphs)


class TestDirect:
    def test_warm_by_budget(self) -> None:
        fake = FakeCard(launch_ms=0.0)
        found = time_warm(card_of(fake), timed(lambda: fake.kernel(0.5), warmup_ms=25.0, rep_ms=100.0))
        assert found == pytest.approx([0.5] * 200)
        assert fake.launched == 1 + 5 + 50 + 200

    def test_host_work_is_part_of_the_time(self) -> None:
        fake = FakeCard(launch_ms=0.05)
        assert min(time_warm(card_of(fake), timed(lambda: fake.kernel(0.02)))) > 0.02
