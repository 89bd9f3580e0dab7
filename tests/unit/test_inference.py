"""`infer`: verdicts in their order, what may never matter, and what is never said."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from zlbench.inference import Inference, Sample, Settings, infer
from zlbench.inference.calibrate import NONE
from zlbench.inference.evaluate import evaluate
from zlbench.inference.judge import judge
from zlbench.inference.moderate import moderate
from zlbench.inference.series import make_series
from zlbench.inference.types import OpResult, Pair, Prior, RowResult, Verdict, Why

SIX = Settings(looks=((6, 1.0),))
LOOKS = Settings(looks=((4, 0.1), (8, 0.3), (16, 0.6)))
UNIT = 2.0**-20
"""Values that are multiples of this add and subtract without rounding."""


def pairs(differences: Sequence[float], *, level: float = 0.0, orders: str = "") -> tuple[Pair, ...]:
    """Rounds in ABBA, or in the orders given (``A`` or ``B`` first)."""
    return tuple(
        Pair(
            round=number, log_a=level, log_b=level + value,
            a_first=orders[number - 1] == "A" if orders else number % 2 == 1,
        )
        for number, value in enumerate(differences, 1)
    )  # fmt: skip


def noisy(
    op: str, row: str, effect: float = 0.0, *, sd: float = 0.003, rounds: int = 6, control: bool = False, seed: int = 0
) -> Sample:
    draw = random.Random(f"{op} {row} {seed}")
    found = tuple(
        Pair(round=k, log_a=draw.gauss(0, sd), log_b=effect + draw.gauss(0, sd), a_first=k % 2 == 1)
        for k in range(1, rounds + 1)
    )
    return Sample(key=(op, row), pairs=found, control=control)


def controls(count: int = 4, *, bias: float = 0.0, sd: float = 0.001) -> list[Sample]:
    return [noisy(f"control{number}", "row", bias, sd=sd, control=True) for number in range(count)]


def only(found: Inference) -> RowResult:
    (row,) = found.rows.values()
    return row


# --- the order of verdicts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("effect", "verdict"), [(0.05, Verdict.SLOWER), (-0.05, Verdict.FASTER)])
def test_a_clear_effect_has_a_direction(effect: float, verdict: Verdict) -> None:
    found = infer([noisy("mm", "x", effect), *controls()], SIX)
    row = found.rows["mm", "x"]
    assert (row.verdict, row.what) == (verdict, verdict.value)
    assert row.low is not None
    assert row.high is not None
    assert row.low < effect < row.high
    assert row.flags == ()
    assert found.operators["mm"].verdict is verdict
    assert found.count(verdict) == 1


def test_no_difference_is_said_with_its_bound() -> None:
    row = infer([noisy("mm", "x", sd=0.001), *controls()], SIX).rows["mm", "x"]
    assert (row.verdict, row.what) == (Verdict.NO_DIFFERENCE, "no difference beyond ±1 %")
    other = only(infer([noisy("mm", "x", sd=0.001)], dataclasses.replace(SIX, delta=0.005)))
    assert other.what == "no difference beyond ±0.5 %"


def test_what_could_have_been_seen_is_said_with_its_figure() -> None:
    d = [0.011, -0.004, 0.009, -0.005, 0.01, -0.002]
    row = only(infer([Sample(key=("mm", "x"), pairs=pairs(d))], SIX))
    assert row.verdict is Verdict.NOT_DETECTABLE
    # t.975 + t.80 of 5 degrees of freedom.
    assert row.mde == pytest.approx((2.5706 + 0.9195) * float(stats.sem(d)), rel=1e-4)
    assert row.what == "no detectable difference (MDE 1.1 %)"
    assert row.rounds_needed is None


def test_inconclusive_says_how_many_rounds_are_needed() -> None:
    row = only(infer([noisy("mm", "x", sd=0.03)], SIX))
    assert row.verdict is Verdict.INCONCLUSIVE
    assert row.mde is not None
    assert row.moderated is not None
    assert row.rounds_needed is not None
    # As many as bring t.975 + t.80 (nearly 2.80 with so many) times the error down to 2 %.
    error = math.log1p(0.02) / (stats.t.ppf(0.975, row.rounds_needed - 1) + stats.t.ppf(0.8, row.rounds_needed - 1))
    assert row.rounds_needed == pytest.approx((row.moderated / error) ** 2, abs=2)
    assert row.what == f"inconclusive (MDE {100 * math.expm1(row.mde):.1f} %, needs about {row.rounds_needed} rounds)"


def test_where_controls_differ_too_much_no_number_of_rounds_is_enough() -> None:
    wild = [Sample(key=(f"c{k}", "r"), pairs=pairs([d + 0.001 * (-1) ** i for i in range(6)]), control=True)
            for k, d in enumerate([0.05, -0.05, 0.03, -0.04])]  # fmt: skip
    row = infer([noisy("mm", "x"), *wild], SIX).rows["mm", "x"]
    assert row.verdict is Verdict.INCONCLUSIVE
    assert row.rounds_needed is None
    assert row.what.endswith("more rounds do not help)")


def test_a_claim_needs_more_than_the_free_pairs_show() -> None:
    """Each pair agrees on +0.4 %, but a side differs from itself by 2 % from one round to the next."""
    level, sides = [0.0, 0.02, 0.0, 0.02, 0.0, 0.02], [0.0041, 0.0039, 0.004, 0.0042, 0.0038, 0.004]
    jumping = tuple(
        Pair(round=k, log_a=at, log_b=at + d, a_first=k % 2 == 1)
        for k, (at, d) in enumerate(zip(level, sides, strict=True), 1)
    )
    row = only(infer([Sample(key=("mm", "x"), pairs=jumping)], SIX))
    assert row.q is not None
    assert row.q < 0.05
    assert row.floor == pytest.approx(1.96 * 0.02 / math.sqrt(6), rel=0.05)
    assert row.verdict is Verdict.NO_DIFFERENCE
    steady = tuple(dataclasses.replace(pair, log_a=0.0, log_b=pair.difference) for pair in jumping)
    assert only(infer([Sample(key=("mm", "x"), pairs=steady)], SIX)).verdict is Verdict.SLOWER


def test_the_direction_is_that_of_the_interval() -> None:
    """Four rounds of -0.6 %, then four of +2 %: the first look sees an effect of the other sign than the mean."""
    jitter = [0.0001, -0.0002, 0.0002, -0.0001]
    d = [-0.006 + x for x in jitter] + [0.02 + x for x in jitter]
    for looks in (((4, 0.5), (8, 0.5)), LOOKS.looks):
        for sign in (1, -1):
            row = only(infer([Sample(key=("mm", "x"), pairs=pairs([sign * x for x in d]))], Settings(looks=looks)))
            assert row.low is not None
            assert row.high is not None
            assert row.estimate is not None
            assert row.low <= row.estimate <= row.high
            assert row.verdict not in (Verdict.SLOWER, Verdict.FASTER)  # the last look's interval holds 0


@pytest.mark.parametrize(("low", "high", "verdict"), [(0.01, 0.02, Verdict.SLOWER), (-0.02, -0.01, Verdict.FASTER)])
def test_a_word_never_contradicts_its_interval(low: float, high: float, verdict: Verdict) -> None:
    (one,) = evaluate([make_series(noisy("mm", "x", 0.05 if high < 0 else -0.05))], SIX, NONE)[0].values()
    other = dataclasses.replace(one.sequential, low=low, high=high)
    assert judge(dataclasses.replace(one, sequential=other), 0.0, SIX) is verdict


# --- invalid -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_fewer_than_four_pairs_have_no_verdict(n: int) -> None:
    row = only(infer([Sample(key=("mm", "x"), pairs=pairs([0.05] * n))], SIX))
    assert (row.verdict, row.why, row.n) == (Verdict.INVALID, Why.FEW_PAIRS, n)
    assert row.what == "invalid: FEW_PAIRS (fewer than 4 valid pairs)"
    assert row.estimate == (pytest.approx(0.05) if n else None)
    assert (row.low, row.high, row.p, row.q, row.mde) == (None,) * 5


@pytest.mark.parametrize("orders", ["AAAAAA", "BBBBBB"])
def test_a_fixed_order_has_no_verdict(orders: str) -> None:
    sample = Sample(key=("mm", "x"), pairs=pairs([0.05, 0.051, 0.049, 0.05, 0.052, 0.05], orders=orders))
    found = infer([sample, *controls()], SIX)
    row = found.rows["mm", "x"]
    assert (row.verdict, row.why) == (Verdict.INVALID, Why.ORDER_CONFOUNDED)
    assert (row.low, row.p, row.q) == (None, None, None)
    assert found.operators["mm"].verdict is Verdict.INVALID
    assert found.operators["mm"].what.startswith("invalid: ORDER_CONFOUNDED")
    assert found.campaign.operators == 0


def test_disturbed_pairs_matter_where_too_few_are_left() -> None:
    good = noisy("mm", "x", 0.05)
    disturbed = dataclasses.replace(good, why=Why.PAIRS_DISTURBED)
    assert only(infer([disturbed], SIX)).verdict is Verdict.SLOWER
    row = only(infer([dataclasses.replace(disturbed, pairs=good.pairs[:3])], SIX))
    assert (row.verdict, row.why) == (Verdict.INVALID, Why.PAIRS_DISTURBED)


def test_another_caliber_is_invalid_whatever_the_pairs_say() -> None:
    row = only(infer([dataclasses.replace(noisy("mm", "x", 0.05), why=Why.CALIBER)], SIX))
    assert (row.verdict, row.why) == (Verdict.INVALID, Why.CALIBER)


def test_an_invalid_row_changes_nothing_for_the_others() -> None:
    rows = [noisy("mm", f"{k}", 0.01, seed=k) for k in range(30)]
    bad = [Sample(key=("mm", f"bad{k}"), pairs=pairs([0.5 * (-1) ** k] * 3)) for k in range(30)]
    one, other = infer([*rows, *controls()], SIX), infer([*rows, *bad, *controls()], SIX)
    assert {key: other.rows[key] for key in one.rows} == one.rows
    assert other.operators == one.operators


# --- pieces --------------------------------------------------------------------------------------------------------


def test_a_row_alone_is_scipys_paired_t_test() -> None:
    sample = noisy("mm", "x", 0.01)
    row, d = only(infer([sample], SIX)), [pair.difference for pair in sample.pairs]
    expected = stats.ttest_1samp(d, 0.0)
    low, high = expected.confidence_interval(0.95)
    assert (row.estimate, row.p) == pytest.approx((float(sum(d) / 6), float(expected.pvalue)))
    assert (row.low, row.high) == pytest.approx((float(low), float(high)))
    assert row.flags == ("uncalibrated",)
    assert row.q == row.p


def test_the_order_effect_is_scipys_regression() -> None:
    d = [0.011, 0.021, 0.009, 0.02, 0.01, 0.019]
    row = only(infer([Sample(key=("mm", "x"), pairs=pairs(d))], SIX))
    expected = stats.linregress([1, -1, 1, -1, 1, -1], d)
    assert row.order is not None
    assert row.order.slope == pytest.approx(float(expected.slope))
    assert row.order.p == pytest.approx(float(expected.pvalue))
    assert "order-effect" in row.flags


def test_controls_take_the_bias_away_and_add_their_spread() -> None:
    biased = [noisy("mm", f"{k}", 0.003, sd=0.001, seed=k) for k in range(30)]
    bare = infer(biased, SIX)
    assert bare.count(Verdict.SLOWER) > 20
    assert not bare.calibration.used
    means = [0.0025, 0.0035, 0.0028, 0.0032]
    equal = [Sample(key=(f"c{k}", "r"), pairs=pairs([d + 0.0005 * (-1) ** i for i in range(6)]), control=True)
             for k, d in enumerate(means)]  # fmt: skip
    found = infer([*biased, *equal], SIX)
    assert found.count(Verdict.SLOWER) == 0
    assert found.calibration.bias == pytest.approx(0.003)
    assert found.calibration.between == pytest.approx(float(stats.tstd(means)) * math.sqrt(1.25))
    assert found.calibration.error == pytest.approx(float(stats.sem(means)))
    assert found.calibration.biased
    one, other = found.rows["mm", "0"], bare.rows["mm", "0"]
    assert one.estimate == pytest.approx((other.estimate or 0) - 0.003)
    assert (one.high or 0) - (one.low or 0) > (other.high or 0) - (other.low or 0)


def test_three_controls_calibrate_nothing_and_that_is_said() -> None:
    found = infer([noisy("mm", "x", 0.003, sd=0.001), *controls(3, bias=0.003)], SIX)
    assert not found.calibration.used
    assert len(found.calibration.operators) == 3
    assert "uncalibrated" in found.rows["mm", "x"].flags


def test_two_rows_of_one_control_operator_are_one_control() -> None:
    rows = [dataclasses.replace(sample, key=("control", str(k))) for k, sample in enumerate(controls(8))]
    assert not infer(rows, SIX).calibration.used


def test_many_rows_share_their_variance() -> None:
    rows = [noisy("mm", str(k), sd=0.003, seed=k) for k in range(400)]
    found = infer(rows, SIX)
    spread = [row.sd for row in found.rows.values() if row.sd is not None]
    shared = [row.moderated for row in found.rows.values() if row.moderated is not None]
    assert max(shared) / min(shared) < 1.5 < max(spread) / min(spread)
    assert found.prior is not None
    assert math.sqrt(found.prior.variance) == pytest.approx(0.003 * math.sqrt(2), rel=0.05)
    few = infer(rows[:19], SIX)
    assert all(row.sd == pytest.approx(row.moderated) for row in few.rows.values())


def test_rows_without_an_effect_are_called_different_no_more_often_than_asked() -> None:
    found = infer([noisy("mm", str(k), sd=0.003, seed=k) for k in range(2000)], SIX)
    assert sum((row.p or 0) <= 0.05 for row in found.rows.values()) == pytest.approx(100, abs=30)
    assert found.count(Verdict.SLOWER) + found.count(Verdict.FASTER) == 0


def test_a_settled_row_counts_at_the_looks_it_reached() -> None:
    """Four pairs of sixteen: one look with a tenth of alpha."""
    sample = noisy("mm", "x", 0.1, sd=0.002, rounds=4)
    row = only(infer([sample], LOOKS))
    alone = stats.ttest_1samp([pair.difference for pair in sample.pairs], 0.0)
    assert row.p == pytest.approx(float(alone.pvalue) / 0.1)
    low, high = alone.confidence_interval(0.995)
    assert (row.low, row.high) == pytest.approx((float(low), float(high)))
    assert row.verdict is Verdict.SLOWER


@pytest.mark.parametrize("odd", [0, 1])
def test_a_look_of_pairs_in_one_order_is_none(odd: int) -> None:
    """The second cell is 1 % slower. At the first look only pairs of one order were valid: that is no effect of B."""
    rounds = [2 - odd, 4 - odd, 6 - odd, 8 - odd, 9 + odd, 11 + odd, 13 + odd, 15 + odd]
    made = tuple(
        Pair(round=k, log_a=0.0, log_b=(0.01 if k % 2 else -0.01) + 0.0001 * (k % 3), a_first=k % 2 == 1)
        for k in rounds
    )
    found = infer([Sample(key=("mm", "x"), pairs=made)], LOOKS)
    for result in (only(found), found.operators["mm"]):
        assert result.verdict not in (Verdict.SLOWER, Verdict.FASTER)
        assert result.p is not None
        assert result.p > 0.5


# --- rounds that are not at their end ------------------------------------------------------------------------------


@pytest.mark.parametrize(("done", "known"), [(4, 4), (7, 4), (8, 8), (15, 8), (16, 16), (None, 16)])
def test_rows_not_at_their_end_are_judged_by_the_looks_they_had(done: int | None, known: int) -> None:
    sample = noisy("mm", "x", 0.005, sd=0.004, rounds=16)
    begun = dataclasses.replace(sample, rounds_done=done)
    if done is not None:
        begun = dataclasses.replace(begun, pairs=sample.pairs[:done])
    one, other = infer([begun], LOOKS), infer([dataclasses.replace(sample, pairs=sample.pairs[:known])], LOOKS)
    assert (one.rows, one.operators, one.campaign) == (other.rows, other.operators, other.campaign)
    assert only(one).n == known


@pytest.mark.parametrize("asked", [Settings(looks=((12, 1.0),)), Settings(looks=((6, 0.2), (12, 0.8)))])
def test_before_the_first_look_nothing_is_told(asked: Settings) -> None:
    sample = noisy("mm", "x", 0.05, sd=0.001, rounds=5)
    assert only(infer([sample], asked)).verdict is Verdict.SLOWER
    found = infer([dataclasses.replace(sample, rounds_done=5), *controls()], asked)
    row = found.rows["mm", "x"]
    assert (row.verdict, row.why, row.n) == (Verdict.INVALID, Why.NO_LOOK, 5)
    assert row.what == "invalid: NO_LOOK_YET (not at its end: no look yet)"
    assert (row.low, row.p, row.q) == (None, None, None)
    assert row.estimate == pytest.approx(0.05, abs=0.005)
    assert (found.operators["mm"].verdict, found.operators["mm"].what) == (Verdict.INVALID, row.what)
    assert found.campaign.operators == 0


def test_what_else_is_wrong_with_a_row_is_said_first() -> None:
    asked = Settings(looks=((12, 1.0),))
    sample = dataclasses.replace(noisy("mm", "x", 0.05, rounds=5), rounds_done=5)
    assert only(infer([dataclasses.replace(sample, why=Why.CALIBER)], asked)).why is Why.CALIBER
    assert only(infer([dataclasses.replace(sample, pairs=sample.pairs[:3])], asked)).why is Why.FEW_PAIRS


def test_controls_not_at_their_end_calibrate_nothing() -> None:
    begun = [dataclasses.replace(one, rounds_done=5) for one in controls()]
    assert not infer([noisy("mm", "x"), *begun], SIX).calibration.used


def test_reports_made_again_and_again_are_wrong_no_more_often() -> None:
    """After each round of rows without an effect; judged with the last look's whole share it is 7 % and more."""
    draw = random.Random(1)
    full = [pairs([draw.gauss(0, 0.005) for _ in range(16)]) for _ in range(600)]
    for asked in (LOOKS, Settings(looks=((16, 1.0),))):
        flagged: set[tuple[str, str]] = set()
        for done in range(4, 17):
            some = [Sample(key=(f"op{k}", "x"), pairs=row[:done], rounds_done=done) for k, row in enumerate(full)]
            found = infer(some, asked)
            flagged |= {key for key, row in found.rows.items() if row.p is not None and row.p <= 0.05}
        # 5 % of 600 plus two standard deviations.
        assert 0 < len(flagged) <= 30 + 11


