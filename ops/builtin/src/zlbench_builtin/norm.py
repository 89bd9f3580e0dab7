"""layer_norm and rms_norm forward. rms_norm takes its launch shape from triton.heuristics."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_ONE_BLOCK_MAX = 8192
_LOOP_BLOCK = 4096


@triton.jit
def layer_norm_row_kernel(x_ptr, w_ptr, b_ptr, y_ptr, N, stride, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    # Two-pass variance on registers: no cancellation, no extra traffic.
    centred = tl.where(mask, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / N + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * stride + cols, (centred * rstd * w + b).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    """Chan's parallel merge of two (mean, sum of squares, count)."""
    n = n_a + n_b
    share = tl.where(n == 0.0, 0.0, n_b / tl.where(n == 0.0, 1.0, n))
    delta = mean_b - mean_a
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def layer_norm_loop_kernel(x_ptr, w_ptr, b_ptr, y_ptr, N, stride, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride
    y_ptr += row * stride
    cols = tl.arange(0, BLOCK_N)
    mean_lane = tl.zeros([BLOCK_N], tl.float32)
    m2_lane = tl.zeros([BLOCK_N], tl.float32)
    n_lane = tl.zeros([BLOCK_N], tl.float32)
    for start in range(0, N, BLOCK_N):
        mask = start + cols < N
        x = tl.load(x_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        n_new = n_lane + mask.to(tl.float32)
        delta = x - mean_lane
        mean_new = tl.where(mask, mean_lane + delta / tl.maximum(n_new, 1.0), mean_lane)
        m2_lane = tl.where(mask, m2_lane + delta * (x - mean_new), m2_lane)
        mean_lane = mean_new
        n_lane = n_new
    mean, m2, _ = tl.reduce((mean_lane, m2_lane, n_lane), 0, _welford)
    rstd = tl.rsqrt(m2 / N + eps)
    for start in range(0, N, BLOCK_N):
        mask = start + cols < N
        # Second and last use of these values: let them leave the cache first.
        x = tl.load(x_ptr + start + cols, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        w = tl.load(w_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * w + b
        tl.store(y_ptr + start + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """Layer norm over the last dimension of [..., N] with affine [N] parameters; statistics in fp32."""
    n = x.shape[-1]
    rows = x.contiguous().view(-1, n)
    y = torch.empty_like(rows)
    grid = (rows.shape[0],)
    if n <= _ONE_BLOCK_MAX:
        block = triton.next_power_of_2(n)
        layer_norm_row_kernel[grid](
            rows,
            weight,
            bias,
            y,
            n,
            rows.stride(0),
            eps,
            BLOCK_N=block,
            num_warps=min(max(block // 512, 1), 16),
        )
    else:
        layer_norm_loop_kernel[grid](rows, weight, bias, y, n, rows.stride(0), eps, BLOCK_N=_LOOP_BLOCK, num_warps=8)
    return y.view(x.shape)


@triton.heuristics(
    {
        "BLOCK_N": lambda args: triton.next_power_of_2(args["N"]),
        # Hidden sizes of most models are a power of two: then no lane needs a mask.
        "EVEN_N": lambda args: triton.next_power_of_2(args["N"]) == args["N"],
        "num_warps": lambda args: min(max(triton.next_power_of_2(args["N"]) // 512, 1), 16),
    }
)
@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, N, stride, eps, BLOCK_N: tl.constexpr, EVEN_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    if EVEN_N:
        x = tl.load(x_ptr + row * stride + cols).to(tl.float32)
        w = tl.load(w_ptr + cols).to(tl.float32)
    else:
        x = tl.load(x_ptr + row * stride + cols, mask=cols < N, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps) * w
    if EVEN_N:
        tl.store(y_ptr + row * stride + cols, y.to(y_ptr.dtype.element_ty))
    else:
        tl.store(y_ptr + row * stride + cols, y.to(y_ptr.dtype.element_ty), mask=cols < N)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """RMS norm over the last dimension of [..., N] with [N] weight; statistics in fp32."""
    n = x.shape[-1]
    rows = x.contiguous().view(-1, n)
    y = torch.empty_like(rows)
    rms_norm_kernel[(rows.shape[0],)](rows, weight, y, n, rows.stride(0), eps)
    return y.view(x.shape)
