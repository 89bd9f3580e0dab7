"""ABBA: which side comes first in a round, and which cells stand side by side in time. Pure.

A drift over the rounds, and whatever a cell does to the one behind it, meet both sides alike. Neighbours of one side
across a round's border are pairs without a difference, at the same distance in time as real ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from zlbench.engine.alternate import order as sides_of

__all__ = ["Slot", "same_side_pairs", "sequence", "sides_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """One cell of a schedule; rounds count from 1."""

    round: int
    side: str

    @property
    def name(self) -> str:
        """Its directory, below the operator's."""
        return f"r{self.round}_{self.side}"

    @property
    def records(self) -> bool:
        """Whether it records the choices that all others replay."""
        return self.round == 1 and self.side == "A"


def sequence(rounds: int) -> Iterator[Slot]:
    """Every cell of so many rounds in the order of time: A B, B A, A B, …"""
    for number in range(1, rounds + 1):
        for side in sides_of(number):
            yield Slot(round=number, side=side)


def same_side_pairs(rounds: int) -> Iterator[tuple[Slot, Slot]]:
    """Cells of one side that follow each other across the border of two rounds: free A/A (and B/B) pairs."""
    cells = list(sequence(rounds))
    return ((one, other) for one, other in itertools.pairwise(cells) if one.side == other.side)
