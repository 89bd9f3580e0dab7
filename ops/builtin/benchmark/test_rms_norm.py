"""rms_norm; launch shape from triton.heuristics."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.norm import rms_norm

from .base import Benchmark


class RmsNormBenchmark(Benchmark):
    def set_more_shapes(self):
        return [(2048, 3584), (1, 4096), (4096 * 32, 128)]

    def make_input(self, shape, dtype):
        return inputs.randn(shape, dtype), inputs.randn(shape[-1:], dtype)


@pytest.mark.rms_norm
def test_rms_norm() -> None:
    bench = RmsNormBenchmark(
        op_name="rms_norm",
        torch_op=lambda x, w: torch.nn.functional.rms_norm(x, w.shape, w, 1e-6),
        gems_op=rms_norm,
    )
    bench.run()
