"""Two resident sides take turns, item by item: one round is each item once on A and once on B, close together in time.

Order is ABBA over rounds: odd rounds A first, even rounds B first. A side that dies or hangs costs the item that it was
at; it is made ready again and the round goes on. An item that has cost a side twice is measured no more, and a side
that had to be made ready too often is given up. What was measured stays measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from zlbench.cells import CellState
from zlbench.engine.side import ItemFailedError, Prepared, Reading, SideLostError

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
    reading: Reading | None = None
    state: CellState = CellState.OK
    error: str = ""


def order(number: int) -> tuple[str, str]:
    """Which side has its turn first in a round; rounds count from 1."""
    return ("A", "B") if number % 2 else ("B", "A")


class Alternation:
    """Rounds over the items that both sides have.

    Args:
        say: told in a line of everything that went wrong.
    """

    def __init__(self, sides: Mapping[str, Side], *, say: Callable[[str], None] = lambda _: None) -> None:
        self._sides = sides
        self._say = say
        self._strikes: Counter[tuple[str, str]] = Counter()
        self._restarts: Counter[str] = Counter()
        self._lost: dict[str, SideLostError] = {}
        """Sides that have to be made ready before they can measure."""
        self.given_up: dict[str, SideLostError] = {}
        """Sides that had to be made ready too often."""

    def round(self, number: int, items: Sequence[str]) -> Iterator[Taken]:
        """Measure every item once on each side and tell each result as it comes."""
        sides = [self._sides[label] for label in order(number)]
        for item in items:
            for side in sides:
                yield self._take(side, item, first=side is sides[0])

    def _take(self, side: Side, item: str, *, first: bool) -> Taken:
        label = side.label
        if self._strikes[label, item] >= MAX_STRIKES:
            return self._missed(label, item, first, CellState.CRASH, f"not tried: it cost side {label} {MAX_STRIKES}×")
        self._make_ready(side)
        if (error := self.given_up.get(label)) is not None:
            return self._missed(label, item, first, error.state, f"side {label} was given up: {error}")
        try:
            return Taken(item=item, side=label, first=first, reading=side.measure(item))
        except ItemFailedError as failed:
            return self._missed(label, item, first, CellState.OP_FAILED, str(failed))
        except SideLostError as lost:
            self._strikes[label, item] += 1
            self._lost[label] = lost
            self._say(f"side {label} was lost at {item}: {lost}")
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
