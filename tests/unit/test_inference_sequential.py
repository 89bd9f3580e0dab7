"""Looks at a row: which it was there for, what each says, what they say together, and how often that is wrong."""

from __future__ import annotations

import math
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import PreflightError
from zlbench.inference.sequential import Look, Seen, Sequential, look_at, put_together, reached, scipy_stats
from zlbench.inference.series import LEAST_SD, mean_of, variance_of
from zlbench.inference.types import ALPHA
from zlbench.rounds.plan import Schedule

SCHEDULE = Schedule.until_settled(16)
LOOKS = list(zip(SCHEDULE.looks, SCHEDULE.weights, strict=True))
values = st.lists(st.floats(-0.2, 0.2, allow_nan=False), min_size=16, max_size=16)


def seen(differences: list[float], weight: float) -> Seen:
    """A look that knows nothing but this row."""
    n, mean = len(differences), mean_of(differences)
    error = max(math.sqrt(variance_of(differences, mean)), LEAST_SD) / math.sqrt(n)
    return Seen(weight=weight, n=n, estimate=mean, error=error, df=n - 1)


def looked(differences: list[float], *, alpha: float = ALPHA, looks: list[tuple[int, float]] = LOOKS) -> list[Look]:
    return look_at([seen(differences[:n], weight) for n, weight in looks], alpha=alpha)


def over(differences: list[float], **more: float) -> Sequential:
    return put_together(looked(differences, **more))


def test_the_shares_of_all_looks_are_one() -> None:
    assert SCHEDULE.looks == (4, 8, 16)
    assert SCHEDULE.weights == pytest.approx((0.1, 0.3, 0.6))
    assert Schedule.until_settled(8).weights == pytest.approx((0.1, 0.9))
    assert Schedule.until_settled(3).weights == (1.0,)
    assert Schedule(looks=(6,)).weights == (1.0,)


def test_a_look_is_a_t_test() -> None:
    # By hand: mean 0.025, sd 0.0129, t = 3.873 with 3 degrees of freedom.
    (found,) = looked([0.01, 0.02, 0.03, 0.04], looks=[(4, 1.0)])
    assert found.p == pytest.approx(0.0305, abs=1e-4)
    assert (found.low, found.high) == pytest.approx((0.00446, 0.04554), abs=1e-4)


@given(values)
def test_a_look_is_scipys_t_test(differences: list[float]) -> None:
    if variance_of(differences, mean_of(differences)) > 1e-8:
        other = scipy_stats().ttest_1samp(differences, 0.0)
        (found,) = looked(differences, looks=[(16, 1.0)])
        assert found.p == pytest.approx(float(other.pvalue))
        assert (found.low, found.high) == pytest.approx(tuple(map(float, other.confidence_interval(0.95))))


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([], []),
        ([1, 2, 3], []),
        ([1, 2, 3, 4], [(0, 4)]),
        ([1, 2, 3, 5, 6], [(1, 5)]),  # three pairs are too few for the first look
        ([1, 2, 3, 4, 5, 6], [(0, 4), (1, 6)]),
        (list(range(1, 17)), [(0, 4), (1, 8), (2, 16)]),
        ([1, 2, 3, 4, 9, 10], [(0, 4), (2, 6)]),  # nothing came between the first look and the second
        (list(range(1, 21)), [(0, 4), (1, 8), (2, 20)]),  # what is measured after the last look counts there
    ],
)
def test_a_row_was_there_for_the_looks_that_brought_it_pairs(
    rounds: list[int], expected: list[tuple[int, int]]
) -> None:
    assert reached(abba(rounds), LOOKS) == expected


def abba(rounds: list[int]) -> list[tuple[int, bool]]:
    return [(number, number % 2 == 1) for number in rounds]


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([2, 4, 6, 8, 9], [(2, 5)]),
        ([1, 3, 5, 7], []),
        ([1, 3, 5, 7, 8, 9, 10], [(1, 5), (2, 7)]),
        ([9, 11, 13, 15, 16], [(2, 5)]),
    ],
)
def test_a_look_whose_pairs_have_one_order_is_none(rounds: list[int], expected: list[tuple[int, int]]) -> None:
    assert reached(abba(rounds), LOOKS) == expected


