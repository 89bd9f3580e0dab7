"""How calls become a latency: the suite's own `get_latency`, with our timers where it looks for Triton's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fakes import fake_timing
from fakes.fake_timing import FakeCard
from fakes.suites import lines
from zlbench_plugins import timing
from zlbench_plugins.capture_errors import CapturePoisonedError, DeviceLostError
from zlbench_plugins.context import CellContext
from zlbench_plugins.timing import Measurement, measure

from zlbench import backend as backends
from zlbench.cells import CellSpec
from zlbench.errors import UsageError


class OwnLoop:
    """A benchmark whose timer gives the numbers of a list, in order."""

    op_name = "mm"
    is_backward = False

    def __init__(self, *latencies: float) -> None:
        self.latencies = list(latencies)
        self.asked: list[str] = []

    def torch_op(self) -> None: ...

    def gems_op(self) -> None: ...

    def get_latency(self, op: Any) -> float:
        self.asked.append(op.__name__)
        return self.latencies.pop(0)


def context(tmp_path: Path, **changed: Any) -> CellContext:
    spec = CellSpec(
        cell="mm/A", op="mm", side="A", node="n", suite_root="/s", package="gems", out_dir=str(tmp_path),
        backend="cuda", timer="direct",
    )  # fmt: skip
    return CellContext(replace(spec, **changed))


class TestOwnLoop:
    def test_one_call_is_the_latency(self, tmp_path: Path) -> None:
        bench = OwnLoop(3.0)
        found = measure(context(tmp_path), bench, None, [], {})
        assert (found.latency_ms, found.baseline_ms, bench.asked) == (3.0, None, ["gems_op"])

    def test_the_median_of_several_calls_counts(self, tmp_path: Path) -> None:
        bench = OwnLoop(9.0, 7.0, 8.0, 1.0, 5.0, 2.0)
        found = measure(context(tmp_path, direct_repeat=3, baseline="all"), bench, None, [], {})
        assert (found.baseline_ms, found.latency_ms) == (8.0, 2.0)
        assert bench.asked == ["torch_op"] * 3 + ["gems_op"] * 3

    def test_is_never_called_a_graph_s(self, tmp_path: Path) -> None:
        found = measure(context(tmp_path, direct_repeat=3, timer="cuda_graph"), OwnLoop(3.0, 1.0, 2.0), None, [], {})
        assert (found.latency_ms, found.timer, found.l2, found.fallback) == (2.0, "direct", None, None)

    def test_a_row_may_leave_its_baseline_out(self, tmp_path: Path) -> None:
        bench = OwnLoop(3.0)
        assert measure(context(tmp_path, baseline="all"), bench, None, [], {}, baseline=False).baseline_ms is None
        assert bench.asked == ["gems_op"]

    @pytest.mark.parametrize("number", [0.0, -1.0, float("nan"), float("inf")])
    def test_no_time_is_made_up(self, tmp_path: Path, number: float) -> None:
        with pytest.raises(ValueError, match=str(number)):
            measure(context(tmp_path, direct_repeat=2), OwnLoop(1.0, number), None, [], {})


TRITON_MS = 7.0


class TritonTimers:
    """Triton's testing module: its timers call three times and say 7 ms."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.module = ModuleType("triton.testing")
        self.module.do_bench = self._timer("do_bench")  # type: ignore[attr-defined]
        self.module.do_bench_cudagraph = self._timer("do_bench_cudagraph")  # type: ignore[attr-defined]

    def _timer(self, name: str) -> Callable[..., Any]:
        def timer(fn: Callable[[], object], **given: Any) -> Any:
            self.asked.append({"timer": name, **given})
            for _ in range(3):
                fn()
            width = len(given["quantiles"]) if given.get("quantiles") else 3 if given["return_mode"] == "all" else 0
            return [TRITON_MS] * width or TRITON_MS

        return timer


class Bench:
    """A benchmark as FlagGems' are: it asks Triton's timer at the time of the call."""

    op_name = "softmax"
    is_backward = False

    def __init__(self, gems: Callable[[], object], torch: Callable[[], object] | None = None, **asked: Any) -> None:
        self.gems_op, self.torch_op = gems, torch or gems
        self.timer = asked.pop("timer", "do_bench")
        self.asked = {"warmup": 25, "rep": 100, "return_mode": "median", "grad_to_none": None, **asked}

    def get_latency(self, op: Callable[[], object], *args: Any, **kwargs: Any) -> Any:
        fn = lambda: op(*args, **kwargs)  # noqa: E731 - as the suite writes it
        if self.timer == "do_bench_cudagraph":
            self.asked.pop("warmup", None)
        found = getattr(sys.modules["triton.testing"], self.timer)(fn, **self.asked)
        return found[0] if isinstance(found, list) else found


