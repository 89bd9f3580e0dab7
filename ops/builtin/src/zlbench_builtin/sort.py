"""Stable sort along the last dimension: one bitonic network for short rows, LSD radix sort for long ones."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .ordering import key_dtype, ordered_key, value_of_key
from .scan import exclusive_scan_kernel

_BITONIC_MAX = 1024
_TILE = 512
_BITS = 4


@triton.jit
def sort_bitonic_kernel(x_ptr, values_ptr, indices_ptr, N, stride, BLOCK: tl.constexpr, DESCENDING: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    key = ordered_key(tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)).to(tl.uint64)
    if DESCENDING:
        # Inverting the key, not the network: equal values then keep their order (stable).
        key = key ^ ((1 << x_ptr.dtype.element_ty.primitive_bitwidth) - 1)
    # 24 bits of index are plenty here; padding sorts behind everything.
    packed = tl.where(mask, (key << 24) | cols.to(tl.uint64), tl.full([BLOCK], (1 << 63) - 1, tl.uint64))
    packed = tl.sort(packed)
    key = (packed >> 24).to(tl.uint32)
    if DESCENDING:
        key = key ^ ((1 << x_ptr.dtype.element_ty.primitive_bitwidth) - 1)
    tl.store(values_ptr + row * stride + cols, value_of_key(key, x_ptr.dtype.element_ty), mask=mask)
    tl.store(indices_ptr + row * stride + cols, (packed & 0xFFFFFF).to(tl.int64), mask=mask)


@triton.jit
def sort_encode_kernel(x_ptr, key_ptr, index_ptr, N, BLOCK: tl.constexpr, DESCENDING: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    key = ordered_key(tl.load(x_ptr + row * N + cols, mask=mask, other=0.0))
    if DESCENDING:
        key = key ^ 0xFFFFFFFF
    tl.store(key_ptr + row * N + cols, key.to(key_ptr.dtype.element_ty), mask=mask)
    tl.store(index_ptr + row * N + cols, cols, mask=mask)


@triton.jit
def _digits(key_ptr, at, mask, shift, BITS: tl.constexpr):
    """Digit of each key as int32; lanes outside the row get the digit BINS, which matches no bin."""
    key = tl.load(key_ptr + at, mask=mask, other=0).to(tl.int32)
    return tl.where(mask, (key >> shift) & ((1 << BITS) - 1), 1 << BITS)


# `shift` is 0, 4, 8, …: specialising on it (0 and 16 are "divisible by 16") would only double the kernels.
@triton.jit(do_not_specialize=["shift"])
def radix_count_kernel(key_ptr, count_ptr, N, shift, BITS: tl.constexpr, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tile = tl.program_id(1)
    tiles = tl.num_programs(1)
    cols = tile * TILE + tl.arange(0, TILE)
    digit = _digits(key_ptr, row * N + cols, cols < N, shift, BITS)
    bins = tl.arange(0, 1 << BITS)
    count = tl.sum((digit[:, None] == bins[None, :]).to(tl.int32), axis=0)
    # Bin-major, so that one scan over the row gives every (bin, tile) its first position.
    tl.store(count_ptr + (row * (1 << BITS) + bins) * tiles + tile, count)


@triton.jit(do_not_specialize=["shift"])
def radix_scatter_kernel(
    key_ptr, index_ptr, base_ptr, key_out_ptr, index_out_ptr, N, shift, BITS: tl.constexpr, TILE: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    tile = tl.program_id(1)
    tiles = tl.num_programs(1)
    cols = tile * TILE + tl.arange(0, TILE)
    mask = cols < N
    digit = _digits(key_ptr, row * N + cols, mask, shift, BITS)
    bins = tl.arange(0, 1 << BITS)
    hit = (digit[:, None] == bins[None, :]).to(tl.int32)
    # Rank among equal digits of this tile, in input order: this is what makes the sort stable.
    rank = tl.sum((tl.cumsum(hit, axis=0) - 1) * hit, axis=1)
    first = tl.sum(hit * tl.load(base_ptr + (row * (1 << BITS) + bins) * tiles + tile)[None, :], axis=1)
    to = row * N + first + rank
    tl.store(key_out_ptr + to, tl.load(key_ptr + row * N + cols, mask=mask), mask=mask)
    tl.store(index_out_ptr + to, tl.load(index_ptr + row * N + cols, mask=mask), mask=mask)


@triton.jit
def sort_decode_kernel(key_ptr, index_ptr, values_ptr, indices_ptr, N, BLOCK: tl.constexpr, DESCENDING: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    key = tl.load(key_ptr + row * N + cols, mask=mask, other=0)
    if DESCENDING:
        key = ~key
    value = value_of_key(key.to(tl.uint32), values_ptr.dtype.element_ty)
    tl.store(values_ptr + row * N + cols, value, mask=mask)
    tl.store(indices_ptr + row * N + cols, tl.load(index_ptr + row * N + cols, mask=mask).to(tl.int64), mask=mask)


def _radix_sort(rows: torch.Tensor, values: torch.Tensor, indices: torch.Tensor, descending: bool) -> None:
    m, n = rows.shape
    key = torch.empty((m, n), dtype=key_dtype(rows.dtype), device=rows.device)
    index = torch.empty((m, n), dtype=torch.int32, device=rows.device)
    key_out, index_out = torch.empty_like(key), torch.empty_like(index)
    tiles = triton.cdiv(n, _TILE)
    bins = 1 << _BITS
    count = torch.empty((m, bins * tiles), dtype=torch.int32, device=rows.device)
    wide = (m, triton.cdiv(n, 1024))
    sort_encode_kernel[wide](rows, key, index, n, BLOCK=1024, DESCENDING=descending)
    for shift in range(0, 8 * rows.dtype.itemsize, _BITS):
        radix_count_kernel[(m, tiles)](key, count, n, shift, BITS=_BITS, TILE=_TILE, num_warps=4)
        exclusive_scan_kernel[(m,)](count, count, count, bins * tiles, BLOCK=1024, num_warps=4)
        radix_scatter_kernel[(m, tiles)](
            key, index, count, key_out, index_out, n, shift, BITS=_BITS, TILE=_TILE, num_warps=4
        )
        key, key_out, index, index_out = key_out, key, index_out, index
    sort_decode_kernel[wide](key, index, values, indices, n, BLOCK=1024, DESCENDING=descending)


def sort(x: torch.Tensor, descending: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Sorted values of each row of [..., N] and their int64 positions; stable, NaN is the largest."""
    n = x.shape[-1]
    rows = x.contiguous().view(-1, n)
    values = torch.empty_like(rows)
    indices = torch.empty(rows.shape, dtype=torch.int64, device=x.device)
    if n <= _BITONIC_MAX:
        block = max(triton.next_power_of_2(n), 2)
        sort_bitonic_kernel[(rows.shape[0],)](
            rows, values, indices, n, rows.stride(0), BLOCK=block, DESCENDING=descending,
            num_warps=4 if block >= 512 else 1,
        )  # fmt: skip
    else:
        _radix_sort(rows, values, indices, descending)
    return values.view(x.shape), indices.view(x.shape)
