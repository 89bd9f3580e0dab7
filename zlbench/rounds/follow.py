"""What a lane tells while it runs: status.tsv, pairs.tsv, state.json, and a line for people for every finished cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zlbench.axis import Side
from zlbench.cells import CellOutcome, CellSpec, CellState
from zlbench.lane_state import LaneState, Phase
from zlbench.measure.runner import stored_outcome
from zlbench.partition_plan import Piece
from zlbench.rounds.plan import RepeatLane, RepeatPlan
from zlbench.rounds.records import cell_dir
from zlbench.rounds.status import Table, status_line
from zlbench.telemetry.validity import Validity
from zlbench.text import counted, seconds

_NOTE = 400
"""Characters of a note; who was there by the second is in telemetry.tsv."""


class Follower:
    """Keeps a lane's tables and its state.

    Args:
        say: takes lines for people.
        show: takes the state whenever it changes.
    """

    def __init__(
        self, plan: RepeatPlan, lane: RepeatLane, folder: Path, *, sides: Sequence[Side], say: Callable[[str], None],
        show: Callable[[LaneState], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._plan, self._lane, self._folder = plan, lane, folder
        self._sides = {side.label: side for side in sides}
        self.say = say
        self._show = show
        self._said: set[str] = set()
        self._status, self._pairs = Table.status(folder), Table.pairs(folder)
        self._left_invalid = {key for key, line in self._pairs.lines.items() if line["valid"] == "0"}
        self._begun = time.monotonic()
        self._ended = 0
        """Cells that ended in this process."""
        self._planned: dict[str, float] = {
            piece.directory: piece.seconds / (2 * plan.schedule.rounds) for piece in lane.ops
        }
        self._expected = 0.0
        """What the cells that were measured now should have taken by the plan."""
        self._done: set[str] = set()
        self.state = LaneState(lane=lane.lane, total=2 * plan.schedule.rounds * len(lane.ops))
        self._catch_up()

    def _catch_up(self) -> None:
        """Count what is finished; a cell whose driver died before it was told has its line now."""
        for piece in self._lane.ops:
            for number in range(1, self._plan.schedule.rounds + 1):
                for side in ("A", "B"):
                    path = cell_dir(self._folder / piece.directory, number, side)
                    outcome = stored_outcome(path)
                    if outcome is None or not outcome.kept:
                        continue
                    self._done.add(f"{piece.directory}/{path.name}")
                    if self._status.get(op=piece.directory, round=number, side=side) is None:
                        self._status.put(status_line(path, outcome, op=piece.directory, number=number,
                                                     side=self._sides[side]))  # fmt: skip
        self._write()

    # --- cells -----------------------------------------------------------------------------------------------------

    def begin(self, spec: CellSpec) -> None:
        """A cell begins."""
        directory, _, name = spec.cell.rpartition("/")
        number, _, side = name.removeprefix("r").partition("_")
        self.state = replace(self.state, op=directory, round=int(number), side=side, started=time.time())
        self._write()

    def finished(self, spec: CellSpec, outcome: CellOutcome) -> None:
        """A cell is complete, well or not."""
        directory, _, name = spec.cell.rpartition("/")
        number = int(name.removeprefix("r").partition("_")[0])
        line = status_line(Path(spec.out_dir), outcome, op=directory, number=number, side=self._sides[spec.side])
        self._status.put(line)
        if outcome.kept:
            self._done.add(spec.cell)
        self._ended += 1
        self._expected += self._planned.get(directory, 0.0)
        self.state = replace(self.state, op="", round=None, side="", started=None)
        self._write()
        self.say(self._line(spec, outcome))

    def _line(self, spec: CellSpec, outcome: CellOutcome) -> str:
        """``[ 3/24] topk r2_A      12 rows    8.1 s   left about 3 min 20 s``."""
        width = len(str(self.state.total))
        directory, _, name = spec.cell.rpartition("/")
        text = f"[{self.state.done:>{width}}/{self.state.total}] {directory:<20} {name:<6} "
        text += f"{counted(outcome.rows_ok, 'row')} {seconds(outcome.elapsed_s):>9}"
        if outcome.state is not CellState.OK:
            text += f"   {outcome.state.value} {outcome.detail}"[:200]
        if self.state.eta_s is not None and self.state.done < self.state.total:
            text += f"   left about {seconds(self.state.eta_s)}"
        return text

    def skip(self, cells: int) -> None:
        """So many cells of the plan will not be measured."""
        self.state = replace(self.state, total=self.state.total - cells)
        self._write()

    def phase(self, phase: Phase) -> None:
        """The lane ends in some way."""
        self.state = replace(self.state, state=phase, op="", round=None, side="", started=None)
        self._write()

    def tick(self) -> None:
        """Show what goes on, also while nothing ends."""
        self._show(self.state)

    def once(self, text: str) -> None:
        """Say something that is true of an operator as long as it lasts."""
        if text not in self._said:
            self._said.add(text)
            self.say(text)

    # --- pairs -----------------------------------------------------------------------------------------------------

    def judged(self, piece: Piece, number: int) -> bool:
        """Whether a pair has its line."""
        return self._pairs.get(op=piece.directory, round=number) is not None

    def left_invalid(self, piece: Piece, number: int) -> bool:
        """Whether a pair was invalid when this lane went on; told once."""
        key = (piece.directory, str(number))
        found = key in self._left_invalid
        self._left_invalid.discard(key)
        return found

    def valid(self, piece: Piece, number: int) -> bool:
        """Whether a pair counts."""
        line = self._pairs.get(op=piece.directory, round=number)
        return line is not None and line["valid"] == "1"

    def pair(self, piece: Piece, number: int, validity: Validity, tries: int) -> None:
        """A pair is judged for good."""
        said = (*validity.details, *validity.notes)
        line = {"op": piece.directory, "round": number, "valid": int(validity.valid), "cause": validity.cause or "-",
                "tries": tries, "note": "; ".join(said)[:_NOTE]}  # fmt: skip
        self._pairs.put(line)
        if not validity.valid:
            self.say(f"{validity.cause} {piece.label} round {number} stays invalid after {tries} tries: "
                     f"{'; '.join(validity.details)}")  # fmt: skip

    def forget_pair(self, piece: Piece, number: int) -> None:
        """A pair is not complete any more."""
        self._pairs.drop(op=piece.directory, round=number)

    def again(self, piece: Piece, number: int) -> None:
        """A pair is measured again."""
        self._done -= {f"{piece.directory}/r{number}_{side}" for side in ("A", "B")}
        self._write()

    # --- state -----------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        lines = list(self._status.lines.values())
        counts: dict[str, Any] = {name: sum(int(line[name]) for line in lines)
                  for name in ("replay_fallback", "no_cudagraph", "capture_poisoned")}  # fmt: skip
        self.state = replace(self.state, done=len(self._done), eta_s=self._left_s(), **counts)
        self.state.write(self._folder)
        self._show(self.state)

    def _left_s(self) -> float | None:
        """By the plan's seconds, corrected by the time that cells took now, all that is between them included.

        By their mean where the plan has no seconds.
        """
        if not self._ended:
            return None
        took = time.monotonic() - self._begun
        left = self.state.total - len(self._done)
        if not self._expected:
            return round(left * took / self._ended, 1)
        cells = 2 * self._plan.schedule.rounds
        wanted = sum(self._planned.values()) * cells
        done = sum(self._planned.get(cell.rpartition("/")[0], 0.0) for cell in self._done)
        # Cells that are left out of the plan by now (settled, dead, failed) are taken for such as are left.
        unplanned = cells * len(self._lane.ops) - len(self._done)
        part = left / unplanned if unplanned else 0.0
        return round(max(0.0, wanted - done) * part * took / self._expected, 1)
