"""Summaries with verdicts that are made by hand: what renderers show does not depend on what the statistics find."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from zlbench.inference.types import Aggregate, Calibration, Inference, OpResult, RowResult, Settings, Verdict
from zlbench.report.model import Header, Measured, OpReadings, Reading, RowReadings
from zlbench.report.summary import Counts, OpSummary, RowSummary, Summary
from zlbench.rounds.names import Metric

CALIBRATED = Calibration(
    used=True, bias=0.0002, between=0.0004, error=0.0005,
    operators={"softmax": 0.0001, "layer_norm": 0.0003, "bmm": 0.0, "cumsum": 0.0004},
)  # fmt: skip


def ln(percent: float) -> float:
    """A change of so many percent as a logarithm."""
    return math.log1p(percent / 100)


def row_result(verdict: Verdict, percent: float = 0.0, *, n: int = 6, **more: Any) -> RowResult:
    """A row: its estimate in percent, an interval of ±0.5 % around it, and an MDE of 0.7 %."""
    common: dict[str, Any] = {
        "key": ("x", "x"), "what": verdict.value, "estimate": ln(percent), "low": ln(percent - 0.5),
        "high": ln(percent + 0.5), "mde": ln(0.7), "same_sign": n, "noise_a": 0.003, "noise_b": 0.002,
    }  # fmt: skip
    return RowResult(verdict=verdict, n=n, **(common | more))


def row(
    label: str, verdict: Verdict | None = None, percent: float = 0.0, *, ms: float = 0.0164, n: int = 6,
    dtype: str = "float16", unit: str = "ms", readings: Mapping[str, Any] | None = None, **more: Any,
) -> RowSummary:  # fmt: skip
    """A row with n readings; without a verdict nobody judged it."""
    pairs = tuple(
        Reading(round=k, before=ms, after=ms * (1 + percent / 100), a_first=k % 2 == 1) for k in range(1, n + 1)
    )
    own = RowReadings(
        name=f"{dtype}|{label}", dtype=dtype, label=label, unit=unit, readings=pairs, timer="cuda_graph", l2="warm",
        **(readings or {}),
    )  # fmt: skip
    return RowSummary(
        row=own, n=n, rounds=6, median_a=ms if n else None, median_b=ms * (1 + percent / 100) if n else None,
        noise_a=0.003 if n else None, noise_b=0.002 if n else None, same_sign=n,
        result=None if verdict is None else row_result(verdict, percent, n=n, **more),
    )  # fmt: skip


def op(
    name: str, *rows: RowSummary, verdict: Verdict | None = None, percent: float = 0.0, why_not: str = "",
    control: bool = False, result: Mapping[str, Any] | None = None, **more: Any,
) -> OpSummary:  # fmt: skip
    """An operator; `more` goes into its readings, `result` into its verdict."""
    readings = OpReadings(
        op=name, directory=name, control=control, rows=tuple(one.row for one in rows),
        **({"rounds": (1, 2, 3, 4, 5, 6)} | more),
    )  # fmt: skip
    common: dict[str, Any] = {
        "what": "", "estimate": ln(percent), "low": ln(percent - 0.5), "high": ln(percent + 0.5), "mde": ln(0.7),
        "rows": len(rows), "rounds": 6, "control": control,
    }  # fmt: skip
    found = None if verdict is None else OpResult(op=name, verdict=verdict, **(common | dict(result or {})))
    return OpSummary(op=readings, rows=rows, result=found, rounds=6, why_not=why_not)


def summary(
    *ops: OpSummary, controls: Sequence[OpSummary] = (), calibration: Calibration = CALIBRATED,
    metric: Metric = Metric.LATENCY, counts: Counts | None = None, source: Measured | None = None,
    header: Mapping[str, Any] | None = None, **more: Any,
) -> Summary:  # fmt: skip
    """A whole campaign."""
    common: dict[str, Any] = {
        "title": "report of x", "a": "triton 3.6.0", "b": "triton 3.9.0", "axis": "build",
        "conditions": ("NVIDIA H200", "cuda_graph, warm L2"),
    }  # fmt: skip
    inference = Inference(
        settings=Settings(looks=((6, 1.0),)), rows={}, operators={}, calibration=calibration,
        campaign=Aggregate(operators=len(ops), estimate=ln(-0.4), low=ln(-1.0), high=ln(0.2)),
    )  # fmt: skip
    return Summary(
        header=Header(metric=metric, **(common | dict(header or {}))), counts=counts or Counts(), subjects=ops,
        controls=tuple(controls), planned="6 rounds", inference=inference, source=source, **more,
    )  # fmt: skip


def controls() -> tuple[OpSummary, ...]:
    """The four of `CALIBRATED`."""
    return tuple(
        op(name, row("1024x1024", Verdict.NO_DIFFERENCE), verdict=Verdict.NO_DIFFERENCE, control=True)
        for name in CALIBRATED.operators
    )


def without_statistics(found: Summary) -> Summary:
    """The same, where nobody judged."""
    bare = [
        replace(one, result=None, rows=tuple(replace(each, result=None) for each in one.rows)) for one in found.subjects
    ]
    return replace(found, inference=None, subjects=tuple(bare))
