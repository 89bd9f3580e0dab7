"""fft: Stockham autosort over kernels of radix 4 (one of radix 2 where the length asks for it).

complex64 is read as pairs of fp32. Each pass reads one buffer and writes the other, so that no bit reversal is needed;
short transforms do all passes of a row in one launch each, long ones the same: the row count sets the parallelism.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_BLOCK = 256
_TWO_PI = 6.283185307179586
_MINUS_TWO_PI = tl.constexpr(-_TWO_PI)


@triton.jit
def _twiddle(re, im, numerator, denominator):
    """(re + i im) · exp(-2πi numerator/denominator)."""
    angle = _MINUS_TWO_PI * numerator.to(tl.float32) / denominator
    c = tl.cos(angle)
    s = tl.sin(angle)
    return re * c - im * s, re * s + im * c


@triton.jit
def _complex_load(ptr, at, mask):
    return tl.load(ptr + 2 * at, mask=mask, other=0.0), tl.load(ptr + 2 * at + 1, mask=mask, other=0.0)


@triton.jit
def _complex_store(ptr, at, re, im, mask):
    tl.store(ptr + 2 * at, re, mask=mask)
    tl.store(ptr + 2 * at + 1, im, mask=mask)


# `done`, the length of the transforms finished so far, is 1, 4, 16, …: specialising would give each its own kernel.
@triton.jit(do_not_specialize=["done"])
def fft_radix2_kernel(x_ptr, y_ptr, N, done, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = j < N // 2
    k = j % done
    a_re, a_im = _complex_load(x_ptr, row + j, mask)
    b_re, b_im = _complex_load(x_ptr, row + j + N // 2, mask)
    b_re, b_im = _twiddle(b_re, b_im, k, 2 * done)
    at = row + (j - k) * 2 + k
    _complex_store(y_ptr, at, a_re + b_re, a_im + b_im, mask)
    _complex_store(y_ptr, at + done, a_re - b_re, a_im - b_im, mask)


@triton.jit(do_not_specialize=["done"])
def fft_radix4_kernel(x_ptr, y_ptr, N, done, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    quarter = N // 4
    mask = j < quarter
    k = j % done
    a_re, a_im = _complex_load(x_ptr, row + j, mask)
    b_re, b_im = _complex_load(x_ptr, row + j + quarter, mask)
    c_re, c_im = _complex_load(x_ptr, row + j + 2 * quarter, mask)
    d_re, d_im = _complex_load(x_ptr, row + j + 3 * quarter, mask)
    b_re, b_im = _twiddle(b_re, b_im, k, 4 * done)
    c_re, c_im = _twiddle(c_re, c_im, 2 * k, 4 * done)
    d_re, d_im = _twiddle(d_re, d_im, 3 * k, 4 * done)
    # Butterfly of four; a factor -i swaps the parts and negates one.
    ac_re, ac_im, am_re, am_im = a_re + c_re, a_im + c_im, a_re - c_re, a_im - c_im
    bd_re, bd_im, bm_re, bm_im = b_re + d_re, b_im + d_im, b_re - d_re, b_im - d_im
    at = row + (j - k) * 4 + k
    _complex_store(y_ptr, at, ac_re + bd_re, ac_im + bd_im, mask)
    _complex_store(y_ptr, at + done, am_re + bm_im, am_im - bm_re, mask)
    _complex_store(y_ptr, at + 2 * done, ac_re - bd_re, ac_im - bd_im, mask)
    _complex_store(y_ptr, at + 3 * done, am_re - bm_im, am_im + bm_re, mask)


def fft(x: torch.Tensor) -> torch.Tensor:
    """Discrete Fourier transform along the last dimension of complex64 [..., N], N a power of two."""
    n = x.shape[-1]
    if n & (n - 1):
        raise ValueError(f"fft: length {n} is not a power of two")
    rows = x.contiguous().view(-1, n)
    source = torch.view_as_real(rows)
    spare = [torch.empty_like(source), torch.empty_like(source)]
    done = 1
    while done < n:
        target = spare.pop(0)
        radix = 4 if done * 4 <= n else 2
        kernel = fft_radix4_kernel if radix == 4 else fft_radix2_kernel
        kernel[(rows.shape[0], triton.cdiv(n // radix, _BLOCK))](
            source, target, n, done, BLOCK=_BLOCK, num_warps=4
        )
        # The input itself is never written: it joins the ring only as the first source.
        if done > 1:
            spare.append(source)
        source = target
        done *= radix
    return torch.view_as_complex(source).view(x.shape)
