"""Flash attention forward, causal and not, with grouped-query heads."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.attention import attention

from . import consts
from .base import Benchmark


class AttentionBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "B, HQ, HKV, SQ, SK, D, CAUSAL"

    def set_more_shapes(self):
        return [(1, 64, 8, 4096, 4096, 128, 1), (4, 32, 8, 512, 512, 128, 1), (1, 32, 8, 1, 4096, 128, 1)]

    def make_input(self, shape, dtype):
        b, hq, hkv, sq, sk, d, causal = shape
        q = inputs.randn((b, hq, sq, d), dtype)
        k = inputs.randn((b, hkv, sk, d), dtype)
        v = inputs.randn((b, hkv, sk, d), dtype)
        return q, k, v, bool(causal)


def torch_attention(q, k, v, causal):
    # torch aligns a causal mask with the first key, a cache with the last: the explicit mask says which.
    mask = None
    if causal and q.shape[2] != k.shape[2]:
        ones = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
        mask, causal = ones.tril(k.shape[2] - q.shape[2]), False
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=True)


@pytest.mark.attention
def test_attention() -> None:
    bench = AttentionBenchmark(
        op_name="attention",
        torch_op=torch_attention,
        gems_op=attention,
        dtypes=consts.HALF_DTYPES,
    )
    bench.run()
