"""The proof in short: campaigns whose truth is known. `benchmarks/inference_simulation.py` is the long form.

Seeds are fixed, so these counts are too; bounds are those that are claimed, not those of this draw.
"""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks.inference_simulation import ALONE, LOOKS, SIX, Scores, World, alone, run

BIASED = World(bias=0.003, bias_sd=0.001)
"""B is 0.3 ± 0.1 % slower for no reason of the change: 16 operators of 25 rows, 4 controls."""


@pytest.fixture(scope="module")
def biased() -> Scores:
    return run(BIASED, SIX, 10, 1)


def test_a_bias_of_the_build_is_no_discovery(biased: Scores) -> None:
    assert biased.rows.flagged > 500
    assert biased.rows.fdr <= 3
    assert biased.operators.fdr <= 3


def test_intervals_hold_the_truth_behind_the_bias(biased: Scores) -> None:
    assert biased.rows.coverage >= 94
    assert biased.operators.coverage >= 94


def test_effects_are_found_behind_the_bias(biased: Scores) -> None:
    assert biased.rows.power(0.05) >= 99
    assert biased.rows.power(0.02) >= 95
    assert biased.rows.wrong_sign == 0


def test_without_controls_the_harness_sees_what_goes_wrong() -> None:
    bare = run(dataclasses.replace(BIASED, controls=0), SIX, 2, 1)
    assert bare.rows.fdr > 30
    assert bare.rows.coverage < 60


def test_looks_with_settled_rows_dropped_keep_what_is_claimed() -> None:
    found = run(BIASED, LOOKS, 6, 1, dropping=True)
    assert found.rows.fdr <= 3
    assert found.rows.coverage >= 94
    assert found.rows.rounds / found.rows.campaigns < 12
    assert sum(found.settled.values()) > 1000


def test_the_report_stands_by_what_settled_a_row() -> None:
    """Controls and the other rows' variances are known to the report alone, so a few are judged with less certainty."""
    found = run(World(), LOOKS, 3, 1, dropping=True).settled
    effects = {name: count for name, count in found.items() if name.startswith("effect")}
    assert effects["effect → faster or slower"] >= 0.97 * sum(effects.values()) > 200
    quiet = {name: count for name, count in found.items() if name.startswith("no effect")}
    assert quiet["no effect → no difference"] >= 0.9 * sum(quiet.values()) > 500
    assert "no effect → inconclusive" not in quiet


def test_drift_trend_and_a_slow_second_cell_are_no_effect() -> None:
    bad = World(trend=0.01, second=0.003, luck=0.003, changing=0)
    found = run(bad, SIX, 4, 1)
    assert found.rows.false <= 4
    assert found.rows.coverage >= 94


def test_the_power_of_a_row_alone_is_that_of_the_paired_t_test() -> None:
    """1 % at 0.5 % noise and 6 rounds: 79 % in the reference; within 5 points."""
    white = dataclasses.replace(ALONE, drifting=0.0)
    flagged, significant, covered = alone(white, SIX, 500, 1, effect=0.01)
    assert flagged == pytest.approx(79, abs=5)
    assert significant == pytest.approx(79, abs=5)
    assert covered >= 94
    flagged, _, covered = alone(white, LOOKS, 250, 1, effect=0.01)
    assert flagged >= 98  # 99.9 % in the reference
    assert covered >= 94


def test_a_row_alone_is_falsely_called_different_in_five_percent() -> None:
    flagged, significant, covered = alone(dataclasses.replace(ALONE, drifting=0.0), SIX, 500, 1)
    assert flagged <= significant <= 5 + 3
    assert covered >= 94 - 2
