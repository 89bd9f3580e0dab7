"""report.md: the same for a pull request; everything from data is escaped. Pure: a summary in, text out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from zlbench.report import wording
from zlbench.report.summary import OpSummary, RowSummary, Summary

_HEAD = ("row", "n", "A", "B", "mean %", "median %", "min…max %", "signs", "noise A / B %")
_SPECIAL = re.compile(r"([\\`*{}\[\]<>|#~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
"""An underscore inside a word is no markup."""


def to_markdown(summary: Summary) -> str:
    """The whole report."""
    header = summary.header
    parts = [f"# {escaped(header.title)}", f"A {escaped(header.a)} → B {escaped(header.b)}{_axis(header.axis)}"]
    facts = [*header.conditions, summary.planned]
    parts.append(" · ".join(escaped(fact) for fact in facts if fact))
    parts += [escaped(line) for line in header.screen]
    if summary.subjects or summary.controls:
        parts.append(escaped(wording.counts_line(summary.counts)))
    parts += [escaped(summary.progress)] if summary.progress else []
    parts += [_list(header.warnings)] if header.warnings else []
    if not summary.measured:
        parts.append(escaped(summary.reason or "nothing was measured: no row has a valid round"))
    else:
        parts += [f"**{summary.claim}**", escaped(f"{wording.what(summary)} · {wording.CONVENTION}")]
        parts += ["## Operators", _operators(summary.subjects)]
        parts += ["## Rows", *(_op(op) for op in summary.subjects)]
        parts += ["## Controls", *_controls(summary.controls)]
    missing = wording.missing_lines(summary)
    if missing:
        parts += ["## Not in the tables", _list(missing)]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Text of which Markdown makes nothing, in one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; every cell is text."""
    lines = [list(head), ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _axis(axis: str) -> str:
    return f" · axis: {escaped(axis)}" if axis else ""


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)


def _operators(ops: Sequence[OpSummary]) -> str:
    rows = [
        (op.op.op, wording.percent(op.change), wording.span(op.low, op.high), str(op.rounds), str(len(op.rows)),
         op.why_not)
        for op in ops
    ]  # fmt: skip
    return table(("operator", "change %", "min…max of rounds %", "rounds", "rows", ""), rows)


def _op(op: OpSummary) -> str:
    return f"### {escaped(op.op.op)}\n\n{table(_HEAD, (_row(row) for row in op.rows))}"


def _row(row: RowSummary) -> list[str]:
    if not row.n:
        return [wording.name_of(row), "0", *["-"] * 6, wording.why_empty(row)]
    unit = row.row.unit
    return [
        wording.name_of(row), str(row.n), wording.value(row.median_a, unit), wording.value(row.median_b, unit),
        wording.percent(row.mean), wording.percent(row.median), wording.span(row.low, row.high), wording.signs(row),
        wording.noise(row),
    ]  # fmt: skip


def _controls(ops: Sequence[OpSummary]) -> list[str]:
    if not ops:
        return ["No controls were measured: how far equal code is apart here is not known."]
    return ["Both sides run the same code, so what they show is noise.", _operators(ops), *(_op(op) for op in ops)]
