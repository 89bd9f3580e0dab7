"""A partition as text: the table for people, and plan.tsv. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from zlbench.partition_plan import BoundBy, Kind, Lane, Piece, Plan
from zlbench.text import columns, plural

COLUMNS = ("card", "op", "shard", "rows", "seconds", "minutes", "kind", "directory")
"""Columns of plan.tsv."""
_SHORT_S = 600.0
"""Below ten minutes a tenth of one is too coarse."""
_WIDTH = 80
_HARD = "\0"
"""Stands for a blank at which no line ends."""
_SAID = 8
"""Names that are listed in one line."""


def to_tsv(plan: Plan) -> str:
    """One line a card and piece; a card without work has none. Without times, seconds and minutes are empty."""
    lines = ["\t".join(COLUMNS)]
    for lane in plan.lanes:
        lines += ["\t".join((lane.card, *_fields(piece, timed=plan.timed))) for piece in lane.pieces]
    return "\n".join(lines) + "\n"


def _fields(piece: Piece, *, timed: bool) -> tuple[str, ...]:
    whole = piece.rows is None
    return (
        piece.op,
        "" if whole else f"{piece.shard}/{piece.shards}",
        "" if piece.rows is None else str(len(piece.rows)),
        f"{piece.seconds:.1f}" if timed else "",
        f"{piece.seconds / 60:.2f}" if timed else "",
        piece.kind.value,
        piece.directory,
    )


def to_text(plan: Plan, *, noun: str = "card") -> list[str]:
    """The table by card, and what it amounts to.

    Args:
        noun: what a lane is here: a card, or with no device a lane.
    """
    unit = "minutes" if plan.timed else "operators' worth"
    rows = [row for lane in plan.lanes for row in _rows(plan, lane)]
    table = columns((noun, unit, "operators"), rows, right=frozenset({1}))
    return [*table, "", *_guessed(plan), *_sums(plan, noun)]


def _amount(plan: Plan, seconds: float) -> str:
    """Minutes; without times, how many operators it is worth."""
    if not plan.timed:
        return f"{seconds / plan.rounds:g}"
    return f"{seconds / 60:.{2 if plan.critical_path_s < _SHORT_S else 1}f}"


def _rows(plan: Plan, lane: Lane) -> Iterator[tuple[str, str, str]]:
    """The lines of a card: as many as its operators need."""
    text = ", ".join(_named(piece).replace(" ", _HARD) for piece in lane.pieces) or "-"
    for number, line in enumerate(textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)):
        head = ("", "") if number else (lane.card, _amount(plan, lane.seconds))
        yield (*head, line.replace(_HARD, " "))


def _named(piece: Piece) -> str:
    notes = [
        *([plural(len(piece.rows), "row")] if piece.rows is not None else []),
        *([piece.kind.value] if piece.kind is Kind.CONTROL else []),
    ]
    return f"{piece.label} ({', '.join(notes)})" if notes else piece.label


def _guessed(plan: Plan) -> list[str]:
    if not plan.timed:
        return ["no operator has a time: all count alike, and no minutes can be told"]
    if not plan.guessed:
        return []
    return [f"no time is known of {listed(plan.guessed)}: counted as the mean of the others"]


def _sums(plan: Plan, noun: str) -> list[str]:
    unit = " min" if plan.timed else ""
    serial, critical, average, bound = (
        f"{_amount(plan, value)}{unit}"
        for value in (plan.serial_s, plan.critical_path_s, plan.average_s, plan.bound.seconds)
    )
    sums = (
        f"on one {noun} {serial} · critical path {critical} ({noun} {plan.busiest.card}) · average load {average} · "
        f"imbalance {plan.imbalance:.2f}"
    )
    return [sums, f"no plan is shorter than {bound}: {_why(plan, noun)}"]


def _why(plan: Plan, noun: str) -> str:
    if plan.bound.by is BoundBy.AVERAGE:
        return f"the average load of {plural(len(plan.lanes), noun)} sets it"
    name = plan.bound.directory
    if any(piece.directory == name and piece.rows is not None for piece in plan.pieces):
        return f"the operator {name} sets it, cut as fine as its rows allow"
    return f"the operator {name} alone sets it; more {noun}s do not help"


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more."""
    more = f" and {len(names) - _SAID} more" if len(names) > _SAID else ""
    return ", ".join(names[:_SAID]) + more
