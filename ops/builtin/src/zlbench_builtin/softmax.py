"""Row softmax: one program per row, in registers while the row fits, else online in two passes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

# Above this a row in registers spills; the online kernel reads twice but never does.
_ONE_BLOCK_MAX = 8192
_LOOP_BLOCK = 4096


@triton.jit
def softmax_row_kernel(x_ptr, y_ptr, N, stride_x, stride_y, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * stride_y + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_online_kernel(x_ptr, y_ptr, N, stride_x, stride_y, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride_x
    y_ptr += row * stride_y
    cols = tl.arange(0, BLOCK_N)
    # Running maximum and sum per lane; one cross-lane reduction at the end instead of one per block.
    m = tl.full([BLOCK_N], -float("inf"), tl.float32)
    z = tl.zeros([BLOCK_N], tl.float32)
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + start + cols, mask=start + cols < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, x)
        # A lane that has seen only -inf must not compute inf - inf.
        alive = m_new > -float("inf")
        z = z * tl.where(alive, tl.exp(m - m_new), 1.0) + tl.where(alive, tl.exp(x - m_new), 0.0)
        m = m_new
    row_max = tl.max(m, axis=0)
    total = tl.sum(tl.where(m > -float("inf"), z * tl.exp(m - row_max), 0.0), axis=0)
    for start in range(0, N, BLOCK_N):
        mask = start + cols < N
        x = tl.load(x_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        y = tl.exp(x - row_max) / total
        tl.store(y_ptr + start + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension of [..., N], computed in fp32."""
    n = x.shape[-1]
    rows = x.contiguous().view(-1, n)
    y = torch.empty_like(rows)
    grid = (rows.shape[0],)
    if n <= _ONE_BLOCK_MAX:
        block = triton.next_power_of_2(n)
        warps = 16 if block >= 8192 else 8 if block >= 2048 else 4 if block >= 256 else 1
        softmax_row_kernel[grid](rows, y, n, rows.stride(0), y.stride(0), BLOCK_N=block, num_warps=warps)
    else:
        softmax_online_kernel[grid](rows, y, n, rows.stride(0), y.stride(0), BLOCK_N=_LOOP_BLOCK, num_warps=8)
    return y.view(x.shape)