def test_the_round_is_the_unit_of_an_operator() -> None:
    """25 rows that share the luck of each process: as rows they are many, as rounds they are six."""
    draw = random.Random(1)
    luck = [draw.gauss(0, 0.01) for _ in range(6)]
    rows = [
        Sample(key=("mm", str(k)), pairs=pairs([value + draw.gauss(0, 0.0005) for value in luck])) for k in range(25)
    ]
    one = infer(rows, SIX).operators["mm"]
    means = [sum(row.pairs[k].difference for row in rows) / 25 for k in range(6)]
    low, high = stats.ttest_1samp(means, 0.0).confidence_interval(0.95)
    assert (one.rows, one.rounds) == (25, 6)
    assert (one.low, one.high) == pytest.approx((float(low), float(high)))


def test_an_operator_takes_the_rounds_that_all_its_rows_have() -> None:
    rows = [noisy("mm", "0", rounds=8), noisy("mm", "1", rounds=6), noisy("mm", "few", rounds=3)]
    aside = dataclasses.replace(noisy("mm", "direct", 0.5, rounds=5), counted=False)
    one = infer([*rows, aside], Settings(looks=((8, 1.0),))).operators["mm"]
    assert (one.rows, one.rounds) == (2, 6)
    assert one.estimate == pytest.approx(sum(row.pairs[k].difference for row in rows[:2] for k in range(6)) / 12)


