"""Turns of two resident sides: order, means, what a lost side costs, and where trying again ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from zlbench.cells import CellState
from zlbench.engine.alternate import MAX_RESTARTS, MAX_STRIKES, Alternation, Taken, order
from zlbench.engine.side import ItemFailedError, Prepared, Reading, SideLostError


@dataclass
class FakeSide:
    """Notes its turns; `deadly` items cost it, `broken` ones fail, and it cannot be made ready again after `ready`."""

    label: str
    log: list[str]
    deadly: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    ready: int = 99
    kills: int = 0
    """Times that somebody kills it at its next item."""
    again_calls: int = 0
    values: list[float] = field(default_factory=lambda: [float(number) for number in range(1, 100)])

    def measure(self, item: str) -> Reading:
        self.log.append(f"{self.label}:{item}")
        if self.kills:
            self.kills -= 1
            raise SideLostError(CellState.CRASH, "it ended by signal 9", killed=True)
        if item in self.deadly:
            raise SideLostError(CellState.TIMEOUT, f"hung in {item}")
        if item in self.broken:
            raise ItemFailedError(f"cannot compile {item}")
        value = self.values.pop(0)
        return Reading(values={"cpu_ms": value}, stages={"ttir": {"cpu_ms": value / 2}}, stages_ms={"ttir": value})

    def again(self) -> Prepared:
        self.again_calls += 1
        self.log.append(f"{self.label}:again")
        if self.again_calls > self.ready:
            raise SideLostError(CellState.CRASH, "died in its preparation")
        return Prepared(items=(), values=())


class Pair:
    def __init__(self, turns: int = 1, *, a: dict | None = None, b: dict | None = None) -> None:
        self.log: list[str] = []
        self.said: list[str] = []
        self.sides = {"A": FakeSide("A", self.log, **(a or {})), "B": FakeSide("B", self.log, **(b or {}))}
        self.alternation = Alternation(self.sides, turns=turns, say=self.said.append)

    def round(self, number: int, items: str = "xy") -> list[Taken]:
        return list(self.alternation.round(number, list(items)))


@pytest.mark.parametrize(
    ("number", "turns", "expected"),
    [
        (1, 1, "A:x B:x A:y B:y"),
        (2, 1, "B:x A:x B:y A:y"),
        (1, 2, "A:x B:x B:x A:x A:y B:y B:y A:y"),
        (2, 2, "B:x A:x A:x B:x B:y A:y A:y B:y"),
        (1, 3, "A:x B:x B:x A:x A:x B:x A:y B:y B:y A:y A:y B:y"),
    ],
)
def test_sides_take_turns_item_by_item(number: int, turns: int, expected: str) -> None:
    pair = Pair(turns)
    taken = pair.round(number)
    assert pair.log == expected.split()
    first = order(number)[0]
    assert [(one.item, one.side, one.first) for one in taken] == [
        (item, side, side == first) for item in "xy" for side in order(number)
    ]
    assert all(len(one.readings) == turns for one in taken)


def test_every_side_is_first_in_half_of_the_rounds() -> None:
    firsts = [order(number)[0] for number in range(1, 17)]
    assert firsts.count("A") == firsts.count("B") == 8
    assert all(before != after for before, after in pairwise(firsts))


def test_a_value_is_the_mean_of_its_turns() -> None:
    (a, b) = Pair(2, a={"values": [10.0, 20.0]}, b={"values": [1.0, 4.0]}).round(1, "x")
    assert (a.values, b.values) == ({"cpu_ms": 15.0}, {"cpu_ms": 2.5})
    assert a.stages == {"ttir": {"cpu_ms": 7.5}}
    assert a.stages_ms == {"ttir": 15.0}


def test_an_item_that_fails_costs_itself_and_its_side_stays() -> None:
    pair = Pair(2, b={"broken": frozenset("x")})
    taken = {(one.item, one.side): one for one in pair.round(1)}
    assert (taken["x", "B"].state, taken["x", "B"].error) == (CellState.OP_FAILED, "cannot compile x")
    assert [taken[key].state for key in (("x", "A"), ("y", "A"), ("y", "B"))] == [CellState.OK] * 3
    assert "B:again" not in pair.log
    assert pair.log.count("B:x") == 1, "a turn that failed is not taken again in its round"


def test_a_lost_side_is_made_ready_again_and_the_round_goes_on() -> None:
    pair = Pair(a={"deadly": frozenset("x")})
    taken = {(one.item, one.side): one for one in pair.round(1)}
    assert (taken["x", "A"].state, taken["x", "A"].error) == (CellState.TIMEOUT, "hung in x")
    assert [taken[key].state for key in (("x", "B"), ("y", "A"), ("y", "B"))] == [CellState.OK] * 3
    assert pair.log == ["A:x", "B:x", "A:again", "A:y", "B:y"]
    assert pair.said == ["side A was lost at x: hung in x"]


@pytest.mark.parametrize(("kills", "measured"), [(1, True), (2, False)])
def test_a_side_that_was_killed_from_outside_tries_its_item_once_more(kills: int, measured: bool) -> None:
    pair = Pair(a={"kills": kills})
    (a, b) = pair.round(1, "x")
    assert (bool(a.readings), bool(b.readings)) == (measured, True)
    assert pair.log == ["A:x", "A:again", "A:x", "B:x"]
    assert all(one.readings for one in pair.round(2)), "it has not cost its side twice"


def test_an_item_that_has_cost_a_side_twice_is_not_tried_again_there() -> None:
    pair = Pair(a={"deadly": frozenset("x")})
    rounds = [pair.round(number) for number in (1, 2, 3, 4)]
    assert pair.log.count("A:x") == MAX_STRIKES
    assert pair.log.count("B:x") == 4
    last = {(one.item, one.side): one for one in rounds[-1]}
    assert last["x", "A"].error.startswith("not tried")
    assert last["y", "A"].state is CellState.OK


def test_a_side_that_dies_everywhere_is_given_up_and_what_was_measured_stays() -> None:
    pair = Pair(b={"deadly": frozenset("abcdefghij")})
    taken = pair.round(1, "xabcdefghij")
    assert pair.sides["B"].again_calls == MAX_RESTARTS
    assert pair.alternation.given_up["B"].state is CellState.TIMEOUT
    b = [one for one in taken if one.side == "B"]
    assert b[0].readings
    assert all(one.state is CellState.TIMEOUT for one in b[1:])
    assert all(one.readings for one in taken if one.side == "A")
    assert "is given up after" in pair.said[-1]
    before = len(pair.log)
    pair.round(2, "x")
    assert pair.log[before:] == ["A:x"], "it is not asked again"


def test_a_side_that_cannot_be_made_ready_again_is_given_up_too() -> None:
    pair = Pair(a={"deadly": frozenset("x"), "ready": 0})
    taken = {(one.item, one.side): one for one in pair.round(1)}
    assert pair.sides["A"].again_calls == MAX_RESTARTS
    assert taken["y", "A"].state is CellState.CRASH
    assert "died in its preparation" in taken["y", "A"].error
    assert taken["y", "B"].state is CellState.OK


def test_sides_that_were_renewed_are_not_made_ready_twice_and_strikes_stay() -> None:
    pair = Pair(a={"deadly": frozenset("x")})
    pair.round(1, "x")
    pair.alternation.renewed()
    pair.round(2, "x")
    assert "A:again" not in pair.log
    pair.alternation.renewed()
    (_, a) = sorted(pair.round(3, "x"), key=lambda one: one.side, reverse=True)
    assert a.error.startswith("not tried")