class Setup:
    """A fake card, Triton's timers and a cell."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **fake: Any) -> None:
        self.fake = FakeCard(**fake)
        self.testing = TritonTimers()
        self.fake.install(monkeypatch, testing=self.testing.module)
        self.out = tmp_path
        self.contexts: list[CellContext] = []

    def measure(self, bench: Any, *, capture: bool = True, row: str = "softmax|f16|1", **changed: Any) -> Measurement:
        changed = {"timer": "cuda_graph", "l2": "warm", "baseline": "none", **changed}
        self.context = context(self.out, **changed)
        self.contexts.append(self.context)
        self.context.row = row
        before = dict(vars(self.testing.module))
        try:
            return measure(self.context, bench, None, [], {}, capture=capture)
        finally:
            assert vars(self.testing.module) == before, "Triton's own timers are back"
            assert self.fake.current is self.fake.home

    def kernel(self, ms: float = 0.02) -> Callable[[], None]:
        return lambda: self.fake.kernel(ms)

    def synchronising(self, ms: float = 0.02) -> Callable[[], None]:
        def call() -> None:
            self.fake.kernel(ms)
            self.fake.item()

        return call

    def markers(self) -> list[str]:
        events = lines(self.out / "events.jsonl")
        return [f"{event['marker']} {event['text']}" for event in events if event["event"] == "marker"]


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    made = Setup(tmp_path, monkeypatch)
    yield made
    for cell in made.contexts:
        if cell.events._stream is not None:
            cell.events._stream.close()


class TestGraph:
    @pytest.mark.parametrize("timer", ["do_bench", "do_bench_cudagraph"])
    def test_stands_in_for_triton_s_timers(self, setup: Setup, timer: str) -> None:
        found = setup.measure(Bench(setup.kernel(0.02), setup.kernel(0.04), timer=timer), baseline="all")
        assert (found.timer, found.baseline_timer) == ("cuda_graph", "cuda_graph")
        assert (found.latency_ms, found.baseline_ms) == (pytest.approx(0.02), pytest.approx(0.04))
        assert (found.l2, found.fallback) == ("warm", None)
        assert setup.testing.asked == []
        assert setup.markers() == []

    def test_is_timed_once_whatever_the_direct_repeat(self, setup: Setup) -> None:
        setup.measure(Bench(setup.kernel()), direct_repeat=5)
        assert len(setup.fake.graphs) == 2

    @pytest.mark.parametrize("mode", ["median", "mean", "min", "max"])
    def test_serves_every_single_number(self, setup: Setup, mode: str) -> None:
        assert setup.measure(Bench(setup.kernel(), return_mode=mode)).timer == "cuda_graph"

    def test_flushed(self, setup: Setup) -> None:
        found = setup.measure(Bench(setup.kernel(0.5)), l2="flushed")
        assert (found.timer, found.l2, found.latency_ms) == ("cuda_graph", "flushed", pytest.approx(0.5))

    def test_a_backward_pass_has_its_forward_pass_on_the_same_stream(self, setup: Setup) -> None:
        streams = []

        class Backward(Bench):
            is_backward = True

            def get_latency(self, op: Any, *args: Any, **kwargs: Any) -> Any:
                streams.append(setup.fake.current)
                return super().get_latency(op, *args, **kwargs)

        assert setup.measure(Backward(setup.kernel())).timer == "cuda_graph"
        assert streams != [setup.fake.home]

    def test_what_torch_fills_for_a_capture_is_no_launch_of_the_row(self, setup: Setup) -> None:
        during: list[tuple[str, bool]] = []
        setup.fake.trips["begin"] = lambda: during.append(("begin", setup.context.sweeping))
        setup.fake.trips["replay"] = lambda: during.append(("replay", setup.context.sweeping))

        def call() -> None:
            during.append(("call", setup.context.sweeping))
            setup.fake.kernel(0.02)

        setup.measure(Bench(call))
        assert set(during) == {("begin", True), ("replay", True), ("call", False)}


class TestStepsAside:
    @pytest.mark.parametrize("asked", [{"quantiles": [0.5, 0.2, 0.8]}, {"return_mode": "all"}])
    def test_where_more_than_one_number_is_asked_for(self, setup: Setup, asked: dict[str, Any]) -> None:
        found = setup.measure(Bench(setup.kernel(), **asked), direct_repeat=5)
        assert (found.latency_ms, found.timer, found.l2) == (TRITON_MS, "direct", None)
        assert len(setup.testing.asked) == 1  # several calls of it have no median

    def test_for_a_sweep(self, setup: Setup) -> None:
        def sweep() -> None:
            setup.context.sweeping = True
            sys.modules["triton.testing"].do_bench(setup.kernel(), rep=3, return_mode="mean")
            setup.context.sweeping = False

        class Tuned(Bench):
            def get_latency(self, op: Any, *args: Any, **kwargs: Any) -> Any:
                sweep()
                return super().get_latency(op, *args, **kwargs)

        assert setup.measure(Tuned(setup.kernel())).timer == "cuda_graph"
        assert setup.testing.asked == [{"timer": "do_bench", "rep": 3, "return_mode": "mean"}]

    def test_for_an_operator_that_times_its_own_variants(self, setup: Setup) -> None:
        first = iter([True])

        def choose() -> None:
            if next(first, False):
                sys.modules["triton.testing"].do_bench(setup.kernel(), warmup=1, rep=1, return_mode="median")
            setup.fake.kernel(0.02)

        found = setup.measure(Bench(choose))
        assert (found.timer, found.latency_ms) == ("cuda_graph", pytest.approx(0.02))
        assert [asked["rep"] for asked in setup.testing.asked] == [1]

    def test_for_whoever_kept_the_stand_in(self, setup: Setup) -> None:
        kept: list[Any] = []

        class Keeping(Bench):
            def get_latency(self, op: Any, *args: Any, **kwargs: Any) -> Any:
                kept.append(sys.modules["triton.testing"].do_bench)
                return super().get_latency(op, *args, **kwargs)

        setup.measure(Keeping(setup.kernel()))
        assert kept[0](setup.kernel(), return_mode="median") == TRITON_MS

    def test_for_a_suite_that_has_a_timer_of_its_vendor(self, setup: Setup) -> None:
        class Ascend(Bench):
            def get_latency(self, op: Any, *args: Any, **kwargs: Any) -> Any:
                op()
                return 3.0

        found = setup.measure(Ascend(setup.kernel()))
        assert (found.timer, found.latency_ms, found.l2) == ("direct", 3.0, None)


class TestFallback:
    def test_is_said_and_recorded(self, setup: Setup) -> None:
        found = setup.measure(Bench(setup.synchronising()), direct_repeat=3)
        reason = f"RuntimeError: {fake_timing.REFUSED}"
        assert found.timer == "direct"
        assert found.fallback == {"phase": "capture", "reason": reason, "repeat": 3}
        assert setup.markers() == [
            f"BENCHMARK_DIRECT_NO_CUDAGRAPH row=softmax|f16|1 of=operator phase=capture reason={reason} repeat=3"
        ]
        assert len(setup.fake.graphs) == 1  # tried once, not once a repetition

    def test_keeps_the_cache_of_the_caliber(self, setup: Setup) -> None:
        warm = setup.measure(Bench(setup.synchronising()), l2="warm")
        assert (warm.l2, setup.testing.asked) == ("warm", [])
        flushed = setup.measure(Bench(setup.synchronising()), l2="flushed")
        assert (flushed.l2, flushed.latency_ms) == ("flushed", TRITON_MS)
        assert [asked["timer"] for asked in setup.testing.asked] == ["do_bench"]

    def test_runs_on_the_suite_s_own_stream(self, setup: Setup) -> None:
        streams = []

        def call() -> None:
            streams.append(setup.fake.current)
            setup.fake.kernel(0.02)
            setup.fake.item()

        setup.measure(Bench(call))
        assert streams[-1] is setup.fake.home

    def test_of_a_backward_pass_leaves_the_side_stream(self, setup: Setup) -> None:
        streams = []

        def call() -> None:
            streams.append(setup.fake.current)
            setup.fake.kernel(0.02)
            setup.fake.item()

        bench = Bench(call)
        bench.is_backward = True
        assert setup.measure(bench).timer == "direct"
        assert streams[0] is not setup.fake.home
        assert streams[-1] is setup.fake.home

    def test_in_a_benchmark_that_times_twice_holds_for_both(self, setup: Setup) -> None:
        class Twice(Bench):
            def get_latency(self, op: Any, *args: Any, **kwargs: Any) -> Any:
                return super().get_latency(op) + super().get_latency(setup.kernel(0.02))

        assert setup.measure(Twice(setup.synchronising())).timer == "direct"
        assert len(setup.fake.graphs) == 1

    def test_of_a_baseline_is_the_baseline_s(self, setup: Setup) -> None:
        found = setup.measure(Bench(setup.kernel(), setup.synchronising()), baseline="all")
        assert (found.timer, found.baseline_timer, found.fallback) == ("cuda_graph", "direct", None)
        assert " of=baseline " in setup.markers()[0]

    def test_an_operator_that_the_family_never_captures(self, setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
        family = replace(backends.get("cuda"), never_captured=("softmax",))
        monkeypatch.setattr(timing.backends, "get", lambda _: family)
        found = setup.measure(Bench(setup.kernel()))
        assert found.timer == "direct"
        assert found.fallback is not None
        assert found.fallback["reason"] == "never captured on cuda"
        assert setup.fake.graphs == []

    def test_a_row_whose_capture_poisoned_a_process(self, setup: Setup) -> None:
        found = setup.measure(Bench(setup.kernel()), capture=False)
        assert (found.timer, setup.fake.graphs) == ("direct", [])
        assert found.fallback is not None
        assert found.fallback["phase"] == "capture"

    def test_a_direct_cell_has_none(self, setup: Setup) -> None:
        found = setup.measure(Bench(setup.synchronising()), timer="direct", l2="flushed")
        assert (found.timer, found.fallback, found.latency_ms) == ("direct", None, TRITON_MS)
        assert setup.markers() == []

    def test_mode_cudagraph_of_a_direct_cell_is_direct(self, setup: Setup) -> None:
        found = setup.measure(Bench(setup.kernel(), timer="do_bench_cudagraph"), timer="direct", l2="flushed")
        assert (found.timer, [asked["timer"] for asked in setup.testing.asked]) == ("direct", ["do_bench"])

    def test_the_operator_s_own_error_arrives_as_it_is(self, setup: Setup) -> None:
        error = MemoryError("CUDA out of memory")

        def call() -> None:
            raise error

        with pytest.raises(MemoryError) as raised:
            setup.measure(Bench(call))
        assert raised.value is error
        assert setup.markers() == []


class TestLost:
    @pytest.mark.parametrize("timer", ["cuda_graph", "direct"])
    def test_a_lost_context(self, setup: Setup, timer: str) -> None:
        def call() -> None:
            setup.fake.lost = fake_timing.ILLEGAL
            setup.fake.item()

        with pytest.raises(DeviceLostError, match="illegal memory access"):
            setup.measure(Bench(call), timer=timer)

    def test_a_process_that_a_capture_made_unusable(self, setup: Setup) -> None:
        def call() -> None:
            setup.fake.kernel(0.02)
            if setup.fake.capture is not None:
                setup.fake.stuck = fake_timing.INVALID
                setup.fake.item()

        with pytest.raises(CapturePoisonedError):
            setup.measure(Bench(call))
        assert [marker.split()[:2] for marker in setup.markers()] == [
            ["BENCHMARK_CAPTURE_POISONED", "row=softmax|f16|1"]
        ]

    def test_never_poisoned_twice(self, setup: Setup) -> None:
        """A fresh process captures nothing for this row, so its error is the row's own."""

        def call() -> None:
            raise RuntimeError(fake_timing.POISONED)

        with pytest.raises(RuntimeError) as raised:
            setup.measure(Bench(call), capture=False)
        assert not isinstance(raised.value, CapturePoisonedError)


