"""rows.csv: one line a row with every number of the report, unrounded enough to be computed with. Pure."""

from __future__ import annotations

import csv
import io

from zlbench.report.summary import OpSummary, RowSummary, Summary

COLUMNS = (
    "op", "directory", "kind", "dtype", "row", "label", "unit", "n", "rounds", "median_a", "median_b", "mean_pct",
    "median_pct", "min_pct", "max_pct", "same_sign", "noise_a_pct", "noise_b_pct", "left_out",
)  # fmt: skip


def to_csv(summary: Summary) -> str:
    """The file's text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for op in (*summary.subjects, *summary.controls):
        writer.writerows(_line(op, row) for row in op.rows)
    return stream.getvalue()


def _line(op: OpSummary, row: RowSummary) -> list[str]:
    known = row.row
    return [
        op.op.op, op.op.directory, "control" if op.op.control else "subject", known.dtype, known.name, known.label,
        known.unit, str(row.n), str(row.rounds), _number(row.median_a), _number(row.median_b),
        *(_percent(value) for value in (row.mean, row.median, row.low, row.high)), str(row.same_sign),
        _percent(row.noise_a), _percent(row.noise_b), " ".join(dict.fromkeys(item.reason for item in known.left_out)),
    ]  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.6g}"
