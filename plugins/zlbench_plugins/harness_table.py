"""The table of one dtype in run.log, printed by the suite's own class where it has one: scripts go on working.

Upstream's loop is replaced, its table is not: rows become its `BenchmarkMetrics`, and its `BenchmarkResult` prints them
and hands them to whatever it keeps them in. A failed row, which upstream never prints, stands in the table too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from zlbench.cells import CellSpec
from zlbench_plugins import pretty

CONSTS = "benchmark.consts"
BASE = "benchmark.base"


def show(bench: Any, dtype: Any, spec: CellSpec, rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of one dtype, and hand them to the suite's own record, which is off unless asked for."""
    consts, base = sys.modules.get(CONSTS), sys.modules.get(BASE)
    metrics_class = getattr(consts, "BenchmarkMetrics", None)
    result_class = getattr(consts, "BenchmarkResult", None)
    if metrics_class is None or result_class is None or not rows:
        print(pretty.table(bench, dtype, spec, rows), flush=True)  # noqa: T201 - upstream's table
        return
    result = result_class(
        level=spec.level,
        op_name=bench.op_name,
        dtype=str(dtype),
        mode=spec.mode,
        result=[_metrics(metrics_class, row) for row in rows],
    )
    print(result, flush=True)  # noqa: T201 - upstream's table
    keep, emit = getattr(base, "update_result", None), getattr(base, "emit_record_logger", None)
    if keep is not None:
        keep(bench.op_name, asdict(result))
    if emit is not None and hasattr(result, "to_json"):
        emit(result.to_json())


def _metrics(metrics_class: Any, row: dict[str, Any]) -> Any:
    """One row as upstream's class; what the row does not have stays at the class's own default."""
    metrics = metrics_class()
    latency, baseline = row.get("latency_ms"), row.get("baseline_ms")
    values = {
        "latency": latency,
        "latency_base": baseline,
        # A time without a graph over one with a graph is no speed-up.
        "speedup": baseline / latency
        if latency and baseline and row.get("timer") == row.get("baseline_timer")
        else None,
        "gbps": row.get("gbps"),
        "gbps_base": row.get("gbps_base"),
        "tflops": row.get("tflops"),
        "shape_detail": row.get("detail") or pretty.detail(row),
        "error_msg": row.get("error") if row["status"] != "SUCCESS" else None,
    }
    if row["status"] != "SUCCESS":
        values["shape_detail"] = pretty.detail(row)
    for name, value in values.items():
        if value is not None:
            setattr(metrics, name, value)
    return metrics
