"""Markdown of the receipts: as that of report.md, but nothing is short of room, so that texts stay whole. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zlbench.report.prose import wording
from zlbench.report.prose.markup import escaped, heads, line
from zlbench.report.summary import Summary
from zlbench.rounds.names import Metric

_WHOLE = 4000
"""Characters of one text; beyond them it is no text that a person reads."""


def paragraph(text: str) -> str:
    """Text that stays text."""
    return escaped(text, _WHOLE)


def values(summary: Summary) -> str:
    """What the values are, and what they are not."""
    caveat = f" {wording.COMPILING}" if summary.header.metric is Metric.COMPILE else ""
    return paragraph(f"Values: {wording.what(summary)}.{caveat}")


def listed(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {paragraph(text)}" for text in lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; every cell is text."""
    return "\n".join([heads(head), *(line(paragraph(cell) for cell in row) for row in rows)])
