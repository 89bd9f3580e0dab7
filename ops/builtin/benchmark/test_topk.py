"""topk: chunks, then merges."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.topk import topk

from .base import Benchmark


class TopkBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "M, N, K"

    def set_more_shapes(self):
        return [(64, 32768, 256), (1, 1048576, 10), (1024, 1024, 1)]

    def make_input(self, shape, dtype):
        m, n, k = shape
        return inputs.randn((m, n), dtype), k


@pytest.mark.topk
def test_topk() -> None:
    bench = TopkBenchmark(
        op_name="topk",
        torch_op=torch.topk,
        gems_op=topk,
    )
    bench.run()
