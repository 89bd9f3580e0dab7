"""Rows of two runs: matched by name, left out one by one with a reason, and never more said than one pair can carry."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.run_dirs import direct, failed, not_measured, row, write_run
from hypothesis import given
from hypothesis import strategies as st

from zlbench.cells import CellOutcome, CellState
from zlbench.compare import Comparison, Exclusion, compare, latency
from zlbench.errors import ExitCode
from zlbench.run_rows import RunRows


def side(
    *rows: dict[str, Any], missing: tuple[dict[str, Any], ...] = (), state: CellState = CellState.OK,
    markers: tuple[str, ...] = (), timer: str = "cuda_graph",
) -> RunRows:  # fmt: skip
    outcome = CellOutcome(state=state, returncode=0, markers=markers)
    return RunRows(rows=rows, missing=missing, outcome=outcome, timer=timer, l2="warm")


def one(left: dict[str, Any], right: dict[str, Any]) -> Comparison:
    return compare(side(left), side(right), op="toy")


R1 = row("r1", 0.010)


@pytest.mark.parametrize(
    ("left", "right", "reason", "note"),
    [
        (R1, direct("r1", 0.020), Exclusion.TIMER_MISMATCH, "cuda_graph on A, direct on B"),
        (R1, row("r1", 0.010, l2="flushed"), Exclusion.L2_MISMATCH, "warm on A, flushed on B"),
        (row("r1", 0.01, config="ab"), row("r1", 0.01, config="cd"), Exclusion.CONFIG_MISMATCH, "ab on A, cd on B"),
        (row("r1", 0.01, config="ab"), R1, Exclusion.CONFIG_MISMATCH, "ab on A, unknown on B"),
        (R1, row("r1", 0.01, config="ab"), Exclusion.CONFIG_MISMATCH, "unknown on A, ab on B"),
        (R1, row("r1", 0.01, replay_fallback="key_missing"), Exclusion.REPLAY_FALLBACK, "key_missing on B"),
        (row("r1", 0.0), R1, Exclusion.INVALID_LATENCY, "latency 0.0 ms on A"),
        (R1, row("r1", None), Exclusion.INVALID_LATENCY, "no latency on B"),
        (R1, row("r1", math.nan), Exclusion.INVALID_LATENCY, "latency nan ms on B"),
        # What cannot be timed is said before what it was timed with.
        (direct("r1", -1.0), R1, Exclusion.INVALID_LATENCY, "latency -1.0 ms on A"),
    ],
)
def test_reasons_to_leave_a_row_out(left: dict, right: dict, reason: Exclusion, note: str) -> None:
    found = one(left, right)
    assert [(item.reason, item.row.name) for item in found.excluded] == [(reason, "r1")]
    assert note in found.excluded[0].note
    assert (found.rows, found.change, found.matched, found.expected) == ((), None, 1, 1)
    assert found.marker == reason.value


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (row("r1", 0.01, config="ab"), row("r1", 0.01, config="ab")),
        ({key: value for key, value in R1.items() if key != "l2"}, R1),
        (R1, row("r1", 0.01, replay_fallback=None)),
    ],
)
def test_what_does_not_leave_a_row_out(left: dict, right: dict) -> None:
    found = one(left, right)
    assert len(found.rows) == 1
    assert (found.change, found.code) == (pytest.approx(0.0), ExitCode.OK)


def test_a_row_that_is_there_twice_is_not_guessed_at() -> None:
    found = compare(side(R1, row("r1", 0.02)), side(R1), op="toy")
    assert [(item.reason, item.note) for item in found.excluded] == [
        (Exclusion.DUPLICATE_ROW, "2 times on A, 1 times on B")
    ]


def test_a_row_that_failed_before_it_succeeded_is_measured() -> None:
    found = compare(side(failed("r1", "ERROR"), R1), side(R1), op="toy")
    assert (len(found.rows), found.lost) == (1, ())


@pytest.mark.parametrize(
    ("value", "known"),
    [(0.01, True), (1, True), (0, False), (-1.0, False), (math.nan, False), (math.inf, False), (-math.inf, False),
     (None, False), ("0.01", False), (True, False), ([], False), (5e-324, False), (1e300, False)],
)  # fmt: skip
def test_what_can_be_a_latency(value: object, *, known: bool) -> None:
    assert (latency(value) is not None) is known


def test_direct_on_both_sides_is_compared_and_does_not_count() -> None:
    found = compare(side(R1, direct("r2", 0.10)), side(row("r1", 0.0102), direct("r2", 0.13)), op="toy")
    assert [(pair.row.name, pair.counted, pair.markers) for pair in found.rows] == [
        ("r1", True, ()), ("r2", False, ("direct",)),
    ]  # fmt: skip
    assert found.change == pytest.approx(0.02)


def test_where_direct_is_the_timer_direct_rows_count() -> None:
    sides = [side(direct("r1", time), timer="direct") for time in (0.010, 0.011)]
    found = compare(*sides, op="toy")
    assert found.rows[0].markers == ()
    assert found.change == pytest.approx(0.1)


def test_the_geometric_mean_is_that_of_the_ratios() -> None:
    found = compare(side(R1, row("r2", 1.0)), side(row("r1", 0.020), row("r2", 0.5)), op="toy")
    assert found.change == pytest.approx(0.0)
    assert found.largest_change == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("a", "b", "code", "marker"),
    [
        (side(), side(), ExitCode.NOTHING_MEASURED, "NOTHING_MEASURED"),
        (side(R1), side(failed("r1", "OOM")), ExitCode.NOTHING_MEASURED, "NOTHING_MEASURED"),
        (side(R1), side(row("r9", 0.01)), ExitCode.NOT_COMPARABLE, "ZERO_MATCHED"),
        (side(R1), side(direct("r1", 0.1)), ExitCode.NOT_COMPARABLE, "TIMER_MISMATCH"),
        (side(R1), side(row("r1", 0.0)), ExitCode.NOTHING_MEASURED, "INVALID_LATENCY"),
        (side(R1, row("r2", 0.0)), side(R1, row("r2", 0.1)), ExitCode.PARTIAL, ""),
        (side(R1, row("r2", 0.1)), side(R1, failed("r2", "OOM")), ExitCode.PARTIAL, ""),
        (side(R1, row("r2", 0.1)), side(R1, direct("r2", 0.1)), ExitCode.OK, ""),
    ],
)
def test_how_an_operator_ends(a: RunRows, b: RunRows, code: ExitCode, marker: str) -> None:
    found = compare(a, b, op="toy")
    assert (found.code, found.marker) == (code, marker)


# Rows without a result.


def lost(a: RunRows, b: RunRows) -> list[tuple[str, str, str, str]]:
    return [(item.row.label, item.sides, item.before, item.after) for item in compare(a, b, op="toy").lost]


def test_a_failed_row_is_found_by_its_name_else_by_its_place_in_the_plan() -> None:
    nameless = {key: value for key, value in failed("r2", "OOM").items() if key not in ("row", "label")}
    full = side(R1, row("r2", 0.1), row("r3", 0.1))
    assert lost(full, side(R1, failed("r3", "COMPILE_ERROR", shape_index=-1), nameless)) == [
        ("2x64", "B", "", "OOM"), ("3x64", "B", "", "COMPILE_ERROR"),
    ]  # fmt: skip


def test_several_inputs_of_one_shape_share_its_reason() -> None:
    rows = [row(name, 0.1, shape_index=0, label=label) for name, label in (("r1", "1x64 0"), ("r1#2", "1x64 1"))]
    gone = not_measured("r1")
    assert lost(side(*rows), side(missing=(gone,), state=CellState.CRASH)) == [
        ("1x64 0", "B", "", "NOT_MEASURED"), ("1x64 1", "B", "", "NOT_MEASURED"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "reason"),
    [(CellState.CRASH, "CRASH"), (CellState.TIMEOUT, "CELL_TIMEOUT"), (CellState.OP_FAILED, "UNEQUAL_ROWS")],
)
def test_a_row_that_no_plan_knew_takes_the_end_of_its_side(state: CellState, reason: str) -> None:
    hard_coded = row("r2", 0.1, shape_index=-1)
    assert lost(side(R1, hard_coded), side(R1, state=state)) == [("2x64", "B", "", reason)]


def test_a_row_that_neither_side_has_is_lost_once() -> None:
    a = side(R1, failed("r2", "OOM"))
    b = side(R1, missing=(not_measured("r2", "CRASH"),), state=CellState.CRASH)
    assert lost(a, b) == [("2x64", "A,B", "OOM", "CRASH")]
    assert lost(b, a) == [("[2, 64]", "A,B", "CRASH", "OOM")]


def test_a_row_that_only_one_side_knew_of_and_failed() -> None:
    a = side(R1, failed("r2", "OOM"))
    assert lost(a, side(R1)) == [("2x64", "A,B", "OOM", "UNEQUAL_ROWS")]


# The baseline as a canary.


def with_baseline(name: str, value: float | None, **more: Any) -> dict[str, Any]:
    return row(name, 0.01, baseline_ms=value, baseline_timer="cuda_graph", **more)


def test_the_drift_of_the_baseline() -> None:
    a = side(with_baseline("r1", 0.100), with_baseline("r2", 0.200), R1 | {"row": "r3"})
    b = side(with_baseline("r1", 0.101), with_baseline("r2", 0.202), R1 | {"row": "r3"})
    canary = compare(a, b, op="toy").canary
    assert canary is not None
    assert (canary.rows, canary.drift, canary.beyond) == (2, pytest.approx(0.01), False)
    again = compare(b, a, op="toy").canary
    assert again is not None
    assert again.log_ratio == -canary.log_ratio


@pytest.mark.parametrize(("factor", "beyond"), [(1.015, False), (1.03, True), (0.97, True)])
def test_a_drift_beyond_the_bound(factor: float, beyond: bool) -> None:
    canary = one(with_baseline("r1", 0.1), with_baseline("r1", 0.1 * factor)).canary
    assert canary is not None
    assert canary.beyond is beyond


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (with_baseline("r1", 0.1), with_baseline("r1", None)),
        (with_baseline("r1", 0.1), with_baseline("r1", math.nan)),
        (with_baseline("r1", 0.1), with_baseline("r1", 0.1) | {"baseline_timer": "direct"}),
        (with_baseline("r1", 0.1), with_baseline("r1", 0.1, baseline_independent=False)),
        (with_baseline("r1", 0.1), with_baseline("r9", 0.1)),
    ],
)
def test_what_is_no_canary(left: dict, right: dict) -> None:
    assert one(left, right).canary is None


def test_an_operator_whose_baseline_is_itself_has_no_canary() -> None:
    a, b = side(with_baseline("r1", 0.1), markers=("BASELINE_NOT_INDEPENDENT mm",)), side(with_baseline("r1", 0.2))
    for found in (compare(a, b, op="toy"), compare(b, a, op="toy")):
        assert (found.canary, found.baseline_independent) == (None, False)
    assert compare(b, b, op="toy").baseline_independent


# Whatever the rows are.

NAMES = [f"r{number}" for number in range(1, 7)]
TIMES = st.one_of(st.floats(1e-6, 1e6), st.sampled_from([0.0, -1.0, math.nan, math.inf, None]))
RECORDS = st.builds(
    lambda name, time, how, config, baseline: (
        failed(name, how) if how in ("OOM", "ERROR") else (direct if how == "direct" else row)(
            name, time, config=config, baseline_ms=baseline)
    ),
    st.sampled_from(NAMES), TIMES, st.sampled_from(["graph", "graph", "direct", "OOM", "ERROR"]),
    st.sampled_from([None, "ab", "cd"]), TIMES,
)  # fmt: skip


@st.composite
def sides(draw: st.DrawFn) -> RunRows:
    rows = draw(st.lists(RECORDS, max_size=8))
    absent = [name for name in NAMES if all(item["row"] != name for item in rows)]
    missing = draw(st.lists(st.sampled_from(absent), unique=True)) if absent else []
    state = draw(st.sampled_from([CellState.OK, CellState.OP_FAILED, CellState.CRASH, CellState.TIMEOUT]))
    return side(*rows, missing=tuple(not_measured(name) for name in missing), state=state)


def facts(found: Comparison) -> Any:
    """What must not depend on which side is A, or on the order of rows."""
    return (
        sorted(pair.row.name for pair in found.rows),
        sorted((item.row.name, item.reason.value) for item in found.excluded),
        len(found.lost), found.matched, found.expected, found.complete, found.code, found.marker,
        found.canary.rows if found.canary else 0,
    )  # fmt: skip


@given(sides(), sides())
def test_the_comparison_is_symmetric(a: RunRows, b: RunRows) -> None:
    there, back = compare(a, b, op="toy"), compare(b, a, op="toy")
    assert facts(there) == facts(back)
    assert {pair.row.name: pair.log_ratio for pair in there.rows} == {
        pair.row.name: -pair.log_ratio for pair in back.rows
    }
    if there.change is not None and back.change is not None:
        assert math.log1p(there.change) == pytest.approx(-math.log1p(back.change), abs=1e-9)
    assert (there.change is None) == (back.change is None)


@given(sides(), sides(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(a: RunRows, b: RunRows, rng: random.Random) -> None:
    def shuffled(given_side: RunRows) -> RunRows:
        # Rows of one name stay in their order: which of them came first is a fact.
        names = list(dict.fromkeys(item["row"] for item in given_side.rows))
        rng.shuffle(names)
        rows = [item for name in names for item in given_side.rows if item["row"] == name]
        return replace(given_side, rows=rows, missing=rng.sample(given_side.missing, len(given_side.missing)))

    there, other = compare(a, b, op="toy"), compare(shuffled(a), shuffled(b), op="toy")
    assert facts(there) == facts(other)
    assert there.change == other.change


@given(sides(), sides())
def test_every_row_is_in_one_place_and_every_number_is_finite(a: RunRows, b: RunRows) -> None:
    found = compare(a, b, op="toy")
    places = [item.row.name for group in (found.rows, found.excluded) for item in group]
    assert len(places) == len(set(places))
    numbers = [pair.change for pair in found.rows] + [
        value
        for value in (found.change, found.largest_change, found.canary and found.canary.drift)
        if value is not None
    ]
    assert all(math.isfinite(value) for value in numbers)
    assert found.expected == len(found.rows) + len(found.excluded) + len(found.lost)
    assert found.expected >= len({item["row"] for item in (*a.measured, *b.measured)})


@given(sides(), sides())
def test_what_is_excluded_never_counts(a: RunRows, b: RunRows) -> None:
    """The aggregate stays the same when excluded rows are measured as anything else."""
    found = compare(a, b, op="toy")
    out = {item.row.name for item in found.excluded if item.reason is Exclusion.TIMER_MISMATCH}

    def moved(given_side: RunRows) -> RunRows:
        rows = [item | {"latency_ms": 123.0} if item["row"] in out else item for item in given_side.rows]
        return replace(given_side, rows=rows)

    again = compare(moved(a), moved(b), op="toy")
    assert again.change == found.change
    assert [pair.row.name for pair in again.rows] == [pair.row.name for pair in found.rows]


@given(sides(), sides())
def test_an_incomplete_operator_has_no_headline(a: RunRows, b: RunRows) -> None:
    found = compare(a, b, op="toy")
    if found.lost:
        assert found.change is None
        assert found.code is not ExitCode.OK


# From the disk.


def test_a_run_directory_is_read(tmp_path: Path) -> None:
    rows = [R1, failed("r2", "OOM")]
    folder = write_run(tmp_path / "a", rows, missing=[not_measured("r3")], state=CellState.CRASH, timer="direct")
    found = RunRows.read(folder)
    assert [item["row"] for item in found.rows] == ["r1", "r2"]
    assert (len(found.measured), len(found.missing), found.timer, found.l2) == (1, 1, "direct", "warm")
    assert found.outcome is not None
    assert found.outcome.state is CellState.CRASH


def test_a_run_that_was_killed_with_its_driver_is_read_as_far_as_it_came(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(R1) + "\n" + json.dumps(R1)[:20])
    found = RunRows.read(tmp_path)
    assert ([item["row"] for item in found.rows], found.timer, found.outcome) == (["r1"], "", None)
    # Without an identity the timer is that of the rows.
    assert compare(found, found, op="toy").change == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("rows", "timer", "expected"),
    [
        ([row("r1", None, timer="compile")], "compile", True),
        ([], "compile", True),
        ([R1], "cuda_graph", False),
        ([], "cuda_graph", False),
    ],
)
def test_what_only_compiled(rows: list[dict], timer: str, *, expected: bool) -> None:
    assert side(*rows, timer=timer).compile_only is expected


def test_rows_of_a_cell_beside_which_somebody_used_the_card_are_marked(tmp_path: Path) -> None:
    quiet = RunRows.read(write_run(tmp_path / "a", [row("r1", 1.0)]))
    busy = RunRows.read(write_run(tmp_path / "b", [row("r1", 1.0)], side="B", markers=["CARD_BUSY pid=7 python"]))
    assert [pair.markers for pair in compare(quiet, busy, op="toy").rows] == [("CARD_BUSY",)]
    assert [pair.markers for pair in compare(quiet, quiet, op="toy").rows] == [()]
