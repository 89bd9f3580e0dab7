"""What the readings of rounds amount to. Descriptive: nothing in here calls a row faster or slower.

Rows in, summary out. The statistics that may make such a claim replace this module and nothing else.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from zlbench.inference.types import Inference, OpResult, RowResult
from zlbench.report.model import Header, Measured, OpReadings, RowReadings

NO_CLAIM = "descriptive: no claim of faster or slower is made yet"


@dataclass(frozen=True, kw_only=True, slots=True)
class RowSummary:
    """One row over its valid rounds; changes are fractions, B against A, above 0 B takes longer.

    Args:
        rounds: valid rounds of its operator, of which n have a reading of it.
        mean, median: of d_k = ln B_k - ln A_k, as changes; None without a reading.
        low, high: smallest and largest change of a round.
        same_sign: rounds whose d_k has the sign of their mean.
        noise_a, noise_b: standard deviation of one side's ln over rounds; None with fewer than two.
    """

    row: RowReadings
    n: int
    rounds: int
    median_a: float | None = None
    median_b: float | None = None
    mean: float | None = None
    median: float | None = None
    low: float | None = None
    high: float | None = None
    same_sign: int = 0
    noise_a: float | None = None
    noise_b: float | None = None
    result: RowResult | None = None
    """What the statistics say of it; None before they were asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpSummary:
    """One operator.

    Args:
        change: geometric mean over its rows in each round, then the mean over rounds; None where it may not be told.
        low, high: smallest and largest of a round.
        rounds: rounds in which every row has a reading.
        why_not: why there is no change.
    """

    op: OpReadings
    rows: tuple[RowSummary, ...]
    change: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    why_not: str = ""
    result: OpResult | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """What is missing or not as it should be, over all operators."""

    lost: int = 0
    replay_fallback: int = 0
    no_cudagraph: int = 0
    poisoned: int = 0
    invalid: int = 0
    rerun: int = 0
    failed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """The whole report as values; renderers add nothing to it."""

    header: Header
    counts: Counts
    subjects: tuple[OpSummary, ...]
    controls: tuple[OpSummary, ...]
    planned: str = ""
    progress: str = ""
    reason: str = ""
    claim: str = NO_CLAIM
    inference: Inference | None = None
    source: Measured | None = None
    """What it was made of: identities, telemetry, looks."""

    @property
    def measured(self) -> bool:
        """Whether there is any number."""
        return any(row.n for op in (*self.subjects, *self.controls) for row in op.rows)


def summarise(measured: Measured) -> Summary:
    """Sum up what was read."""
    ops = [_operator(op) for op in measured.ops]
    return Summary(
        header=measured.header,
        counts=_counts(measured.ops),
        subjects=tuple(op for op in ops if not op.op.control),
        controls=tuple(op for op in ops if op.op.control),
        planned=measured.planned,
        progress=measured.progress,
        reason=measured.reason,
    )


def _counts(ops: Sequence[OpReadings]) -> Counts:
    words = Counter({word: 0 for op in ops for word, _ in op.fallbacks})
    for op in ops:
        words.update(dict(op.fallbacks))
    return Counts(
        lost=sum(len(op.lost) for op in ops),
        replay_fallback=words["AUTOTUNE_REPLAY_FALLBACK"],
        no_cudagraph=words["BENCHMARK_DIRECT_NO_CUDAGRAPH"],
        poisoned=words["BENCHMARK_CAPTURE_POISONED"],
        invalid=sum(len(op.invalid) for op in ops),
        rerun=sum(op.rerun for op in ops),
        failed=sum(len(op.failed) for op in ops),
    )


def _operator(op: OpReadings) -> OpSummary:
    rows = tuple(row_summary(row, len(op.rounds)) for row in op.rows)
    used = [row for row in op.rows if row.readings]
    why_not = _why_not(op, used)
    if why_not:
        return OpSummary(op=op, rows=rows, why_not=why_not)
    common = set.intersection(*({reading.round for reading in row.readings} for row in used))
    if not common:
        return OpSummary(op=op, rows=rows, why_not="in no round all of its rows have a reading")
    by_round = [
        statistics.fmean(reading.difference for row in used for reading in row.readings if reading.round == number)
        for number in sorted(common)
    ]
    return OpSummary(
        op=op, rows=rows, rounds=len(common), change=math.expm1(statistics.fmean(by_round)),
        low=math.expm1(min(by_round)), high=math.expm1(max(by_round)),
    )  # fmt: skip


def _why_not(op: OpReadings, used: Sequence[RowReadings]) -> str:
    if op.failed:
        return f"a round failed: {op.failed[0]}"
    if not op.rounds:
        return "no round is complete and valid"
    if not used:
        return "no row has a reading"
    return ""


def row_summary(row: RowReadings, rounds: int) -> RowSummary:
    """Sum up one row."""
    if not row.readings:
        return RowSummary(row=row, n=0, rounds=rounds)
    differences = [reading.difference for reading in row.readings]
    sides = [[reading.before for reading in row.readings], [reading.after for reading in row.readings]]
    mean = statistics.fmean(differences)
    noise = [statistics.stdev(map(math.log, side)) if len(side) > 1 else None for side in sides]
    return RowSummary(
        row=row,
        n=len(differences),
        rounds=rounds,
        median_a=statistics.median(sides[0]),
        median_b=statistics.median(sides[1]),
        mean=math.expm1(mean),
        median=math.expm1(statistics.median(differences)),
        low=math.expm1(min(differences)),
        high=math.expm1(max(differences)),
        same_sign=sum(math.copysign(1, value) == math.copysign(1, mean) and value != 0 for value in differences),
        noise_a=noise[0],
        noise_b=noise[1],
    )
