"""The rows of a report as columns of short numbers, and what their rounds read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zlbench.inference.types import RowResult
from zlbench.report.model import RowReadings
from zlbench.report.page.embed import Table
from zlbench.report.page.numbers import column, percent, rows_of
from zlbench.report.prose import wording
from zlbench.report.standing import Standing
from zlbench.report.summary import OpSummary, RowSummary
from zlbench.rounds.names import Metric

STANDINGS = {one: number for number, one in enumerate(Standing)}
_LOGS: dict[str, Callable[[RowResult], float | None]] = {
    "est": lambda found: found.estimate, "med": lambda found: found.median, "lo": lambda found: found.low,
    "hi": lambda found: found.high, "min": lambda found: found.smallest, "max": lambda found: found.largest,
    "mde": lambda found: found.mde, "floor": lambda found: found.floor,
    "slope": lambda found: found.order.slope if found.order else None,
}  # fmt: skip
"""Columns in percent, from logarithms."""
_DESCRIBED: dict[str, Callable[[RowSummary], float | None]] = {
    "est": lambda row: row.mean, "med": lambda row: row.median, "lo": lambda row: row.low, "hi": lambda row: row.high,
    "min": lambda row: row.low, "max": lambda row: row.high,
}  # fmt: skip
"""The same where no statistics were asked: fractions that describe."""


def row_columns(
    rows: Sequence[RowSummary], standings: Sequence[Standing], metric: Metric | None, delta: float
) -> dict[str, Any]:
    """Every row of every operator in order, one list a column; words are numbers of a table each."""
    tables = {name: Table() for name in ("dtype", "unit", "timer", "l2", "what", "short", "flags")}
    results = [row.result for row in rows]
    columns: dict[str, Any] = {
        "label": [row.row.label for row in rows],
        "dtype": [tables["dtype"](row.row.dtype) for row in rows],
        "unit": [tables["unit"](row.row.unit) for row in rows],
        "timer": [tables["timer"](row.row.timer) for row in rows],
        "l2": [tables["l2"](row.row.l2) for row in rows],
        "aside": [index for index, row in enumerate(rows) if not row.row.counted],
        "n": [row.n for row in rows],
        "a": column(row.median_a for row in rows),
        "b": column(row.median_b for row in rows),
        "na": column(_hundredfold(row.noise_a) for row in rows),
        "nb": column(_hundredfold(row.noise_b) for row in rows),
        "v": [STANDINGS[one] for one in standings],
        "what": [tables["what"](_said(row, metric)) for row in rows],
        "short": [
            tables["short"](_in_short(row, one, metric, delta)) for row, one in zip(rows, standings, strict=True)
        ],
        "flags": [tables["flags"](" ".join(found.flags) if found else "") for found in results],
        "q": column((found.q if found else None for found in results), 3),
        "slopep": column((found.order.p if found and found.order else None for found in results), 3),
        "need": [found.rounds_needed if found else None for found in results],
        "sign": [row.result.same_sign if row.result else row.same_sign for row in rows],
    }
    columns |= {name: column(_percents(rows, name)) for name in _LOGS}
    return {"columns": columns, "tables": {name: table.values for name, table in tables.items()}}


def _percents(rows: Sequence[RowSummary], name: str) -> list[float | None]:
    judged, described = _LOGS[name], _DESCRIBED.get(name)
    return [
        percent(judged(row.result)) if row.result else _hundredfold(described(row) if described else None)
        for row in rows
    ]


def _hundredfold(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _said(row: RowSummary, metric: Metric | None) -> str:
    return wording.full(row.result, metric) if row.n else wording.why_empty(row)


def _in_short(row: RowSummary, standing: Standing, metric: Metric | None, delta: float) -> str:
    return wording.short(row.result, metric, delta) if row.n else standing.value


def rounds(ops: Sequence[OpSummary]) -> dict[str, Any]:
    """Readings of every row: which rounds (a number of `patterns`), then A and B of each in turn."""
    patterns = Table()
    readings = [row.row for op in ops for row in op.rows]
    return {
        "pattern": [patterns(_pattern(row)) for row in readings],
        "values": rows_of([value for one in row.readings for value in (one.before, one.after)] for row in readings),
        "patterns": patterns.values,
    }


def _pattern(row: RowReadings) -> tuple[int, ...]:
    """Number of each round, negative where side B came first."""
    return tuple([reading.round if reading.a_first else -reading.round for reading in row.readings])