def test_an_operator_of_which_no_row_counts_is_not_told() -> None:
    one = infer([dataclasses.replace(noisy("mm", "x", 0.05), counted=False)], SIX).operators["mm"]
    assert (one.verdict, one.what, one.estimate) == (Verdict.INVALID, "invalid: none of its rows counts", None)


def test_the_campaign_is_the_mean_over_subject_operators() -> None:
    ops = [noisy(f"op{k}", "x", effect) for k, effect in enumerate([0.02, 0.04])]
    found = infer([*ops, *controls()], SIX)
    whole = found.campaign
    assert whole.operators == 2
    assert whole.estimate == pytest.approx(sum(found.operators[f"op{k}"].estimate or 0 for k in range(2)) / 2)
    assert whole.low is not None
    assert whole.high is not None
    assert whole.low < 0.03 < whole.high


def test_the_error_of_the_bias_does_not_shrink_with_the_number_of_operators() -> None:
    """100 operators without noise to speak of, 4 controls: all that is left is the controls' spread, over 4 and 100."""
    means = [0.002, -0.002, 0.001, -0.001]
    equal = [Sample(key=(f"c{k}", "r"), pairs=pairs([d] * 6), control=True) for k, d in enumerate(means)]
    whole = infer([*(Sample(key=(f"op{k}", "x"), pairs=pairs([0.01] * 6)) for k in range(100)), *equal], SIX).campaign
    assert whole.low is not None
    assert whole.high is not None
    error = float(stats.tstd(means)) * math.sqrt(1 / 100 + 1 / 4)
    assert (whole.high - whole.low) / 2 == pytest.approx(float(stats.t.ppf(0.975, 3)) * error, rel=1e-3)


