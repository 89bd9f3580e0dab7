"""What Torch answers about its device, for one card of the target: recorded patches on `torch.cuda`, nothing else."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from zlbench.target import Target
from zlbench_plugins._patch import PatchSet

_GIB = 1 << 30
_MEMORY = 80 * _GIB
_SEED = 20240229
_THREADS = 2048
"""A multiprocessor's; equal on 8.0, 9.0, 10.0 and CDNA."""


class Nothing:
    """Stands in for devices, streams and events: a context in which nothing happens, with methods that do nothing."""

    cuda_stream = 0
    device = None
    device_index = 0
    stream_id = 0

    def __init__(self, *_: object, **__: object) -> None:
        self.idx = 0

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def query(self) -> bool:
        """All work is done, since there is none."""
        return True

    def elapsed_time(self, _other: object) -> float:
        """No time is made up: whoever wants to measure is told that there is nothing to measure."""
        raise RuntimeError("nothing is launched on the compile-only backend, so nothing can be timed")

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def record(self, _stream: object = None) -> None:
        """Nothing to mark."""

    wait = wait_event = wait_stream = record_event = record


class State:
    """A generator's state: two numbers, whatever type they are viewed as, since a real one is opaque bytes."""

    def __init__(self, values: list[int]) -> None:
        self._values = values

    def view(self, *_: object) -> list[int]:
        """Seed and offset."""
        return self._values

    def clone(self) -> State:
        """A copy with values of its own."""
        return State(list(self._values))


class Generator:
    """A seed and an offset that a kernel is handed; equal in every row and on both sides."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._values = [_SEED, 0]

    def get_state(self) -> State:
        """A copy of the state."""
        return State(list(self._values))

    def set_state(self, state: object) -> None:
        """The offset stays: nothing was drawn, and a launch must not depend on those before it."""

    def initial_seed(self) -> int:
        """The seed that every row starts from."""
        return self._values[0]

    def manual_seed(self, _seed: int) -> Generator:
        """The seed stays, for the same reason."""
        return self


def properties(target: Target) -> SimpleNamespace:
    """Torch's device properties for the card that stands for the target."""
    from zlbench_backends.compile_only import properties_of

    card = properties_of(target)
    major, minor = capability(target)
    maker = "NVIDIA" if target.backend == "cuda" else "AMD"
    return SimpleNamespace(
        name=f"{maker} {card.name} (no device: compile only)", major=major, minor=minor, total_memory=_MEMORY,
        multi_processor_count=card.processors, warp_size=card.warp_size, regs_per_multiprocessor=card.registers,
        shared_memory_per_block=48 << 10, shared_memory_per_block_optin=card.shared_bytes,
        shared_memory_per_multiprocessor=card.shared_bytes + (1 << 10), max_threads_per_multi_processor=_THREADS,
        max_threads_per_block=1024, L2_cache_size=50 << 20, clock_rate=card.clock_khz,
        memory_clock_rate=card.memory_khz, memory_bus_width=card.bus_bits, is_integrated=0, is_multi_gpu_board=0,
        gcnArchName=str(target.arch) if target.backend == "hip" else "", uuid=uuid.UUID(int=0),
    )  # fmt: skip


def capability(target: Target) -> tuple[int, int]:
    """Compute capability; for an AMD target the two first digits of its name, as Torch gives them."""
    if isinstance(target.arch, int):
        return divmod(target.arch, 10)
    return int(target.arch[3]), int(target.arch[4])


def answers(target: Target) -> dict[str, Any]:
    """Replacements for attributes of `torch.cuda`, by name."""
    import torch

    card = properties(target)
    stream = Nothing()

    def always(value: Any) -> Callable[..., Any]:
        return lambda *_, **__: value

    return {
        "is_available": always(value=True),
        "is_initialized": always(value=True),
        "is_bf16_supported": always(capability(target) >= (8, 0)),
        "is_current_stream_capturing": always(value=False),
        "init": always(None),
        "device_count": always(1),
        "current_device": always(0),
        "set_device": always(None),
        "get_device_name": always(card.name),
        "get_device_properties": always(card),
        "get_device_capability": always(capability(target)),
        "can_device_access_peer": always(value=False),
        "synchronize": always(None),
        "empty_cache": always(None),
        "reset_peak_memory_stats": always(None),
        "mem_get_info": always((_MEMORY, _MEMORY)),
        "memory_allocated": always(0),
        "memory_reserved": always(0),
        "max_memory_allocated": always(0),
        "max_memory_reserved": always(0),
        "manual_seed": always(None),
        "manual_seed_all": always(None),
        "_lazy_init": always(None),
        "_lazy_call": always(None),
        "device": Nothing,
        "_DeviceGuard": Nothing,
        "device_of": Nothing,
        "stream": Nothing,
        "StreamContext": Nothing,
        "Stream": Nothing,
        "Event": Nothing,
        "current_stream": always(stream),
        "default_stream": always(stream),
        "set_stream": always(None),
        "default_generators": (Generator(torch.device("cuda", 0)),),
    }


def install(target: Target, patches: PatchSet) -> None:
    """Put the answers in."""
    import torch

    for name, value in answers(target).items():
        patches.set(torch.cuda, name, value)