class TestParallel:
    def test_a_suite_that_spreads_over_cards(self, setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
        conftest = ModuleType("benchmark.conftest")
        conftest.Config = SimpleNamespace(parallel=8)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "benchmark.conftest", conftest)
        with pytest.raises(UsageError, match="several cards"):
            setup.measure(Bench(setup.kernel()))

    def test_one_of_the_suite_s_own_workers(self, setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FLAGGEMS_BENCH_PARALLEL_WORKER", "1")
        with pytest.raises(UsageError) as refused:
            setup.measure(Bench(setup.kernel()))
        assert "--parallel-warmup" in refused.value.hint


class TestBaseline:
    """A baseline is a control: it costs the operator nothing."""

    def test_one_that_fails_is_written_down_and_the_operator_is_timed(self, setup: Setup) -> None:
        def broken() -> None:
            raise NotImplementedError("not for this dtype")

        found = setup.measure(Bench(setup.kernel(), broken), baseline="all")
        assert found.latency_ms is not None
        assert (found.baseline_ms, found.baseline_error) == (None, "NotImplementedError: not for this dtype")

    def test_one_with_a_time_has_no_error(self, setup: Setup) -> None:
        found = setup.measure(Bench(setup.kernel()), baseline="all")
        assert (found.baseline_error, found.baseline_fallback) == (None, None)
        assert found.baseline_ms is not None
