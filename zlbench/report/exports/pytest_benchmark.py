"""JSON of the shape that pytest-benchmark saves, one file a side, so that its ``compare`` reads our rounds. Pure.

It knows seconds alone: milliseconds are converted, and an instruction is written as a nanosecond, so ratios are right
and the unit is in `extra_info`. Neither pairs nor controls have a place in that file: what it is compared by are two
unpaired sets, and verdicts stay those of the report.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from zlbench import __version__
from zlbench.inference.series import variance_of
from zlbench.report.exports.machine import (
    SIDES,
    finite,
    first,
    identity,
    json_text,
    operator_names,
    operators,
    percent_of,
    plain,
    row_names,
)
from zlbench.report.summary import OpSummary, RowSummary, Summary

SECONDS = {"ms": 1e-3, "cpu_ms": 1e-3, "wall_ms": 1e-3, "instructions": 1e-9}
"""Seconds that one unit is written as."""
_FENCE = 1.5
"""Quartile distances beyond which a value is an outlier (Tukey 1977)."""


def to_pytest_benchmark(summary: Summary, *, created: str | None = None) -> dict[str, str]:
    """The texts of both files, by side.

    Args:
        created: the time stamp, ISO 8601 with a zone. Without one it is when the first cell started, which the file
            must have, and equal input gives equal bytes.
    """
    stamp = created or _started(summary)
    return {side: _file(summary, side, stamp) for side in SIDES}


def _file(summary: Summary, side: str, stamp: str) -> str:
    known = identity(summary, side)
    described = dict(zip(SIDES, (summary.header.a, summary.header.b), strict=True))[side]
    data = {
        "machine_info": plain(_machine(known)),
        "commit_info": plain(_commit(known, described)),
        "benchmarks": list(_benchmarks(summary, side)),
        "datetime": stamp,
        "version": f"zlbench {__version__}",
    }
    return json_text(data, depth=2)


def _started(summary: Summary) -> str:
    starts = [cell.start for cell in summary.source.cells] if summary.source else []
    at = finite(min(starts, default=0.0)) or 0.0
    return datetime.fromtimestamp(at, tz=timezone.utc).isoformat()


def _machine(known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "node": "",
        "processor": first((known.get("device_name"), known.get("device"))) or "",
        "machine": known.get("backend") or "",
        "python_version": known.get("python") or "",
        "system": "",
        "release": known.get("driver") or "",
        "cpu": {},
        "card_uuid": known.get("device_uuid"),
        "torch": known.get("torch"),
    }


def _commit(known: Mapping[str, Any], described: str) -> dict[str, Any]:
    """The compiler is what changed: its commit, else the hash of its library."""
    build = known.get("build") or {}
    return {
        "id": first((build.get("commit"), build.get("native_sha256"))) or "unversioned",
        "time": None,
        "author_time": None,
        "dirty": bool(build.get("dirty")),
        "project": described,
        "branch": build.get("name") or "",
    }


def _benchmarks(summary: Summary, side: str) -> Iterator[dict[str, Any]]:
    ops = operators(summary)
    for name, op in zip(operator_names(ops), ops, strict=True):
        for label, row in zip(row_names(op.rows), op.rows, strict=True):
            if row.n:
                yield _benchmark(name, label, op, row, side)


def _benchmark(name: str, label: str, op: OpSummary, row: RowSummary, side: str) -> dict[str, Any]:
    known = row.row
    scale = SECONDS.get(known.unit, 1.0)
    values = [scale * (reading.before if side == "A" else reading.after) for reading in known.readings]
    return {
        "group": name,
        "name": f"{name}[{label}]",
        "fullname": f"{op.op.directory}::{name}[{label}]",
        "params": {"dtype": known.dtype, "row": known.label},
        "param": label,
        "extra_info": {
            "unit": known.unit,
            "seconds_per_unit": scale,
            "timer": known.timer,
            "l2": known.l2,
            "control": op.op.control,
            "verdict": row.result.verdict.value if row.result else None,
            "estimate_pct": percent_of(row.result.estimate) if row.result else None,
        },
        "options": {},
        "stats": stats_of(values),
    }


def stats_of(values: Sequence[float]) -> dict[str, Any]:
    """The figures of one benchmark, in the unit of its values; quartiles hold both ends (Hyndman and Fan's type 7)."""
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    q1, median, q3 = quartiles
    mean = statistics.fmean(values)
    spread = math.sqrt(variance_of(values, mean))
    iqr = q3 - q1
    low, high = q1 - _FENCE * iqr, q3 + _FENCE * iqr
    inside = [value for value in values if low <= value <= high]
    beyond = sum(abs(value - mean) > spread for value in values)
    outliers = len(values) - len(inside)
    return {
        "min": min(values), "max": max(values), "mean": mean, "stddev": spread, "rounds": len(values),
        "median": median, "iqr": iqr, "q1": q1, "q3": q3, "iqr_outliers": outliers, "stddev_outliers": beyond,
        "outliers": f"{beyond};{outliers}", "ld15iqr": min(inside), "hd15iqr": max(inside), "ops": 1 / mean,
        "total": sum(values), "data": list(values), "iterations": 1,
    }  # fmt: skip
