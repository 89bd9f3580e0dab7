"""layer_norm with affine parameters."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.norm import layer_norm

from .base import Benchmark


class LayerNormBenchmark(Benchmark):
    def set_more_shapes(self):
        return [(2048, 1024), (2048, 5120), (512, 12288), (1, 768)]

    def make_input(self, shape, dtype):
        n = shape[-1]
        return inputs.randn(shape, dtype), inputs.randn((n,), dtype), inputs.randn((n,), dtype)


@pytest.mark.layer_norm
def test_layer_norm() -> None:
    bench = LayerNormBenchmark(
        op_name="layer_norm",
        torch_op=lambda x, w, b: torch.nn.functional.layer_norm(x, w.shape, w, b),
        gems_op=layer_norm,
    )
    bench.run()
