"""The receipt of what is missing: what no number stands for, and what was left out of one, with the reasons. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlbench.inference.types import Verdict
from zlbench.markers import MARKERS
from zlbench.report.exports.machine import operators
from zlbench.report.prose import wording
from zlbench.report.receipts.text import listed, table
from zlbench.report.summary import OpSummary, RowSummary, Summary
from zlbench.text import plural


def excluded_md(summary: Summary) -> str:
    """A list a kind, and what its words mean."""
    sections = {title: [f"{op} {text}" for op, text in lines] for title, lines in _sections(operators(summary))}
    parts = ["# Excluded", wording.counts_line(summary.counts)]
    parts += [part for title, lines in sections.items() if lines for part in (f"## {title}", listed(lines))]
    if not any(sections.values()):
        parts.append("Nothing is.")
    words = _words(operators(summary))
    parts += ["## Words", table(("word", "cause", "what it means for the numbers"), words)] if words else []
    return "\n\n".join(parts) + "\n"


_Lines = Iterator[tuple[str, str]]


def _sections(ops: Sequence[OpSummary]) -> Iterator[tuple[str, _Lines]]:
    known = [(op.op.op, op.op) for op in ops]
    yield "Operators of which nothing is said as a whole", ((op.op.op, op.why_not) for op in ops if op.why_not)
    yield "Rows that are not compared", ((name, wording.why_empty(row)) for name, row in _rows(ops) if not row.n)
    yield "Rows without a verdict", _invalid(ops)
    yield "Rounds left out of a row", _rounds(ops)
    yield "Rows that a side did not measure", ((name, text) for name, op in known for text in op.lost)
    yield "Pairs that were invalidated", ((op.op.op, text) for op in ops for text in _pairs(op))
    yield "Cells that did not end well", ((name, text) for name, op in known for text in op.failed)
    yield "What cells said", ((name, f"{word} {text}") for name, op in known for word, text in op.markers)
    yield "What else is to be known", ((name, text) for name, op in known for text in op.notes)


def _rows(ops: Sequence[OpSummary]) -> Iterator[tuple[str, RowSummary]]:
    """Rows with their operator and their own name before them."""
    for op in ops:
        for row in op.rows:
            yield f"{op.op.op} {wording.name_of(row)}:", row


def _invalid(ops: Sequence[OpSummary]) -> _Lines:
    for name, row in _rows(ops):
        if row.n and row.result is not None and row.result.verdict is Verdict.INVALID:
            yield name, row.result.what


def _rounds(ops: Sequence[OpSummary]) -> _Lines:
    for name, row in _rows(ops):
        for item in row.row.left_out if row.n else ():
            yield name, f"round {item.round}: {item.reason}{f' ({item.note})' if item.note else ''}"


def _pairs(op: OpSummary) -> list[str]:
    again = op.op.rerun - len(op.op.invalid)
    return [*op.op.invalid, *([f"{plural(again, 'pair')} measured again"] if again > 0 else [])]


def _words(ops: Sequence[OpSummary]) -> list[tuple[str, str, str]]:
    """The words above that `zlbench explain` knows."""
    said = [item.reason for _, row in _rows(ops) for item in row.row.left_out]
    said += [word for op in ops for word, _ in (*op.op.markers, *op.op.fallbacks)]
    said += [row.result.why.value for _, row in _rows(ops) if row.result is not None and row.result.why is not None]
    said += [part for op in ops for text in (*op.op.invalid, *op.op.failed) for part in text.replace(":", " ").split()]
    known = [MARKERS[word] for word in dict.fromkeys(said) if word in MARKERS and not word[0].isdigit()]
    return [(item.word, item.cause, item.meaning) for item in sorted(known, key=lambda item: item.word)]
