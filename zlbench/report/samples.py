"""From what was read to what the statistics take: a sample a row, with what is known against it. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from zlbench.backend import Timer
from zlbench.inference.types import DELTA, FEWEST_PAIRS, Pair, Q, Sample, Settings, Why
from zlbench.report.model import Measured, OpReadings, Reading, RowReadings

_NOT_ALIKE = frozenset({"TIMER_MISMATCH", "L2_MISMATCH", "CONFIG_MISMATCH", "AUTOTUNE_REPLAY_FALLBACK"})
"""Words of `zlbench.compare` for a row that its sides measured in different ways."""
_EVENT_MS = 0.0005
"""Step of a card's event clock (CUDA runtime API, cudaEventElapsedTime: a resolution of around 0.5 µs)."""
_REPLAY_MS, _MOST_CALLS = 10.0, 1000
"""A captured graph holds so many calls that a replay takes about this long, and at most so many."""
_NANOSECOND_MS = 1e-6


def settings_of(measured: Measured, *, delta: float = DELTA, q: float = Q) -> Settings:
    """How much certainty is asked for; without a plan, one look after as many rounds as there are."""
    rounds = [number for op in measured.ops for number in op.rounds]
    return Settings(looks=measured.looks or ((max(rounds, default=1), 1.0),), delta=delta, q=q)


def samples_of(measured: Measured) -> list[Sample]:
    """Every row of every operator, also those without a pair."""
    planned = max((number for number, _ in measured.looks), default=0)
    return [sample for op in measured.ops for sample in _samples(op, planned)]


def why_no_headline(op: OpReadings) -> str:
    """Why nothing may be said of an operator as a whole; empty where something may.

    A mean over other rows or other rounds than were asked for answers another question.
    """
    if op.failed:
        return f"a round failed: {op.failed[0]}"
    if not op.rounds:
        return "no round is complete and valid"
    if op.lost:
        expected = op.expected or len(op.rows) + len(op.lost)
        return f"incomplete: {expected - len(op.lost)} of {expected} rows on both sides in every round"
    if not any(row.readings for row in op.rows):
        return "no row has a reading"
    if not any(row.readings and row.counted for row in op.rows):
        return "no row was timed as the run was meant to be"
    return ""


def resolution(row: RowReadings) -> float:
    """Smallest step of a side's value relative to it: what a clock cannot tell apart is no agreement."""
    value = min((min(reading.before, reading.after) for reading in row.readings), default=0.0)
    if value <= 0:
        return 0.0
    if row.unit != "ms":
        return (1.0 if row.unit == "instructions" else _NANOSECOND_MS) / value
    warm_graph = row.timer == Timer.CUDA_GRAPH.value and row.l2 != "flushed"
    return _EVENT_MS / (max(value, min(_REPLAY_MS, _MOST_CALLS * value)) if warm_graph else value)


def rounds_done(op: OpReadings, row: RowReadings, planned: int) -> int | None:
    """How many rounds of a row are finished where others are still to come; None where none are.

    Rounds come in order. A failed one is finished as well; so is each that a row has a reading of, or a reason for
    having none, whatever another lane's part of its operator still lacks.

    Args:
        planned: rounds of the plan, 0 where there is none. An operator whose rows are settled lacks none of them.
    """
    failed = {" ".join(text.split()[:2]) for text in op.failed}
    lacking = op.missing - len(failed)
    if not planned or lacking <= 0:
        return None
    known = {item.round for item in row.readings} | {item.round for item in row.left_out}
    unbroken = next(number for number in itertools.count(1) if number not in known) - 1
    done = max(planned - lacking, unbroken)
    return done if done < planned else None


def _samples(op: OpReadings, planned: int) -> Iterator[Sample]:
    whole = op.control or not why_no_headline(op)
    for row in op.rows:
        yield Sample(
            key=(op.directory, row.name),
            pairs=tuple(map(_pair, row.readings)),
            control=op.control,
            counted=whole and row.counted,
            resolution=resolution(row),
            why=_why(op, row),
            rounds_done=rounds_done(op, row, planned),
        )


def _pair(reading: Reading) -> Pair:
    return Pair(
        round=reading.round, log_a=math.log(reading.before), log_b=math.log(reading.after), a_first=reading.a_first
    )


def _why(op: OpReadings, row: RowReadings) -> Why | None:
    """What else than the number of its pairs keeps a row from a verdict; None where that number is all there is."""
    n = len(row.readings)
    if n >= FEWEST_PAIRS:
        return None
    if n == 0 and row.left_out and all(item.reason in _NOT_ALIKE for item in row.left_out):
        return Why.CALIBER
    return Why.PAIRS_DISTURBED if n + len(op.invalid) >= FEWEST_PAIRS else None
