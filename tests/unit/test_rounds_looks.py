"""When a row is settled: p-values and intervals over looks, and what they get wrong how often."""

from __future__ import annotations

import math
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import PreflightError
from zlbench.rounds.looks import ALPHA, Settled, look, require, sequential, settle
from zlbench.rounds.plan import Schedule

SCHEDULE = Schedule.until_settled(16)
LOOKS = list(zip(SCHEDULE.looks, SCHEDULE.weights, strict=True))
values = st.lists(st.floats(-0.2, 0.2, allow_nan=False), min_size=16, max_size=16)


def over(differences: list[float]) -> list[tuple[list[float], float]]:
    return [(differences[:n], weight) for n, weight in LOOKS]


def test_the_shares_of_all_looks_are_one() -> None:
    assert SCHEDULE.looks == (4, 8, 16)
    assert SCHEDULE.weights == pytest.approx((0.1, 0.3, 0.6))
    assert Schedule.until_settled(8).weights == pytest.approx((0.1, 0.9))
    assert Schedule.until_settled(3).weights == (1.0,)
    assert Schedule(looks=(6,)).weights == (1.0,)


def test_a_look_is_a_t_test() -> None:
    # By hand: mean 0.025, sd 0.0129, t = 3.873 with 3 degrees of freedom.
    found = look([0.01, 0.02, 0.03, 0.04], 1.0)
    assert found.estimate == pytest.approx(0.025)
    assert found.p == pytest.approx(0.0305, abs=1e-4)
    assert (found.low, found.high) == pytest.approx((0.00446, 0.04554), abs=1e-4)


def test_two_pairs_say_nothing() -> None:
    found = look([0.5, 0.5], 1.0)
    assert (found.p, found.low, found.high) == (1.0, -math.inf, math.inf)
    assert look([], 1.0).p == 1.0


@given(values)
def test_the_p_value_is_the_smallest_by_its_share(differences: list[float]) -> None:
    found = sequential(over(differences))
    assert found.p == pytest.approx(min(1.0, *(one.p / w for one, (_, w) in zip(found.looks, LOOKS, strict=True))))
    assert found.looks[-1].n == 16


@given(values)
def test_significant_means_that_some_interval_leaves_out_zero(differences: list[float]) -> None:
    found = sequential(over(differences))
    apart = any(one.low > 0 or one.high < 0 for one in found.looks)
    if abs(found.p - ALPHA) > 1e-9:
        assert (found.p < ALPHA) == apart


@given(values, st.permutations(range(4)))
def test_the_order_of_pairs_within_a_look_says_nothing(differences: list[float], order: list[int]) -> None:
    other = [differences[place] for place in order] + differences[4:]
    assert sequential(over(differences)).p == pytest.approx(sequential(over(other)).p)


@given(values)
def test_swapping_the_sides_mirrors_everything(differences: list[float]) -> None:
    one, other = sequential(over(differences)), sequential(over([-d for d in differences]))
    assert one.p == pytest.approx(other.p)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_rows_are_settled_by_what_was_known_at_their_look() -> None:
    clear = {k: 0.05 + 0.0001 * (-1) ** k for k in range(1, 17)}
    quiet = {k: 0.0005 * (-1) ** k for k in range(1, 17)}
    noisy = {k: 0.2 * (-1) ** k for k in range(1, 17)}
    # What comes later does not unsettle it: it is not measured any more.
    wild = {k: quiet[k] if k <= 4 else 5.0 for k in range(1, 17)}
    rows = {"clear": clear, "quiet": quiet, "noisy": noisy, "wild": wild}
    for now in (4, 16):
        found = settle(rows, looks=SCHEDULE.looks, weights=SCHEDULE.weights, now=now, rows=20)
        assert found == {"clear": Settled.EFFECT, "quiet": Settled.NO_EFFECT, "wild": Settled.NO_EFFECT}
    assert settle(rows, looks=SCHEDULE.looks, weights=SCHEDULE.weights, now=3, rows=20) == {}


def test_an_effect_must_stand_among_all_rows() -> None:
    rows = {"x": dict(enumerate([0.030, 0.034, 0.026, 0.031], start=1))}
    few = settle(rows, looks=SCHEDULE.looks, weights=SCHEDULE.weights, now=4, rows=1)
    many = settle(rows, looks=SCHEDULE.looks, weights=SCHEDULE.weights, now=4, rows=1000)
    assert (few, many) == ({"x": Settled.EFFECT}, {})


def simulate(effect: float, campaigns: int, *, sd: float = 0.005, seed: int = 1) -> list[tuple[Settled | None, bool]]:
    """What each of so many rows came to with looks, and whether its interval held the truth when it stopped."""
    draw = random.Random(seed)
    found = []
    for _ in range(campaigns):
        row = {k: draw.gauss(effect, sd) for k in range(1, 17)}
        verdict, held = None, True
        for number, (n, _) in enumerate(LOOKS, start=1):
            known = sequential(over(list(row.values()))[:number])
            verdict = settle({"x": row}, looks=SCHEDULE.looks, weights=SCHEDULE.weights, now=n, rows=1).get("x")
            held = known.low <= effect <= known.high
            if verdict is not None:
                break
        found.append((verdict, held))
    return found


def test_equal_sides_are_called_different_in_five_percent_at_most() -> None:
    found = simulate(0.0, 1000)
    false = sum(verdict is Settled.EFFECT for verdict, _ in found)
    # 5 % of 1000 plus three standard deviations; the bound of Bonferroni is not reached.
    assert false <= 50 + 21
    assert sum(held for _, held in found) >= 950 - 21


def test_a_real_effect_is_found() -> None:
    found = simulate(0.02, 300)
    assert sum(verdict is Settled.EFFECT for verdict, _ in found) >= 0.97 * 300
    small = simulate(0.016, 300, sd=0.02)
    # d = 0.8 over 16 pairs: a single t-test has a power of 0.85; looks cost a little of it.
    assert sum(verdict is Settled.EFFECT for verdict, _ in small) >= 0.7 * 300


def test_looking_without_shares_would_be_wrong_more_often() -> None:
    """The test above can fail: with every look at the full alpha, its bound is broken."""
    draw = random.Random(1)
    rows = [[draw.gauss(0, 0.005) for _ in range(16)] for _ in range(1000)]
    naive = sum(any(look(row[:n], 1.0).p < ALPHA for n, _ in LOOKS) for row in rows)
    assert naive > 50 + 21


def test_without_scipy_the_next_step_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(PreflightError) as caught:
        require()
    assert caught.value.check == "driver-imports"
    assert "pip install" in caught.value.hint
