"""masked_select: count, scan, read the size, compact."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.compact import masked_select

from .base import Benchmark


class MaskedSelectBenchmark(Benchmark):
    def set_more_shapes(self):
        return [(64, 50257), (4096, 4096), (1, 1000003)]

    def make_input(self, shape, dtype):
        return inputs.randn(shape, dtype), inputs.mask(shape, 0.3)


@pytest.mark.masked_select
def test_masked_select() -> None:
    bench = MaskedSelectBenchmark(
        op_name="masked_select",
        torch_op=torch.masked_select,
        gems_op=masked_select,
    )
    bench.run()
