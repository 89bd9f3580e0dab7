"""One lane from its first cell to its last: operator after operator, round after round, each pair judged by cause.

What is finished is read from the disk and never measured again, so going on is the same walk over the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.cells import CellOutcome, CellState
from zlbench.engine.compile_rounds import finished_round
from zlbench.judge import Verdict
from zlbench.lane_state import Phase
from zlbench.pair import is_dead_switch
from zlbench.partition_plan import Kind, Piece
from zlbench.rounds.cells import PairSpec
from zlbench.rounds.follow import Follower
from zlbench.rounds.looks import settle
from zlbench.rounds.measure import TELEMETRY, Pairs, times_of
from zlbench.rounds.names import FIRST_PAIR, SETTLED, Metric
from zlbench.rounds.plan import RepeatLane, RepeatPlan
from zlbench.rounds.records import (
    cell_dir,
    differences,
    keep_record,
    set_aside,
    times_set_aside,
)  # fmt: skip
from zlbench.telemetry.read import TELEMETRY as TELEMETRY_TSV
from zlbench.telemetry.read import Summary, of_cell
from zlbench.telemetry.validity import Bounds, Cause, CellSeen, Validity, judge
from zlbench.text import plural

MOST_FAILED = 2
"""Rounds of an operator that may fail before it is left."""
_STUBBORN = frozenset({Cause.DEVICE_LOST, Cause.REPLAY_FALLBACK, Cause.GRAPH_FALLBACK})
"""Causes that lie in the operator: what came back in every try of one round is not tried again in the next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What the options say of a lane's course.

    Args:
        allow_no_ir_diff: go on although the switch changes nothing that can be seen.
        rows: rows of the whole campaign, by which the error probability of one is divided.
    """

    allow_no_ir_diff: bool = False
    allow_mismatch: bool = False
    rows: int = 1
    bounds: Bounds = field(default_factory=Bounds)


class LaneRun:
    """Walks over a lane's part of the plan.

    Args:
        folder: where the lane writes.
        pairs: how a pair is measured; opened by whoever calls `run`.
    """

    def __init__(
        self, plan: RepeatPlan, lane: RepeatLane, folder: Path, *, pairs: Pairs, specs: Mapping[str, PairSpec],
        rules: Rules, follower: Follower, axis: Any,
    ) -> None:  # fmt: skip
        self._plan, self._lane, self._folder = plan, lane, folder
        self._pairs, self._specs, self._rules, self._follower, self._axis = pairs, specs, rules, follower, axis
        self._stubborn: set[Cause] = set()

    def run(self) -> None:
        """Measure what is missing of every operator."""
        for piece in self._lane.ops:
            self._stubborn = set()
            self._operator(piece, self._specs[piece.directory])
            self._pairs.close(self._specs[piece.directory])
        self._follower.phase(Phase.FINISHED)

    def _operator(self, piece: Piece, spec: PairSpec) -> None:
        """All rounds of one operator, as many as it needs."""
        schedule = self._plan.schedule
        rows: Sequence[str] | None = piece.rows
        failed = 0
        with store.clear_errors(spec.folder):
            spec.folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, schedule.rounds + 1):
            outcomes = self._round(piece, spec, number, rows)
            bad = [outcome for outcome in outcomes.values() if not outcome.kept]
            failed += bool(bad)
            measured = all(outcome.rows_ok for outcome in outcomes.values())
            if bad and (number == 1 or failed >= MOST_FAILED or bad[0].state is CellState.TIMEOUT):
                self._leave(piece, number, f"{bad[0].state.value} {bad[0].detail}")
                return
            if number == 1 and (why := self._not_worth_it(piece, spec, measured=measured)):
                self._leave(piece, number, why)
                return
            if number in schedule.settling and not bad:
                rows = self._look(piece, spec, number, rows)
                if rows is not None and not rows:
                    self._leave(piece, number, "")
                    return

    def _leave(self, piece: Piece, number: int, why: str) -> None:
        """Count the rounds that are not measured any more, and say why."""
        if why and number < self._plan.schedule.rounds:
            self._follower.say(f"{piece.label}: no more rounds after {number}: {why}"[:300])
        self._follower.skip(2 * (self._plan.schedule.rounds - number))

    # --- one pair --------------------------------------------------------------------------------------------------

    def _round(
        self, piece: Piece, spec: PairSpec, number: int, rows: Sequence[str] | None
    ) -> Mapping[str, CellOutcome]:
        """Measure one pair until it is valid, or until it was tried often enough.

        One that stayed invalid the last time is set aside first: something is in its way no more, or is still.
        """
        if self._follower.left_invalid(piece, number):
            if finished_round(spec.folder, number) is not None:
                self._set_aside(piece, spec, number)
            self._follower.forget_pair(piece, number)
        before = times_set_aside(spec.folder, number)
        while True:
            complete = finished_round(spec.folder, number) is not None
            outcomes = self._pairs.measure(spec, number, rows)
            if any(not outcome.kept for outcome in outcomes.values()):
                self._follower.forget_pair(piece, number)
                return outcomes
            if complete and self._follower.judged(piece, number):
                return outcomes
            validity = self._validity(spec, number, outcomes)
            tries = times_set_aside(spec.folder, number) + 1
            known = bool(set(validity.causes)) and set(validity.causes) <= self._stubborn
            # Each time that somebody goes on, the retries are there again.
            if validity.valid or known or tries - before > self._plan.retries:
                if not validity.valid:
                    self._stubborn |= set(validity.causes) & _STUBBORN
                self._follower.pair(piece, number, validity, tries)
                return outcomes
            self._follower.say(
                f"{validity.cause} {piece.label} round {number}: {'; '.join(validity.details)}; measured again "
                f"({tries - before} of {self._plan.retries})"
            )
            self._set_aside(piece, spec, number)

    def _set_aside(self, piece: Piece, spec: PairSpec, number: int) -> None:
        """Make room for a pair that is measured again."""
        rounds = range(2, self._plan.schedule.rounds + 1)
        if number == 1 and spec.records and any(self._follower.valid(piece, k) for k in rounds):
            # They replay its record: another one would take them along.
            keep_record(spec.folder)
        self._forget_first(spec, number)
        set_aside(spec.folder, number)
        self._follower.again(piece, number)

    def _validity(self, spec: PairSpec, number: int, outcomes: Mapping[str, CellOutcome]) -> Validity:
        """Judge a pair by what was the matter with the card; what was seen stays in each cell's directory."""
        seen = {}
        for side, outcome in outcomes.items():
            path = cell_dir(spec.folder, number, side)
            times = times_of(path)
            summary = Summary() if times is None else of_cell(self._folder / TELEMETRY_TSV, *times)
            if times is not None:
                started, ended = times
                store.write_json(path / TELEMETRY, {"started": started, "ended": ended, **summary.to_json()})
            seen[side] = CellSeen(summary=summary, markers=tuple(outcome.marked()))
        return judge(seen["A"], seen["B"], self._rules.bounds)

    # --- after the first, and at the looks -------------------------------------------------------------------------

    def _not_worth_it(self, piece: Piece, spec: PairSpec, *, measured: bool) -> str:
        """Why an operator gets no further rounds after its first; empty where it does."""
        if not measured:
            return "no row was measured on both sides"
        known = store.read_json(spec.folder / FIRST_PAIR)
        if not isinstance(known, dict):
            known = self._judge_first(piece, spec)
            store.write_json(spec.folder / FIRST_PAIR, known)
        for note in known["notes"]:
            self._follower.once(note)
        if known["not_comparable"]:
            return f"NOT_COMPARABLE {known['not_comparable']}"
        return "the switch changes neither IR nor machine code" if known["dead_switch"] else ""

    def _judge_first(self, piece: Piece, spec: PairSpec) -> dict[str, Any]:
        found = self._pairs.judge(spec, self._axis, allow_mismatch=self._rules.allow_mismatch)
        judgement = found.judgement
        dead = is_dead_switch(self._axis, judgement) and piece.kind is Kind.SUBJECT
        unfit = judgement.verdict in (Verdict.NOT_COMPARABLE, Verdict.CACHE_NOT_FRESH)
        # A control is meant to be equal: that its switch changes nothing is no news.
        notes = [note for note in found.notes if dead or not note.startswith("SWITCH_NO_IR_DIFF")]
        return {
            "schema_version": 1,
            "verdict": judgement.verdict.value,
            "machine_code": judgement.machine_code.value,
            "reason": judgement.reason,
            "dead_switch": dead and not self._rules.allow_no_ir_diff,
            "not_comparable": judgement.reason if unfit else "",
            "notes": notes,
        }

    @staticmethod
    def _forget_first(spec: PairSpec, number: int) -> None:
        if number == 1:
            with store.clear_errors(spec.folder):
                (spec.folder / FIRST_PAIR).unlink(missing_ok=True)

    def _look(self, piece: Piece, spec: PairSpec, number: int, rows: Sequence[str] | None) -> Sequence[str] | None:
        """Rows that need more rounds after this look; None for all."""
        schedule, metric = self._plan.schedule, self._plan.metric
        valid = [k for k in range(1, number + 1) if self._follower.valid(piece, k)]
        found = differences(spec.folder, valid, metric)
        settled = settle(found, looks=schedule.looks, weights=schedule.weights, now=number, rows=self._rules.rows)
        # Also those of which no pair was valid yet. What never came to a result on both sides will not do so now.
        known = differences(spec.folder, range(1, number + 1), metric)
        left = [row for row in known if row not in settled and (rows is None or row in rows)]
        data = {
            "schema_version": 1,
            "after": number,
            "rounds": None if left else number,
            "rows": {name: {"why": why.value} for name, why in settled.items()},
            "left": left,
        }
        store.write_json(spec.folder / SETTLED, data)
        self._follower.say(
            f"{piece.label}: {plural(len(settled), 'row')} settled after round {number}, {len(left)} go on"
        )
        return left if settled else rows


def lane_bounds(metric: Metric, given: Bounds | None = None) -> Bounds:
    """What passes for the same card.

    Compile times look at no others on the host: both sides take turns within the same seconds, so that whoever is there
    is beside both of them, and shows as noise.
    """
    bounds = given or Bounds()
    return replace(bounds, foreign_cores=None) if metric is Metric.COMPILE else bounds
