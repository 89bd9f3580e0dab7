"""What a partition is made of: work to spread, and the plan that says what each card does. Values, also as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(str, Enum):
    """What an operator is measured for."""

    SUBJECT = "subject"
    CONTROL = "control"


class BoundBy(str, Enum):
    """What keeps the critical path from being shorter, whatever the plan."""

    OPERATOR = "operator"
    AVERAGE = "average load"


@dataclass(frozen=True, kw_only=True, slots=True)
class RowCost:
    """What a row of a pair took, both sides together."""

    name: str
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """One operator to measure.

    Args:
        directory: its name in a run, unique among the work.
        pair_s: seconds of one pair, both cells; None where nobody knows.
        rows: what each row of the pair took; empty where it is not known, and the operator then stays whole.
        extra: placed last, on the card with the least load.
    """

    op: str
    directory: str
    kind: Kind = Kind.SUBJECT
    pair_s: float | None = None
    rows: tuple[RowCost, ...] = ()
    extra: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """An operator or a shard of it on a card; `seconds` are those of all rounds, in an untimed plan a mere weight."""

    op: str
    directory: str
    kind: Kind
    seconds: float
    rows: tuple[str, ...] | None = None
    """Names of a shard's rows, in the order in which they ran; None for the whole operator."""
    shard: int = 1
    shards: int = 1

    @property
    def label(self) -> str:
        """``topk``, or ``topk 2/3`` for a shard."""
        return self.directory if self.rows is None else f"{self.directory} {self.shard}/{self.shards}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """What one card does, one piece after another."""

    card: str
    pieces: tuple[Piece, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return math.fsum(piece.seconds for piece in self.pieces)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """The shortest critical path that any plan could have."""

    seconds: float
    by: BoundBy
    directory: str = ""
    """The operator that sets it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Lanes in the order of the cards."""

    rounds: int
    lanes: tuple[Lane, ...]
    bound: Bound
    serial_s: float
    """All of it on one card, nothing cut."""
    timed: bool = True
    """Whether any time was known; if not, seconds are equal weights."""
    guessed: tuple[str, ...] = ()
    """Operators without a time of their own; they count as the mean of the others."""

    @property
    def critical_path_s(self) -> float:
        """How long the busiest card takes."""
        return max(lane.seconds for lane in self.lanes)

    @property
    def average_s(self) -> float:
        """What a card would take if all took the same."""
        return math.fsum(lane.seconds for lane in self.lanes) / len(self.lanes)

    @property
    def imbalance(self) -> float:
        """Critical path over average load: 1 where all cards end together."""
        return self.critical_path_s / self.average_s if self.average_s else 1.0

    @property
    def busiest(self) -> Lane:
        """The lane that ends last."""
        return max(self.lanes, key=lambda lane: lane.seconds)

    @property
    def pieces(self) -> list[Piece]:
        """Everything that is done, card by card."""
        return [piece for lane in self.lanes for piece in lane.pieces]

    def to_data(self, *, cards: bool = True) -> dict[str, Any]:
        """Plain data; `lanes` as in a repeat.json.

        Args:
            cards: whether the lanes are cards; without a device they are not.
        """
        return {
            "rounds": self.rounds,
            "timed": self.timed,
            "serial_s": round(self.serial_s, 3) if self.timed else None,
            "critical_path_s": round(self.critical_path_s, 3) if self.timed else None,
            "average_s": round(self.average_s, 3) if self.timed else None,
            "imbalance": round(self.imbalance, 4),
            "lower_bound": {
                "seconds": round(self.bound.seconds, 3) if self.timed else None,
                "by": self.bound.by.value,
                "dir": self.bound.directory or None,
            },
            "guessed": list(self.guessed),
            "lanes": [
                {
                    "lane": lane.card,
                    "card": lane.card if cards else None,
                    "seconds": round(lane.seconds, 3) if self.timed else None,
                    "ops": [piece_data(piece, timed=self.timed) for piece in lane.pieces],
                }
                for lane in self.lanes
            ],
        }


def piece_data(piece: Piece, *, timed: bool = True) -> dict[str, Any]:
    """Plain data of a piece."""
    return {
        "op": piece.op, "dir": piece.directory, "kind": piece.kind.value,
        "seconds": round(piece.seconds, 3) if timed else None,
        "rows": None if piece.rows is None else list(piece.rows), "shard": piece.shard, "shards": piece.shards,
    }  # fmt: skip


def lanes_of(data: Mapping[str, Any]) -> tuple[Lane, ...]:
    """The lanes of `Plan.to_data`, of a partition.json or of a repeat.json; without times every second is 0."""
    return tuple(Lane(card=str(lane["lane"]), pieces=tuple(map(piece_of, lane["ops"]))) for lane in data["lanes"])


def piece_of(data: Mapping[str, Any]) -> Piece:
    """Rebuild from `piece_data`; without a time its seconds are 0."""
    rows = data["rows"]
    return Piece(
        op=data["op"], directory=data["dir"], kind=Kind(data["kind"]), seconds=data["seconds"] or 0.0,
        rows=None if rows is None else tuple(rows), shard=data.get("shard", 1), shards=data.get("shards", 1),
    )  # fmt: skip
