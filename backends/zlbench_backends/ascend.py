"""Huawei Ascend cards, asked through ``npu-smi info``: two tables for people, and nothing for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zlbench.backend import Backend, Timer
from zlbench.smi import CardFacts, CardProcess, Query, Sample, number, whole, word

_VERSION = re.compile(r"npu-smi\s+(\S+)")


def _cells(text: str) -> Iterator[list[str]]:
    """Yield the columns of every line of a table."""
    for line in text.splitlines():
        stripped = line.strip()
        if len(stripped) > 2 and stripped[0] == stripped[-1] == "|":
            yield [cell.strip() for cell in stripped[1:-1].split("|")]


def _pairs(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the two lines of each chip: ``0 910B3 | OK | 93.7 41 …``, then ``0 | 0000:C1:00.0 | 0 0 / 0 …``."""
    above: list[str] | None = None
    for cells in _cells(text.partition("Process id")[0]):
        numbered = len(cells) == 3 and whole(cells[0]) is not None
        if numbered and above is not None and ":" in cells[1]:
            yield above, cells
            above = None
        else:
            above = cells if numbered else None


def _index(first: list[str], second: list[str]) -> int | None:
    """Cards with two chips number them all in a second column (Phy-ID), and that is what programs use."""
    return whole(second[0].split()[1]) if len(second[0].split()) > 1 else whole(first[0])


def parse_telemetry(text: str) -> list[Sample]:
    """Parse the table of cards; clocks are not in it."""
    found = []
    for first, second in _pairs(text):
        power, temperature = (*first[2].split(), "", "")[:2]
        use = (*second[2].split(), "")[0]
        index = _index(first, second)
        if index is not None:
            found.append(Sample(index=index, power_w=number(power), temp_c=number(temperature), util_pct=number(use)))
    return found


def parse_cards(text: str) -> list[CardFacts]:
    """Parse the table of cards; the driver has the tool's version."""
    said = _VERSION.search(text)
    found = []
    for first, second in _pairs(text):
        index = _index(first, second)
        memory = re.findall(r"(\d+)\s*/\s*\d+", second[2])
        if index is not None:
            found.append(
                CardFacts(
                    index=index, name=word(" ".join(first[0].split()[1:])), driver=said.group(1) if said else "",
                    memory_used_mb=number(memory[-1]) if memory else None,
                )
            )  # fmt: skip
    return found


def parse_processes(text: str) -> list[CardProcess]:
    """Parse the second table: ``0 0 | 3344421 | python3 | 3092``."""
    _, heading, table = text.partition("Process id")
    return [
        CardProcess(pid=whole(cells[1]), name=word(cells[2]), memory_mb=number(cells[3]), card=cells[0].split()[0])
        for cells in (_cells(table) if heading else ())
        if len(cells) == 4 and cells[0].split() and whole(cells[1]) is not None
    ]


_INFO = ("npu-smi", "info")

BACKEND = Backend(
    name="ascend",
    title="Huawei Ascend",
    aliases=("npu", "cann"),
    vendor="ascend",
    visibility=("ASCEND_RT_VISIBLE_DEVICES",),
    device_module="npu",
    torch_package="torch_npu",
    timers=(Timer.DIRECT,),
    device_files=("/dev/davinci_manager",),
    telemetry=Query(argv=_INFO, parse=parse_telemetry),
    cards=Query(argv=_INFO, parse=parse_cards),
    processes=Query(argv=_INFO, parse=parse_processes),
)
