"""AMD cards, asked through ``rocm-smi --json`` or, where that is gone, ``amd-smi --json``; parsers take either."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from zlbench.backend import Backend, Timer
from zlbench.smi import CARD, CardFacts, CardProcess, Query, Sample, at, json_value, number, whole, word

_MIB = 1 << 20
_POWER = ("Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)")
_TEMPERATURE = ("Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)")
_ROCM = ("rocm-smi", "--json")


def _cards(text: str) -> Iterator[tuple[int, Mapping[str, Any], Any]]:
    """Yield index, card and the whole answer: rocm-smi has keys ``card0``, amd-smi a list with ``gpu``."""
    answer = json_value(text)
    listed = at(answer, "gpu_data") if at(answer, "gpu_data") is not None else answer
    if isinstance(listed, list):
        named = [(str(at(card, "gpu")), card) for card in listed]
    elif isinstance(listed, Mapping):
        named = [(str(name)[4:], card) for name, card in listed.items() if str(name).startswith("card")]
    else:
        named = []
    for name, card in named:
        index = whole(name)
        if index is not None and isinstance(card, Mapping):
            yield index, card, answer


def _first(card: Mapping[str, Any], *paths: tuple[str, ...]) -> float | None:
    """The first of several places that holds a number; rocm-smi writes clocks as ``(1700Mhz)``."""
    values = (at(card, *path) for path in paths)
    stated = (number(value.lstrip("(") if isinstance(value, str) else value) for value in values)
    return next((value for value in stated if value is not None), None)


def parse_telemetry(text: str) -> list[Sample]:
    """Parse clocks, temperature, power and use of either tool."""
    return [
        Sample(
            index=index,
            sm_clock_mhz=_first(card, ("sclk clock speed:",), ("clock", "gfx_0", "clk")),
            mem_clock_mhz=_first(card, ("mclk clock speed:",), ("clock", "mem_0", "clk")),
            temp_c=_first(card, *((key,) for key in _TEMPERATURE), ("temperature", "hotspot"), ("temperature", "edge")),
            power_w=_first(card, *((key,) for key in _POWER), ("power", "socket_power")),
            util_pct=_first(card, ("GPU use (%)",), ("usage", "gfx_activity")),
            uuid=_uuid(card),
            throttle=_throttle(card),
        )
        for index, card, _ in _cards(text)
    ]


def _uuid(card: Mapping[str, Any]) -> str:
    return word(at(card, "Unique ID")) or word(at(card, "asic", "asic_serial")) or word(at(card, "uuid"))


def _throttle(card: Mapping[str, Any]) -> str:
    said = word(at(card, "power", "throttle_status"))
    return "" if said == "UNTHROTTLED" else said


def parse_cards(text: str) -> list[CardFacts]:
    """Parse names, driver, memory and power limit of either tool."""
    found = []
    for index, card, answer in _cards(text):
        used = number(at(card, "VRAM Total Used Memory (B)"))
        limit = _first(card, ("Max Graphics Package Power (W)",), ("limit", "max_power"))
        found.append(
            CardFacts(
                index=index,
                uuid=_uuid(card),
                name=word(at(card, "Card Series")) or word(at(card, "asic", "market_name")),
                driver=word(at(answer, "system", "Driver version")) or word(at(card, "driver", "version")),
                memory_used_mb=used / _MIB if used is not None else number(at(card, "mem_usage", "used_vram")),
                settings={} if limit is None else {"power_limit_w": limit},
            )
        )
    return found


def parse_processes(text: str) -> list[CardProcess]:
    """Parse ``rocm-smi --showpids --json`` (name, cards, bytes of VRAM, …) or ``amd-smi process --json``."""
    found = []
    system = at(json_value(text), "system")
    for key, value in system.items() if isinstance(system, Mapping) else ():
        pid = re.fullmatch(r"PID(\d{1,19})", str(key))
        if pid and isinstance(value, str):
            name, _, rest = value.partition(",")
            vram = number(rest.partition(",")[2])
            memory = None if vram is None else vram / _MIB
            found.append(CardProcess(pid=int(pid.group(1)), name=word(name), memory_mb=memory))
    for index, card, _ in _cards(text):
        listed = at(card, "process_list")
        for entry in listed if isinstance(listed, list) else ():
            info = at(entry, "process_info")
            if isinstance(info, Mapping):
                vram = _first(info, ("memory_usage", "vram_mem"), ("mem_usage",))
                memory = None if vram is None else vram / _MIB
                pid_or_none = whole(at(info, "pid"))
                found.append(
                    CardProcess(pid=pid_or_none, name=word(at(info, "name")), memory_mb=memory, card=str(index))
                )
    return found


BACKEND = Backend(
    name="rocm",
    title="AMD ROCm",
    aliases=("amd", "hip"),
    vendor="amd",
    visibility=("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    # Torch for ROCm answers under CUDA's name.
    device_module="cuda",
    timers=(Timer.DIRECT,),
    device_files=("/dev/kfd",),
    telemetry=Query(
        argv=(*_ROCM, "--showuniqueid", "--showuse", "--showtemp", "--showpower", "--showclocks"),
        pin=("-d", CARD),
        parse=parse_telemetry,
        otherwise=Query(argv=("amd-smi", "metric", "--json"), pin=("-g", CARD), parse=parse_telemetry),
    ),
    cards=Query(
        argv=(*_ROCM, "--showuniqueid", "--showproductname", "--showdriverversion", "--showmeminfo", "vram",
              "--showmaxpower"),
        pin=("-d", CARD),
        parse=parse_cards,
        otherwise=Query(argv=("amd-smi", "static", "--json"), pin=("-g", CARD), parse=parse_cards),
    ),
    processes=Query(
        argv=(*_ROCM, "--showpids"),
        parse=parse_processes,
        otherwise=Query(argv=("amd-smi", "process", "--json"), pin=("-g", CARD), parse=parse_processes),
    ),
)  # fmt: skip
