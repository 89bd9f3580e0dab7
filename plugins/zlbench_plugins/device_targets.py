"""Start the compiler for a target before the first operator needs it."""

from __future__ import annotations

import traceback

from zlbench.target import parse_target
from zlbench_plugins import deviceless


def install(text: str) -> bool:
    """Make Triton compile for a target without a device; False where there is no real Triton (a stand-in)."""
    from zlbench_backends.compile_only import device_properties

    try:
        import triton.backends.compiler  # noqa: F401
    except ImportError:
        return False
    target = parse_target(text)
    deviceless.install(target, device_properties(target))
    return True


def warm(text: str) -> str:
    """Compile one small kernel, which loads the backend, hashes the compiler and starts its tools once.

    Returns the compiler's error, or an empty string where it worked.
    """
    if not install(text):
        return ""
    import torch
    import triton

    from zlbench_plugins.warm_kernel import copy_kernel

    tensor = torch.empty(16, device="meta")
    # The first of these imports Torch's symbolic shapes and sympy, most of a second: once, not in every cell.
    torch.empty_like(tensor).add(tensor).to(torch.float16).sum()
    try:
        # A kernel object stays bound to the first target that it was compiled for: take a new one each time.
        triton.jit(copy_kernel.fn)[(1,)](tensor, tensor, BLOCK=16)
    except Exception as error:  # noqa: BLE001 - whatever this compiler says of a target that it does not know
        traceback.print_exc()
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return ""
