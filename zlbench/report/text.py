"""A report for a terminal of 100 columns. Pure: a summary in, lines out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from zlbench.report import wording
from zlbench.report.summary import OpSummary, RowSummary, Summary
from zlbench.text import columns, plural

WIDTH = 100
_HEAD = ("", "n", "A", "B", "mean %", "median", "min…max", "signs", "noise A/B %")
_MARGIN = "        "
_LOST_SAID = 8


def to_text(summary: Summary) -> list[str]:
    """The whole report."""
    lines = head(summary)
    if not summary.measured:
        return [*lines, "", summary.reason or "nothing was measured: no row has a valid round", *_missing(summary)]
    lines += ["", *_table(summary.subjects)]
    if summary.controls:
        lines += ["", "controls: both sides run the same code, so what they show is noise", *_table(summary.controls)]
    elif summary.subjects:
        lines += ["", "no controls were measured: how far equal code is apart here is not known"]
    lines += ["", "operators, geometric mean over rows in each round, then the mean over rounds:"]
    lines += [f"  {wording.operator_line(op)}" for op in summary.subjects]
    lines += [f"  control {wording.operator_line(op)}" for op in summary.controls]
    return [*lines, *_missing(summary), summary.claim]


def head(summary: Summary) -> list[str]:
    """What was compared, and what is missing, before any number."""
    header = summary.header
    lines = [f"report  A {header.a}  →  B {header.b}" + (f"        axis: {header.axis}" if header.axis else "")]
    facts = " · ".join([*header.conditions, *([summary.planned] if summary.planned else [])])
    lines += textwrap.wrap(facts, WIDTH - len(_MARGIN)) if facts else []
    lines += list(header.screen)
    lines += [wording.counts_line(summary.counts)] if summary.subjects or summary.controls else []
    lines += [summary.progress] if summary.progress else []
    if summary.measured:
        lines += [f"{wording.what(summary)} · {wording.CONVENTION}", summary.claim]
    wrapped = [part for line in lines[1:] for part in textwrap.wrap(line, WIDTH - len(_MARGIN))]
    return [lines[0], *(_MARGIN + line for line in wrapped), *header.warnings]


def _table(ops: Sequence[OpSummary]) -> list[str]:
    cells: list[list[str]] = []
    for op in ops:
        cells += [[op.op.op, *[""] * (len(_HEAD) - 1)], *(_row(row) for row in op.rows)]
    others = [max(len(line[index]) for line in (list(_HEAD), *cells)) + 2 for index in range(1, len(_HEAD))]
    room = max(12, WIDTH - sum(others))
    cells = [[_cut(line[0], room), *line[1:]] for line in cells]
    right = frozenset(range(1, len(_HEAD)))
    return columns(_HEAD, cells, right=right)


def _row(row: RowSummary) -> list[str]:
    name = f"  {wording.name_of(row)}"
    if not row.n:
        return [f"{name}: {wording.why_empty(row)}", "0", *["-"] * (len(_HEAD) - 2)]
    unit = row.row.unit
    return [
        name, str(row.n), wording.value(row.median_a, unit), wording.value(row.median_b, unit),
        wording.percent(row.mean), wording.percent(row.median), wording.span(row.low, row.high),
        wording.signs(row), wording.noise(row),
    ]  # fmt: skip


def _cut(text: str, room: int) -> str:
    """The end of a label tells rows apart as often as its beginning: the middle goes."""
    if len(text) <= room:
        return text
    left = (room - 1) * 2 // 3
    return f"{text[:left]}…{text[len(text) - (room - 1 - left) :]}"


def _missing(summary: Summary) -> list[str]:
    found = wording.missing_lines(summary)
    if not found:
        return []
    more = len(found) - _LOST_SAID
    rest = [f"  and {plural(more, 'more line')} in report.md"] if more > 0 else []
    return ["", "not in the table:", *(f"  {line}"[:WIDTH] for line in found[:_LOST_SAID]), *rest, ""]
