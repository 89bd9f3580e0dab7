"""A report for a terminal of 100 columns. Pure: a summary in, lines out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from zlbench.colour import Paint, plain
from zlbench.inference.types import DELTA
from zlbench.report import exact
from zlbench.report.prose import wording
from zlbench.report.prose.markup import shortened
from zlbench.report.standing import ALIKE, CHANGED, Standing, by_urgency, judged, standing, urgency
from zlbench.report.summary import OpSummary, RowSummary, Summary
from zlbench.text import columns, folded, plural, without_commands

WIDTH = 100
MARGIN = "        "
ELSEWHERE = "report.html and rows.csv have all"
_HEAD = ("row", "A", "B", "change", "interval", "noise A/B", "signs", "verdict")
_OP_HEAD = ("geometric mean", "rows", "rounds", "change", "interval", "verdict")
_FEWEST = 12
"""Columns that a name keeps, whatever else there is."""
_ROWS, _EACH_WAY, _OPERATORS, _MISSING, _EXAMPLES, _NAME = 60, 24, 30, 12, 3, 48
"""What is shown at most: a terminal is for what must be seen first, files hold the rest."""
_BOUND, _KEEP = "\u00a0", re.compile(r" (?=[·%→±])|(?<!·) (?=\d)|(?<=[→±]) |(?<=\d) (?=[a-z])")
"""Where no line ends: between a number or a sign and what it belongs to."""
_PAINT = re.compile("\x1b\\[\\d*m")

_Group = tuple[OpSummary, list[RowSummary]]


def to_text(summary: Summary, width: int = WIDTH, colour: Paint = plain) -> list[str]:
    """The whole report.

    Args:
        width: no line is longer.
        colour: what paints a verdict; nothing depends on it.
    """
    lines = [*_title(summary, width), *wrapped(head(summary), width, MARGIN)]
    lines += wrapped(summary.header.warnings, width)
    if not summary.measured:
        lines += ["", *wrapped([summary.reason or wording.NOTHING], width), *_missing(summary, width)]
    else:
        lines += ["", *_rows(summary, width, colour), *_missing(summary, width), ""]
        lines += [*_operators(summary, width, colour), *wrapped(_end(summary), width)]
    for text in summary.findings:
        lines += wrapped([text], width, "  " if text.startswith(" ") else "", "    ")
    return [_safe(line, width) for line in lines]


def head(summary: Summary) -> list[str]:
    """What was compared and what is missing, before any number."""
    header = summary.header
    ops = (*summary.subjects, *summary.controls)
    controls = plural(len(summary.controls), "control") if summary.controls else ""
    facts = [wording.what(summary) if summary.measured else "", *header.conditions, summary.planned, controls]
    lines = [" · ".join(filter(None, facts)), *header.screen]
    lines += [wording.counts_line(summary.counts), wording.causes(summary)] if ops else []
    rows = [row for op in summary.subjects for row in op.rows]
    lines += [f"rows: {wording.overview(rows, header.metric)}"] if rows else []
    lines += [exact.overview(ops), summary.progress, *wording.notes(summary), *wording.alarms(summary)]
    return [line for line in lines if line]


def wrapped(lines: Sequence[str], width: int, margin: str = "", further: str = "") -> list[str]:
    """Lines that are no longer than `width`; what a line goes on with is set in by `further` as well."""
    return [
        part.replace(_BOUND, " ")
        for line in lines
        for part in textwrap.wrap(
            _KEEP.sub(_BOUND, wording.clean(line)), width, initial_indent=margin, subsequent_indent=margin + further,
            break_on_hyphens=False,
        )
    ]  # fmt: skip


def _title(summary: Summary, width: int) -> list[str]:
    header = summary.header
    lines = wrapped([f"report A {header.a} → B {header.b}"], width, further=MARGIN)
    lines[0] = lines[0].replace("report A", "report  A", 1) if len(lines[0]) < width else lines[0]
    for text in (f"axis: {header.axis}" if header.axis else "", wording.convention(header.metric)):
        if text and len(lines[-1]) + 6 + len(text) <= width:
            lines[-1] += f"      {wording.clean(text)}"
        elif text:
            lines += wrapped([text], width, MARGIN)
    return lines


def _rows(summary: Summary, width: int, colour: Paint) -> Iterator[str]:
    """Operators, each with its rows below it, what must be seen first on top."""
    # What is lost is listed below with its reasons, also where nobody knows which row it was.
    ordered = [
        (op, [row for row in rows if standing(row) is not Standing.LOST]) for op, rows in by_urgency(summary.subjects)
    ]
    groups, hidden = _limited(ordered)
    named = [(op, rows, *_names(op, rows)) for op, rows in groups]
    cells = [_cells(row, name, summary) for _, rows, _, names in named for row, name in _zip(rows, names) if row.n]
    laid = iter(_laid(_HEAD, cells, width, colour) if cells else ())
    yield from [next(laid)] if cells else []
    for op, rows, shared, names in named:
        yield shortened(wording.clean(f"{op.op.op}  {shared}"), width)
        for row, name in _zip(rows, names):
            yield from [next(laid)] if row.n else _said(f"  {name}", wording.why_empty(row), width)
        yield from [] if rows else ["  no row was measured on both sides"]
    if hidden:
        listed = wording.overview(hidden, summary.header.metric)
        yield from wrapped([f"and {wording.grouped(len(hidden))} more rows ({listed}): {ELSEWHERE}"], width)


def _zip(rows: Sequence[RowSummary], names: Sequence[str]) -> Iterator[tuple[RowSummary, str]]:
    return zip(rows, names, strict=True)


def _names(op: OpSummary, rows: Sequence[RowSummary]) -> tuple[str, list[str]]:
    """What all rows of an operator share, and what tells each of the shown ones from the others."""
    dtypes = {row.row.dtype for row in op.rows}
    labels, same = folded([row.row.label for row in rows])
    own = [
        wording.name_of(row, label=label, dtype="" if len(dtypes) == 1 else wording.short_dtype(row.row.dtype))
        for row, label in zip(rows, labels, strict=True)
    ]
    shared = " ".join(filter(None, [*(wording.short_dtype(dtype) for dtype in dtypes if len(dtypes) == 1), same]))
    return shared, [wording.clean(name) or "-" for name in own]


def _limited(groups: Sequence[_Group]) -> tuple[list[_Group], list[RowSummary]]:
    """The rows that must be seen first, and those that are left to the files. Changes of each way keep a share."""
    ordered = sorted((row for _, rows in groups for row in rows), key=urgency)
    if len(ordered) <= _ROWS:
        return [*groups], []
    by_way = [[row for row in ordered if standing(row) is way][:_EACH_WAY] for way in CHANGED]
    first = {id(row): row for row in (*by_way[0], *by_way[1], *ordered)}
    kept = {*list(first)[:_ROWS]}
    shown = [(op, [row for row in rows if id(row) in kept]) for op, rows in groups]
    return [(op, rows) for op, rows in shown if rows], [row for row in ordered if id(row) not in kept]


def _cells(row: RowSummary, name: str, summary: Summary) -> list[str]:
    unit = row.row.unit
    return [
        f"  {name}", wording.value(row.median_a, unit),
        wording.value(row.median_b, unit), wording.estimate(row), wording.interval(row.result), wording.noise(row),
        wording.signs(row), wording.short(row.result, summary.header.metric, _delta(summary)),
    ]  # fmt: skip


def _laid(head: Sequence[str], cells: Sequence[Sequence[str]], width: int, colour: Paint) -> list[str]:
    """A table whose first column is shortened where the others leave it too little room; the last one is painted."""
    last = len(head) - 1
    others = [max(len(line[index]) for line in (head, *cells)) + 2 for index in range(1, last + 1)]
    room = max(_FEWEST, width - sum(others))
    short = [[shortened(line[0], room), *line[1:]] for line in cells]
    return columns(head, short, right=frozenset(range(1, last)), paint={last: colour})


def _said(name: str, text: str, width: int) -> list[str]:
    """A name with a sentence in place of numbers."""
    own = textwrap.wrap(wording.clean(text), width - len(MARGIN))
    start = shortened(name, max(width // 3, width - len(own[0]) - 2))
    if len(own) == 1 and len(start) + 2 + len(own[0]) <= width:
        return [f"{start}  {own[0]}"]
    return [start, *(f"{MARGIN}{line}" for line in own)]


def _missing(summary: Summary, width: int) -> list[str]:
    found = wording.missing_lines(summary)
    if not found:
        return []
    more = len(found) - _MISSING
    rest = [f"and {plural(more, 'more line')}: report.md and report.html"] if more > 0 else []
    return ["", "not in the table, or in part:", *wrapped([*found[:_MISSING], *rest], width, "  ", "    ")]


def _operators(summary: Summary, width: int, colour: Paint) -> Iterator[str]:
    """Geometric means over rows, with their intervals."""
    ops = [op for op, _ in by_urgency(summary.subjects)]
    summed = [op for op in ops[:_OPERATORS] if op.result is not None]
    if summed:
        laid = _laid(_OP_HEAD, [_op_cells(op, summary) for op in summed], width, colour)
        yield from laid
    for op in ops[:_OPERATORS]:
        if op.result is None:
            yield from _said(wording.clean(op.op.op), f"no mean: {op.why_not or wording.NO_STATISTICS}", width)
    if len(ops) > _OPERATORS:
        yield f"and {wording.grouped(len(ops) - _OPERATORS)} more operators: report.html and report.json have all"


def _op_cells(op: OpSummary, summary: Summary) -> list[str]:
    result = op.result
    assert result is not None
    found = judged(result)
    said = "~" if found in ALIKE else wording.change(result.estimate)
    return [
        wording.clean(op.op.op), str(result.rows), str(result.rounds), said, wording.interval(result),
        wording.short(result, summary.header.metric, _delta(summary)),
    ]  # fmt: skip


def _end(summary: Summary) -> list[str]:
    lines = [wording.campaign_line(summary), wording.controls_line(summary)]
    rows = [row for op in summary.subjects for row in op.rows]
    lines += [wording.needed(rows), *wording.invalid_rows(rows)]
    for flag, names in wording.flagged(summary.subjects).items():
        listed = ", ".join(shortened(name, _NAME) for name in names[:_EXAMPLES])
        lines.append(f"{flag}: {plural(len(names), 'row')} ({listed}{', …' if len(names) > _EXAMPLES else ''})")
    return [line for line in (*lines, "", wording.meaning(summary), wording.claim(summary)) if line]


def _delta(summary: Summary) -> float:
    return summary.inference.settings.delta if summary.inference is not None else DELTA


def _safe(line: str, width: int) -> str:
    """The last resort: no line is longer, and none is a command."""
    bare = _PAINT.sub("", line)
    return without_commands(line if len(bare) <= width else shortened(bare, width))
