"""Moore Threads cards, asked through ``mthreads-gmi -q --json``: values carry their units, keys stray blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from zlbench.backend import Backend, Timer
from zlbench.smi import CARD, CardFacts, CardProcess, Query, Sample, at, json_value, number, whole, word

_PIN = ("-i", CARD)
_SETTINGS = {
    "sm_clock_max_mhz": ("Max Clocks", "Graphics"),
    "mem_clock_max_mhz": ("Max Clocks", "Memory"),
    "power_limit_w": ("Power Readings", "Power Limit"),
}
_PROCESS = re.compile(
    r"\|\s*(?P<card>\d+)\s+(?P<pid>\d+)\s+(?P<name>\S.*?)\s+(?P<memory>\d+)\s*Mi?B\s*\|", re.IGNORECASE
)


def _cards(text: str) -> Iterator[tuple[int, Mapping[str, Any], Any]]:
    """Yield index, card and the whole answer; `GPU` is a list, or the only card itself."""
    answer = json_value(text)
    listed = at(answer, "GPU")
    for place, card in enumerate(listed if isinstance(listed, list) else [listed]):
        if isinstance(card, Mapping):
            stated = whole(at(card, "Index"))
            yield place if stated is None else stated, card, answer


def parse_telemetry(text: str) -> list[Sample]:
    """Parse ``mthreads-gmi -q -d TEMPERATURE,CLOCK,POWER,UTILIZATION --json``."""
    return [
        Sample(
            index=index,
            sm_clock_mhz=number(at(card, "Clocks", "Graphics")),
            mem_clock_mhz=number(at(card, "Clocks", "Memory")),
            temp_c=number(at(card, "Temperature", "GPU Current Temp")),
            # In the tool's output the key is "Power Draw ", with a blank at its end.
            power_w=number(at(card, "Power Readings", "Power Draw")),
            util_pct=number(at(card, "Utilization", "Gpu")),
            uuid=_uuid(card),
        )
        for index, card, _ in _cards(text)
    ]


def _uuid(card: Mapping[str, Any]) -> str:
    return word(at(card, "GPU UUID")) or word(at(card, "UUID"))


def parse_cards(text: str) -> list[CardFacts]:
    """Parse ``mthreads-gmi -q --json``."""
    found = []
    for index, card, answer in _cards(text):
        settings = {name: number(at(card, *path)) for name, path in _SETTINGS.items()}
        found.append(
            CardFacts(
                index=index,
                uuid=_uuid(card),
                name=word(at(card, "Product Name")),
                driver=word(at(answer, "Driver Version")) or word(at(card, "Driver Version")),
                memory_used_mb=number(at(card, "FB Memory Usage", "Used")),
                settings={name: value for name, value in settings.items() if value is not None},
            )
        )
    return found


def parse_processes(text: str) -> list[CardProcess]:
    """Parse the table of processes below that of the cards."""
    _, heading, table = text.partition("Processes")
    return [
        CardProcess(pid=whole(row["pid"]), name=row["name"], memory_mb=number(row["memory"]), card=row["card"])
        for row in (_PROCESS.finditer(table) if heading else ())
    ]


BACKEND = Backend(
    name="musa",
    title="Moore Threads MUSA",
    aliases=("mthreads",),
    vendor="mthreads",
    visibility=("MUSA_VISIBLE_DEVICES",),
    device_module="musa",
    torch_package="torch_musa",
    supports_cuda_graph=True,
    timers=(Timer.CUDA_GRAPH, Timer.DIRECT),
    device_files=("/dev/mtgpu.*", "/dev/mthreads*"),
    telemetry=Query(
        argv=("mthreads-gmi", "-q", "-d", "TEMPERATURE,CLOCK,POWER,UTILIZATION", "--json"),
        pin=_PIN,
        parse=parse_telemetry,
    ),
    cards=Query(argv=("mthreads-gmi", "-q", "--json"), pin=_PIN, parse=parse_cards),
    processes=Query(argv=("mthreads-gmi",), parse=parse_processes),
    compat_plugins=("mthreads_compat",),
)
