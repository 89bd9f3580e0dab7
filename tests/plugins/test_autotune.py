"""Autotuners in a cell: how many configs are compiled where nothing can be timed, and what a sweep's launches count."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from zlbench_plugins import autotune_pin, autotune_sweep
from zlbench_plugins._patch import PatchSet
from zlbench_plugins.autotune_pin import ConfigBudget


class TooLarge(Exception):
    pass


class Autotuner:
    """As much of Triton's as the plugins touch: a cache by key, a sweep over configs, the winner's launch."""

    def __init__(self, configs: list[str], compile_one: Callable[[str], None], wide: bool = True) -> None:
        self.configs, self.compile_one, self.wide = configs, compile_one, wide
        self.cache: dict[tuple[Any, ...], str] = {}
        self.configs_timings: dict[str, Any] = {}
        self.base_fn = SimpleNamespace(__name__="mm_kernel")
        self.do_bench: Any = None

    def _bench(self, *, config: str) -> Any:
        quantiles = (0.5, 0.2, 0.8) if self.wide else ()
        try:
            return self.do_bench(lambda: self.compile_one(config), quantiles=quantiles)
        except TooLarge:
            return [math.inf] * 3

    def run(self, key: int) -> str:
        if (key,) not in self.cache:
            self.configs_timings = {config: self._bench(config=config) for config in self.configs}
            self.cache[key,] = min(self.configs_timings, key=lambda config: self.configs_timings[config][0])
        self.compile_one(self.cache[key,])
        return self.cache[key,]


class Context(SimpleNamespace):
    def warn(self, marker: str, text: str) -> None:
        self.warned.append(f"{marker} {text}")


@pytest.fixture
def context() -> Any:
    context = Context(
        spec=SimpleNamespace(configs="first"), hooks={}, patches=PatchSet(), tunings=[], warned=[], sweeping=False,
        row="",
    )  # fmt: skip
    yield context
    context.patches.undo()


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Triton that has this autotuner and nothing else."""
    names = ("triton", "triton.runtime", "triton.runtime.autotuner")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules[names[-1]], "Autotuner", Autotuner, raising=False)


@pytest.mark.parametrize(("policy", "compiled"), [("first", 1), ("2", 2), ("7", 4), ("all", 4)])
def test_a_budget_lasts_for_so_many_configs(policy: str, compiled: int) -> None:
    budget = ConfigBudget(policy)
    calls: list[int] = []
    for _ in range(2):
        budget.start_sweep()
        calls.clear()
        times = [budget.bench(lambda n=n: calls.append(n), quantiles=(0.5, 0.2, 0.8), rep=9) for n in range(4)]
        assert calls == list(range(compiled))
        assert [time[0] for time in times] == [*map(float, range(1, compiled + 1)), *[math.inf] * (4 - compiled)]
        assert {len(time) for time in times} == {3}


def test_a_budget_answers_one_time_where_no_quantiles_are_asked_for() -> None:
    budget = ConfigBudget("first")
    assert budget.bench(lambda: None) == [1.0]
    assert budget.bench(lambda: None) == [math.inf]


def test_a_config_that_does_not_compile_uses_nothing_up() -> None:
    budget = ConfigBudget("first")

    def too_large() -> None:
        raise TooLarge

    with pytest.raises(TooLarge):
        budget.bench(too_large)
    assert budget.bench(lambda: None) == [1.0]


@pytest.mark.usefixtures("triton")
def test_an_equal_config_further_down_the_list_does_not_make_the_first_a_loser(context: Any) -> None:
    compiled: list[str] = []
    autotune_pin.install(context)
    tuner = Autotuner(["c0", "c1", "c0"], compiled.append)
    assert tuner.run(1) == "c0"
    assert compiled == ["c0", "c0"]  # in the sweep, and launched
    assert context.tunings[0]["compiled"] == ["c0"]


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize(("policy", "compiled"), [("first", ["c1"]), ("2", ["c1", "c3"]), ("all", ["c1", "c3", "c4"])])
def test_pinned_the_first_configs_that_compile_are_compiled_and_recorded(
    context: Any, policy: str, compiled: list[str]
) -> None:
    context.spec.configs = policy
    seen: list[str] = []

    def compile_one(config: str) -> None:
        if config in ("c0", "c2"):
            raise TooLarge
        seen.append(config)

    autotune_pin.install(context)
    tuner = Autotuner(["c0", "c1", "c2", "c3", "c4"], compile_one)
    assert tuner.run(64) == "c1"
    assert seen == [*compiled, "c1"]
    assert context.tunings == [
        {"kernel": "mm_kernel", "key": ["64"], "policy": policy, "chosen": "c1", "compiled": compiled, "configs": 5}
    ]
    # A key that is known is tuned no second time, another one has a budget of its own.
    tuner.run(64)
    assert len(context.tunings) == 1
    tuner.run(128)
    assert [record["key"] for record in context.tunings] == [["64"], ["128"]]
    assert context.hooks == {"autotuner": True}
    assert set(context.patches.labels()) == {"Autotuner._bench", "Autotuner.run"}


@pytest.mark.usefixtures("triton")
def test_timed_launches_of_a_sweep_are_told_from_those_of_the_row(context: Any) -> None:
    launches: list[tuple[str, bool]] = []
    autotune_sweep.install(context)
    tuner = Autotuner(["c0", "c1"], lambda config: launches.append((config, context.sweeping)))
    tuner.do_bench = lambda call, quantiles: (call(), [1.0])[1]
    tuner.run(64)
    assert launches == [("c0", True), ("c1", True), ("c0", False)]


@pytest.mark.usefixtures("triton")
def test_a_sweep_that_fails_is_over_all_the_same(context: Any) -> None:
    autotune_sweep.install(context)

    def broken(config: str) -> None:
        raise RuntimeError(config)

    tuner = Autotuner(["c0"], broken)
    tuner.do_bench = lambda call, quantiles: call()
    with pytest.raises(RuntimeError):
        tuner.run(64)
    assert context.sweeping is False


@pytest.mark.usefixtures("triton")
def test_an_autotuner_of_another_make_degrades_the_plugin_alone(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Autotuner, "_bench")
    autotune_sweep.install(context)
    assert context.hooks == {"autotuner": False}
    assert context.warned == ["IR_HOOKS_MISSING this Triton's autotuner has no _bench: sweep losers count as used"]


@pytest.mark.parametrize("plugin", [autotune_pin, autotune_sweep])
def test_without_an_autotuner_nothing_is_replaced(context: Any, plugin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    plugin.install(context)
    assert (context.hooks, context.patches.labels()) == ({"autotuner": False}, [])
