"""Stable sort: bitonic for short rows, radix for long ones."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.sort import sort

from .base import Benchmark


class SortBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "M, N, DESCENDING"

    def set_more_shapes(self):
        return [(4096, 256, 0), (1, 1048576, 0), (64, 50257, 1)]

    def make_input(self, shape, dtype):
        m, n, descending = shape
        return inputs.randn((m, n), dtype), bool(descending)


@pytest.mark.sort
def test_perf_sort() -> None:
    bench = SortBenchmark(
        op_name="sort",
        torch_op=lambda x, descending: torch.sort(x, descending=descending, stable=True),
        gems_op=sort,
    )
    bench.run()
