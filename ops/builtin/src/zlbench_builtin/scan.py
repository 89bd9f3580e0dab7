"""cumsum along the last dimension, and the exclusive integer scan that sort and masked_select lean on."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_ONE_BLOCK_MAX = 4096
_CHUNK = 2048


@triton.jit
def _add(a, b):
    return a + b


@triton.jit
def cumsum_row_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
    y = tl.associative_scan(x, 0, _add)
    tl.store(y_ptr + row * N + cols, y.to(y_ptr.dtype.element_ty), mask=cols < N)


@triton.jit
def cumsum_total_kernel(x_ptr, total_ptr, N, CHUNK: tl.constexpr):
    """First pass: the sum of every chunk."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(total_ptr + row * tl.num_programs(1) + tl.program_id(1), tl.sum(x, axis=0))


@triton.jit
def cumsum_chunk_kernel(x_ptr, total_ptr, y_ptr, N, CHUNK: tl.constexpr, CHUNKS: tl.constexpr):
    """Second pass: scan the chunk on top of the totals before it; they are few, each program adds them up."""
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    before = tl.arange(0, CHUNKS)
    base = tl.sum(tl.load(total_ptr + row * tl.num_programs(1) + before, mask=before < chunk, other=0.0), axis=0)
    cols = chunk * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
    y = base + tl.associative_scan(x, 0, _add)
    tl.store(y_ptr + row * N + cols, y.to(y_ptr.dtype.element_ty), mask=cols < N)


def cumsum(x: torch.Tensor) -> torch.Tensor:
    """Inclusive prefix sums along the last dimension of [..., N], accumulated in fp32."""
    n = x.shape[-1]
    rows = x.contiguous().view(-1, n)
    m = rows.shape[0]
    y = torch.empty_like(rows)
    if n <= _ONE_BLOCK_MAX:
        block = triton.next_power_of_2(n)
        cumsum_row_kernel[(m,)](rows, y, n, BLOCK_N=block, num_warps=8 if block >= 2048 else 4 if block >= 256 else 1)
    else:
        chunks = triton.cdiv(n, _CHUNK)
        total = torch.empty((m, chunks), dtype=torch.float32, device=x.device)
        cumsum_total_kernel[(m, chunks)](rows, total, n, CHUNK=_CHUNK, num_warps=8)
        cumsum_chunk_kernel[(m, chunks)](
            rows, total, y, n, CHUNK=_CHUNK, CHUNKS=triton.next_power_of_2(chunks), num_warps=8
        )
    return y.view(x.shape)


@triton.jit
def exclusive_scan_kernel(x_ptr, y_ptr, total_ptr, N, BLOCK: tl.constexpr, TOTAL: tl.constexpr = False):
    """Row-wise exclusive scan of int32 counts, in place allowed; one program walks the row with a carry."""
    row = tl.program_id(0).to(tl.int64)
    carry = tl.zeros([1], tl.int32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0)
        tl.store(y_ptr + row * N + cols, carry + tl.cumsum(x, axis=0) - x, mask=cols < N)
        carry += tl.sum(x, axis=0)
    if TOTAL:
        tl.store(total_ptr + row + tl.arange(0, 1), carry)
