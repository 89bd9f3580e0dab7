"""What the card did meanwhile: cells as spans and its readings, thinned out where there are too many to draw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from zlbench.report.model import CellSighting, TelemetryPoint
from zlbench.report.page.embed import Table

MOST_POINTS = 4000
"""Readings of one lane; above it, each group of neighbours leaves its extremes."""
_VALUES = ("clock_mhz", "temp_c", "power_w")


def timeline(cells: Sequence[CellSighting], points: Sequence[TelemetryPoint]) -> dict[str, Any]:
    """Cells and readings by lane; times in seconds since `start`, which is in seconds since the epoch."""
    if not cells and not points:
        return {}
    start = min([cell.start for cell in cells] + [point.at for point in points])
    words = Table()
    words("")
    lanes = list(dict.fromkeys([cell.lane for cell in cells] + [point.lane for point in points]))
    return {
        "start": round(start, 1),
        "lanes": [
            {
                "lane": lane,
                "cells": [_cell(cell, start, words) for cell in cells if cell.lane == lane],
                **_readings([point for point in points if point.lane == lane], start, words),
            }
            for lane in lanes
        ],
        "words": words.values,
    }


def _cell(cell: CellSighting, start: float, words: Table) -> list[Any]:
    """Operator, round, side, start, length, clock, temperature, power, use, throttle, foreign, invalid."""
    return [
        words(cell.op), cell.round, cell.side, round(cell.start - start, 2), round(max(0.0, cell.end - cell.start), 2),
        *map(_short, (cell.clock_mhz, cell.temp_c, cell.power_w, cell.util_pct)),
        words(" ".join(cell.throttle)), words(", ".join(cell.foreign)), words(cell.invalid),
    ]  # fmt: skip


def _readings(points: Sequence[TelemetryPoint], start: float, words: Table) -> dict[str, Any]:
    kept = sorted(_thinned(sorted(points, key=lambda point: point.at)), key=lambda point: point.at)
    return {
        "read": len(points),
        "points": [
            [
                round(point.at - start, 1),
                *map(_short, (point.clock_mhz, point.temp_c, point.power_w)),
                words(point.throttle),
            ]
            for point in kept
        ],
    }


def _short(value: float | None) -> float | int | None:
    """One digit behind the point; none where it is 0."""
    if value is None or not math.isfinite(value):
        return None
    short = round(value, 1)
    return int(short) if short == int(short) else short


def _thinned(points: Sequence[TelemetryPoint]) -> Iterable[TelemetryPoint]:
    """Of each group of neighbours those with the least and the most of each value: a short dip stays to be seen."""
    if len(points) <= MOST_POINTS:
        return points
    # At most six readings stay of a group, two a value.
    size = -(-len(points) * 2 * len(_VALUES) // MOST_POINTS)
    groups = (points[at : at + size] for at in range(0, len(points), size))
    return [point for group in groups for point in _extremes(group)]


def _extremes(group: Sequence[TelemetryPoint]) -> Iterator[TelemetryPoint]:
    kept: dict[int, TelemetryPoint] = {}
    for name in _VALUES:
        known = [(value, index) for index, point in enumerate(group) if (value := getattr(point, name)) is not None]
        for _, index in (min(known), max(known)) if known else ():
            kept[index] = group[index]
    yield from kept.values() if kept else group[:1]
