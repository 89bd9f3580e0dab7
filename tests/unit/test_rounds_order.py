"""The order of cells in time: ABBA."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.rounds.order import Slot, same_side_pairs, sequence, sides_of

rounds = st.integers(min_value=1, max_value=40)


def text(number: int) -> str:
    return "".join(slot.side for slot in sequence(number))


def test_four_rounds() -> None:
    assert text(4) == "ABBAABBA"
    assert [slot.name for slot in sequence(2)] == ["r1_A", "r1_B", "r2_B", "r2_A"]


@given(rounds)
def test_each_round_has_both_sides_once_and_its_cells_follow_each_other(number: int) -> None:
    cells = list(sequence(number))
    assert [slot.round for slot in cells] == [k for k in range(1, number + 1) for _ in "AB"]
    assert Counter((slot.round, slot.side) for slot in cells) == Counter(
        {(k, side): 1 for k in range(1, number + 1) for side in "AB"}
    )


@given(rounds)
def test_as_many_rounds_begin_with_a_as_with_b(number: int) -> None:
    first = Counter(sides_of(k)[0] for k in range(1, number + 1))
    assert first["A"] - first["B"] == number % 2


@given(rounds, st.floats(-1, 1), st.floats(-1, 1))
def test_a_drift_and_a_slower_second_cell_cancel_over_two_rounds(number: int, drift: float, second: float) -> None:
    total = {"A": 0.0, "B": 0.0}
    for place, slot in enumerate(sequence(2 * number)):
        total[slot.side] += drift * place + (second if place % 2 else 0.0)
    assert total["A"] == pytest.approx(total["B"], abs=1e-6)


@given(rounds)
def test_neighbours_across_rounds_are_of_one_side(number: int) -> None:
    pairs = list(same_side_pairs(number))
    assert len(pairs) == number - 1
    for one, other in pairs:
        assert (other.round, other.side) == (one.round + 1, one.side)
    sides = Counter(one.side for one, _ in pairs)
    assert abs(sides["A"] - sides["B"]) <= 1


def test_one_cell_records() -> None:
    assert [slot for slot in sequence(6) if slot.records] == [Slot(round=1, side="A")]
