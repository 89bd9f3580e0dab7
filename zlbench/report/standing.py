"""What people are told of a row in one word, and in which order they see rows. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum

from zlbench.inference.types import OpResult, RowResult, Verdict
from zlbench.report.summary import OpSummary, RowSummary


class Standing(Enum):
    """Verdicts, and what a row without one is; in the order in which people must see them."""

    SLOWER = Verdict.SLOWER.value
    FASTER = Verdict.FASTER.value
    INCONCLUSIVE = Verdict.INCONCLUSIVE.value
    NOT_DETECTABLE = Verdict.NOT_DETECTABLE.value
    NO_DIFFERENCE = Verdict.NO_DIFFERENCE.value
    INVALID = Verdict.INVALID.value
    NOT_COMPARABLE = "not comparable"
    """Both sides measured it, in ways that may not be compared."""
    LOST = "lost"
    """A side did not measure it."""
    NOT_MEASURED = "not measured"
    """No valid round has it."""
    UNJUDGED = "not judged"
    """There are readings, and nobody asked the statistics."""


CHANGED = (Standing.SLOWER, Standing.FASTER)
ALIKE = (Standing.NO_DIFFERENCE, Standing.NOT_DETECTABLE, Standing.INCONCLUSIVE)
"""A difference, if there is one, is not told from none."""
_RANK = {standing: rank for rank, standing in enumerate(Standing)}


def standing(row: RowSummary) -> Standing:
    """What one row is."""
    if not row.n:
        left_out = row.row.left_out
        if any(not item.lost for item in left_out):
            return Standing.NOT_COMPARABLE
        return Standing.LOST if left_out else Standing.NOT_MEASURED
    return judged(row.result)


def judged(result: RowResult | OpResult | None) -> Standing:
    """What a row with readings, or an operator, is."""
    return Standing.UNJUDGED if result is None else Standing(result.verdict.value)


def counts(rows: Iterable[RowSummary]) -> dict[Standing, int]:
    """How many rows are what; in order, without those that are none."""
    found = Counter(map(standing, rows))
    return {one: found[one] for one in Standing if found[one]}


def urgency(row: RowSummary) -> tuple[int, float]:
    """Key to sort rows by: what must be seen first, and among changes the largest. Equal keys keep their order."""
    estimate = row.result.estimate if row.result is not None else None
    found = standing(row)
    return _RANK[found], -abs(estimate) if found in CHANGED and estimate is not None else 0.0


def by_urgency(ops: Sequence[OpSummary]) -> list[tuple[OpSummary, list[RowSummary]]]:
    """Operators, and the rows of each, with what must be seen first on top; equal ones as they were planned."""
    pairs = [(op, sorted(op.rows, key=urgency)) for op in ops]
    return sorted(pairs, key=_operator_urgency)


def _operator_urgency(pair: tuple[OpSummary, list[RowSummary]]) -> tuple[int, float]:
    op, rows = pair
    own = judged(op.result)
    estimate = op.result.estimate if op.result is not None and own in CHANGED else None
    first = (_RANK[own], -abs(estimate or 0.0))
    return min([first, *(urgency(row) for row in rows[:1])])
