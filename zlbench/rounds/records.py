"""What lies on the disk of an operator's rounds, read back: finished cells, differences by row, how it all ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.cells import CellOutcome, CellState
from zlbench.errors import ExitCode
from zlbench.measure.runner import stored_outcome
from zlbench.partition_plan import Kind, Piece
from zlbench.report.reading.collect import Collected
from zlbench.rounds.names import FIRST_PAIR, SETTLED, Metric
from zlbench.rounds.order import sides_of
from zlbench.rounds.plan import Schedule
from zlbench.rounds.status import Table
from zlbench.run_rows import RunRows
from zlbench.telemetry.read import OF_CELL

RECORD = "record.json"
"""Which cell holds the record that all replay, where that is not the first side A any more."""


def cell_dir(folder: Path, number: int, side: str) -> Path:
    """Directory of a cell below an operator's."""
    return folder / f"r{number}_{side}"


def differences(folder: Path, rounds: Iterable[int], metric: Metric) -> dict[str, dict[int, float]]:
    """``ln B - ln A`` by row and round, of what a report of these rounds would compare and of nothing else."""
    into = Collected(op=folder.name, directory=folder.name)
    add = into.add if metric is Metric.LATENCY else into.add_values
    for number in rounds:
        a, b = (RunRows.read(cell_dir(folder, number, side)) for side in ("A", "B"))
        add(number, a, b, a_first=sides_of(number)[0] == "A")
    return {
        row.name: {reading.round: reading.difference for reading in row.readings}
        for row in into.value().rows
        if row.readings and row.name
    }


def set_aside(folder: Path, number: int) -> int:
    """Keep an invalid pair beside the one that takes its place; returns the number that it got.

    Side B goes first: should this be cut short, a first side A is still there with the record that others replay.
    """
    count = times_set_aside(folder, number) + 1
    for side in ("B", "A"):
        cell = cell_dir(folder, number, side)
        with store.clear_errors(cell):
            if cell.is_dir():
                cell.rename(cell.with_name(f"{cell.name}.invalid{count}"))
    return count


def times_set_aside(folder: Path, number: int) -> int:
    """How often this pair was invalid so far, one that was only half set aside included."""
    kept = (path.name.rpartition(".invalid")[2] for path in folder.glob(f"r{number}_[AB].invalid*"))
    return max((int(count) for count in kept if count.isdecimal()), default=0)


def keep_record(folder: Path) -> None:
    """Let the record that others replay stay where the first side A is about to be set aside."""
    first = cell_dir(folder, 1, "A")
    if record_dir(folder) == first:
        name = f"{first.name}.invalid{times_set_aside(folder, 1) + 1}"
        store.write_json(folder / RECORD, {"schema_version": 1, "cell": name})


