"""sum over rows, columns, or everything."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.reduce import sum as triton_sum

from .base import Benchmark


class SumBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "M, N, DIM"

    def set_more_shapes(self):
        return [(8, 128256, 1), (128256, 8, 0), (1500, 1280, None)]

    def make_input(self, shape, dtype):
        m, n, dim = shape
        return inputs.randn((m, n), dtype), dim


@pytest.mark.sum
def test_sum() -> None:
    bench = SumBenchmark(
        op_name="sum",
        torch_op=torch.sum,
        gems_op=triton_sum,
    )
    bench.run()
