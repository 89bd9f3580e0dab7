"""Is a side the same from the first of its cells to the last? Rounds are repetitions of one measurement only then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from zlbench import guard
from zlbench.caliber import COMPARED
from zlbench.identity import RunIdentity

_Known = tuple[str, int, RunIdentity]
"""Operator and round in which a side was first seen, and what it was."""


@dataclass(kw_only=True)
class Drift:
    """Compares each side with what it was at first. Cells of equal identities, so nearly all, are compared once.

    Args:
        found: complaints by operator, side, field and what is found there.
    """

    found: dict[tuple[str, str, str, str], guard.Complaint] = field(default_factory=dict)
    _seen: dict[int, RunIdentity] = field(default_factory=dict)
    _of_operator: dict[str, _Known] = field(default_factory=dict)
    _of_lane: dict[str, _Known] = field(default_factory=dict)
    _of_all: dict[str, _Known] = field(default_factory=dict)

    def lane(self) -> None:
        """Another lane follows, which may have another card."""
        self._of_lane.clear()
        self.operator()

    def operator(self) -> None:
        """Another operator follows, or its shard in another lane."""
        self._of_operator.clear()
        self._seen.clear()

    def see(self, sides: Mapping[str, RunIdentity | None], *, op: str, number: int) -> None:
        """Take in both cells of a round."""
        for side, identity in sides.items():
            if identity is None or id(identity) in self._seen:
                continue
            self._seen[id(identity)] = identity  # held, so that no other gets its id
            first = self._of_operator.get(side)
            now = (op, number, identity)
            if first is None:
                self._of_operator[side] = now
                self._note(side, self._of_all.setdefault(side, now), now, fields=guard.OF_ALL_OPERATORS, card=False)
                self._note(side, self._of_lane.setdefault(side, now), now, fields=(), card=True)
            else:
                self._note(side, first, now, fields=COMPARED, card=True)

    def _note(self, side: str, first: _Known, now: _Known, *, fields: tuple[str, ...], card: bool) -> None:
        where = f"rounds {first[1]} and {now[1]}" if first[0] == now[0] else ""
        text = f"side {side} in {where}" if where else f"side {side} unlike {first[0]}"
        for one in guard.drift(first[2], now[2], op=now[0], fields=fields, card=card):
            self.found.setdefault((now[0], side, one.field, one.after), replace(one, note=text))
