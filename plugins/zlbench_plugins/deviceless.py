"""Compile for a chosen target on a machine with no device: a Triton driver that loads nothing and skips launches.

Wrappers, autotuner, heuristics and argument specialisation run as on a card; `triton.compile` runs its whole
pipeline down to the machine code; only the launch itself is left out, after it was recorded. Nothing is written
into Triton's installed files: the driver is handed to Triton at run time. Verified with Triton 3.6.0 to 3.9.0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zlbench.target import Target

Bench = Callable[..., Sequence[float]]


class DevicelessUtils:
    """The part of a driver that Triton asks about the card and hands binaries to."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._properties = dict(properties)
        self._handles = itertools.count(1)

    def load_binary(self, _name: str, _kernel: bytes, _shared: int, _device: int) -> tuple[object, int, int, int, int]:
        """Give out a handle of its own for each binary, so that launches can be joined to kernels.

        Returns (module, function, registers, spills, threads at most); the two costs are read from the binary
        by the driver process instead, with the tools of the Triton wheel.
        """
        return object(), next(self._handles), 0, 0, 1024

    def unload_module(self, module: object) -> None:
        """Nothing was loaded (asked for since Triton 3.9)."""

    def get_device_properties(self, _device: int) -> dict[str, Any]:
        """Properties of the target, from the backend's table; bytes, MHz and counts as Triton's own drivers give."""
        return dict(self._properties)


class DevicelessLauncher:
    """Takes the place of the compiled launcher: calls the hooks, records the grid, launches nothing."""

    on_grid: Callable[[tuple[int, int, int]], None] | None = None

    def __init__(self, src: object, metadata: object) -> None:
        self.src = src
        self.metadata = metadata

    def __call__(self, gx: int, gy: int, gz: int, *rest: Any) -> None:
        """Tell `on_grid` and the hook chains about one launch.

        After the grid, Triton passes stream, function, packed metadata, launch metadata, enter hook, exit hook, and
        the kernel's arguments.
        """
        launch_metadata, enter, leave = rest[3:6]
        notify = type(self).on_grid
        if notify is not None:
            notify((int(gx), int(gy), int(gz)))
        if enter is not None:
            enter(launch_metadata)
        if leave is not None:
            leave(launch_metadata)


def fake_benchmarker() -> Bench:
    """A benchmarker for sweeps: compiles by calling once, and measures nothing."""

    def bench(kernel_call: Callable[[], object], *, quantiles: Sequence[float] = (), **_: object) -> list[float]:
        kernel_call()
        return [1.0] * max(1, len(quantiles))

    return bench


class DeviceAnswers:
    """What Triton asks its driver about the current device, answered from a table; mixed into Triton's own base class.

    Args:
        gpu_target: Triton's GPUTarget.
        properties: as `DevicelessUtils` takes them.
    """

    def __init__(self, gpu_target: Any, properties: Mapping[str, Any]) -> None:
        self._target = gpu_target
        self.utils = DevicelessUtils(properties)
        self.launcher_cls = DevicelessLauncher

    @classmethod
    def is_active(cls) -> bool:
        """Say yes: this driver is set, never probed for."""
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Nothing is compiled for the host, so any name will do."""
        return ty

    def get_current_target(self) -> Any:
        """The target that was chosen."""
        return self._target

    def get_active_torch_device(self) -> Any:
        """Tensors without storage."""
        import torch

        return torch.device("meta")

    def get_current_device(self) -> int:
        """The only one."""
        return 0

    def set_current_device(self, _device: int) -> None:
        """There is only one."""

    def get_current_stream(self, _device: int = 0) -> int:
        """A stream on which nothing runs."""
        return 0

    def get_device_capability(self, _device: int = 0) -> tuple[int, int]:
        """Compute capability of a CUDA target; (0, 0) for others, which have none."""
        arch = self._target.arch
        return divmod(arch, 10) if isinstance(arch, int) else (0, 0)

    def get_device_interface(self) -> Any:
        """Torch's module for a device on which nothing has to be waited for."""
        import torch

        return torch.cpu

    def get_benchmarker(self) -> Bench:
        """A benchmarker that compiles and does not measure."""
        return fake_benchmarker()

    def get_empty_cache_for_benchmark(self) -> None:
        """There is no cache to flush."""

    def clear_cache(self, _cache: object) -> None:
        """There is no cache to flush."""

    def assemble_tensormap_to_arg(self, _infos: object, args: object) -> object:
        """Descriptors are not built for a launch that does not happen."""
        return args

    def allocate_default_profile_scratch(self, _size: int, _alignment: int, _stream: int) -> None:
        """Nothing runs, so nothing profiles."""


def make_driver(target: Target, properties: Mapping[str, Any]) -> Any:
    """Build the driver object for a target; needs triton to be importable, and no device."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    driver_class = type("DevicelessDriver", (DeviceAnswers, DriverBase), {})
    return driver_class(GPUTarget(target.backend, target.arch, target.warp_size), properties)


def install(target: Target, properties: Mapping[str, Any]) -> Any:
    """Make Triton use the device-less driver in this process and return it."""
    import triton

    driver = make_driver(target, properties)
    triton.runtime.driver.set_active(driver)
    # `reset_active()` goes back to the default, which would probe for real cards and find none.
    if hasattr(triton.runtime.driver, "_default"):
        triton.runtime.driver._default = driver  # the slot has no public name
    return driver
