"""Where tensors live and what the device is like, asked in one place so that no operator calls torch.cuda.

Three worlds share every wrapper: Triton's interpreter on the CPU, a real device, and the device-less backend,
where tensors are "meta" (shape and dtype, no memory), kernels are compiled, and launches are skipped.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import triton

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_T = TypeVar("_T")
_chosen: str | None = None

# Triton's interpreter has no device to ask; anything that keeps grids small will do.
_INTERPRETER_SM_COUNT = 4
_INTERPRETER_SHARED_MEM = 1 << 30


def interpreting() -> bool:
    """Whether Triton's interpreter runs the kernels (it reads this variable when it decorates one)."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in {"1", "true", "on", "yes", "y"}


def use_device(name: str | None) -> None:
    """Put tensors on `name` ("meta", "cuda", …) from now on; None goes back to choosing."""
    global _chosen  # noqa: PLW0603 - one process measures on one device; the plugin says which, before any test
    _chosen = name


def device() -> str:
    """The torch device name for new tensors."""
    if _chosen is not None:
        return _chosen
    if interpreting():
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    raise RuntimeError(
        f"zlbench_builtin: no card, torch.cuda is not available in {sys.executable}. "
        "Compile only with zlbench --backend compile, or interpret on the CPU with TRITON_INTERPRET=1."
    )


def synchronize() -> None:
    """Wait for the device; nothing to wait for on the CPU or on meta tensors."""
    name = torch.device(device()).type
    if name not in {"cpu", "meta"}:
        getattr(torch, name).synchronize()


def host_int(tensor: torch.Tensor, unknown: int) -> int:
    """The one element of `tensor` as a Python int: a host synchronisation.

    A meta tensor has no value, because only a device would have computed it; `unknown` stands in.
    """
    if tensor.device.type == "meta":
        return unknown
    return int(tensor.item())


def sm_count() -> int:
    """Number of multiprocessors, as Triton's active driver has it (the device-less one: its target's)."""
    return _INTERPRETER_SM_COUNT if interpreting() else int(_properties()["multiprocessor_count"])


def max_shared_mem() -> int:
    """Bytes of shared memory that one program may use."""
    return _INTERPRETER_SHARED_MEM if interpreting() else int(_properties()["max_shared_mem"])


def _properties() -> dict[str, Any]:
    active = triton.runtime.driver.active
    properties: dict[str, Any] = active.utils.get_device_properties(active.get_current_device())
    return properties


def tuning_space(configs: Sequence[_T]) -> list[_T]:
    """`configs`, or the first alone under the interpreter, where a sweep has neither clock nor driver."""
    return list(configs[:1]) if interpreting() else list(configs)


def pruned_to_shared_mem(estimate: Callable[[Any, dict[str, Any]], int]) -> Callable[..., list[Any]]:
    """An `early_config_prune` that keeps the configs whose estimated shared memory fits the device.

    Without it the first config may be one that this target cannot launch (fp32 tiles in gfx942's 64 KiB).
    If nothing fits, the smallest stays: the compiler then says what is wrong better than an empty list does.
    """

    def prune(configs: list[Any], named_args: dict[str, Any], **kwargs: Any) -> list[Any]:
        arguments = {**named_args, **kwargs}
        limit = max_shared_mem()
        fitting = [config for config in configs if estimate(config, arguments) <= limit]
        return fitting or [min(configs, key=lambda config: estimate(config, arguments))]

    return prune