def test_no_row_gets_more_degrees_of_freedom_than_all_rows_have() -> None:
    """Rows almost equally noisy: the prior would be worth more than everything that was measured."""
    prior = Prior(df=500.0, variance=1.0)
    assert moderate(3.0, 5.0, prior, most_df=100.0) == pytest.approx(((500 + 15) / 505, 100.0))
    assert moderate(3.0, 5.0, prior, most_df=1000.0)[1] == 505.0
    assert moderate(3.0, 5.0, Prior(df=math.inf, variance=1.0), most_df=100.0) == (1.0, 100.0)


def test_one_step_of_a_timer_is_no_difference() -> None:
    """Both sides stay on their steps in every round; what lies between them may be next to nothing."""
    apart = {step: only(infer([Sample(key=("mm", "x"), pairs=pairs([step] * 6), resolution=0.01)], SIX))
             for step in (0.0, 0.01, 0.03)}  # fmt: skip
    assert all("quantised" in row.flags and row.sd == 0 for row in apart.values())
    assert apart[0.01].moderated == pytest.approx(math.sqrt(2 * 0.01**2 / 12))
    assert apart[0.01].verdict is not Verdict.SLOWER
    assert apart[0.03].verdict is Verdict.SLOWER
    for truth, row in ((0.001, apart[0.0]), (0.004, apart[0.01]), (0.026, apart[0.03])):
        assert row.low is not None
        assert row.high is not None
        assert row.low < truth < row.high
    assert only(infer([Sample(key=("mm", "x"), pairs=pairs([0.01] * 6))], SIX)).verdict is Verdict.SLOWER


