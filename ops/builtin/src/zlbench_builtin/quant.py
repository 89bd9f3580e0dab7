"""Fused quantised matmuls: int4 weights dequantised on the fly (w4a16), int8 by int8 with scales (w8a8)."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from .gemm import swizzled_tile
from .runtime import tuning_space

GROUP_SIZE = 128
_PER_WORD = 8


def _config(m: int, n: int, k: int, stages: int, warps: int) -> triton.Config:
    return triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_stages=stages, num_warps=warps)


_W4_CONFIGS = tuning_space(
    [
        _config(16, 64, 128, 3, 4),
        _config(16, 128, 64, 4, 4),
        _config(64, 128, 64, 2, 4),
        _config(128, 128, 64, 2, 8),
    ]
)


def _prune_w4(configs: list[triton.Config], named_args: dict[str, Any], **_: Any) -> list[triton.Config]:
    """Decode reads weights only (skinny tiles); prefill reuses each dequantised tile over many rows."""
    skinny = named_args["M"] <= 32
    return [config for config in configs if (config.kwargs["BLOCK_M"] < 32) == skinny] or configs


@triton.autotune(configs=_W4_CONFIGS, key=["M", "N", "K"], prune_configs_by={"early_config_prune": _prune_w4})
@triton.jit
def mm_w4a16_kernel(
    a_ptr, w_ptr, scale_ptr, zero_ptr, c_ptr, M, N, K, stride_am, stride_wk, stride_sk, stride_zk, stride_cm,
    GROUP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tl.static_assert(GROUP % BLOCK_K == 0, "a K tile must lie in one quantisation group")
    pid_m, pid_n = swizzled_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), 8)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    col_in = cols < N
    a = a_ptr + (rows % M).to(tl.int64)[:, None] * stride_am + ks[None, :]
    # Eight nibbles a word along K: eight rows of the tile read the same word, which the cache serves.
    w = w_ptr + (ks // 8).to(tl.int64)[:, None] * stride_wk + cols[None, :]
    nibble = (ks % 8 * 4)[:, None]
    # Zero points are packed the same way along N.
    zero_nibble = cols % 8 * 4
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        group = k // GROUP
        scale = tl.load(scale_ptr + group * stride_sk + cols, mask=col_in, other=0.0)
        zero_word = tl.load(zero_ptr + group * stride_zk + cols // 8, mask=col_in, other=0)
        zero = (zero_word >> zero_nibble) & 0xF
        q = (tl.load(w, mask=col_in[None, :], other=0) >> nibble) & 0xF
        dequantised = (q - zero[None, :]).to(tl.float32) * scale[None, :].to(tl.float32)
        acc = tl.dot(tl.load(a), dequantised.to(a_ptr.dtype.element_ty), acc)
        a += BLOCK_K
        w += (BLOCK_K // 8) * stride_wk
    c = c_ptr + rows.to(tl.int64)[:, None] * stride_cm + cols[None, :]
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & col_in[None, :])


def mm_w4a16(a: torch.Tensor, w: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor) -> torch.Tensor:
    """a [M, K] times int4 weights, AWQ/GPTQ layout.

    w is int32 [K/8, N] (eight nibbles along K, lowest first), scales [K/128, N], zeros int32 [K/128, N/8].
    K is a multiple of 128, N of 8.
    """
    (m, k), n = a.shape, w.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    strides = (a.stride(0), w.stride(0), scales.stride(0), zeros.stride(0), c.stride(0))
    mm_w4a16_kernel[grid](a, w, scales, zeros, c, m, n, k, *strides, GROUP=GROUP_SIZE)
    return c


def _unpack(words: torch.Tensor, dim: int) -> torch.Tensor:
    shifts = torch.arange(0, 4 * _PER_WORD, 4, dtype=torch.int32, device=words.device)
    nibbles = (words.unsqueeze(dim + 1) >> shifts.view(-1, *[1] * (words.dim() - dim - 1))) & 0xF
    return nibbles.flatten(dim, dim + 1)


def dequantise_w4(w: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor) -> torch.Tensor:
    """Torch reference of the weights, [K, N] in the dtype of `scales`."""
    q, z = _unpack(w, 0), _unpack(zeros, 1)
    return (q - z.repeat_interleave(GROUP_SIZE, 0)).to(scales.dtype) * scales.repeat_interleave(GROUP_SIZE, 0)


@triton.jit
def mm_w8a8_kernel(
    a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, M, N, K, stride_am, stride_bn, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    pid_m, pid_n = swizzled_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), 8)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    a = a_ptr + (rows % M).to(tl.int64)[:, None] * stride_am + ks[None, :]
    # Weights are [N, K]: int8 tensor cores want both operands contiguous along K.
    b = b_ptr + ks[:, None] + (cols % N).to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.int32)
    for k in range(0, K, BLOCK_K):
        left = K - k
        a_tile = tl.load(a, mask=ks[None, :] < left, other=0)
        b_tile = tl.load(b, mask=ks[:, None] < left, other=0)
        acc = tl.dot(a_tile, b_tile, acc, out_dtype=tl.int32)
        a += BLOCK_K
        b += BLOCK_K
    row_in = rows < M
    col_in = cols < N
    a_scale = tl.load(a_scale_ptr + rows, mask=row_in, other=0.0)
    b_scale = tl.load(b_scale_ptr + cols, mask=col_in, other=0.0)
    out = acc.to(tl.float32) * a_scale[:, None] * b_scale[None, :]
    c = c_ptr + rows.to(tl.int64)[:, None] * stride_cm + cols[None, :]
    tl.store(c, out.to(c_ptr.dtype.element_ty), mask=row_in[:, None] & col_in[None, :])


def mm_w8a8(
    a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """int8 a [M, K] times int8 b [N, K]ᵀ, scaled per row of a and per row of b (fp32), result in `dtype`."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    block_m = 128 if m > 64 else 32
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, 128),)
    mm_w8a8_kernel[grid](
        a, b, a_scale, b_scale, c, m, n, k, a.stride(0), b.stride(0), c.stride(0),
        BLOCK_M=block_m, BLOCK_N=128, BLOCK_K=64, num_stages=3, num_warps=8 if block_m == 128 else 4,
    )  # fmt: skip
    return c
