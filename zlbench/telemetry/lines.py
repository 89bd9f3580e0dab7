"""One line of telemetry.tsv: the value it stands for, how it is written, how it is read. Pure.

What is no whole line of ours reads as nothing; what a tool did not say is an empty field and reads as None.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timezone

from zlbench.smi import TELEMETRY_COLUMNS

HEADER = "\t".join(TELEMETRY_COLUMNS)
HOST = "host"
"""Stands in the column `index` where there is no card and the host is sampled."""
NOBODY = "none"
_NAME_LENGTH = 40
_STRANGE = re.compile(r"[^A-Za-z0-9._+-]+")
_FOREIGN = re.compile(r"(\d{1,10}):([A-Za-z0-9._+-]*)(?:=(\d{1,6}(?:\.\d{1,6})?))?", re.ASCII)
_INDEX = re.compile(r"\d{1,6}|" + HOST, re.ASCII)
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Foreign:
    """A process that is not ours.

    Args:
        cores: processors that it kept busy, where the host is sampled; None on a card.
    """

    pid: int
    name: str = ""
    cores: float | None = None

    def __str__(self) -> str:
        return f"{self.pid}:{self.name}" + ("" if self.cores is None else f"={self.cores:.2f}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One card, or the host, at one moment.

    Args:
        at: seconds since the epoch.
        index: number of the card, or `HOST`.
        throttle: reasons why clocks are lowered.
        foreign: processes there that are not ours; None where nobody can say.
    """

    at: float
    index: str
    sm_clock_mhz: float | None = None
    mem_clock_mhz: float | None = None
    temp_c: float | None = None
    power_w: float | None = None
    util_pct: float | None = None
    uuid: str = ""
    throttle: tuple[str, ...] = ()
    foreign: tuple[Foreign, ...] | None = None


def plain_name(name: str) -> str:
    """The name of a program without its folders, in characters that divide nothing."""
    return _STRANGE.sub("_", name.rstrip("/").rpartition("/")[2])[:_NAME_LENGTH]


def written(reading: Reading) -> str:
    """The line, without its end."""
    numbers = (
        reading.sm_clock_mhz, reading.mem_clock_mhz, reading.temp_c, reading.power_w, reading.util_pct,
    )  # fmt: skip
    processes = "" if reading.foreign is None else " ".join(map(str, reading.foreign)) or NOBODY
    throttle = "+".join(_STRANGE.sub("_", reason) for reason in reading.throttle)
    uuid = _STRANGE.sub("_", reading.uuid)
    return "\t".join((_stamp(reading.at), reading.index, *map(_number, numbers), uuid, throttle, processes))


def read(line: str) -> Reading | None:
    """The value of a line without its end; None for a header, a torn line, or anything else."""
    fields = line.split("\t")
    if len(fields) != len(TELEMETRY_COLUMNS) or not _INDEX.fullmatch(fields[1]):
        return None
    stamp, index, sm, mem, temp, power, util, uuid, throttle, processes = fields
    at = _moment(stamp)
    foreign = _processes(processes)
    if at is None or isinstance(foreign, str) or any(word and not _NUMBER.fullmatch(word) for word in fields[2:7]):
        return None
    return Reading(
        at=at, index=index, sm_clock_mhz=_value(sm), mem_clock_mhz=_value(mem), temp_c=_value(temp),
        power_w=_value(power), util_pct=_value(util), uuid=uuid, foreign=foreign,
        throttle=tuple(reason for reason in throttle.split("+") if reason),
    )  # fmt: skip


def _stamp(at: float) -> str:
    """In UTC, with its offset: shells and spreadsheets read it, and no change of the clock makes it ambiguous."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds")


def _moment(stamp: str) -> float | None:
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.timestamp()


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value) or abs(value) >= 1e12:
        return ""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _value(word: str) -> float | None:
    return float(word) if word else None


def _processes(word: str) -> tuple[Foreign, ...] | str | None:
    """The column `processes`; the word itself where it is none."""
    if not word or word == NOBODY:
        return () if word else None
    found = [_FOREIGN.fullmatch(part) for part in word.split(" ")]
    if not all(found):
        return word
    return tuple(
        Foreign(pid=int(part[1]), name=part[2], cores=None if part[3] is None else float(part[3]))
        for part in found
        if part is not None
    )
