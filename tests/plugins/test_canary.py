"""Which rows get a baseline, and which baselines are the operator itself: the cases that a suite of 700 files holds."""

from __future__ import annotations

import functools
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zlbench_plugins.canary import baseline_is_independent, wants_baseline

from zlbench.cells import CellSpec


def spec(baseline: str, side: str = "A") -> CellSpec:
    return CellSpec(
        cell=f"mm/{side}", op="mm", side=side, node="/s/test_mm.py::test_mm", suite_root="/s", package="gems",
        out_dir="/out", backend="cuda", timer="cuda_graph", baseline=baseline,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("baseline", "rows"),
    [("all", {(0, 0), (0, 1), (1, 0), (1, 1)}), ("none", set()), ("canary", {(0, 0), (1, 0)})],
)
def test_rows_with_a_baseline(baseline: str, rows: set[tuple[int, int]]) -> None:
    places = [(dtype, row) for dtype in (0, 1) for row in (0, 1)]
    assert {place for place in places if wants_baseline(spec(baseline), *place)} == rows


@given(st.sampled_from(["all", "canary", "none"]), st.integers(0, 9), st.integers(0, 99))
def test_both_sides_take_the_same_rows(baseline: str, dtype: int, row: int) -> None:
    assert wants_baseline(spec(baseline, "A"), dtype, row) == wants_baseline(spec(baseline, "B"), dtype, row)


def test_a_row_without_a_place_is_no_canary_by_accident() -> None:
    with pytest.raises(ValueError, match="no such row"):
        wants_baseline(spec("canary"), 0, -1)


def function(module: str) -> Any:
    made = types.FunctionType((lambda *_: None).__code__, {"__name__": module}, "op")
    assert made.__module__ == module
    return made


class Kernel:
    """A callable object, as an operator of a suite may be."""

    def __call__(self) -> None:
        """Do nothing."""

    def method(self) -> None:
        """Do nothing."""


def wrapped_by_the_benchmark() -> Any:
    @functools.wraps(function("gems.ops.mm"))
    def wrapper() -> None:
        """Do nothing."""

    return wrapper


SAME = function("benchmark.test_mm")


@pytest.mark.parametrize(
    ("torch_op", "gems_op", "independent"),
    [
        pytest.param(function("torch.nn.functional"), function("gems.ops"), True, id="torch's own"),
        pytest.param(len, None, True, id="a builtin"),
        pytest.param(None, None, True, id="none at all"),
        pytest.param(lambda: None, None, True, id="a lambda"),
        pytest.param(function("benchmark.test_mm"), function("benchmark.test_mm"), True, id="of the benchmark's file"),
        pytest.param(function("gems.ops.mm"), None, False, id="of the suite"),
        pytest.param(function("gems"), None, False, id="of the suite's top"),
        pytest.param(function("gems_reference"), None, True, id="of a package whose name begins alike"),
        pytest.param(functools.partial(function("gems.ops.mm"), 1), None, False, id="partial of the suite's"),
        pytest.param(wrapped_by_the_benchmark(), None, False, id="decorated function of the suite"),
        pytest.param(SAME, SAME, False, id="the operator itself"),
        pytest.param(functools.partial(SAME, 1), functools.partial(SAME, 2), False, id="itself, bound twice"),
        pytest.param(Kernel().method, None, True, id="a method from elsewhere"),
        pytest.param(Kernel(), None, True, id="an object from elsewhere"),
    ],
)  # fmt: skip
def test_what_is_independent(torch_op: Any, gems_op: Any, independent: bool) -> None:
    bench = types.SimpleNamespace(torch_op=torch_op, gems_op=gems_op)
    assert baseline_is_independent(bench, "gems", launched=False) is independent
    # Whatever its name says: what launched kernels went through the compiler.
    assert baseline_is_independent(bench, "gems", launched=True) is False


def test_an_object_of_the_suite_is_known_by_its_class() -> None:
    kernel = type("JitFunction", (Kernel,), {"__module__": "gems.runtime"})()
    assert not baseline_is_independent(types.SimpleNamespace(torch_op=kernel), "gems", launched=False)
