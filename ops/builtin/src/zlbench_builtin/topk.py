"""topk along the last dimension: every chunk keeps its k best, survivors are merged until one chunk is left.

Value and index travel packed in one 64-bit key (ordered value above, inverted index below), so that one
bitonic network moves both, ties go to the lowest index, and the result does not depend on the chunking.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .ordering import ordered_key, value_of_key

_CHUNK = 1024
_MERGE_CHUNK = 512
# Merging must shrink: at most half of a chunk survives.
K_MAX = 512


@triton.jit
def _emit(best, row, k, values_ptr, indices_ptr, K2: tl.constexpr):
    """Unpack the K2 best keys of a row and store the first k."""
    lane = tl.arange(0, K2)
    values = value_of_key((best >> 32).to(tl.uint32), values_ptr.dtype.element_ty)
    indices = (best.to(tl.uint32) ^ 0xFFFFFFFF).to(tl.int64)
    tl.store(values_ptr + row * k + lane, values, mask=lane < k)
    tl.store(indices_ptr + row * k + lane, indices, mask=lane < k)


@triton.jit
def topk_chunk_kernel(
    x_ptr, work_ptr, values_ptr, indices_ptr, N, stride_x, k,
    CHUNK: tl.constexpr, K2: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    cols = chunk * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + row * stride_x + cols, mask=cols < N, other=0.0)
    packed = (ordered_key(x).to(tl.uint64) << 32) | (cols.to(tl.uint32) ^ 0xFFFFFFFF).to(tl.uint64)
    # 0 is below every real key (-NaN, which alone would map to 0, was made +NaN).
    packed = tl.where(cols < N, packed, tl.zeros([CHUNK], tl.uint64))
    best = tl.topk(packed, K2)
    if LAST:
        _emit(best, row, k, values_ptr, indices_ptr, K2)
    else:
        tl.store(
            work_ptr + (row * tl.num_programs(1) + chunk) * K2 + tl.arange(0, K2),
            best.to(tl.int64, bitcast=True),
        )


@triton.jit
def topk_merge_kernel(
    in_ptr, out_ptr, values_ptr, indices_ptr, N, k,
    CHUNK: tl.constexpr, K2: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    cols = chunk * CHUNK + tl.arange(0, CHUNK)
    packed = tl.load(in_ptr + row * N + cols, mask=cols < N, other=0).to(tl.uint64, bitcast=True)
    best = tl.topk(packed, K2)
    if LAST:
        _emit(best, row, k, values_ptr, indices_ptr, K2)
    else:
        tl.store(
            out_ptr + (row * tl.num_programs(1) + chunk) * K2 + tl.arange(0, K2),
            best.to(tl.int64, bitcast=True),
        )


def topk(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k ≤ 512 largest of each row of [..., N], descending, with int64 indices; ties by lowest index."""
    n = x.shape[-1]
    if not 0 < k <= min(n, K_MAX):
        raise ValueError(f"topk: k={k} is not in 1..{min(n, K_MAX)}")
    rows = x.contiguous().view(-1, n)
    m = rows.shape[0]
    values = torch.empty((*x.shape[:-1], k), dtype=x.dtype, device=x.device)
    indices = torch.empty((*x.shape[:-1], k), dtype=torch.int64, device=x.device)
    # tl.topk does not compile for one element, so that a pair is kept.
    k2 = max(triton.next_power_of_2(k), 2)
    # Short rows (experts of a router) need neither a full chunk nor a merge.
    chunk = min(_CHUNK, max(triton.next_power_of_2(n), k2))
    chunks = triton.cdiv(n, chunk)
    work = torch.empty((m, chunks * k2), dtype=torch.int64, device=x.device)
    topk_chunk_kernel[(m, chunks)](
        rows, work, values, indices, n, rows.stride(0), k,
        CHUNK=chunk, K2=k2, LAST=chunks == 1, num_warps=4 if chunk >= 512 else 1,
    )  # fmt: skip
    # Few survivors a merge: the network is then shallower, and compiles faster, for one launch more.
    merge = max(_MERGE_CHUNK, 2 * k2)
    while chunks > 1:
        left = chunks * k2
        chunks = triton.cdiv(left, merge)
        last = chunks == 1
        out = torch.empty((m, chunks * k2), dtype=torch.int64, device=x.device)
        # Inner merges know nothing of values, so they are given none: one kernel then serves every dtype.
        topk_merge_kernel[(m, chunks)](
            work, out, values if last else out, indices if last else out, left, k,
            CHUNK=merge, K2=k2, LAST=last, num_warps=4,
        )  # fmt: skip
        work = out
    return values, indices
