"""Operators that fail on a card in every way that costs something; copied into the embedded suite by the test."""

import os
import signal
import subprocess
import time

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, out, n, far, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets + far, tl.load(x + offsets, mask=mask) * 2, mask=mask)


def double(x, far=0):
    """Double a tensor; with `far` it writes that many elements behind its end."""
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 1024),)](x, out, n, far, BLOCK=1024)
    return out


def host_sync(x):
    """Double, and ask the card for a number in between: no graph can hold that."""
    out = double(x)
    return out if float(out.flatten()[0]) < 1e9 else x


def illegal(x):
    """Double; the shape with 13 rows stores far outside of every allocation."""
    return double(x, far=1 << 40 if x.shape[0] == 13 else 0)


def greedy(x):
    """Double; the shape with 13 rows wants more memory than there is."""
    if x.shape[0] == 13:
        torch.empty(1 << 42, dtype=torch.uint8, device=x.device)
    return double(x)


def killed(x):
    """Double; the shape with 13 rows is where somebody kills the process."""
    if x.shape[0] == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return double(x)


def random_numbers(x):
    """Torch's own random numbers under a capture that fails: no later row may suffer."""
    noise = torch.rand_like(x)
    return host_sync(x + noise) if x.shape[0] == 13 else x + noise


def hanging(x):
    """Double; the shape with 13 rows waits for ever, beside a process of its own that sleeps."""
    if x.shape[0] == 13:
        sleeper = subprocess.Popen(["sleep", "900"])
        print(f"SLEEPER {sleeper.pid}", flush=True)
        time.sleep(900)
    return double(x)
