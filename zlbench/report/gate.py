"""What ``--fail-on`` finds in a report, and what it could not have found. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zlbench.errors import UsageError
from zlbench.fail_on import GRAMMAR, Gate, Watched, read_gate
from zlbench.inference.types import OpResult, RowResult, Verdict
from zlbench.report import exact
from zlbench.report.prose import wording
from zlbench.report.standing import ALIKE, CHANGED, Standing, standing
from zlbench.report.summary import OpSummary, RowSummary, Summary
from zlbench.text import plural

__all__ = [
    "GRAMMAR",
    "Blind",
    "Gate",
    "Regression",
    "Watched",
    "blind",
    "failures",
    "lines",
    "parse_gate",
    "regressions",
]

_VERDICTS = {Watched.SLOWER: Verdict.SLOWER, Watched.FASTER: Verdict.FASTER}
_SHOWN = 10
_LARGEST = 700.0
"""Logarithms beyond which nothing can be computed any more."""
_UPWARD = Gate(what=Watched.SLOWER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Regression:
    """One row or operator that is beyond a threshold.

    Args:
        row: its name; empty for the operator as a whole. directory: the operator's, unique in a report.
        name: operator and row as people read them; text: what was found, with its figures.
    """

    gate: Gate
    directory: str
    name: str
    text: str
    row: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.text} (--fail-on {self.gate})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Blind:
    """What a gate could not have seen.

    Args:
        total: of how many; by: how many for which reason.
    """

    total: int
    by: tuple[tuple[str, int], ...]

    @property
    def number(self) -> int:
        """How many in all."""
        return sum(number for _, number in self.by)


def parse_gate(text: str) -> Gate:
    """Read one expression such as ``slower>2%``.

    Raises:
        UsageError: it is none; the grammar is named with an example.
    """
    try:
        return read_gate(text)
    except ValueError as error:
        raise UsageError(f"--fail-on: {error}") from error


def regressions(summary: Summary, gates: Sequence[Gate]) -> tuple[Regression, ...]:
    """Everything beyond a threshold: gates in their order, the largest first, operators before rows.

    A row or operator counts where its verdict says so and its estimate is larger than the threshold; an exact cost
    where the operator's kernels together need more on B.
    """
    return tuple(found for gate in dict.fromkeys(gates) for found in _found(summary, gate))


def failures(found: Sequence[Regression]) -> dict[tuple[str, str], str]:
    """The same by operator's directory and row name, as `to_junit` takes them."""
    texts: dict[tuple[str, str], list[str]] = {}
    for one in found:
        texts.setdefault((one.directory, one.row), []).append(f"{one.text} (--fail-on {one.gate})")
    return {key: "; ".join(said) for key, said in texts.items()}


def blind(summary: Summary, gate: Gate) -> Blind:
    """What could be beyond the threshold without that this report shows it."""
    if not gate.what.timed:
        totals = [exact.total(op.op.kernels, gate.what.value) for op in summary.subjects]
        unseen = sum(one.unseen for one in totals)
        without = sum(not op.op.kernels for op in summary.subjects)
        by = {"kernel on one side alone or of unknown cost": unseen, "operator without a known kernel": without}
        return _blind(sum(one.kernels + one.unseen for one in totals) + without, by)
    by = Counter(reason for op in summary.subjects for row in op.rows if (reason := _unseen(row, gate)))
    unnamed = sum(max(0, len(op.op.lost) - sum(map(_is_lost, op.rows))) for op in summary.subjects)
    by[Standing.LOST.value] += unnamed
    return _blind(sum(len(op.rows) for op in summary.subjects) + unnamed, by)


def lines(summary: Summary, gates: Sequence[Gate], found: Sequence[Regression]) -> list[str]:
    """What is said of every gate: what is beyond it, and what it could not see."""
    return [
        text for gate in dict.fromkeys(gates) for text in _lines(summary, gate, [x for x in found if x.gate == gate])
    ]


def _lines(summary: Summary, gate: Gate, found: Sequence[Regression]) -> list[str]:
    ops, rows = sum(not one.row for one in found), sum(bool(one.row) for one in found)
    listed = [plural(number, noun) for number, noun in ((ops, "operator"), (rows, "row")) if number]
    said = [f"--fail-on {gate}: {' and '.join(listed) or 'nothing'} beyond it{_not_seen(blind(summary, gate), gate)}"]
    said += [f"  {one.name}: {one.text}" for one in found[:_SHOWN]]
    more = len(found) - _SHOWN
    return [*said, f"  and {wording.grouped(more)} more: report.json and junit.xml have all"] if more > 0 else said


