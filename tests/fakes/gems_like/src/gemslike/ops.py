"""Functions that Torch's names are registered to."""

import torch
import triton
import triton.language as tl

from gemslike import MAJOR
from gemslike.utils.libentry import LibEntry


@triton.jit
def plain_kernel(out_ptr, in_ptr, n, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(in_ptr + offsets, offsets < n)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0) * SCALE, offsets < n)


@triton.jit
def hopper_kernel(out_ptr, in_ptr, n, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(in_ptr + offsets, offsets < n)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0) * (SCALE + 1), offsets < n)


@triton.jit
def product_kernel(out_ptr, a_ptr, b_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(a_ptr + offsets, offsets < n), tl.load(b_ptr + offsets, offsets < n)
    tl.store(out_ptr + offsets, a * (1 - b * b), offsets < n)


@triton.jit
def random_kernel(out_ptr, n, seed, offset, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.rand(seed, offset + offsets), offsets < n)


scaled = LibEntry(hopper_kernel if MAJOR == 9 else plain_kernel)
product = LibEntry(product_kernel)
random = LibEntry(random_kernel)
BLOCK = 256


def launch(kernel, out, *args, **constants):
    with torch.cuda.device(out.device):
        kernel[(triton.cdiv(out.numel(), BLOCK), 1, 1)](out, *args, **constants, BLOCK=BLOCK)
    return out


def relu(x):
    return launch(scaled, torch.empty_like(x), x, x.numel(), SCALE=1)


def tanh(x):
    return launch(scaled, torch.empty_like(x), x, x.numel(), SCALE=2)


def tanh_backward(grad, out):
    return launch(product, torch.empty_like(out), grad, out, out.numel())


def selu(x):
    return launch(scaled, torch.empty_like(x), x, x.numel(), SCALE=3)


def masked_select(x, mask):
    kept = relu(mask.to(x.dtype)).sum().item()
    return launch(scaled, x.new_empty(int(kept)), x, int(kept), SCALE=4)


def rand_like(x, **_):
    seed, offset = torch.cuda.default_generators[torch.cuda.current_device()].get_state().view(torch.int64)
    return launch(random, torch.empty_like(x), x.numel(), int(seed), int(offset))
