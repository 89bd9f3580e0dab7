"""sum (row, column, everything) and argmax."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_CHUNK = 4096
_ARGMAX_ONE_BLOCK = 1024


@triton.jit
def sum_row_kernel(x_ptr, y_ptr, N, stride, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    acc = tl.zeros([BLOCK_N], tl.float32)
    for start in range(0, N, BLOCK_N):
        acc += tl.load(x_ptr + row * stride + start + cols, mask=start + cols < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(acc, axis=0).to(y_ptr.dtype.element_ty))


@triton.jit
def sum_column_kernel(x_ptr, y_ptr, M, N, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = tl.arange(0, BLOCK_M)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, M, BLOCK_M):
        at = (start + rows)[:, None].to(tl.int64) * stride + cols[None, :]
        mask = (start + rows < M)[:, None] & (cols < N)[None, :]
        acc += tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + cols, tl.sum(acc, axis=0).to(y_ptr.dtype.element_ty), mask=cols < N)


@triton.jit
def sum_partial_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0).to(y_ptr.dtype.element_ty))


def sum(x: torch.Tensor, dim: int | None) -> torch.Tensor:
    """Sum of [M, N] over dimension 0 or 1, or over both (None); no atomics, hence deterministic."""
    m, n = x.shape
    x = x.contiguous()
    if dim is None:
        total = m * n
        blocks = triton.cdiv(total, _CHUNK)
        partial = torch.empty(blocks, dtype=torch.float32, device=x.device)
        y = torch.empty((), dtype=x.dtype, device=x.device)
        sum_partial_kernel[(blocks,)](x, partial, total, BLOCK=_CHUNK, num_warps=8)
        sum_row_kernel[(1,)](partial, y, blocks, blocks, BLOCK_N=1024, num_warps=8)
    elif dim % 2 == 1:
        y = torch.empty(m, dtype=x.dtype, device=x.device)
        block = min(triton.next_power_of_2(n), 2048)
        sum_row_kernel[(m,)](x, y, n, x.stride(0), BLOCK_N=block, num_warps=8 if block >= 2048 else 4)
    else:
        y = torch.empty(n, dtype=x.dtype, device=x.device)
        sum_column_kernel[(triton.cdiv(n, 64),)](x, y, m, n, x.stride(0), BLOCK_M=64, BLOCK_N=64, num_warps=8)
    return y


@triton.jit
def _larger(value_a, index_a, value_b, index_b):
    """The larger of two, a NaN above all, the lower index among equals: torch's order."""
    nan_a = value_a != value_a
    nan_b = value_b != value_b
    tie = (value_a == value_b) | (nan_a & nan_b)
    take_a = (nan_a & ~nan_b) | ((value_a > value_b) & ~nan_b) | (tie & (index_a < index_b))
    return tl.where(take_a, value_a, value_b), tl.where(take_a, index_a, index_b)


@triton.jit
def argmax_kernel(
    x_ptr,
    in_index_ptr,
    value_ptr,
    index_ptr,
    N,
    CHUNK: tl.constexpr,
    INDEXED: tl.constexpr,
    LAST: tl.constexpr,
):
    """Best of each chunk. INDEXED input comes from an earlier pass and brings its indices along."""
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    cols = chunk * CHUNK + tl.arange(0, CHUNK)
    mask = cols < N
    value = tl.load(x_ptr + row * N + cols, mask=mask, other=-float("inf")).to(tl.float32)
    # Padding carries the highest index, so that even a row of -inf finds a real position.
    if INDEXED:
        index = tl.load(in_index_ptr + row * N + cols, mask=mask, other=0x7FFFFFFF)
    else:
        index = tl.where(mask, cols, 0x7FFFFFFF)
    best, where = tl.reduce((value, index), 0, _larger)
    if LAST:
        tl.store(index_ptr + row, where.to(tl.int64))
    else:
        tl.store(value_ptr + row * tl.num_programs(1) + chunk, best)
        tl.store(index_ptr + row * tl.num_programs(1) + chunk, where)


def argmax(x: torch.Tensor) -> torch.Tensor:
    """int64 position of the largest value of each row of [..., N]; NaN counts as largest, ties go left."""
    n = x.shape[-1]
    rows = x.contiguous().view(-1, n)
    m = rows.shape[0]
    out = torch.empty(x.shape[:-1], dtype=torch.int64, device=x.device)
    if n <= _ARGMAX_ONE_BLOCK:
        block = triton.next_power_of_2(n)
        argmax_kernel[(m, 1)](rows, rows, rows, out, n, CHUNK=block, INDEXED=False, LAST=True, num_warps=4)
        return out
    chunks = triton.cdiv(n, _CHUNK)
    value = torch.empty((m, chunks), dtype=torch.float32, device=x.device)
    index = torch.empty((m, chunks), dtype=torch.int32, device=x.device)
    argmax_kernel[(m, chunks)](rows, rows, value, index, n, CHUNK=_CHUNK, INDEXED=False, LAST=False, num_warps=8)
    block = triton.next_power_of_2(chunks)
    argmax_kernel[(m, 1)](value, index, value, out, chunks, CHUNK=block, INDEXED=True, LAST=True, num_warps=1)
    return out
