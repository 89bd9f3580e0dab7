"""Two resident sides take turns, item by item: one round is each item on A and on B, close together in time.

Order is ABBA: odd rounds A first, even rounds B first, and so are the turns of an item within a round (A B B A). A
drift over them cancels, and noise of a shared machine, which comes in waves of seconds, meets both sides. A side that
dies or hangs costs the item that it was at; it is made ready again and the round goes on. An item that has cost a side
twice is measured no more, and a side that had to be made ready too often is given up. What was measured stays measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

from zlbench.cells import CellState
from zlbench.engine.side import ItemFailedError, Prepared, Reading, SideLostError

TURNS = 2
"""Turns of an item on each side in a round, whose mean is the round's value."""
MAX_STRIKES = 2
"""Sides that one item may cost on each side."""
MAX_RESTARTS = 6
"""Times that one side is made ready again for one operator."""


class Side(Protocol):
    """What is asked of one side of a pair, ready for one operator."""

    @property
    def label(self) -> str:
        """A or B."""

    def measure(self, item: str) -> Reading:
        """Measure one item once; raises ItemFailedError, SideLostError."""

    def again(self) -> Prepared:
        """Make it ready anew after it was lost; raises SideLostError."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What became of one item on one side in one round."""

    item: str
    side: str
    first: bool
    """Whether this side had its turn first."""
    readings: tuple[Reading, ...] = ()
    """One a turn; empty where a turn failed."""
    state: CellState = CellState.OK
    error: str = ""

    @property
    def values(self) -> dict[str, float]:
        """Mean over the turns, by name."""
        return _mean([reading.values for reading in self.readings])

    @property
    def stages(self) -> dict[str, dict[str, float]]:
        """Mean of each part of the work over the turns."""
        names = dict.fromkeys(name for reading in self.readings for name in reading.stages)
        return {name: _mean([reading.stages.get(name, {}) for reading in self.readings]) for name in names}

    @property
    def stages_ms(self) -> dict[str, float]:
        """Mean of what the measured program told of its parts."""
        return _mean([reading.stages_ms for reading in self.readings])


def _mean(many: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for values in many for name in values)
    return {name: fmean(values.get(name, 0.0) for values in many) for name in names}


def order(number: int) -> tuple[str, str]:
    """Which side has its turn first in a round; rounds count from 1."""
    return ("A", "B") if number % 2 else ("B", "A")


class Alternation:
    """Rounds over the items that both sides have.

    Args:
        turns: of each item on each side in a round.
        say: told in a line of everything that went wrong.
    """

    def __init__(
        self, sides: Mapping[str, Side], *, turns: int = TURNS, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._sides = sides
        self._turns = turns
        self._say = say
        self._strikes: Counter[tuple[str, str]] = Counter()
        self._restarts: Counter[str] = Counter()
        self._lost: dict[str, SideLostError] = {}
        """Sides that have to be made ready before they can measure."""
        self.given_up: dict[str, SideLostError] = {}
        """Sides that had to be made ready too often."""

    def renewed(self) -> None:
        """Note that every side has been made ready by somebody else; what items have cost still counts."""
        self._lost.clear()

    def round(self, number: int, items: Sequence[str]) -> Iterator[Taken]:
        """Measure every item once on each side and tell each result as it comes."""
        first, second = order(number)
        turns = [label for turn in range(self._turns) for label in ((first, second), (second, first))[turn % 2]]
        for item in items:
            readings: dict[str, list[Reading]] = {first: [], second: []}
            missed: dict[str, Taken] = {}
            for label in turns:
                if label in missed:
                    continue
                found = self._take(self._sides[label], item, first=label == first)
                if isinstance(found, Reading):
                    readings[label].append(found)
                else:
                    missed[label] = found
            for label in (first, second):
                yield missed.get(label) or Taken(
                    item=item, side=label, first=label == first, readings=tuple(readings[label])
                )

    def _take(self, side: Side, item: str, *, first: bool, again: bool = True) -> Reading | Taken:
        """One turn: a reading, or why there is none.

        Args:
            again: whether it is tried once more where the side was killed from outside.
        """
        label = side.label
        if self._strikes[label, item] >= MAX_STRIKES:
            return self._missed(label, item, first, CellState.CRASH, f"not tried: it cost side {label} {MAX_STRIKES}×")
        self._make_ready(side)
        if (error := self.given_up.get(label)) is not None:
            return self._missed(label, item, first, error.state, f"side {label} was given up: {error}")
        try:
            return side.measure(item)
        except ItemFailedError as failed:
            return self._missed(label, item, first, CellState.OP_FAILED, str(failed))
        except SideLostError as lost:
            self._lost[label] = lost
            self._say(f"side {label} was lost at {item}: {lost}")
            if lost.killed and again:
                return self._take(side, item, first=first, again=False)
            self._strikes[label, item] += 1
            return self._missed(label, item, first, lost.state, str(lost))

    def _make_ready(self, side: Side) -> None:
        """Prepare a lost side anew, as often as is allowed; also what dies while it is prepared counts."""
        label = side.label
        while label in self._lost and label not in self.given_up:
            if self._restarts[label] >= MAX_RESTARTS:
                self.given_up[label] = self._lost[label]
                self._say(f"side {label} is given up after {MAX_RESTARTS} new starts: {self._lost[label]}")
                return
            self._restarts[label] += 1
            try:
                side.again()
            except SideLostError as lost:
                self._lost[label] = lost
            else:
                del self._lost[label]

    @staticmethod
    def _missed(side: str, item: str, first: bool, state: CellState, error: str) -> Taken:  # noqa: FBT001 - private
        return Taken(item=item, side=side, first=first, state=state, error=error)