def test_mean_and_median_apart_is_said() -> None:
    row = only(infer([Sample(key=("mm", "x"), pairs=pairs([0.0, 0.001, 0.0, 0.001, 0.0, 0.001, 0.0005, 0.1]))], SIX))
    assert row.sd is not None
    apart = "mean≠median" in row.flags
    assert apart == (abs((row.estimate or 0) - (row.median or 0)) > row.sd / math.sqrt(8))
    assert (
        "mean≠median" in only(infer([Sample(key=("o", "x"), pairs=pairs([0, 0, 0, 0, 0, 0, 0, 5, 5, 5.0]))], SIX)).flags
    )


def test_signs_are_counted_after_the_bias() -> None:
    row = only(infer([Sample(key=("mm", "x"), pairs=pairs([0.01, 0.02, -0.001, 0.01, 0.0, 0.02]))], SIX))
    assert (row.same_sign, row.smallest, row.largest) == (4, -0.001, 0.02)


# --- what may never matter -----------------------------------------------------------------------------------------

steps = st.integers(-60_000, 60_000).map(lambda value: value * UNIT)


@st.composite
def samples(draw: Any, *, least: int = 0) -> list[Sample]:
    """Campaigns small and odd: rows without pairs, equal values, one order only, controls or none."""
    found = []
    for number in range(draw(st.integers(least, 6))):
        n = draw(st.integers(0, 9))
        rounds = sorted(draw(st.sets(st.integers(1, 16), min_size=n, max_size=n)))
        scale = draw(st.sampled_from([0, 0.01, 1, 1]))
        made = tuple(
            Pair(
                round=k, log_a=round(scale * draw(steps) / UNIT) * UNIT, log_b=draw(steps),
                a_first=draw(st.booleans()) if number == 0 else k % 2 == 1,
            )
            for k in rounds
        )  # fmt: skip
        found.append(
            Sample(
                key=(f"op{draw(st.integers(0, 2))}", f"row{number}"), pairs=made,
                resolution=draw(st.sampled_from([0.0, 1e-3])), counted=draw(st.sampled_from([True, True, False])),
                why=draw(st.sampled_from([None, None, None, *Why])),
            )
        )  # fmt: skip
    for number in range(draw(st.sampled_from([0, 3, 5]))):
        values = [draw(steps) / 16 for _ in range(5)]
        found.append(Sample(key=(f"control{number}", "row"), pairs=pairs(values), control=True))
    return found


