"""NVIDIA cards, asked through ``nvidia-smi --query-…``: CSV whose columns are named in the question."""

from __future__ import annotations

from zlbench import torch_errors
from zlbench.backend import Backend, Timer
from zlbench.smi import CARD, CardFacts, CardProcess, Query, Sample, csv_rows, number, whole, word

_CSV = "--format=csv,noheader,nounits"
_PIN = ("-i", CARD)
_SAMPLE = (
    "index", "clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "utilization.gpu", "uuid",
    "clocks_throttle_reasons.active",
)  # fmt: skip
_SETTINGS = {
    "sm_clock_max_mhz": "clocks.max.sm",
    "mem_clock_max_mhz": "clocks.max.mem",
    "sm_clock_application_mhz": "clocks.applications.graphics",
    "mem_clock_application_mhz": "clocks.applications.memory",
    "power_limit_w": "power.limit",
}
_CARD = ("index", "uuid", "name", "driver_version", "memory.used", *_SETTINGS.values())
_PROCESS = ("gpu_uuid", "pid", "process_name", "used_memory")
# nvmlClocksEventReasons* of nvml.h, in the words of `nvidia-smi --help-query-gpu`.
_THROTTLE = {
    0x1: "gpu_idle", 0x2: "applications_clocks_setting", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
    0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}  # fmt: skip

# cudaGetErrorString and cuGetErrorString say the same; Torch and Triton put their own names in front. After these the
# context is gone: every later call of the process fails in the same way.
_FATAL = (
    "an illegal memory access was encountered",
    "misaligned address",
    "an illegal instruction was encountered",
    "operation not supported on global/shared address space",
    "invalid program counter",
    "hardware stack error",
    "device-side assert triggered",
    "unspecified launch failure",
    "the launch timed out and was terminated",
    "context is destroyed",
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error detected during the execution",
    "invalid access of peer GPU memory over nvlink or a hardware error",
    "tensor memory not completely freed",
    "driver shutting down",
)
# cudaErrorStreamCapture*, 900 to 908.
_CAPTURE = (
    "operation not permitted when stream is capturing",
    "operation failed due to a previous error during capture",
    "operation would result in a merge of separate capture sequences",
    "capture was not ended in the same stream as it began",
    "capturing stream has unjoined work",
    "dependency created on uncaptured work in another stream",
    "operation would make the legacy stream depend on a capturing blocking stream",
    "operation not permitted on an event last recorded in a capturing stream",
    "attempt to terminate a thread-local capture sequence from another thread",
)


def parse_telemetry(text: str) -> list[Sample]:
    """Parse the answer to `_SAMPLE`."""
    found = []
    for index, sm, mem, temp, power, util, uuid, reasons in csv_rows(text, len(_SAMPLE)):
        where = whole(index)
        if where is not None:
            found.append(
                Sample(
                    index=where, sm_clock_mhz=number(sm), mem_clock_mhz=number(mem), temp_c=number(temp),
                    power_w=number(power), util_pct=number(util), uuid=word(uuid), throttle=_throttle(reasons),
                )
            )  # fmt: skip
    return found


def _throttle(mask: str) -> str:
    try:
        bits = int(mask, 16)
    except ValueError:
        return ""
    return "+".join(name for bit, name in _THROTTLE.items() if bits & bit)


def parse_cards(text: str) -> list[CardFacts]:
    """Parse the answer to `_CARD`."""
    found = []
    for index, uuid, name, driver, used, *settings in csv_rows(text, len(_CARD)):
        where = whole(index)
        if where is not None:
            values = {key: number(value) for key, value in zip(_SETTINGS, settings, strict=True)}
            found.append(
                CardFacts(
                    index=where, uuid=word(uuid), name=word(name), driver=word(driver), memory_used_mb=number(used),
                    settings={key: value for key, value in values.items() if value is not None},
                )
            )  # fmt: skip
    return found


def parse_processes(text: str) -> list[CardProcess]:
    """Parse the answer to `_PROCESS`; a program's name may hold commas."""
    found = []
    for line in text.splitlines():
        uuid, comma, rest = line.strip().partition(", ")
        pid, _, rest = rest.partition(", ")
        name, _, memory = rest.rpartition(", ")
        if comma and uuid.startswith(("GPU-", "MIG-")):
            found.append(CardProcess(pid=whole(pid), name=word(name), memory_mb=number(memory), card=uuid))
    return found


BACKEND = Backend(
    name="cuda",
    title="NVIDIA CUDA",
    aliases=("nvidia", "gpu"),
    vendor="nvidia",
    visibility=("CUDA_VISIBLE_DEVICES",),
    # The driver's own order is by speed: where cards differ, its numbers would not be those of nvidia-smi.
    environment={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
    visible_by_uuid=True,
    device_module="cuda",
    supports_cuda_graph=True,
    timers=(Timer.CUDA_GRAPH, Timer.DIRECT),
    fatal_errors=_FATAL,
    capture_errors=(*_CAPTURE, *torch_errors.CAPTURE),
    poison_errors=torch_errors.POISON,
    error_hints=torch_errors.HINTS,
    device_files=("/dev/nvidiactl",),
    telemetry=Query(argv=("nvidia-smi", f"--query-gpu={','.join(_SAMPLE)}", _CSV), pin=_PIN, parse=parse_telemetry),
    cards=Query(argv=("nvidia-smi", f"--query-gpu={','.join(_CARD)}", _CSV), pin=_PIN, parse=parse_cards),
    processes=Query(
        argv=("nvidia-smi", f"--query-compute-apps={','.join(_PROCESS)}", _CSV), pin=_PIN, parse=parse_processes
    ),
)
