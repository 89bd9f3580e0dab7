"""What a piece of work costs the processor: instructions in user space where the system counts them, else CPU time.

Both cover the process with its threads and every child that it has waited for: a compiler starts its assembler as one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

_SYSCALL = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "s390x": 331, "riscv64": 241}
"""Number of perf_event_open, which libc does not wrap."""
_ATTR_SIZE = 128
_HARDWARE, _INSTRUCTIONS = 0, 1
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_ENABLED_AND_RUNNING = 1 | 2
_CLOSE_ON_EXEC = 8


class NoCounterError(OSError):
    """This system does not count instructions for us; the text says why."""


class InstructionCounter:
    """Counts user-space instructions of this thread and of all threads and processes that start while it is open.

    Raises:
        NoCounterError: no counter, or none that we may use.
    """

    def __init__(self, open_event: Callable[[bytes], int] | None = None) -> None:
        self._fd = (open_event or _open_event)(_attributes())

    def read(self) -> int:
        """Instructions since it was opened; scaled where the counter was shared with others for a part of the time."""
        value, enabled, running = struct.unpack("QQQ", os.read(self._fd, 24))
        return int(value if running in (0, enabled) else value * enabled / running)

    def close(self) -> None:
        """Give the counter back."""
        os.close(self._fd)


def _attributes() -> bytes:
    """The request of perf_event_open(2): instructions, without kernel and hypervisor, children included."""
    attributes = bytearray(_ATTR_SIZE)
    struct.pack_into("IIQ", attributes, 0, _HARDWARE, _ATTR_SIZE, _INSTRUCTIONS)
    struct.pack_into("QQ", attributes, 32, _ENABLED_AND_RUNNING, _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR)
    return bytes(attributes)


def _open_event(attributes: bytes) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise NoCounterError(errno.ENOSYS, f"no number of perf_event_open is known for {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(number, attributes, 0, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
    if fd < 0:
        code = ctypes.get_errno()
        raise NoCounterError(code, f"perf_event_open: {os.strerror(code)}{_ADVICE.get(code, '')}")
    return int(fd)


_ADVICE = {
    errno.ENOENT: " (no hardware counters here, as on most virtual machines)",
    errno.EACCES: " (kernel.perf_event_paranoid forbids it)",
    errno.EPERM: " (kernel.perf_event_paranoid or a container's filter forbids it)",
}


def no_counter_reason() -> str:
    """Why instructions cannot be counted here; empty where they can."""
    try:
        counter = InstructionCounter()
    except NoCounterError as error:
        return str(error.strerror)
    try:
        before = counter.read()
        return "" if counter.read() > before else "the counter stands still"
    finally:
        counter.close()


def cpu_ms() -> float:
    """CPU time of this process and of the children that it has waited for, user and system, in milliseconds.

    Only their sum is exact: the system splits it by sampling.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() / 1e6 + (children.ru_utime + children.ru_stime) * 1e3


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """What had been used at one moment."""

    wall_ms: float
    cpu_ms: float
    instructions: int | None

    def since(self, before: Mark) -> dict[str, float]:
        """What was used from `before` to here, by the name of the value."""
        used = {"wall_ms": self.wall_ms - before.wall_ms, "cpu_ms": self.cpu_ms - before.cpu_ms}
        if self.instructions is not None and before.instructions is not None:
            used["instructions"] = self.instructions - before.instructions
        return used


class Meter:
    """Takes marks during one measurement.

    Args:
        count: whether instructions are counted.
    """

    def __init__(self, *, count: bool) -> None:
        self._counter = InstructionCounter() if count else None

    def mark(self) -> Mark:
        """What has been used by now."""
        instructions = self._counter.read() if self._counter is not None else None
        return Mark(wall_ms=time.perf_counter_ns() / 1e6, cpu_ms=cpu_ms(), instructions=instructions)

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._counter is not None:
            self._counter.close()
