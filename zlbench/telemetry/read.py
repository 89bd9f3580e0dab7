"""telemetry.tsv read back, and what it says of one cell. What nobody saw is said to be unseen, never guessed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zlbench.smi import NOT_THROTTLING
from zlbench.telemetry.lines import HOST, Foreign, Reading
from zlbench.telemetry.lines import read as read_line

TELEMETRY = "telemetry.tsv"
OF_CELL = "telemetry.json"
"""In a cell's directory: when it ran (`started`, `ended`), and its `Summary`, once its pair was judged."""
_IDLE = "gpu_idle"


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What was seen while one cell ran.

    Args:
        samples: readings within the cell.
        busy: those of them in which the card worked. Clocks and power are of these alone: between two kernels a card
            lowers them, and that says nothing of a kernel.
        foreign: processes of somebody else, each once, with the most that it was seen to use; None: nobody can say.
        foreign_cores: processors that they kept busy together, median; where the host is sampled.
    """

    samples: int = 0
    busy: int = 0
    sm_clock_mhz: float | None = None
    sm_clock_min_mhz: float | None = None
    mem_clock_mhz: float | None = None
    temp_c: float | None = None
    temp_max_c: float | None = None
    power_w: float | None = None
    throttle: tuple[str, ...] = ()
    foreign: tuple[Foreign, ...] | None = None
    foreign_cores: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def text(self) -> str:
        """In one line for people."""
        if not self.samples:
            return "not observed: no sample"
        parts = [f"{self.samples} samples, {self.busy} at work"]
        for label, value, unit in (
            ("clock", self.sm_clock_mhz, "MHz"), ("lowest", self.sm_clock_min_mhz, "MHz"),
            ("hottest", self.temp_max_c, "C"), ("power", self.power_w, "W"),
        ):  # fmt: skip
            parts += [f"{label} {value:.0f} {unit}"] if value is not None else []
        parts.append(f"throttled: {', '.join(self.throttle)}" if self.throttle else "not throttled")
        parts.append(_others(self.foreign))
        return " · ".join(parts)


def _others(foreign: tuple[Foreign, ...] | None) -> str:
    if foreign is None:
        return "other processes unknown"
    return f"others: {' '.join(map(str, foreign))}" if foreign else "nobody else"


def read(path: Path) -> list[Reading]:
    """All whole lines of the file in the order of time; [] where it is not there or cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    *lines, _torn = text.split("\n")
    found = (read_line(line) for line in lines)
    return sorted((reading for reading in found if reading is not None), key=lambda reading: reading.at)


def within(readings: Iterable[Reading], start: float, end: float, *, index: str | None = None) -> list[Reading]:
    """Readings from `start` to `end` (seconds since the epoch, both included), of one card where `index` says so."""
    return [r for r in readings if start <= r.at <= end and index in (None, r.index)]


def summary(readings: Sequence[Reading]) -> Summary:
    """Summarise the readings of one cell."""
    busy = [reading for reading in readings if _at_work(reading)]
    reasons = {reason for reading in readings for reason in reading.throttle} - NOT_THROTTLING
    clocks = _stated(reading.sm_clock_mhz for reading in busy)
    temperatures = _stated(reading.temp_c for reading in readings)
    known = [reading.foreign for reading in readings if reading.foreign is not None]
    loads = [sum(process.cores or 0.0 for process in found) for found in known]
    return Summary(
        samples=len(readings),
        busy=len(busy),
        sm_clock_mhz=_median(clocks),
        sm_clock_min_mhz=min(clocks, default=None),
        mem_clock_mhz=_median(_stated(reading.mem_clock_mhz for reading in busy)),
        temp_c=_median(temperatures),
        temp_max_c=max(temperatures, default=None),
        power_w=_median(_stated(reading.power_w for reading in busy)),
        throttle=tuple(sorted(reasons)),
        foreign=_each_once(known) if known else None,
        foreign_cores=_median(loads) if any(reading.index == HOST for reading in readings) else None,
    )


def of_cell(path: Path, start: float, end: float, *, index: str | None = None) -> Summary:
    """What the file says of a cell that ran from `start` to `end`."""
    return summary(within(read(path), start, end, index=index))


def _at_work(reading: Reading) -> bool:
    return _IDLE not in reading.throttle and (reading.util_pct is None or reading.util_pct > 0)


def _stated(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _each_once(seen: Iterable[Iterable[Foreign]]) -> tuple[Foreign, ...]:
    most: dict[int, Foreign] = {}
    for process in (process for found in seen for process in found):
        before = most.get(process.pid)
        if before is None or (process.cores or 0.0) > (before.cores or 0.0):
            most[process.pid] = process
    return tuple(most[pid] for pid in sorted(most))


def from_json(data: Mapping[str, Any]) -> Summary:
    """Rebuild a summary from `Summary.to_json`."""
    foreign = data.get("foreign")
    rebuilt = None if foreign is None else tuple(Foreign(**process) for process in foreign)
    return Summary(**{**data, "throttle": tuple(data["throttle"]), "foreign": rebuilt})
