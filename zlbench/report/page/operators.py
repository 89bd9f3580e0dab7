"""The operators of a report, in short, with where their rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zlbench.inference.types import OpResult
from zlbench.report.page.embed import compact
from zlbench.report.page.numbers import figures, percent
from zlbench.report.page.rows import STANDINGS
from zlbench.report.prose import wording
from zlbench.report.standing import judged
from zlbench.report.summary import OpSummary
from zlbench.rounds.names import Metric


def operators(ops: Sequence[OpSummary], metric: Metric | None) -> list[dict[str, Any]]:
    """One entry an operator; `first` is the number of its first row."""
    found, first = [], 0
    for op in ops:
        found.append(compact((*_what(op, first), *_figures(op, metric))))
        first += len(op.rows)
    return found


def _what(op: OpSummary, first: int) -> Iterator[tuple[str, Any]]:
    read = op.op
    yield from (("id", read.directory), ("op", read.op), ("control", read.control), ("first", first))
    yield from (("rows", len(op.rows)), ("ir", read.verdict), ("why", op.why_not), ("rounds", list(read.rounds)))
    yield ("notes", list(read.notes))
    yield from (("fallbacks", list(read.fallbacks)), ("markers", list(read.markers)))


def _figures(op: OpSummary, metric: Metric | None) -> Iterator[tuple[str, Any]]:
    result = op.result
    if result is None:
        values = (op.change, op.low, op.high)
        yield from zip(("est", "lo", "hi"), (None if x is None else figures(100 * x) for x in values), strict=True)
        yield ("n", op.rounds)
        return
    yield from zip(("est", "lo", "hi", "mde"), (figures(percent(log)) for log in _logs(result)), strict=True)
    yield from (("v", STANDINGS[judged(result)]), ("what", wording.full(result, metric)), ("n", result.rounds))
    yield from (("counted", result.rows), ("p", figures(result.p, 3)), ("q", figures(result.q, 3)))


def _logs(result: OpResult) -> tuple[float | None, ...]:
    return result.estimate, result.low, result.high, result.mde
