"""Input tensors: random values are drawn on the CPU from the seeded default generator, then moved.

So the same seed gives the same values on every device and build. On "meta" nothing is drawn: no value exists.
"""

from __future__ import annotations

import torch

from .runtime import device

Shape = tuple[int, ...]


def empty(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    """Uninitialised tensor on the suite's device."""
    return torch.empty(shape, dtype=dtype, device=device())


def randn(shape: Shape, dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
    """Normal values of standard deviation `scale`."""
    if device() == "meta":
        return empty(shape, dtype)
    # Drawn in fp32 (fp64 for nothing): the CPU's half precision generators are slow and give other streams.
    drawn = torch.randn(shape, dtype=torch.complex64 if dtype.is_complex else torch.float32)
    return (drawn if scale == 1.0 else drawn * scale).to(dtype).to(device())


def rand(shape: Shape, dtype: torch.dtype) -> torch.Tensor:
    """Uniform values in [0, 1)."""
    if device() == "meta":
        return empty(shape, dtype)
    return torch.rand(shape, dtype=torch.float32).to(dtype).to(device())


def randint(low: int, high: int, shape: Shape, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Uniform integers in [low, high)."""
    if device() == "meta":
        return empty(shape, dtype)
    return torch.randint(low, high, shape, dtype=dtype).to(device())


def mask(shape: Shape, density: float) -> torch.Tensor:
    """Booleans, true with probability `density`."""
    if device() == "meta":
        return empty(shape, torch.bool)
    return (torch.rand(shape) < density).to(device())
