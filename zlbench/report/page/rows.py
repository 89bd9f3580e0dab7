"""The rows of a report as columns of short numbers, and what their rounds read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from zlbench.inference.types import RowResult
from zlbench.report.model import RowReadings
from zlbench.report.page.embed import Table, figures
from zlbench.report.standing import Standing, standing
from zlbench.report.summary import OpSummary, RowSummary

STANDINGS = tuple(Standing)
_OVERFLOW = 700.0
"""Beyond this, exp has no float."""
_RESULT_COLUMNS = ("est", "med", "lo", "hi", "min", "max", "sd", "na", "nb", "mde", "floor")
"""Columns in percent, from logarithms."""


def percent(log: float | None) -> float | int | None:
    """A logarithm of a ratio as percent: 0.01 -> 1.005."""
    return None if log is None else figures(100 * math.expm1(min(log, _OVERFLOW)))


def row_columns(ops: Sequence[OpSummary]) -> dict[str, Any]:
    """Every row of every operator in order, one list a column; words are numbers of a table each."""
    rows = [row for op in ops for row in op.rows]
    tables = {name: Table() for name in ("dtype", "unit", "timer", "l2", "what", "why", "flags")}
    columns: dict[str, Any] = {
        "label": [row.row.label for row in rows],
        "dtype": [tables["dtype"](row.row.dtype) for row in rows],
        "unit": [tables["unit"](row.row.unit) for row in rows],
        "timer": [tables["timer"](row.row.timer) for row in rows],
        "l2": [tables["l2"](row.row.l2) for row in rows],
        "n": [row.n for row in rows],
        "a": [figures(row.median_a) for row in rows],
        "b": [figures(row.median_b) for row in rows],
        "aside": [index for index, row in enumerate(rows) if not row.row.counted],
    }
    found = [list(_statistics(row)) for row in rows]
    for number, name in enumerate(_RESULT_COLUMNS):
        columns[name] = [values[number] for values in found]
    results = [row.result for row in rows]
    columns |= {
        "v": [STANDINGS.index(standing(row)) for row in rows],
        "what": [tables["what"](result.what if result else "") for result in results],
        "why": [tables["why"](result.why.value if result and result.why else "") for result in results],
        "flags": [tables["flags"](" ".join(result.flags) if result else "") for result in results],
        "p": [figures(result.p, 3) if result else None for result in results],
        "q": [figures(result.q, 3) if result else None for result in results],
        "need": [result.rounds_needed if result else None for result in results],
        "sign": [result.same_sign if result else row.same_sign for result, row in zip(results, rows, strict=True)],
        "slope": [_slope(result) for result in results],
        "slopep": [figures(result.order.p, 3) if result and result.order else None for result in results],
    }
    return {"columns": columns, "tables": {name: table.values for name, table in tables.items()}}


def _statistics(row: RowSummary) -> Iterator[float | int | None]:
    """In the order of `_RESULT_COLUMNS`. Without a result it is what is descriptive: mean and range of the rounds."""
    if row.result is None:
        change = (row.mean, row.median, row.low, row.high, row.low, row.high)
        yield from (None if value is None else figures(100 * value) for value in change)
        yield from (None, percent(row.noise_a), percent(row.noise_b), None, None)
        return
    found = row.result
    yield from map(percent, (found.estimate, found.median, found.low, found.high, found.smallest, found.largest))
    yield from map(percent, (found.sd, found.noise_a, found.noise_b, found.mde, found.floor))


def _slope(result: RowResult | None) -> float | int | None:
    return percent(result.order.slope) if result and result.order else None


def rounds(ops: Sequence[OpSummary]) -> dict[str, Any]:
    """Readings of every row: which rounds (a number of `patterns`), then A and B of each in turn."""
    patterns = Table()
    readings = [row.row for op in ops for row in op.rows]
    return {
        "pattern": [patterns(_pattern(row)) for row in readings],
        "values": [
            [figures(value, 6) for reading in row.readings for value in (reading.before, reading.after)]
            for row in readings
        ],
        "patterns": patterns.values,
    }


def _pattern(row: RowReadings) -> tuple[int, ...]:
    """Number of each round, negative where side B came first."""
    return tuple(reading.round if reading.a_first else -reading.round for reading in row.readings)
