"""masked_select: count per block, scan the counts, compact. The host waits for the size of the result."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .runtime import host_int
from .scan import exclusive_scan_kernel

_BLOCK = 1024


@triton.jit
def mask_count_kernel(mask_ptr, count_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    hit = tl.load(mask_ptr + at, mask=at < N, other=0).to(tl.int32)
    tl.store(count_ptr + tl.program_id(0), tl.sum(hit, axis=0))


@triton.jit
def mask_compact_kernel(x_ptr, mask_ptr, base_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    hit = tl.load(mask_ptr + at, mask=at < N, other=0).to(tl.int32)
    to = tl.load(base_ptr + tl.program_id(0)) + tl.cumsum(hit, axis=0) - 1
    tl.store(out_ptr + to, tl.load(x_ptr + at, mask=hit != 0), mask=hit != 0)


def masked_select(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Elements of x where the boolean mask of equal shape is true, in order, as one dimension."""
    x, mask = x.contiguous(), mask.contiguous()
    n = x.numel()
    blocks = triton.cdiv(n, _BLOCK)
    count = torch.empty(blocks, dtype=torch.int32, device=x.device)
    total = torch.empty(1, dtype=torch.int32, device=x.device)
    mask_count_kernel[(blocks,)](mask, count, n, BLOCK=_BLOCK, num_warps=4)
    exclusive_scan_kernel[(1,)](count, count, total, blocks, BLOCK=1024, TOTAL=True, num_warps=4)
    # Nothing but the length of the result hangs on it: half stands in where no device counts.
    out = torch.empty(host_int(total, unknown=n // 2), dtype=x.dtype, device=x.device)
    mask_compact_kernel[(blocks,)](x, mask, count, out, n, BLOCK=_BLOCK, num_warps=4)
    return out
