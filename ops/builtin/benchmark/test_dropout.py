"""dropout with Philox random numbers."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.pointwise import dropout

from .base import Benchmark


class DropoutBenchmark(Benchmark):
    def set_more_shapes(self):
        return [(1500, 1280), (4096, 14336), (1, 1000003)]

    def make_input(self, shape, dtype):
        return inputs.randn(shape, dtype), 0.1


@pytest.mark.dropout
def test_dropout() -> None:
    bench = DropoutBenchmark(
        op_name="dropout",
        torch_op=lambda x, p: torch.native_dropout(x, p, True),
        gems_op=dropout,
    )
    bench.run()
