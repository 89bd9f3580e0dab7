"""How calls become a latency: the suite's own timer, as often as the caliber says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from zlbench_plugins.context import CellContext
from zlbench_plugins.timing import measure

from zlbench.cells import CellSpec


class Bench:
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


def test_one_call_is_the_latency(tmp_path: Path) -> None:
    bench = Bench(3.0)
    found = measure(context(tmp_path), bench, None, [], {})
    assert (found.latency_ms, found.baseline_ms, bench.asked) == (3.0, None, ["gems_op"])


def test_the_median_of_several_calls_counts(tmp_path: Path) -> None:
    bench = Bench(9.0, 7.0, 8.0, 1.0, 5.0, 2.0)
    found = measure(context(tmp_path, direct_repeat=3, baseline="all"), bench, None, [], {})
    assert (found.baseline_ms, found.latency_ms) == (8.0, 2.0)
    assert bench.asked == ["torch_op"] * 3 + ["gems_op"] * 3


def test_a_number_of_the_suite_s_own_loop_is_no_graph_s(tmp_path: Path) -> None:
    found = measure(context(tmp_path, direct_repeat=3, timer="cuda_graph"), Bench(3.0, 1.0, 2.0), None, [], {})
    assert (found.latency_ms, found.timer, found.l2, found.fallback) == (2.0, "direct", None, None)


def test_no_time_is_made_up(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="0"):
        measure(context(tmp_path, direct_repeat=2), Bench(1.0, 0.0), None, [], {})
