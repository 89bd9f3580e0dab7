"""Matmul with int4 weights, dequantised inside the kernel (AWQ/GPTQ layout, groups of 128); autotuned."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.quant import GROUP_SIZE, dequantise_w4, mm_w4a16

from . import consts
from .base import Benchmark


class W4A16Benchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "M, N, K"

    def set_more_shapes(self):
        return [(1, 14336, 4096), (64, 4096, 4096), (2048, 28672, 8192)]

    def make_input(self, shape, dtype):
        m, n, k = shape
        groups = k // GROUP_SIZE
        words = (-(2**31), 2**31 - 1)
        return (
            inputs.randn((m, k), dtype),
            inputs.randint(*words, (k // 8, n), torch.int32),
            inputs.randn((groups, n), dtype, scale=0.01),
            inputs.randint(*words, (groups, n // 8), torch.int32),
        )


def torch_mm_w4a16(a, w, scales, zeros):
    return a @ dequantise_w4(w, scales, zeros)


@pytest.mark.mm_w4a16
def test_mm_w4a16() -> None:
    bench = W4A16Benchmark(
        op_name="mm_w4a16",
        torch_op=torch_mm_w4a16,
        gems_op=mm_w4a16,
        dtypes=consts.HALF_DTYPES,
    )
    bench.run()
