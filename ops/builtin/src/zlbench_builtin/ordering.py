"""Order-preserving integer keys, shared by topk and sort.

A float's bits, read as an unsigned integer, sort like the float while it is positive, and
backwards below zero. Flipping the sign bit of the former and all bits of the latter gives one unsigned
order. As in torch, NaN is the largest and both zeros are equal: their bits are made the same first.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def ordered_key(x):
    """uint32 that compares as x does; of a 16-bit x only the low 16 bits are used."""
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    # Half precision in the upper half of a word: sign and NaN then look alike for all three types.
    u = x.to(tl.uint32, bitcast=True) if bits == 32 else x.to(tl.uint16, bitcast=True).to(tl.uint32) << 16
    # Compared as fp32: exact, and what every target has instructions for.
    f = x.to(tl.float32)
    u = tl.where(f != f, tl.full([1], 0x7FFF0000, tl.uint32), u)
    u = tl.where(f == 0.0, tl.full([1], 0, tl.uint32), u)
    u = u ^ tl.where((u >> 31) != 0, 0xFFFFFFFF, 0x80000000).to(tl.uint32)
    return u >> (32 - bits)


@triton.jit
def value_of_key(key, dtype: tl.constexpr):
    """Inverse of ordered_key, but for the bits of a NaN and the sign of a zero."""
    bits: tl.constexpr = dtype.primitive_bitwidth
    u = key.to(tl.uint32) << (32 - bits)
    u = u ^ tl.where((u >> 31) != 0, 0x80000000, 0xFFFFFFFF).to(tl.uint32)
    return u.to(dtype, bitcast=True) if bits == 32 else (u >> 16).to(tl.uint16).to(dtype, bitcast=True)


def key_dtype(dtype: torch.dtype) -> torch.dtype:
    """Torch dtype of the key of `dtype` (signed: torch's unsigned types lack operations)."""
    return torch.int32 if dtype.itemsize == 4 else torch.int16
