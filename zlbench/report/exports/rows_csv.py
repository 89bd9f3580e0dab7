"""rows.csv: one line a row with every number of the report, unrounded enough to be computed with. Pure.

Columns stay where they are; new ones are appended.
"""

from __future__ import annotations

import csv
import io

from zlbench.inference.types import RowResult
from zlbench.report.exports.machine import finite, operators, percent_of, spread
from zlbench.report.summary import OpSummary, RowSummary, Summary

COLUMNS = (
    "op", "directory", "kind", "dtype", "row", "label", "unit", "n", "rounds", "median_a", "median_b", "mean_pct",
    "median_pct", "min_pct", "max_pct", "same_sign", "noise_a_pct", "noise_b_pct", "left_out",
    "verdict", "why", "what", "estimate_pct", "low_pct", "high_pct", "p", "q", "mde_pct", "rounds_needed", "sd_pct",
    "moderated_sd_pct", "order_slope_pct", "order_p", "floor_pct", "flags", "timer", "l2", "counted",
)  # fmt: skip
"""mean to max are as measured, estimate to high less the bias of the controls; a percentage of a standard deviation is
100 times that of logarithms, any other 100 (e^x - 1)."""


def to_csv(summary: Summary) -> str:
    """The file's text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for op in operators(summary):
        writer.writerows(_line(op, row) for row in op.rows)
    return stream.getvalue()


def _line(op: OpSummary, row: RowSummary) -> list[str]:
    known = row.row
    return [
        op.op.op, op.op.directory, "control" if op.op.control else "subject", known.dtype, known.name, known.label,
        known.unit, str(row.n), str(row.rounds), _number(row.median_a), _number(row.median_b),
        *(_percent(value) for value in (row.mean, row.median, row.low, row.high)), str(row.same_sign),
        _percent(row.noise_a), _percent(row.noise_b), " ".join(dict.fromkeys(item.reason for item in known.left_out)),
        *_judged(row.result), known.timer, known.l2, "1" if known.counted else "0",
    ]  # fmt: skip


def _judged(found: RowResult | None) -> list[str]:
    if found is None:
        return [""] * (COLUMNS.index("timer") - COLUMNS.index("verdict"))
    slope, p = (found.order.slope, found.order.p) if found.order else (None, None)
    return [
        found.verdict.value, found.why.value if found.why else "", found.what,
        *(_number(percent_of(value), "6g") for value in (found.estimate, found.low, found.high)),
        *(_number(value, "6g") for value in (found.p, found.q, percent_of(found.mde))),
        "" if found.rounds_needed is None else str(found.rounds_needed),
        *(_number(spread("sd", value)["sd_pct"], "6g") for value in (found.sd, found.moderated)),
        *(_number(value, "6g") for value in (percent_of(slope), p, percent_of(found.floor))), " ".join(found.flags),
    ]  # fmt: skip


def _number(value: float | None, digits: str = "9g") -> str:
    known = finite(value)
    return "" if known is None else f"{known:.{digits}}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.6g}"