def _not_seen(unseen: Blind, gate: Gate) -> str:
    """``; 12 of 40 rows could not have shown 2 % (8 inconclusive, 4 lost)``."""
    if not unseen.number:
        return ""
    if not gate.what.timed:
        parts = ((number, reason.partition(" ")) for reason, number in unseen.by)
        return f"; not looked at: {', '.join(f'{plural(number, noun)} {rest}' for number, (noun, _, rest) in parts)}"
    by = ", ".join(f"{wording.grouped(number)} {reason}" for reason, number in unseen.by)
    size = f"{100 * gate.most:g} %" if gate.most else "a difference"
    return f"; {wording.grouped(unseen.number)} of {plural(unseen.total, 'row')} could not have shown {size} ({by})"


def _found(summary: Summary, gate: Gate) -> list[Regression]:
    if not gate.what.timed:
        return [one for op in summary.subjects for one in _costs(op, gate)]
    ops = [
        (_amount(op.result, gate), _operator(op, op.result, gate, summary))
        for op in summary.subjects
        if op.result is not None and _beyond(op.result, gate)
    ]
    rows = [
        (_amount(row.result, gate), _row(op, row, row.result, gate, summary))
        for op in summary.subjects
        for row in op.rows
        if row.n and row.result is not None and _beyond(row.result, gate)
    ]
    return [one for part in (ops, rows) for _, one in sorted(part, key=lambda item: -item[0])]


def _beyond(result: RowResult | OpResult, gate: Gate) -> bool:
    return result.verdict is _VERDICTS[gate.what] and _amount(result, gate) > gate.most


def _amount(result: RowResult | OpResult, gate: Gate) -> float:
    """How much slower, or faster, as a fraction."""
    return _directed(result.estimate, gate) if result.estimate is not None else 0.0


def _directed(log: float, gate: Gate) -> float:
    """A change in the gate's direction as a fraction: above 0 where it goes there."""
    if log > _LARGEST:
        return math.inf if gate.what is Watched.SLOWER else -math.inf
    return math.expm1(log) if gate.what is Watched.SLOWER else -math.expm1(log)


def _operator(op: OpSummary, result: OpResult, gate: Gate, summary: Summary) -> Regression:
    text = f"{_said(result, summary)}, mean over {plural(result.rows, 'row')}"
    return Regression(gate=gate, directory=op.op.directory, name=op.op.op, text=text)


def _row(op: OpSummary, row: RowSummary, result: RowResult, gate: Gate, summary: Summary) -> Regression:
    values = " → ".join(wording.value(side, row.row.unit) for side in (row.median_a, row.median_b))
    return Regression(
        gate=gate, directory=op.op.directory, row=row.row.name, name=f"{op.op.op} {wording.name_of(row)}",
        text=f"{_said(result, summary)}, {values}",
    )  # fmt: skip


def _said(result: RowResult | OpResult, summary: Summary) -> str:
    word = wording.verdict(Standing(result.verdict.value), summary.header.metric)
    return f"{word}, {wording.change(result.estimate)} % ({wording.interval(result)})"


def _costs(op: OpSummary, gate: Gate) -> Iterator[Regression]:
    """At most one finding: an operator's kernels together."""
    total = exact.total(op.op.kernels, gate.what.value)
    allowed = gate.most * total.a if gate.relative else gate.most
    if total.growth > allowed:
        grown = f" ({wording.percent(total.growth / total.a)} %)" if total.a else ""
        text = f"{exact.name_of(total.cost)} {total.a} → {total.b}{grown}, {plural(total.kernels, 'kernel')} together"
        yield Regression(gate=gate, directory=op.op.directory, name=op.op.op, text=text)


def _unseen(row: RowSummary, gate: Gate) -> str:
    """Why a row could be beyond the threshold without being found; empty where it was found or is ruled out."""
    own = standing(row)
    if own in CHANGED:
        return ""
    if own not in ALIKE or row.result is None:
        return own.value
    bound = row.result.high if gate.what is Watched.SLOWER else row.result.low
    if bound is not None and _directed(bound, gate) <= gate.most:
        return ""
    if not gate.most:
        return own.value if own is Standing.INCONCLUSIVE else ""
    smallest = math.inf if row.result.mde is None else _directed(row.result.mde, _UPWARD)
    return own.value if smallest > gate.most else ""


def _is_lost(row: RowSummary) -> bool:
    return any(item.lost for item in row.row.left_out)


def _blind(total: int, by: Mapping[str, int]) -> Blind:
    return Blind(total=total, by=tuple((reason, number) for reason, number in by.items() if number))
