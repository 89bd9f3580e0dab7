"""Operators and the campaign. The unit is the round: a process has luck of its own that all its rows share."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zlbench.inference import words
from zlbench.inference.calibrate import add_errors
from zlbench.inference.evaluate import Evaluated
from zlbench.inference.sequential import student
from zlbench.inference.series import Series, make_series, mean_of
from zlbench.inference.types import Aggregate, Calibration, Pair, Sample


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorSeries:
    """An operator as one series: the mean over its rows in every round that all of them have.

    Args:
        rows: how many rows count.
        what: why there is no verdict, in words, where there is none.
    """

    series: Series
    rows: int
    what: str


def operator_series(rows: Sequence[Series]) -> dict[str, OperatorSeries]:
    """Make one series of each operator."""
    by_op: dict[str, list[Series]] = defaultdict(list)
    for row in rows:
        by_op[row.key[0]].append(row)
    return {op: _operator(op, some) for op, some in by_op.items()}


def _operator(op: str, rows: Sequence[Series]) -> OperatorSeries:
    # By name: shards of an operator may differ in their order of sides, and the first row's stands for the round.
    used = sorted((row for row in rows if row.valid and row.counted), key=lambda row: row.key)
    # Where none of its rows counts for one and the same reason, it is the operator's.
    reasons = {row.why for row in rows} if not used else set()
    why = reasons.pop() if len(reasons) == 1 else None
    # Least variances of independent rows add up; a step q stands for 2 q² / 12.
    step = math.sqrt(6 * math.fsum([row.least_variance for row in used])) / max(1, len(used))
    sample = Sample(key=(op, ""), pairs=_means(used), control=rows[0].control, resolution=step, why=why)
    series = make_series(sample)
    what = words.NO_ROWS if not used and why is None else words.invalid(series.why) if series.why else ""
    return OperatorSeries(series=series, rows=len(used), what=what)


def _means(rows: Sequence[Series]) -> tuple[Pair, ...]:
    if not rows:
        return ()
    by_round = [{pair.round: pair for pair in row.pairs} for row in rows]
    common = set.intersection(*map(set, by_round))
    return tuple(
        Pair(
            round=number, log_a=mean_of([pairs[number].log_a for pairs in by_round]),
            log_b=mean_of([pairs[number].log_b for pairs in by_round]), a_first=by_round[0][number].a_first,
        )
        for number in sorted(common)
    )  # fmt: skip


def aggregate(operators: Mapping[tuple[str, str], Evaluated], alpha: float, calibration: Calibration) -> Aggregate:
    """Mean over the valid subject operators.

    What each operator has of its own (noise, and its part of the spread that the controls show) shrinks with their
    number; the error of the bias is the same for all of them and does not.
    """
    some = [one for one in operators.values() if not one.row.control]
    if not some:
        return Aggregate(operators=0)
    count = len(some)
    parts = [(one.variance / one.last.seen.n / count**2, one.df) for one in some]
    if calibration.used:
        controls = len(calibration.operators)
        between = calibration.between**2 / (1 + 1 / controls)
        parts.append((between * (1 / count + 1 / controls), controls - 1))
    error, df = add_errors(parts)
    estimate = mean_of([one.estimate for one in some])
    half = float(student().isf(alpha / 2, df)) * error
    return Aggregate(operators=count, estimate=estimate, low=estimate - half, high=estimate + half)