def record_dir(folder: Path) -> Path:
    """The cell whose record all cells of an operator replay: its first side A, or what that one once was."""
    known = store.read_json(folder / RECORD)
    kept = folder / str(known["cell"]) if isinstance(known, dict) else None
    return kept if kept is not None and kept.is_dir() else cell_dir(folder, 1, "A")


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """What became of one operator, from its directory."""

    directory: str
    kind: Kind
    shard: int
    rounds: int
    """Rounds of which both cells are finished."""
    wanted: int
    """Rounds that the plan has, less those that a settled or dead operator does not need."""
    invalid: int
    """Pairs that stayed invalid."""
    dead: bool
    not_comparable: str
    settled: int
    """Rows that needed no more rounds."""
    failed: Mapping[str, CellOutcome]
    """Cells that did not end well, by name."""
    unseen: int = 0
    """Pairs of which the sampler saw neither side at work: cells may be shorter than its interval."""

    @property
    def headline(self) -> bool:
        """Whether a report may say something of the operator as a whole."""
        return self.code is ExitCode.OK

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.directory if self.shard == 1 else f"{self.directory} (shard {self.shard})"

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.dead or bool(self.not_comparable) or self.rounds >= self.wanted

    @property
    def code(self) -> ExitCode:
        """The exit code that this operator alone would give."""
        if self.not_comparable:
            return ExitCode.NOT_COMPARABLE
        states = {outcome.state for outcome in self.failed.values()}
        if CellState.TIMEOUT in states:
            return ExitCode.TIMEOUT
        if states and states <= {CellState.SKIPPED, CellState.NOTHING_MEASURED}:
            return ExitCode.NOTHING_MEASURED
        if states and states <= {CellState.OP_FAILED, CellState.SKIPPED, CellState.NOTHING_MEASURED}:
            return ExitCode.OP_FAILED
        if states or not self.complete:
            return ExitCode.PARTIAL
        if self.dead:
            return ExitCode.NOTHING_MEASURED
        return ExitCode.PARTIAL if self.invalid else ExitCode.OK

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "op": self.directory, "kind": self.kind.value, "shard": self.shard, "rounds": self.rounds,
            "wanted": self.wanted, "invalid": self.invalid, "unseen": self.unseen, "dead_switch": self.dead,
            "settled": self.settled, "not_comparable": self.not_comparable, "exit_code": int(self.code),
            "headline": self.headline,
            "failed": {name: {"state": one.state.value, "detail": one.detail} for name, one in self.failed.items()},
        }  # fmt: skip


def read_end(lane: Path, piece: Piece, schedule: Schedule, pairs: Table) -> End:
    """What became of an operator of a lane."""
    folder = lane / piece.directory
    cells = {
        f"r{number}_{side}": stored_outcome(cell_dir(folder, number, side))
        for number in range(1, schedule.rounds + 1)
        for side in ("A", "B")
    }
    first: Mapping[str, Any] = store.read_json(folder / FIRST_PAIR) or {}
    settled: Mapping[str, Any] = store.read_json(folder / SETTLED) or {}
    wanted = int(settled.get("rounds") or schedule.rounds)
    both = [
        number
        for number in range(1, schedule.rounds + 1)
        if all((one := cells[f"r{number}_{side}"]) is not None and one.kept for side in ("A", "B"))
    ]
    judged = [pairs.get(op=piece.directory, round=number) for number in both]
    return End(
        directory=piece.directory,
        kind=piece.kind,
        shard=piece.shard,
        rounds=len(both),
        wanted=wanted,
        invalid=sum(line is not None and line["valid"] == "0" for line in judged),
        dead=bool(first.get("dead_switch")),
        not_comparable=str(first.get("not_comparable") or ""),
        settled=len(settled.get("rows") or {}),
        failed={name: one for name, one in cells.items() if one is not None and one.state is not CellState.OK},
        unseen=sum(not any(_seen_at_work(cell_dir(folder, number, side)) for side in ("A", "B")) for number in both),
    )


def _seen_at_work(cell: Path) -> bool:
    """Whether the sampler saw the card at work during a cell; also where nobody has judged it yet."""
    known = store.read_json(cell / OF_CELL)
    return not isinstance(known, dict) or known.get("busy") != 0


def exit_code(ends: Iterable[End]) -> ExitCode:
    """One exit code for all operators: 4 outweighs all; a mixture of good and bad is partial, or a failed operator.

    Controls say nothing of the change: where no subject was measured, nothing was.
    """
    known = list(ends)
    subjects = {end.code for end in known if end.kind is Kind.SUBJECT}
    distinct = {end.code for end in known}
    if ExitCode.NOT_COMPARABLE in distinct:
        return ExitCode.NOT_COMPARABLE
    if len(distinct) == 1:
        return distinct.pop()
    if subjects == {ExitCode.NOTHING_MEASURED}:
        return ExitCode.NOTHING_MEASURED
    rest = distinct - {ExitCode.OK, ExitCode.NOTHING_MEASURED}
    if not rest:
        return ExitCode.OK if ExitCode.OK in distinct else ExitCode.NOTHING_MEASURED
    return ExitCode.OP_FAILED if rest == {ExitCode.OP_FAILED} else ExitCode.PARTIAL
