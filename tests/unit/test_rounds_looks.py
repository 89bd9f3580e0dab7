"""When a row is settled: by the report's own looks, and what that gets wrong how often."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import PreflightError
from zlbench.inference import Sample, Settings, infer
from zlbench.inference.types import ALPHA, DELTA, Pair, RowResult, Verdict
from zlbench.rounds.looks import Settled, require, settle
from zlbench.rounds.plan import Schedule

SCHEDULE = Schedule.until_settled(16)
SHARED = {"looks": SCHEDULE.looks, "weights": SCHEDULE.weights}


def reported(row: dict[int, float]) -> RowResult:
    """What the report says of a row that is alone."""
    pairs = tuple(Pair(round=k, log_a=0.0, log_b=d, a_first=k % 2 == 1) for k, d in row.items())
    looks = tuple(zip(SCHEDULE.looks, SCHEDULE.weights, strict=True))
    return infer([Sample(key=("op", "x"), pairs=pairs)], Settings(looks=looks)).rows["op", "x"]


def test_rows_are_settled_by_what_was_known_at_their_look() -> None:
    clear = {k: 0.05 + 0.0001 * (-1) ** k for k in range(1, 17)}
    quiet = {k: 0.0005 * (-1) ** k for k in range(1, 17)}
    noisy = {k: 0.2 * (-1) ** k for k in range(1, 17)}
    # What comes later does not unsettle it: it is not measured any more.
    wild = {k: quiet[k] if k <= 4 else 5.0 for k in range(1, 17)}
    rows = {"clear": clear, "quiet": quiet, "noisy": noisy, "wild": wild}
    for now in (4, 16):
        found = settle(rows, **SHARED, now=now, rows=20)
        assert found == {"clear": Settled.EFFECT, "quiet": Settled.NO_EFFECT, "wild": Settled.NO_EFFECT}
    assert settle(rows, **SHARED, now=3, rows=20) == {}


def test_an_effect_must_stand_among_all_rows() -> None:
    rows = {"x": dict(enumerate([0.030, 0.034, 0.026, 0.031], start=1))}
    assert settle(rows, **SHARED, now=4, rows=1) == {"x": Settled.EFFECT}
    assert settle(rows, **SHARED, now=4, rows=1000) == {}


def test_what_the_report_calls_invalid_is_not_settled() -> None:
    three = {k: 0.05 + 0.0001 * (-1) ** k for k in (1, 2, 3)}
    one_order = {k: 0.05 + 0.0001 * k for k in (1, 3, 5, 7)}
    for row in (three, one_order):
        assert settle({"x": row}, **SHARED, now=8, rows=1) == {}
        assert reported(row).verdict is Verdict.INVALID


@given(st.floats(-0.03, 0.03), st.floats(0.0002, 0.02), st.integers(0, 1000), st.sets(st.integers(1, 16), max_size=3))
def test_the_report_agrees_with_what_settled_a_row(effect: float, sd: float, seed: int, lost: set[int]) -> None:
    draw = random.Random(seed)
    row = {k: draw.gauss(effect, sd) for k in range(1, 17)}
    known = {k: row[k] for k in sorted(set(row) - lost)}
    for number in SCHEDULE.looks:
        so_far = {k: d for k, d in known.items() if k <= number}
        why = settle({"x": so_far}, **SHARED, now=number, rows=1).get("x")
        if why is None:
            continue
        found = reported(so_far)
        assert found.low is not None
        assert found.high is not None
        assert found.p is not None
        if why is Settled.EFFECT:
            assert found.p <= ALPHA
            assert found.low > 0 or found.high < 0
        else:
            assert -DELTA < found.low < found.high < DELTA
            assert found.verdict is Verdict.NO_DIFFERENCE
        return


def simulate(effect: float, campaigns: int, *, sd: float = 0.005, seed: int = 1) -> list[Settled | None]:
    """What each of so many rows came to with looks."""
    draw = random.Random(seed)
    rows = {str(name): {k: draw.gauss(effect, sd) for k in range(1, 17)} for name in range(campaigns)}
    found = settle(rows, **SHARED, now=16, rows=1)
    return [found.get(name) for name in rows]


def test_equal_sides_are_called_different_in_five_percent_at_most() -> None:
    false = sum(why is Settled.EFFECT for why in simulate(0.0, 1000))
    # 5 % of 1000 plus three standard deviations; the bound of Bonferroni is not reached.
    assert 0 < false <= 50 + 21


def test_a_real_effect_is_found() -> None:
    assert sum(why is Settled.EFFECT for why in simulate(0.02, 300)) >= 0.97 * 300
    small = simulate(0.016, 300, sd=0.02)
    # d = 0.8 over 16 pairs: a single t-test has a power of 0.85; looks cost a little of it.
    assert sum(why is Settled.EFFECT for why in small) >= 0.7 * 300


def test_without_scipy_the_next_step_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(PreflightError) as caught:
        require()
    assert caught.value.check == "driver-imports"
    assert "pip install" in caught.value.hint