@given(values)
def test_the_p_value_is_the_smallest_by_its_share(differences: list[float]) -> None:
    found = over(differences)
    assert found.p == pytest.approx(min(1.0, *(one.p / w for one, (_, w) in zip(found.looks, LOOKS, strict=True))))
    assert found.looks[-1].seen.n == 16


@given(values)
def test_significant_means_that_some_interval_leaves_out_zero(differences: list[float]) -> None:
    found = over(differences)
    apart = any(one.low > 0 or one.high < 0 for one in found.looks)
    if abs(found.p - ALPHA) > 1e-9:
        assert (found.p < ALPHA) == apart


@given(values)
def test_an_interval_is_within_those_of_all_looks_or_is_that_of_the_last(differences: list[float]) -> None:
    found = over(differences)
    last = found.looks[-1]
    inside = all(one.low <= found.low <= found.high <= one.high for one in found.looks)
    assert inside or (found.low, found.high) == (last.low, last.high)


@given(values, st.floats(0.001, 0.2), st.floats(0.001, 0.2))
def test_less_error_is_a_wider_interval(differences: list[float], one: float, two: float) -> None:
    small, large = sorted((one, two))
    wide, narrow = over(differences, alpha=small), over(differences, alpha=large)
    last = narrow.looks[-1].seen.estimate
    agreeing = max(look.low for look in narrow.looks) <= last <= min(look.high for look in narrow.looks)
    if agreeing:
        assert wide.low <= narrow.low
        assert narrow.high <= wide.high
    assert wide.p == narrow.p


@given(values, st.permutations(range(4)))
def test_the_order_of_pairs_within_a_look_says_nothing(differences: list[float], order: list[int]) -> None:
    other = [differences[place] for place in order] + differences[4:]
    assert over(differences) == over(other)


@given(values)
def test_swapping_the_sides_mirrors_everything(differences: list[float]) -> None:
    one, other = over(differences), over([-d for d in differences])
    assert one.p == other.p
    assert (one.low, one.high) == (-other.high, -other.low)


@given(values)
def test_an_interval_holds_the_last_estimate(differences: list[float]) -> None:
    found = over(differences)
    assert found.low <= found.looks[-1].seen.estimate <= found.high


@pytest.mark.parametrize("later", [0.02, 0.3], ids=["the overlap leaves out the last estimate", "no overlap"])
def test_where_looks_contradict_each_other_the_last_stands(later: float) -> None:
    calm, wild = (Look(seen=Seen(weight=0.5, n=n, estimate=at, error=error, df=9.0), p=0.01, quantile=2.0)
                  for n, at, error in ((4, -0.006, 0.001), (8, later, 0.0129)))  # fmt: skip
    found = put_together([calm, wild])
    assert (found.low, found.high) == (wild.low, wild.high)


def test_no_look_says_nothing() -> None:
    found = put_together(look_at([], alpha=ALPHA))
    assert (found.p, found.low, found.high) == (1.0, -math.inf, math.inf)
    assert not found.within(0.5)


def test_looking_without_shares_would_be_wrong_more_often() -> None:
    """Over 1000 rows without an effect: shares keep to 5 %, and the test can fail, since full looks do not."""
    draw = random.Random(1)
    rows = [[draw.gauss(0, 0.005) for _ in range(16)] for _ in range(1000)]
    shared = sum(over(row).p <= ALPHA for row in rows)
    naive = sum(any(look.p <= ALPHA for look in looked(row)) for row in rows)
    # 5 % of 1000 plus three standard deviations; the bound of Bonferroni is not reached.
    assert shared <= 50 + 21 < naive


def test_without_scipy_the_next_step_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(PreflightError) as caught:
        scipy_stats()
    assert caught.value.check == "driver-imports"
    assert "pip install" in caught.value.hint