schedules = st.sampled_from([SIX, LOOKS, Settings(looks=()), Settings(looks=((4, 1.0),), delta=0.001, q=0.2)])
quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def swapped(sample: Sample) -> Sample:
    return dataclasses.replace(
        sample,
        pairs=tuple(
            Pair(round=pair.round, log_a=pair.log_b, log_b=pair.log_a, a_first=not pair.a_first)
            for pair in sample.pairs
        ),
    )


MIRRORED = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}


def negative(value: float | None) -> float | None:
    return None if value is None else -value


def mirrored(result: RowResult) -> RowResult:
    verdict = MIRRORED.get(result.verdict, result.verdict)
    return dataclasses.replace(
        result, verdict=verdict, what=result.what if verdict is result.verdict else verdict.value,
        estimate=negative(result.estimate), median=negative(result.median), smallest=negative(result.largest),
        largest=negative(result.smallest), low=negative(result.high), high=negative(result.low),
        noise_a=result.noise_b, noise_b=result.noise_a,
    )  # fmt: skip


@quick
@given(samples(), schedules)
def test_swapping_the_sides_mirrors_every_verdict(some: list[Sample], asked: Settings) -> None:
    one, other = infer(some, asked), infer([swapped(sample) for sample in some], asked)
    assert {key: mirrored(row) for key, row in one.rows.items()} == other.rows
    for op, result in one.operators.items():
        assert MIRRORED.get(result.verdict, result.verdict) is other.operators[op].verdict
        assert other.operators[op].estimate == negative(result.estimate)
    assert other.campaign.low == negative(one.campaign.high)
    assert other.calibration.bias == -one.calibration.bias


