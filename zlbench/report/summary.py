"""What the readings of rounds amount to: each row and operator described, with what the statistics say of it.

Readings in, summary out. Whether a row is faster or slower is judged in `zlbench.inference` and nowhere else.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from zlbench.errors import PreflightError
from zlbench.inference.series import sd_of
from zlbench.inference.types import DELTA, Inference, OpResult, Q, RowResult, Verdict
from zlbench.report.model import Header, Measured, OpReadings, RowReadings
from zlbench.report.samples import samples_of, settings_of, why_no_headline

NO_CLAIM = "descriptive: no claim of faster or slower is made"


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
    """What the statistics say of it; None before they were asked, and where `why_not` says why nothing may be said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """What is missing or not as it should be, over all operators.

    Args:
        rows: rows that are expected, of which `compared` have a reading.
        excluded: rows that both sides measured and of which some round is left out.
    """

    rows: int = 0
    compared: int = 0
    excluded: int = 0
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
    inference: Inference | None = None
    source: Measured | None = None
    """What it was made of: identities, telemetry, looks."""
    findings: tuple[str, ...] = ()
    """What thresholds of the caller (``--fail-on``) found, in lines; nothing where there are none."""

    @property
    def measured(self) -> bool:
        """Whether there is any number."""
        return any(row.n for op in (*self.subjects, *self.controls) for row in op.rows)

    @property
    def claim(self) -> str:
        """What a verdict rests on."""
        if self.inference is None:
            return NO_CLAIM
        settings = self.inference.settings
        return (
            f"slower or faster: false discovery rate {100 * settings.q:g} % over all rows, interval without 0, "
            "and beyond what pairs of one side show"
        )


def summarise(measured: Measured, *, delta: float = DELTA, q: float = Q) -> Summary:
    """Sum up what was read, and ask the statistics what may be said of it.

    Args:
        delta: relative difference below which nobody cares.
        q: false discovery rate over all rows.

    Raises:
        PreflightError: there are readings, and no scipy to judge them.
    """
    inference = _inferred(measured, delta=delta, q=q)
    ops = [_operator(op, inference) for op in measured.ops]
    return Summary(
        header=measured.header,
        counts=_counts(measured.ops),
        subjects=tuple(op for op in ops if not op.op.control),
        controls=tuple(op for op in ops if op.op.control),
        planned=measured.planned,
        progress=measured.progress,
        reason=measured.reason,
        inference=inference,
        source=measured,
    )


def _inferred(measured: Measured, *, delta: float, q: float) -> Inference | None:
    if not any(row.readings for op in measured.ops for row in op.rows):
        return None
    try:
        import scipy  # noqa: F401 - asked for here, so that this is what is said
    except ImportError as error:
        raise PreflightError(
            f"scipy cannot be imported, and without it no row has a verdict: {error}",
            check="driver-imports",
            hint="A report needs it beside nox and zlbench: pip install 'scipy>=1.11', or python3 noxfile.py …",
        ) from error
    from zlbench import inference

    found: Inference = inference.infer(samples_of(measured), settings_of(measured, delta=delta, q=q))
    return found


def _counts(ops: Sequence[OpReadings]) -> Counts:
    words = Counter({word: 0 for op in ops for word, _ in op.fallbacks})
    for op in ops:
        words.update(dict(op.fallbacks))
    rows = [row for op in ops for row in op.rows]
    return Counts(
        rows=sum(op.expected or len(op.rows) for op in ops),
        compared=sum(bool(row.readings) for row in rows),
        excluded=sum(any(not item.lost for item in row.left_out) for row in rows),
        lost=sum(len(op.lost) for op in ops),
        replay_fallback=words["AUTOTUNE_REPLAY_FALLBACK"],
        no_cudagraph=words["BENCHMARK_DIRECT_NO_CUDAGRAPH"],
        poisoned=words["BENCHMARK_CAPTURE_POISONED"],
        invalid=sum(len(op.invalid) for op in ops),
        rerun=sum(op.rerun for op in ops),
        failed=sum(len(op.failed) for op in ops),
    )


def _operator(op: OpReadings, inference: Inference | None) -> OpSummary:
    known = inference.rows if inference is not None else {}
    rows = tuple(row_summary(row, len(op.rounds), known.get((op.directory, row.name))) for row in op.rows)
    used = _used(rows)
    why_not = why_no_headline(op)
    if why_not:
        return OpSummary(op=op, rows=rows, why_not=why_not)
    by_round: dict[int, list[float]] = {}
    for row in used:
        for reading in row.readings:
            by_round.setdefault(reading.round, []).append(reading.difference)
    means = [statistics.fmean(found) for found in by_round.values() if len(found) == len(used)]
    if not means:
        return OpSummary(op=op, rows=rows, why_not="in no round all of its rows have a reading")
    return OpSummary(
        op=op, rows=rows, rounds=len(means), change=math.expm1(statistics.fmean(means)),
        low=math.expm1(min(means)), high=math.expm1(max(means)),
        result=inference.operators.get(op.directory) if inference is not None else None,
    )  # fmt: skip


def _used(rows: Sequence[RowSummary]) -> list[RowReadings]:
    """The rows that an operator is judged by; where none of them is valid, those that there are, to describe them."""
    counted = [one for one in rows if one.n and one.row.counted]
    valid = [one for one in counted if one.result is not None and one.result.verdict is not Verdict.INVALID]
    return [one.row for one in valid or counted]


def row_summary(row: RowReadings, rounds: int, result: RowResult | None = None) -> RowSummary:
    """Sum up one row.

    Args:
        rounds: valid rounds of its operator.
        result: what the statistics say of it.
    """
    if not row.readings:
        return RowSummary(row=row, n=0, rounds=rounds, result=result)
    sides = [[reading.before for reading in row.readings], [reading.after for reading in row.readings]]
    logs = [[math.log(value) for value in side] for side in sides]
    differences = [after - before for before, after in zip(*logs, strict=True)]
    mean = statistics.fmean(differences)
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
        noise_a=sd_of(logs[0]),
        noise_b=sd_of(logs[1]),
        result=result,
    )
