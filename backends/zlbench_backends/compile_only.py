"""The device-less backend: kernels are compiled for a chosen target, launches are recorded and skipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zlbench.backend import Backend, Timer
from zlbench.errors import UsageError
from zlbench.nearest import unknown

if TYPE_CHECKING:
    from zlbench.target import Target

BACKEND = Backend(
    name="compile",
    title="compile only, no device",
    aliases=("offline", "deviceless", "none"),
    timers=(Timer.COMPILE,),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceProperties:
    """What the real drivers of Triton report for one card of the family.

    They decide what code is made: an autotuner drops configs over `shared_bytes`, persistent kernels launch
    as many programs as there are processors. Rates are in kHz and the bus in bits, as cuDeviceGetAttribute
    and hipGetDeviceProperties give them.
    """

    name: str
    shared_bytes: int
    processors: int
    warp_size: int
    clock_khz: int
    memory_khz: int
    bus_bits: int
    registers: int = 65536

    def as_triton(self, target: Target) -> dict[str, int | str]:
        """Return what ``driver.active.utils.get_device_properties`` of Triton 3.6 to 3.9 returns."""
        return {
            "max_shared_mem": self.shared_bytes,
            "max_num_regs": self.registers,
            "multiprocessor_count": self.processors,
            "warpSize": self.warp_size,
            "sm_clock_rate": self.clock_khz,
            "mem_clock_rate": self.memory_khz,
            "mem_bus_width": self.bus_bits,
            **({"arch": str(target.arch), "max_threads_per_sm": 2048} if target.backend == "hip" else {}),
        }


# Shared memory: CUDA C programming guide, "technical specifications per compute capability", the opt-in
# maximum a block (99 KiB on 8.6, 8.9 and 12.0; 163 KiB on 8.0; 227 KiB on 9.0 and 10.0). Processors, clocks
# and bus: data sheet of the card named. AMD: CDNA 2, 3 and 4 white papers (LDS 64 KiB, 64 KiB, 160 KiB).
# fmt: off
PROPERTIES: dict[str, DeviceProperties] = {
    "cuda:80": DeviceProperties(name="A100-SXM4-80GB", shared_bytes=166912, processors=108, warp_size=32,
                                clock_khz=1410000, memory_khz=1593000, bus_bits=5120),
    "cuda:86": DeviceProperties(name="A10", shared_bytes=101376, processors=72, warp_size=32,
                                clock_khz=1695000, memory_khz=6251000, bus_bits=384),
    "cuda:89": DeviceProperties(name="L40S", shared_bytes=101376, processors=142, warp_size=32,
                                clock_khz=2520000, memory_khz=9001000, bus_bits=384),
    "cuda:90": DeviceProperties(name="H100-SXM5-80GB", shared_bytes=232448, processors=132, warp_size=32,
                                clock_khz=1980000, memory_khz=2619000, bus_bits=5120),
    "cuda:100": DeviceProperties(name="B200", shared_bytes=232448, processors=148, warp_size=32,
                                 clock_khz=1965000, memory_khz=3996000, bus_bits=8192),
    "cuda:120": DeviceProperties(name="GeForce RTX 5090", shared_bytes=101376, processors=170, warp_size=32,
                                 clock_khz=2407000, memory_khz=14001000, bus_bits=512),
    "hip:gfx90a": DeviceProperties(name="Instinct MI250X (one die)", shared_bytes=65536, processors=110,
                                   warp_size=64, clock_khz=1700000, memory_khz=1600000, bus_bits=4096),
    "hip:gfx942": DeviceProperties(name="Instinct MI300X", shared_bytes=65536, processors=304, warp_size=64,
                                   clock_khz=2100000, memory_khz=1300000, bus_bits=8192),
    "hip:gfx950": DeviceProperties(name="Instinct MI355X", shared_bytes=163840, processors=256, warp_size=64,
                                   clock_khz=2400000, memory_khz=2000000, bus_bits=8192),
}
# fmt: on


def properties_of(target: Target) -> DeviceProperties:
    """Return the card that stands for a target.

    Raises:
        UsageError: the table has none.
    """
    name = str(target)
    if name not in PROPERTIES:
        raise UsageError(unknown("target", name, PROPERTIES, where="in the table of device properties"))
    return PROPERTIES[name]


def device_properties(target: Target) -> dict[str, int | str]:
    """Return a target's properties under the names that Triton's own drivers use."""
    return properties_of(target).as_triton(target)