@quick
@given(samples(), schedules, st.integers(-(2**20), 2**20))
def test_a_constant_on_both_sides_changes_nothing(some: list[Sample], asked: Settings, units: int) -> None:
    """Another unit of time, say."""
    moved = [
        dataclasses.replace(
            sample,
            pairs=tuple(
                dataclasses.replace(pair, log_a=pair.log_a + units * UNIT, log_b=pair.log_b + units * UNIT)
                for pair in sample.pairs
            ),
        )
        for sample in some
    ]
    one, other = infer(some, asked), infer(moved, asked)
    assert [described(row) for row in one.rows.values()] == [described(row) for row in other.rows.values()]
    assert [result.verdict for result in one.operators.values()] == [r.verdict for r in other.operators.values()]


def described(row: RowResult) -> RowResult:
    """All but what rounding may touch: the noise of one side."""
    return dataclasses.replace(row, noise_a=None, noise_b=None)


@quick
@given(samples(), schedules, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(some: list[Sample], asked: Settings, chance: random.Random) -> None:
    other = list(some)
    chance.shuffle(other)
    assert infer(some, asked) == infer(other, asked)


@quick
@given(samples(least=1), st.floats(0.0005, 0.5), st.floats(0.0005, 0.5))
def test_less_error_is_a_wider_interval(some: list[Sample], one: float, two: float) -> None:
    small, large = sorted((one, two))
    wide = infer(some, dataclasses.replace(SIX, alpha=small))
    narrow = infer(some, dataclasses.replace(SIX, alpha=large))
    for key, row in narrow.rows.items():
        if row.low is not None and row.high is not None:
            low, high = wide.rows[key].low, wide.rows[key].high
            assert low is not None
            assert high is not None
            assert low <= row.low <= row.high <= high


odd = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.floats(-0.01, 0.01),
    st.sampled_from([0.0, -745.0, 709.0, 1e308, 5e-324]),
)  # fmt: skip


