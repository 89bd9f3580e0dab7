"""Rows and operators as lines of the tables that stand on the page before any script runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from zlbench.inference.types import OpResult, RowResult, Settings
from zlbench.report.model import KernelPair
from zlbench.report.page.address import address
from zlbench.report.page.looks import LOOKS
from zlbench.report.page.numbers import figures, percent
from zlbench.report.page.strips import Interval, Scale, Strip
from zlbench.report.prose import wording
from zlbench.report.standing import CHANGED, Standing, judged, standing
from zlbench.report.summary import OpSummary, RowSummary, Summary
from zlbench.rounds.names import Metric

_LARGEST = 8
"""Changes of each direction that are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One row or operator as the overview shows it."""

    name: str
    href: str
    verdict: str
    look: str
    sign: str
    detail: str = ""
    dtype: str = ""
    a: str = ""
    b: str = ""
    change: str = ""
    interval: str = ""
    strip: Strip | None = None
    rows: str = ""
    rounds: str = ""
    ir: str = ""
    code: str = ""
    said: str = ""
    index: int = 0
    control: bool = False


def largest(
    summary: Summary, standings: Sequence[Standing], settings: Settings
) -> tuple[list[Line], list[Line], Scale]:
    """Rows called slower and those called faster, the largest changes first, with the scale that they share."""
    found: dict[Standing, list[tuple[OpSummary, int, RowSummary]]] = {one: [] for one in CHANGED}
    rows = ((op, place, row) for op in summary.subjects for place, row in enumerate(op.rows, 1))
    for entry, one in zip(rows, standings, strict=True):
        if one in found:
            found[one].append(entry)
    for entries in found.values():
        entries.sort(key=lambda entry: -abs(_interval(entry[2].result)[0] or 0.0))
    shown = [entries[:_LARGEST] for entries in found.values()]
    scale = Scale.of([_interval(row.result) for entries in shown for _, _, row in entries], 100 * settings.delta)
    slower, faster = ([_row_line(summary, *entry, scale) for entry in entries] for entries in shown)
    return slower, faster, scale


def _row_line(summary: Summary, op: OpSummary, place: int, row: RowSummary, scale: Scale) -> Line:
    one = standing(row)
    look, sign = LOOKS[one]
    return Line(
        name=op.op.op, href=address(op=op.op.directory, row=place), detail=row.row.label,
        dtype=row.row.dtype, verdict=wording.verdict(one, summary.header.metric), look=look, sign=sign,
        a=wording.value(row.median_a, row.row.unit), b=wording.value(row.median_b, row.row.unit),
        change=wording.estimate(row), interval=wording.interval(row.result), strip=scale.strip(_interval(row.result)),
    )  # fmt: skip


def operator_lines(summary: Summary, standings: Sequence[Standing], settings: Settings) -> tuple[list[Line], Scale]:
    """Every operator, what changed first, with the scale that they share; `standings` are those of all their rows."""
    ops = (*summary.subjects, *summary.controls)
    scale = Scale.of([_interval(op.result) for op in ops], 100 * settings.delta)
    lines, first = [], 0
    for index, op in enumerate(ops):
        said = _said(standings[first : first + len(op.rows)], summary.header.metric)
        lines.append((_urgency(op), _operator_line(summary, index, op, scale, said)))
        first += len(op.rows)
    return [line for _, line in sorted(lines, key=lambda pair: pair[0])], scale


def _urgency(op: OpSummary) -> tuple[bool, int, float]:
    """What changed comes first, the largest change on top; controls come last. What is equal stays as planned."""
    one = judged(op.result)
    size = abs(op.result.estimate or 0.0) if op.result is not None and one in CHANGED else 0.0
    return op.op.control, list(Standing).index(one), -size


def _operator_line(summary: Summary, index: int, op: OpSummary, scale: Scale, said: str) -> Line:
    one = judged(op.result)
    look, sign = LOOKS[one]
    result = op.result
    kernels = op.op.kernels
    return Line(
        name=op.op.op, href=address(op=op.op.directory), control=op.op.control, look=look, sign=sign,
        verdict=op.why_not or wording.full(result, summary.header.metric), index=index,
        change=_change(result, one),
        interval=wording.interval(result), strip=scale.strip(_interval(result)), rows=str(len(op.rows)),
        rounds=str(len(op.op.rounds)), ir=_of(kernels, "ir"), code=_of(kernels, "code"),
        said=said,
    )  # fmt: skip


def _change(result: OpResult | None, one: Standing) -> str:
    if result is None or result.estimate is None:
        return "-"
    return wording.change(result.estimate) if one in CHANGED else "~"


def _of(kernels: Sequence[KernelPair], name: str) -> str:
    """``1/24``: kernels that differ, of all; nothing where none is known."""
    return (
        f"{sum(getattr(kernel, name) not in ('same', 'unknown') for kernel in kernels)}/{len(kernels)}"
        if kernels
        else ""
    )


def _said(standings: Sequence[Standing], metric: Metric | None) -> str:
    """``2 slower · 1 faster``: what an operator's rows are."""
    found = Counter(standings)
    return " · ".join(f"{found[one]} {wording.verdict(one, metric)}" for one in Standing if found[one])


def _interval(result: RowResult | OpResult | None) -> Interval:
    if result is None:
        return None, None, None
    estimate, low, high = (figures(percent(log)) for log in (result.estimate, result.low, result.high))
    return estimate, low, high
