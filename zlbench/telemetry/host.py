"""The host in the place of a card: how busy its processors are, how fast they run, and who else uses them.

Read from ``/proc`` and ``/sys``; what is not there is left out. No process is started.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zlbench import proctree
from zlbench.telemetry.lines import HOST, Foreign, Reading, plain_name

THROTTLED = "cpu_thermal"
"""A processor counted another thermal throttle since the reading before."""
_LEAST_CORES = 0.05
"""Whoever uses less of a processor than this between two readings is left out: every machine has dozens."""
_MOST = 8
"""Processes that a reading names, the busiest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Moment:
    """Counters at one moment; their differences between two are what is told."""

    at: float
    idle: int = 0
    total: int = 0
    throttles: int | None = None
    spent: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """Ticks of each process by id and start."""


class Host:
    """Reads the host; each reading tells of the time since the one before, so the first tells only what is momentary.

    Args:
        ours: processes that are not foreign.
        root: where ``/proc/stat`` and ``/sys`` are looked up.
    """

    def __init__(self, ours: Callable[[], set[int]], root: Path = Path("/")) -> None:
        self._ours = ours
        self._root = root
        self._ticks = os.sysconf("SC_CLK_TCK")
        self._last: _Moment | None = None

    def readings(self) -> tuple[list[Reading], str]:
        """One reading of now; the host always answers."""
        return [self.reading()], ""

    def reading(self) -> Reading:
        """Read now."""
        ours = self._ours()
        now, before = self._moment(), self._last
        self._last = now
        # Before and after: a cell may begin or end in between, and would be somebody else's.
        ours |= self._ours()
        throttled = before is not None and (now.throttles or 0) > (before.throttles or 0)
        return Reading(
            at=time.time(),
            index=HOST,
            sm_clock_mhz=self._clock_mhz(),
            util_pct=None if before is None else _busy_pct(before, now),
            throttle=(THROTTLED,) if throttled else (),
            foreign=None if before is None else self._foreign(before, now, ours),
        )

    def _moment(self) -> _Moment:
        idle, total = _times(_text(self._root / "proc" / "stat"))
        counters = self._numbers("sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
        return _Moment(
            at=time.monotonic(), idle=idle, total=total, throttles=sum(counters) if counters else None,
            spent={(entry.pid, entry.started): entry.ticks for entry in proctree.table()},
        )  # fmt: skip

    def _clock_mhz(self) -> float | None:
        found = self._numbers("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
        return sum(found) / len(found) / 1000 if found else None

    def _numbers(self, pattern: str) -> list[int]:
        words = (_text(path).strip() for path in self._root.glob(pattern))
        return [int(word) for word in words if word.isdecimal()]

    def _foreign(self, before: _Moment, now: _Moment, ours: set[int]) -> tuple[Foreign, ...]:
        passed = max(now.at - before.at, 1e-3) * self._ticks
        used = {
            key: (ticks - before.spent.get(key, 0)) / passed for key, ticks in now.spent.items() if key[0] not in ours
        }
        busiest = sorted(used, key=lambda key: (-used[key], key))[:_MOST]
        return tuple(
            Foreign(
                pid=pid, name=plain_name(_text(Path(f"/proc/{pid}/comm")).strip()), cores=round(used[pid, started], 2)
            )
            for pid, started in busiest
            if used[pid, started] >= _LEAST_CORES
        )


def _name(pid: int) -> str:
    return plain_name(_text(Path(f"/proc/{pid}/comm")).strip())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _times(stat: str) -> tuple[int, int]:
    """Ticks of all processors, idle ones and all."""
    fields = stat.partition("\n")[0].split()[1:9]
    counts = [int(word) for word in fields if word.isdecimal()]
    return (sum(counts[3:5]), sum(counts)) if len(counts) == 8 else (0, 0)


def _busy_pct(before: _Moment, now: _Moment) -> float | None:
    passed = now.total - before.total
    return None if passed <= 0 else max(0.0, 100.0 * (1 - (now.idle - before.idle) / passed))
