"""conv2d as implicit GEMM."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.conv import conv2d

from .base import Benchmark


class Conv2dBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "N, C, H, W, F, KERNEL, STRIDE, PAD"

    def set_more_shapes(self):
        return [
            (16, 64, 56, 56, 256, 1, 1, 0),
            (16, 128, 56, 56, 128, 3, 2, 1),
            (16, 512, 7, 7, 512, 3, 1, 1),
        ]

    def make_input(self, shape, dtype):
        n, c, h, w, f, kernel, stride, pad = shape
        x = inputs.randn((n, c, h, w), dtype)
        # Scaled as in an initialised network, so that half precision results stay near one.
        weight = inputs.randn((f, c, kernel, kernel), dtype, scale=(c * kernel * kernel) ** -0.5)
        return x, weight, {"stride": stride, "padding": pad}


@pytest.mark.conv2d
def test_conv2d() -> None:
    bench = Conv2dBenchmark(
        op_name="conv2d",
        torch_op=torch.nn.functional.conv2d,
        gems_op=conv2d,
    )
    bench.run()
