"""fft: Stockham autosort, so that no bit reversal is needed. complex64 is read as pairs of fp32.

Short rows stay in registers for all their passes (radix 2, moved by reshape, permute, split and join). Long
rows take a launch per pass, radix 4, and one of radix 2 where the length asks for it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_BLOCK = 256
# 2 · 1024 values over 4 warps are 16 registers a thread, and as many again for the butterfly's results.
_ONE_BLOCK_MAX = 1024
_MINUS_TWO_PI = tl.constexpr(-6.283185307179586)


@triton.jit
def _twiddle(re, im, numerator, denominator):
    """(re + i im) · exp(-2πi numerator/denominator)."""
    angle = _MINUS_TWO_PI * numerator.to(tl.float32) / denominator
    c = tl.cos(angle)
    s = tl.sin(angle)
    return re * c - im * s, re * s + im * c


@triton.jit
def _halves(x, N: tl.constexpr):
    """x[:N/2] and x[N/2:]; split works on the last axis, hence the transposition."""
    return tl.split(tl.permute(tl.reshape(x, (2, N // 2)), (1, 0)))


@triton.jit
def _interleave(a, b, N: tl.constexpr, DONE: tl.constexpr):
    """Runs of DONE values, from a and b in turn."""
    pairs = tl.reshape(tl.join(a, b), (N // 2 // DONE, DONE, 2))
    return tl.reshape(tl.permute(pairs, (0, 2, 1)), (N,))


@triton.jit
def fft_row_kernel(x_ptr, y_ptr, N: tl.constexpr, LOG_N: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * (2 * N) + tl.arange(0, 2 * N)
    re, im = tl.split(tl.reshape(tl.load(x_ptr + at), (N, 2)))
    j = tl.arange(0, N // 2)
    for step in tl.static_range(LOG_N):
        a_re, b_re = _halves(re, N)
        a_im, b_im = _halves(im, N)
        b_re, b_im = _twiddle(b_re, b_im, j % (1 << step), 2 << step)
        re = _interleave(a_re + b_re, a_re - b_re, N, 1 << step)
        im = _interleave(a_im + b_im, a_im - b_im, N, 1 << step)
    tl.store(y_ptr + at, tl.reshape(tl.join(re, im), (2 * N,)))


@triton.jit
def _complex_load(ptr, at, mask):
    return tl.load(ptr + 2 * at, mask=mask, other=0.0), tl.load(ptr + 2 * at + 1, mask=mask, other=0.0)


@triton.jit
def _complex_store(ptr, at, re, im, mask):
    tl.store(ptr + 2 * at, re, mask=mask)
    tl.store(ptr + 2 * at + 1, im, mask=mask)


# `done`, the length of the transforms finished so far, is 1, 4, 16, …: specialising would double the kernels.
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
def fft_radix4_kernel(x_ptr, y_ptr, N, done, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    quarter = N // 4
    mask = j < quarter
    k = j % done
    a_re, a_im = _complex_load(x_ptr, row + j, mask)
    b_re, b_im = _complex_load(x_ptr, row + j + quarter, mask)
    c_re, c_im = _complex_load(x_ptr, row + j + 2 * quarter, mask)
    d_re, d_im = _complex_load(x_ptr, row + j + 3 * quarter, mask)
    # In the first pass every twiddle is one.
    if not FIRST:
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


def _long_rows(source: torch.Tensor, m: int, n: int) -> torch.Tensor:
    spare = [torch.empty_like(source), torch.empty_like(source)]
    done = 1
    while done < n:
        target = spare.pop(0)
        if done * 4 <= n:
            grid = (m, triton.cdiv(n // 4, _BLOCK))
            fft_radix4_kernel[grid](source, target, n, done, FIRST=done == 1, BLOCK=_BLOCK, num_warps=4)
            radix = 4
        else:
            grid = (m, triton.cdiv(n // 2, _BLOCK))
            fft_radix2_kernel[grid](source, target, n, done, BLOCK=_BLOCK, num_warps=4)
            radix = 2
        # Passes swap two buffers; the caller's input is read once and never written.
        if done > 1:
            spare.append(source)
        source = target
        done *= radix
    return source


def fft(x: torch.Tensor) -> torch.Tensor:
    """Discrete Fourier transform along the last dimension of complex64 [..., N], N ≥ 2 a power of two."""
    n = x.shape[-1]
    if n < 2 or n & (n - 1):
        raise ValueError(f"fft: length {n} is not a power of two of at least 2")
    rows = torch.view_as_real(x.contiguous().view(-1, n))
    m = rows.shape[0]
    if n <= _ONE_BLOCK_MAX:
        y = torch.empty_like(rows)
        fft_row_kernel[(m,)](rows, y, N=n, LOG_N=n.bit_length() - 1, num_warps=4 if n >= 256 else 1)
    else:
        y = _long_rows(rows, m, n)
    return torch.view_as_complex(y).view(x.shape)
