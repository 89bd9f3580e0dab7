"""mm, autotuned."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.gemm import mm

from .base import Benchmark


class MmBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "M, N, K"

    def set_more_shapes(self):
        return [(4096, 4096, 4096), (1, 4096, 4096), (2048, 28672, 8192), (1000, 1000, 1000)]

    def make_input(self, shape, dtype):
        m, n, k = shape
        return inputs.randn((m, k), dtype), inputs.randn((k, n), dtype)


@pytest.mark.mm
def test_mm() -> None:
    bench = MmBenchmark(
        op_name="mm",
        torch_op=torch.mm,
        gems_op=mm,
    )
    bench.run()