@quick
@given(
    st.lists(st.lists(st.tuples(odd, odd, st.booleans()), max_size=8), max_size=25),
    st.sampled_from([0.0, 1e-9, 0.5, 1e200, math.nan, math.inf]), st.sampled_from([0, 4]), schedules,
)  # fmt: skip
def test_no_nan_and_no_infinity_ever_comes_out(
    rows: list[list[tuple[float, float, bool]]], resolution: float, equal: int, asked: Settings
) -> None:
    some = [
        Sample(
            key=(f"op{number % 3}", str(number)), resolution=resolution,
            pairs=tuple(Pair(round=k, log_a=a, log_b=b, a_first=first) for k, (a, b, first) in enumerate(row, 1)),
        )
        for number, row in enumerate(rows)
    ]  # fmt: skip
    found = infer([*some, *controls(equal)], asked)
    for number in numbers(found):
        assert math.isfinite(number)
    assert all(row.why is not None for row in found.rows.values() if row.verdict is Verdict.INVALID)


def numbers(value: Any) -> Iterable[float]:
    """Every number in a result; the prior's degrees of freedom alone may be infinite."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from numbers(one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, (type, Enum)):
        for one in dataclasses.fields(value):
            if (type(value).__name__, one.name) != ("Prior", "df"):
                yield from numbers(getattr(value, one.name))


def test_nothing_in_is_nothing_out() -> None:
    found = infer([], SIX)
    assert (found.rows, found.operators, found.campaign.operators, found.prior) == ({}, {}, 0, None)


def test_an_operator_result_says_why_it_has_none() -> None:
    found = infer([noisy("mm", "x", rounds=2), noisy("topk", "y", 0.02)], SIX)
    assert isinstance(found.operators["mm"], OpResult)
    assert found.operators["mm"].what == "invalid: FEW_PAIRS (fewer than 4 valid pairs)"
    assert found.operators["topk"].verdict is Verdict.SLOWER
