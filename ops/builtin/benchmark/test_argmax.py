"""argmax along rows, in one pass or two."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.reduce import argmax

from .base import Benchmark


class ArgmaxBenchmark(Benchmark):
    def set_more_shapes(self):
        return [(1, 152064), (1024, 1024), (64, 50257)]

    def make_input(self, shape, dtype):
        return (inputs.randn(shape, dtype),)


@pytest.mark.argmax
def test_argmax() -> None:
    bench = ArgmaxBenchmark(
        op_name="argmax",
        torch_op=lambda x: torch.argmax(x, -1),
        gems_op=argmax,
    )
    bench.run()
