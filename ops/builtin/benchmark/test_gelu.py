"""gelu, by erf and by tanh."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.pointwise import gelu

from .base import Benchmark


class GeluBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "M, N, TANH"

    def set_more_shapes(self):
        return [(4096, 14336, 0), (1, 1000003, 1), (64, 64, 0)]

    def make_input(self, shape, dtype):
        m, n, tanh = shape
        return inputs.randn((m, n), dtype), {"approximate": "tanh" if tanh else "none"}


@pytest.mark.gelu
def test_gelu() -> None:
    bench = GeluBenchmark(
        op_name="gelu",
        torch_op=torch.nn.functional.gelu,
        gems_op=gelu,
    )
    bench.run()
