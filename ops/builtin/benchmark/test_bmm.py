"""bmm; block sizes and mask-free paths from triton.heuristics."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.gemm import bmm

from .base import Benchmark


class BmmBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "B, M, N, K"

    def set_more_shapes(self):
        return [(16, 1024, 1024, 1024), (128, 16, 512, 128), (20, 1500, 1500, 64)]

    def make_input(self, shape, dtype):
        b, m, n, k = shape
        return inputs.randn((b, m, k), dtype), inputs.randn((b, k, n), dtype)


@pytest.mark.bmm
def test_bmm() -> None:
    bench = BmmBenchmark(
        op_name="bmm",
        torch_op=torch.bmm,
        gems_op=bmm,
    )
    bench.run()
