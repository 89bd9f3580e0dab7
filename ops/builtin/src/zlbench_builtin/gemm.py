"""mm (autotuned) and bmm (heuristics).

Dots leave `input_precision` to the compiler on purpose: TRITON_F32_DEFAULT and the tf32 default are then
part of what a comparison of builds can see.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from .runtime import pruned_to_shared_mem, tuning_space


def _config(m: int, n: int, k: int, stages: int, warps: int) -> triton.Config:
    return triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_stages=stages, num_warps=warps)


# A sensible one first: compile-only runs take the first that fits, and so do people without time for a sweep.
_MM_CONFIGS = tuning_space(
    [
        _config(128, 128, 64, 3, 8),
        _config(128, 128, 32, 3, 4),
        _config(128, 256, 64, 3, 8),
        _config(64, 128, 64, 4, 4),
        _config(64, 64, 64, 4, 4),
        _config(16, 64, 128, 4, 4),
        _config(16, 128, 64, 5, 4),
        # What is left of a skinny fp32 tile in gfx942's 64 KiB.
        _config(16, 64, 64, 2, 4),
    ]
)


def _tile_bytes(config: triton.Config, arguments: dict[str, Any]) -> int:
    """Shared memory of one software pipeline: every stage holds a tile of A and one of B."""
    kw = config.kwargs
    elements = (kw["BLOCK_M"] + kw["BLOCK_N"]) * kw["BLOCK_K"]
    return config.num_stages * elements * arguments["a_ptr"].element_size()


def _prune_mm(configs: list[triton.Config], named_args: dict[str, Any], **kwargs: Any) -> list[triton.Config]:
    """Skinny tiles for decode (few rows), wide tiles otherwise; then what fits shared memory."""
    skinny = named_args["M"] <= 32
    shaped = [config for config in configs if (config.kwargs["BLOCK_M"] < 32) == skinny] or configs
    return pruned_to_shared_mem(_tile_bytes)(shaped, named_args, **kwargs)


@triton.jit
def swizzled_tile(pid, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """Tile of program `pid` so that GROUP_M rows of tiles share their B columns in L2."""
    width = GROUP_M * tiles_n
    first_m = pid // width * GROUP_M
    group = tl.minimum(tiles_m - first_m, GROUP_M)
    return first_m + pid % width % group, pid % width // group


@triton.autotune(configs=_MM_CONFIGS, key=["M", "N", "K"], prune_configs_by={"early_config_prune": _prune_mm})
@triton.jit
def mm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid_m, pid_n = swizzled_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    # Wrap instead of masking in M and N: loads stay in bounds, the extra products are never stored.
    a = a_ptr + (rows % M).to(tl.int64)[:, None] * stride_am + ks[None, :] * stride_ak
    b = b_ptr + ks[:, None] * stride_bk + (cols % N).to(tl.int64)[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        left = K - k
        acc = tl.dot(
            tl.load(a, mask=ks[None, :] < left, other=0.0),
            tl.load(b, mask=ks[:, None] < left, other=0.0),
            acc,
        )
        a += BLOCK_K * stride_ak
        b += BLOCK_K * stride_bk
    c = c_ptr + rows.to(tl.int64)[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


def mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """[M, K] @ [K, N], fp32 accumulation, result in a's dtype. Any strides."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    mm_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    return c


def _bmm_block_k(args: dict[str, Any]) -> int:
    return 32 if args["a_ptr"].element_size() == 4 else 64


@triton.heuristics(
    {
        "BLOCK_M": lambda args: 128 if args["M"] > 64 else 64 if args["M"] > 16 else 16,
        "BLOCK_N": lambda args: 128 if args["N"] > 64 else 64,
        "BLOCK_K": _bmm_block_k,
    }
)
@triton.heuristics(
    {
        # Named after the blocks above, hence a second decorator: the outer one runs first.
        "EVEN_M": lambda args: args["M"] % args["BLOCK_M"] == 0,
        "EVEN_N": lambda args: args["N"] % args["BLOCK_N"] == 0,
        "EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0,
        "num_warps": lambda args: 8 if args["BLOCK_M"] * args["BLOCK_N"] >= 128 * 128 else 4,
        # 64 KiB of LDS on gfx942 must hold what the pipeline keeps in flight.
        "num_stages": lambda args: 2,
    }
)
@triton.jit
def bmm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_ab,
    stride_am,
    stride_ak,
    stride_bb,
    stride_bk,
    stride_bn,
    stride_cb,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    EVEN_K: tl.constexpr,
):
    batch = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    a = a_ptr + batch * stride_ab + rows[:, None] * stride_am + ks[None, :] * stride_ak
    b = b_ptr + batch * stride_bb + ks[:, None] * stride_bk + cols[None, :] * stride_bn
    row_in = tl.full([BLOCK_M], True, tl.int1) if EVEN_M else rows < M
    col_in = tl.full([BLOCK_N], True, tl.int1) if EVEN_N else cols < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            a_tile = tl.load(a, mask=row_in[:, None], other=0.0)
            b_tile = tl.load(b, mask=col_in[None, :], other=0.0)
        else:
            a_tile = tl.load(a, mask=row_in[:, None] & (ks[None, :] < K - k), other=0.0)
            b_tile = tl.load(b, mask=col_in[None, :] & (ks[:, None] < K - k), other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
        a += BLOCK_K * stride_ak
        b += BLOCK_K * stride_bk
    c = c_ptr + batch * stride_cb + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=row_in[:, None] & col_in[None, :])


def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """[B, M, K] @ [B, K, N], fp32 accumulation, result in a's dtype. Any strides."""
    (batch, m, k), n = a.shape, b.shape[2]
    c = torch.empty((batch, m, n), dtype=a.dtype, device=a.device)

    def grid(meta: dict[str, Any]) -> tuple[int, int, int]:
        return triton.cdiv(m, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"]), batch

    bmm_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    return c
