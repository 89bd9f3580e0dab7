"""int8 by int8 matmul with per-row scales (SmoothQuant, LLM.int8 style)."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.quant import mm_w8a8

from . import consts
from .base import Benchmark


class W8A8Benchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "M, N, K"

    def set_more_shapes(self):
        return [(1, 4096, 4096), (2048, 28672, 8192), (1000, 1000, 1000)]

    def make_input(self, shape, dtype):
        m, n, k = shape
        return (
            inputs.randint(-127, 128, (m, k), torch.int8),
            inputs.randint(-127, 128, (n, k), torch.int8),
            inputs.rand((m,), torch.float32),
            inputs.rand((n,), torch.float32),
            dtype,
        )


def torch_mm_w8a8(a, b, a_scale, b_scale, dtype):
    # torch._int_mm refuses few rows; fp32 holds these sums closely enough for a reference.
    return ((a.float() @ b.float().T) * a_scale[:, None] * b_scale[None, :]).to(dtype)


@pytest.mark.mm_w8a8
def test_mm_w8a8() -> None:
    bench = W8A8Benchmark(
        op_name="mm_w8a8",
        torch_op=torch_mm_w8a8,
        gems_op=mm_w8a8,
        dtypes=consts.HALF_DTYPES,
    )
    bench.run()
