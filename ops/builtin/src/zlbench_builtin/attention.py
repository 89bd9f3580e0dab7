"""Flash attention, forward: online softmax over blocks of keys, grouped-query heads, optional causal mask."""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl

from .runtime import pruned_to_shared_mem, tuning_space

_CONFIGS = tuning_space(
    [
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_stages=2, num_warps=8),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_stages=3, num_warps=4),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128}, num_stages=2, num_warps=8),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_stages=2, num_warps=4),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 32}, num_stages=2, num_warps=4),
    ]
)


def _tile_bytes(config: triton.Config, arguments: dict[str, Any]) -> int:
    """Q once, a K and a V tile per stage."""
    rows = config.kwargs["BLOCK_M"] + 2 * config.num_stages * config.kwargs["BLOCK_N"]
    return rows * arguments["HEAD_DIM"] * arguments["q_ptr"].element_size()


@triton.jit
def _attend(
    acc, m, z, q, k_ptr, v_ptr, stride_kn, stride_vn, rows, start, end, seq_k, shift,
    BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr, MASKED: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """One run over key blocks [start, end). MASKED runs handle the diagonal and the ragged end."""
    cols = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD_DIM)
    for n in range(start, end, BLOCK_N):
        keys = n + cols
        kt = k_ptr + keys[None, :].to(tl.int64) * stride_kn + dims[:, None]
        vt = v_ptr + keys[:, None].to(tl.int64) * stride_vn + dims[None, :]
        if MASKED:
            k = tl.load(kt, mask=keys[None, :] < seq_k, other=0.0)
            v = tl.load(vt, mask=keys[:, None] < seq_k, other=0.0)
        else:
            k = tl.load(kt)
            v = tl.load(vt)
        s = tl.dot(q, k)
        if MASKED:
            seen = keys[None, :] < seq_k
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None] + shift)
            s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        # Rows that have seen nothing yet keep -inf; subtracting 0 there avoids inf - inf.
        base = tl.where(m_new == -float("inf"), 0.0, m_new) if MASKED else m_new
        p = tl.exp2(s - base[:, None])
        alpha = tl.exp2(m - base)
        z = z * alpha + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m = m_new
    return acc, m, z


@triton.autotune(
    configs=_CONFIGS,
    key=["seq_q", "seq_k", "HEAD_DIM", "CAUSAL"],
    prune_configs_by={"early_config_prune": pruned_to_shared_mem(_tile_bytes)},
)
@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale_log2,
    stride_qb, stride_qh, stride_qm, stride_kb, stride_kh, stride_kn,
    stride_vb, stride_vh, stride_vn, stride_ob, stride_oh, stride_om,
    heads, group, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    batch = (tl.program_id(1) // heads).to(tl.int64)
    head = (tl.program_id(1) % heads).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    q_tile = batch * stride_qb + head * stride_qh + rows[:, None].to(tl.int64) * stride_qm + dims[None, :]
    q = tl.load(q_ptr + q_tile, mask=rows[:, None] < seq_q, other=0.0)
    # exp2 is one instruction, so log2(e) goes into the scale; rounding q costs less than scaling every score.
    q = (q.to(tl.float32) * scale_log2).to(q.dtype)
    k_ptr += batch * stride_kb + head // group * stride_kh
    v_ptr += batch * stride_vb + head // group * stride_vh

    acc = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    m = tl.full([BLOCK_M], -float("inf"), tl.float32)
    z = tl.zeros([BLOCK_M], tl.float32)
    # Causal masks end at the last key (as with a cache): query i sees keys up to i + shift.
    shift = seq_k - seq_q
    if CAUSAL:
        last = tl.minimum(seq_k, (tl.program_id(0) + 1) * BLOCK_M + shift)
        full = tl.minimum(tl.maximum(tl.program_id(0) * BLOCK_M + shift + 1, 0), seq_k) // BLOCK_N * BLOCK_N
    else:
        last = seq_k
        full = seq_k // BLOCK_N * BLOCK_N
    acc, m, z = _attend(
        acc, m, z, q, k_ptr, v_ptr, stride_kn, stride_vn, rows, 0, full, seq_k, shift,
        BLOCK_N, HEAD_DIM, False, CAUSAL,
    )  # fmt: skip
    acc, m, z = _attend(
        acc, m, z, q, k_ptr, v_ptr, stride_kn, stride_vn, rows, full, last, seq_k, shift,
        BLOCK_N, HEAD_DIM, True, CAUSAL,
    )  # fmt: skip
    o = acc / z[:, None]
    o_tile = batch * stride_ob + head * stride_oh + rows[:, None].to(tl.int64) * stride_om + dims[None, :]
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=rows[:, None] < seq_q)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """softmax(q kᵀ / √D) v for q [B, Hq, Sq, D] and k, v [B, Hkv, Sk, D].

    Hq is a multiple of Hkv, D a power of two; a causal mask ends at the last key.
    """
    batch, heads, seq_q, dim = q.shape
    o = torch.empty_like(q)

    def grid(meta: dict[str, Any]) -> tuple[int, int]:
        return triton.cdiv(seq_q, meta["BLOCK_M"]), batch * heads

    attention_kernel[grid](
        q, k, v, o, math.log2(math.e) / math.sqrt(dim),
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *o.stride()[:3],
        heads, heads // k.shape[1], seq_q, k.shape[2],
        HEAD_DIM=dim, CAUSAL=causal,
    )  # fmt: skip
    return o
