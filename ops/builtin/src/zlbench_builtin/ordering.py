"""Order-preserving integer keys, shared by topk and sort.

A float's bits, read as an unsigned integer, already sort like the float when it is positive; negatives sort
backwards. Flipping the sign bit of the former and all bits of the latter gives one unsigned order. NaN is made the
positive NaN first, so that it is the largest, as in torch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def ordered_key(x):
    """Unsigned integer of x's width; keys compare as the values do, NaN largest."""
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    if bits == 32:
        u = x.to(tl.uint32, bitcast=True)
        u = tl.where(x != x, tl.full([1], 0x7FC00000, tl.uint32), u)
        sign = u >> 31
        return u ^ tl.where(sign != 0, 0xFFFFFFFF, 0x80000000).to(tl.uint32)
    u = x.to(tl.uint16, bitcast=True)
    # Quiet NaN of bf16 is 0x7FC0; of fp16 it is 0x7E00. 0x7FFF is a NaN in both.
    u = tl.where(x != x, tl.full([1], 0x7FFF, tl.uint16), u)
    sign = u >> 15
    return u ^ tl.where(sign != 0, 0xFFFF, 0x8000).to(tl.uint16)


@triton.jit
def value_of_key(key, dtype: tl.constexpr):
    """Inverse of ordered_key (a NaN comes back as the canonical one)."""
    bits: tl.constexpr = dtype.primitive_bitwidth
    if bits == 32:
        u = key.to(tl.uint32)
        u = u ^ tl.where((u >> 31) != 0, 0x80000000, 0xFFFFFFFF).to(tl.uint32)
        return u.to(dtype, bitcast=True)
    u = key.to(tl.uint16)
    u = u ^ tl.where((u >> 15) != 0, 0x8000, 0xFFFF).to(tl.uint16)
    return u.to(dtype, bitcast=True)


def key_dtype(dtype: torch.dtype) -> torch.dtype:
    """Torch dtype wide enough for the key of `dtype` (signed twins: torch's unsigned ones lack operations)."""
    return torch.int32 if dtype.itemsize == 4 else torch.int16
