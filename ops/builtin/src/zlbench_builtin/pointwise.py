"""gelu (erf and tanh) and dropout (Philox): elementwise, bound by memory."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_BLOCK = 1024


@triton.jit
def gelu_kernel(x_ptr, y_ptr, N, TANH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N).to(tl.float32)
    if TANH:
        # tanh(u) = 2σ(2u) - 1: exact at both ends, and needs no libdevice.
        u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        y = x * tl.sigmoid(2.0 * u)
    else:
        y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < N)


def gelu(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """GELU, computed in fp32; `approximate` is "none" (erf) or "tanh"."""
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    gelu_kernel[(triton.cdiv(n, _BLOCK),)](x, y, n, TANH=approximate == "tanh", BLOCK=_BLOCK, num_warps=4)
    return y


# The seed must not choose the kernel: 1 and multiples of 16 would be specialised on.
@triton.jit(do_not_specialize=["seed", "offset"])
def dropout_kernel(x_ptr, y_ptr, mask_ptr, N, p, scale, seed, offset, BLOCK: tl.constexpr):
    # One Philox call gives four numbers, so each program owns four neighbouring blocks.
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r0, r1, r2, r3 = tl.rand4x(seed, offset + lane)
    first = tl.program_id(0).to(tl.int64) * (BLOCK * 4) + tl.arange(0, BLOCK)
    for part in tl.static_range(4):
        r = r0 if part == 0 else r1 if part == 1 else r2 if part == 2 else r3
        at = first + part * BLOCK
        keep = r >= p
        x = tl.load(x_ptr + at, mask=at < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, tl.where(keep, x * scale, 0.0).to(y_ptr.dtype.element_ty), mask=at < N)
        tl.store(mask_ptr + at, keep, mask=at < N)


def dropout(
    x: torch.Tensor, p: float, *, seed: int | None = None, offset: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Zero elements with probability p and scale the rest by 1/(1-p); returns (y, mask of kept elements).

    The mask is a pure function of (seed, offset), so that repeated timing calls do equal work; a caller that
    wants fresh masks moves `offset` on by x.numel(). Without a seed, torch's CPU seed is
    used: no device is asked.
    """
    if not 0.0 <= p < 1.0:
        raise ValueError(f"dropout: p={p} is not in [0, 1)")
    x = x.contiguous()
    y = torch.empty_like(x)
    mask = torch.empty(x.shape, dtype=torch.bool, device=x.device)
    # 31 bits: a wider seed would change the argument's type, and with it the kernel.
    seed = (torch.initial_seed() if seed is None else seed) & 0x7FFFFFFF
    n = x.numel()
    grid = (triton.cdiv(n, 4 * 512),)
    dropout_kernel[grid](x, y, mask, n, p, 1.0 / (1.0 - p), seed, offset & 0x7FFFFFFF, BLOCK=512, num_warps=4)
    return y, mask
