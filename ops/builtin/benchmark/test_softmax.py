"""softmax over the last dimension."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.softmax import softmax

from .base import Benchmark


class SoftmaxBenchmark(Benchmark):
    def set_more_shapes(self):
        # Powers of two around the block size, a row that only the online kernel takes, one lone row.
        return [(1024, 1024), (4096, 8192), (64, 50257), (1, 152064)]

    def make_input(self, shape, dtype):
        return (inputs.randn(shape, dtype),)


@pytest.mark.softmax
def test_softmax() -> None:
    bench = SoftmaxBenchmark(
        op_name="softmax",
        torch_op=lambda x: torch.softmax(x, -1),
        gems_op=softmax,
    )
    bench.run()
