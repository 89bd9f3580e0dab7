"""cumsum along rows: one block, or totals and a second pass."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.scan import cumsum

from .base import Benchmark


class CumsumBenchmark(Benchmark):
    def set_more_shapes(self):
        return [(1024, 1024), (64, 50257), (1, 1048576)]

    def make_input(self, shape, dtype):
        return (inputs.rand(shape, dtype),)


@pytest.mark.cumsum
def test_cumsum() -> None:
    bench = CumsumBenchmark(
        op_name="cumsum",
        torch_op=lambda x: torch.cumsum(x, -1),
        gems_op=cumsum,
    )
    bench.run()
