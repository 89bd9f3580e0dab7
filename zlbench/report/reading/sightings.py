"""When each cell of the rounds ran and what the card did meanwhile, pairs that were set aside included.

A lane's own telemetry is thinned: a day of it is more than a page can draw, and its extremes are what one looks for.
"""

from __future__ import annotations

import re
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.cells import CellOutcome
from zlbench.report.model import CellSighting, TelemetryPoint
from zlbench.report.reading.faults import FAULTS
from zlbench.rounds.names import PAIRS_TSV
from zlbench.rounds.status import PAIR_COLUMNS, read_lines
from zlbench.smi import NOT_THROTTLING
from zlbench.telemetry.lines import Reading
from zlbench.telemetry.read import OF_CELL, TELEMETRY, Summary, from_json, read, summary
from zlbench.telemetry.validity import CellSeen, judge

MOST_POINTS = 2000
"""Points of a lane that are kept."""
SET_ASIDE = "set aside"
"""Why a pair does not count of which nobody can say more."""
_CELL = re.compile(r"r(\d+)_([AB])(?:\.invalid(\d+))?")


def read_sightings(root: Path, plan: Mapping[str, Any]) -> tuple[tuple[CellSighting, ...], tuple[TelemetryPoint, ...]]:
    """Every cell's telemetry.json and every lane's telemetry.tsv, each lane in the order of time.

    Args:
        root: of the rounds; plan: its repeat.json.
    """
    cells: list[CellSighting] = []
    drawn: list[TelemetryPoint] = []
    lanes = plan.get("lanes") or ()
    for entry in lanes:
        name = str(entry["lane"])
        lane = _Lane.read(root / name if len(lanes) > 1 else root, name, metric=str(plan.get("metric")))
        seen = [cell for op in entry.get("ops") or () for cell in lane.cells(str(op["dir"]))]
        cells += sorted(seen, key=lambda cell: (cell.start, cell.op, cell.round, cell.side))
        drawn += points(name, lane.readings)
    return tuple(cells), tuple(drawn)


def points(lane: str, readings: Sequence[Reading]) -> list[TelemetryPoint]:
    """A lane's readings as points to draw, thinned."""
    return [
        TelemetryPoint(
            lane=lane, at=reading.at, clock_mhz=reading.sm_clock_mhz, temp_c=reading.temp_c, power_w=reading.power_w,
            throttle="+".join(_throttled(reading)),
        )
        for reading in thinned(readings)
    ]  # fmt: skip


def thinned(readings: Sequence[Reading], most: int = MOST_POINTS) -> list[Reading]:
    """At most so many readings (5 or more): the first, the last, and of equal parts three each.

    Of a part stay the lowest clock, the highest and a throttled reading, so that no extreme and no throttling is lost.
    """
    count = len(readings)
    if count <= most:
        return list(readings)
    parts = (most - 2) // 3
    kept = {0, count - 1}
    for number in range(parts):
        part = range(number * count // parts, (number + 1) * count // parts)
        clocks = [(clock, at) for at in part if (clock := readings[at].sm_clock_mhz) is not None]
        kept |= {min(clocks)[1], max(clocks, key=lambda item: (item[0], -item[1]))[1]} if clocks else {part[0]}
        kept |= set([at for at in part if _throttled(readings[at])][:1])
    return [readings[at] for at in sorted(kept)]


def _throttled(reading: Reading) -> list[str]:
    return [reason for reason in reading.throttle if reason not in NOT_THROTTLING]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Seen:
    """What telemetry.json of one cell says."""

    start: float
    end: float
    summary: Summary | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Lane:
    """One lane's folder."""

    name: str
    folder: Path
    metric: str
    readings: Sequence[Reading]
    times: Sequence[float]
    pairs: Mapping[tuple[str, str], Mapping[str, str]]
    """Lines of pairs.tsv by operator and round."""

    @classmethod
    def read(cls, folder: Path, name: str, *, metric: str) -> _Lane:
        readings = read(folder / TELEMETRY)
        lines = read_lines(folder / PAIRS_TSV, PAIR_COLUMNS)
        return cls(
            name=name, folder=folder, metric=metric, readings=readings, times=[reading.at for reading in readings],
            pairs={(line["op"], line["round"]): line for line in lines},
        )  # fmt: skip

    def cells(self, op: str) -> Iterator[CellSighting]:
        """The cells of an operator that kept when they ran."""
        folder = self.folder / op
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            match = _CELL.fullmatch(path.name)
            seen = _seen(path) if match else None
            if match and seen:
                yield self._sighting(op, path, match, seen)

    def _sighting(self, op: str, path: Path, match: re.Match[str], seen: _Seen) -> CellSighting:
        window = self.readings[bisect_left(self.times, seen.start) : bisect_right(self.times, seen.end)]
        told = seen.summary or summary(window)
        util = [reading.util_pct for reading in window if reading.util_pct is not None]
        line = self.pairs.get((op, match[1])) or {}
        cause = "" if line.get("valid", "1") != "0" else line.get("cause", "").strip("-") or SET_ASIDE
        if match[3]:
            cause = self._why(path) or cause or SET_ASIDE
        return CellSighting(
            lane=self.name, op=op, round=int(match[1]), side=match[2], start=seen.start, end=seen.end,
            clock_mhz=told.sm_clock_mhz, temp_c=told.temp_c, power_w=told.power_w,
            util_pct=statistics.median(util) if util else None, throttle=told.throttle,
            foreign=tuple(map(str, told.foreign or ())), invalid=cause,
        )  # fmt: skip

    def _why(self, path: Path) -> str:
        """Why a pair was set aside, judged again from what it kept; empty where half of it is missing.

        pairs.tsv has the line of the pair that took its place.
        """
        from zlbench.rounds.lane import lane_bounds
        from zlbench.rounds.names import Metric

        left, right = (_of_judge(path.with_name(re.sub("_[AB]", f"_{side}", path.name, count=1))) for side in "AB")
        if left is None or right is None:
            return ""
        known = self.metric in {metric.value for metric in Metric}
        return judge(left, right, lane_bounds(Metric(self.metric) if known else Metric.LATENCY)).cause


def _seen(cell: Path) -> _Seen | None:
    """When a cell ran and what was seen; None where it did not say."""
    data = store.read_json(cell / OF_CELL)
    try:
        told = {key: value for key, value in data.items() if key not in ("started", "ended")}
        start, end = float(data["started"]), float(data["ended"])
        return _Seen(start=start, end=end, summary=from_json(told) if "samples" in told else None)
    except FAULTS:
        return None  # nothing of ours, or of another version


def _of_judge(cell: Path) -> CellSeen | None:
    """What a judgement of a pair goes by, of one side."""
    seen, outcome = _seen(cell), CellOutcome.told(store.read_json(cell / store.RESULT))
    if seen is None or seen.summary is None or outcome is None:
        return None
    return CellSeen(summary=seen.summary, markers=tuple(outcome.marked()))
