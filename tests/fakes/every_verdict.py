"""Summaries of which every row and operator has a verdict, made by hand, so that an output can be told apart."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import cycle

from fakes.measured import campaign

from zlbench.inference.types import (
    Aggregate,
    Calibration,
    Inference,
    OpResult,
    OrderEffect,
    Prior,
    RowResult,
    Settings,
    Verdict,
    Why,
)
from zlbench.report.model import Header, LeftOut, Measured, OpReadings, Reading, RowReadings
from zlbench.report.summary import OpSummary, Summary, summarise
from zlbench.rounds.names import Metric


def row_result(key: tuple[str, str], verdict: Verdict, *, control: bool = False) -> RowResult:
    """Every figure another one; what is not finite is not finite on purpose."""
    if verdict is Verdict.INVALID:
        return RowResult(key=key, verdict=verdict, what="invalid: FEW_PAIRS", n=2, why=Why.FEW_PAIRS, control=control)
    return RowResult(
        key=key, verdict=verdict, what=verdict.value, n=6, control=control, estimate=0.02, median=0.021, smallest=-0.03,
        largest=0.04, low=0.01, high=0.035, p=0.001, q=0.004, sd=0.005, moderated=0.006, noise_a=0.003, noise_b=0.0031,
        mde=math.inf if verdict is Verdict.INCONCLUSIVE else 0.012, same_sign=5, floor=0.007,
        rounds_needed=40 if verdict is Verdict.INCONCLUSIVE else None, order=OrderEffect(slope=0.0015, p=0.6),
        flags=("order-effect", "mean≠median"),
    )  # fmt: skip


def judged(measured: Measured | None = None) -> Summary:
    """A campaign with a verdict of every kind."""
    summary = summarise(measured or campaign())
    verdicts = cycle(Verdict)
    ops = [_judged(op, verdicts) for op in (*summary.subjects, *summary.controls)]
    rows = {row.result.key: row.result for op in ops for row in op.rows if row.result}
    inference = Inference(
        settings=Settings(looks=((4, 0.1), (8, 0.3), (16, 0.6))), rows=rows,
        operators={op.op.directory: op.result for op in ops if op.result},
        campaign=Aggregate(operators=5, estimate=0.01, low=-0.002, high=0.022),
        calibration=Calibration(used=True, bias=0.003, between=0.001, error=0.0005, operators={"softmax": 0.002}),
        prior=Prior(df=math.inf, variance=1e-5),
    )  # fmt: skip
    return replace(
        summary, inference=inference, subjects=tuple(op for op in ops if not op.op.control),
        controls=tuple(op for op in ops if op.op.control),
    )  # fmt: skip


def _judged(op: OpSummary, verdicts: cycle[Verdict]) -> OpSummary:
    known = op.op
    rows = tuple(
        replace(row, result=row_result((known.directory, row.row.name), next(verdicts), control=known.control))
        for row in op.rows
    )
    result = OpResult(
        op=known.op, verdict=Verdict.SLOWER, what="slower", control=known.control, rows=len(rows), rounds=6,
        estimate=0.02, low=0.01, high=0.03, p=0.002, q=0.003, mde=0.011,
    )  # fmt: skip
    return replace(op, rows=rows, result=result)


def nothing() -> Summary:
    """A campaign that found nothing to measure."""
    header = Header(title="report of campaign_20261129-101011", metric=None, screen=("screen: 1 operator",))
    return summarise(Measured(header=header, reason="no rounds were measured: no operator changed"))


def compiled(unit: str = "instructions") -> Summary:
    """Compile rounds: a row is a kernel and has a value; one kernel has none on B."""
    pairs = ((1_000_000.0, 1_020_000.0), (1_001_000.0, 1_019_000.0), (999_000.0, 1_021_000.0))
    rows = (
        RowReadings(
            name="k-1", dtype="-", label="fft_row_kernel w4s3", unit=unit, timer="compile",
            readings=tuple(
                Reading(round=number, before=a, after=b, a_first=number % 2 == 1)
                for number, (a, b) in enumerate(pairs, 1)
            ),
        ),
        RowReadings(
            name="k-2", dtype="-", label="fft_row_kernel w8s3", unit=unit,
            left_out=(LeftOut(round=1, reason="LOST", note="no value on B", lost=True),),
        ),
    )  # fmt: skip
    op = OpReadings(
        op="fft", directory="fft", rows=rows, rounds=(1, 2, 3), lost=("fft_row_kernel w8s3: no value on B",),
        failed=("round 2 B: CELL_TIMEOUT",), invalid=("round 4: PAIR_THROTTLED",),
    )  # fmt: skip
    header = Header(title="report of repeat_1", metric=Metric.COMPILE, a="triton 3.6.0", b="triton 3.9.0", axis="build")
    return judged(Measured(header=header, ops=(op,), planned="3 rounds"))
