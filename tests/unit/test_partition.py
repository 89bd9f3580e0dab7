"""Partition: everything once, the bounds of list scheduling, shards that keep every row and that never cost time."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence

import pytest
from fakes.planning import CARDS, ROUNDS, example
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import UsageError
from zlbench.partition import hash_plan, make_plan
from zlbench.partition_plan import BoundBy, Kind, Plan, RowCost, Work, lanes_of
from zlbench.partition_table import to_text, to_tsv

NEAR = 1 + 1e-9

times = st.one_of(st.integers(1, 1000).map(float), st.floats(0.001, 1e5))


@st.composite
def works(draw: st.DrawFn, *, most: int = 12, untimed: bool = False, extras: bool = False) -> list[Work]:
    """Operators, most with rows whose times leave a start-up, some without rows."""
    found = []
    for number in range(draw(st.integers(1, most))):
        rows = draw(st.lists(times, max_size=7))
        start_up = draw(st.one_of(st.just(0.0), times))
        seconds = math.fsum(rows) + start_up or 1.0
        found.append(
            Work(
                op=f"op{number}", directory=f"op{number}", pair_s=None if untimed and draw(st.booleans()) else seconds,
                rows=tuple(RowCost(name=f"r{place}", seconds=took) for place, took in enumerate(rows)),
                extra=extras and draw(st.booleans()), kind=draw(st.sampled_from(Kind)),
            )
        )  # fmt: skip
    return found


cards = st.integers(1, 9).map(lambda count: [str(number) for number in range(count)])
rounds = st.integers(1, 16)


def whole(work: Sequence[Work], cards: Sequence[str], rounds: int = 1) -> Plan:
    return make_plan(work, cards=cards, rounds=rounds, split=False)


def optimum(seconds: Sequence[float], cards: int) -> float:
    """The shortest critical path there is, by trying all."""
    spreads = itertools.product(range(cards), repeat=len(seconds))
    return min(max(sum(s for s, at in zip(seconds, spread, strict=True) if at == card) for card in range(cards))
               for spread in spreads)  # fmt: skip


# Everything once, and the same again.


@given(works(untimed=True, extras=True), cards, rounds, st.booleans())
def test_a_plan_follows_from_its_values_in_any_order(
    work: list[Work], cards: list[str], rounds: int, split: bool
) -> None:
    plan = make_plan(work, cards=cards, rounds=rounds, split=split)
    assert plan == make_plan(reversed(work), cards=cards, rounds=rounds, split=split)
    assert [lane.card for lane in plan.lanes] == cards


@given(works(untimed=True, extras=True), cards)
def test_every_operator_once(work: list[Work], cards: list[str]) -> None:
    for plan in (whole(work, cards), hash_plan(work, cards=cards, rounds=1)):
        assert Counter(piece.directory for piece in plan.pieces) == Counter(item.directory for item in work)
        assert {piece.directory: piece.kind for piece in plan.pieces} == {item.directory: item.kind for item in work}
        assert all(piece.rows is None for piece in plan.pieces)


@given(works(), cards, rounds)
def test_every_row_of_a_cut_operator_once_and_in_its_order(work: list[Work], cards: list[str], rounds: int) -> None:
    plan = make_plan(work, cards=cards, rounds=rounds)
    for item in work:
        pieces = [piece for piece in plan.pieces if piece.directory == item.directory]
        names = [row.name for row in item.rows]
        if len(pieces) == 1:
            assert pieces[0].rows is None
            continue
        assert [(piece.shard, piece.shards) for piece in pieces] == [
            (number, len(pieces)) for number in range(1, len(pieces) + 1)
        ]
        shards = [list(piece.rows or ()) for piece in pieces]
        assert sorted(itertools.chain(*shards)) == sorted(names)
        assert all(shard == sorted(shard, key=names.index) and shard for shard in shards)
    for lane in plan.lanes:
        assert max(Counter(piece.directory for piece in lane.pieces).values(), default=1) == 1


@given(works(), cards, rounds)
def test_each_shard_pays_the_start_up(work: list[Work], cards: list[str], rounds: int) -> None:
    plan = make_plan(work, cards=cards, rounds=rounds)
    for item in work:
        costs = {row.name: row.seconds for row in item.rows}
        start_up = (item.pair_s or 0.0) - math.fsum(costs.values())
        for piece in plan.pieces:
            if piece.directory == item.directory:
                of_rows = costs if piece.rows is None else [name for name in costs if name in piece.rows]
                expected = rounds * (start_up + math.fsum(costs[name] for name in of_rows))
                assert piece.seconds == pytest.approx(expected, rel=1e-6, abs=1e-9)


# Bounds.


@given(works(extras=True), cards, rounds)
def test_never_above_the_bound_of_list_scheduling(work: list[Work], cards: list[str], rounds: int) -> None:
    plan = whole(work, cards, rounds)
    seconds = [(item.pair_s or 0.0) * rounds for item in work]
    longest = max(seconds)
    assert plan.serial_s == pytest.approx(math.fsum(seconds))
    assert plan.critical_path_s <= ((math.fsum(seconds) - longest) / len(cards) + longest) * NEAR
    assert plan.critical_path_s >= plan.bound.seconds / NEAR
    assert plan.bound.seconds == pytest.approx(max(longest, plan.average_s))


@given(works(most=5), st.integers(1, 3))
def test_near_the_optimum(work: list[Work], count: int) -> None:
    plan = whole(work, [str(number) for number in range(count)])
    best = optimum([item.pair_s or 0.0 for item in work], count)
    assert plan.critical_path_s <= (4 / 3 - 1 / (3 * count)) * best * NEAR
    assert plan.bound.seconds <= best * NEAR


@given(works(extras=True), cards, rounds)
def test_cutting_never_costs_time(work: list[Work], cards: list[str], rounds: int) -> None:
    cut, uncut = make_plan(work, cards=cards, rounds=rounds), whole(work, cards, rounds)
    assert cut.critical_path_s <= uncut.critical_path_s * NEAR
    assert uncut.bound.seconds >= cut.bound.seconds / NEAR
    assert cut.critical_path_s >= cut.bound.seconds / NEAR
    assert cut.serial_s == uncut.serial_s
    if any(piece.rows for piece in cut.pieces):
        assert cut.critical_path_s <= 0.991 * uncut.critical_path_s


@given(works(extras=False), cards)
def test_one_card_more_never_costs_time(work: list[Work], cards: list[str]) -> None:
    more = [*cards, "one more"]
    assert whole(work, more).critical_path_s <= whole(work, cards).critical_path_s * NEAR
    assert make_plan(work, cards=more, rounds=1).critical_path_s <= whole(work, cards).critical_path_s * NEAR


@given(works(), cards, rounds)
def test_rounds_multiply(work: list[Work], cards: list[str], rounds: int) -> None:
    one, many = whole(work, cards), whole(work, cards, rounds)
    assert many.critical_path_s == pytest.approx(rounds * one.critical_path_s)
    assert many.imbalance == pytest.approx(one.imbalance)


# Single cases.


def timed(name: str, seconds: float | None, *, rows: int = 0, start_up: float = 0.0, extra: bool = False) -> Work:
    each = ((seconds or 0.0) - start_up) / rows if rows else 0.0
    return Work(op=name, directory=name, pair_s=seconds, extra=extra,
                rows=tuple(RowCost(name=f"r{number}", seconds=each) for number in range(rows)))  # fmt: skip


def held(plan: Plan) -> list[list[str]]:
    return [[piece.label for piece in lane.pieces] for lane in plan.lanes]


def test_longest_first_and_ties_by_name() -> None:
    work = [timed("c", 2.0), timed("b", 3.0), timed("d", 2.0), timed("a", 3.0)]
    assert held(whole(work, "01")) == [["a", "c"], ["b", "d"]]


def test_more_cards_than_work() -> None:
    plan = make_plan([timed("a", 3.0)], cards="0123", rounds=6)
    assert held(plan) == [["a"], [], [], []]
    assert (plan.critical_path_s, plan.imbalance) == (18.0, 4.0)
    assert (plan.bound.by, plan.bound.directory) == (BoundBy.OPERATOR, "a")


def test_no_work_is_a_plan_too() -> None:
    plan = make_plan([], cards="01", rounds=6)
    assert (plan.critical_path_s, plan.serial_s, plan.imbalance, plan.timed) == (0.0, 0.0, 1.0, True)


@pytest.mark.parametrize(
    ("names", "cards", "rounds", "said"),
    [("a", "", 6, "no card"), ("a", "00", 6, "card 0 is named twice"), ("aa", "0", 6, "operator a is named twice"),
     ("a", "0", 0, "0 rounds")],
)  # fmt: skip
def test_what_cannot_be_planned(names: str, cards: str, rounds: int, said: str) -> None:
    for plan in (make_plan, hash_plan):
        with pytest.raises(UsageError, match=said):
            plan([timed(name, 1.0) for name in names], cards=cards, rounds=rounds)


def test_an_operator_beyond_its_share_is_cut() -> None:
    plan = make_plan([timed("a", 10.0, rows=9, start_up=1.0), timed("b", 1.0)], cards="012", rounds=2)
    assert held(plan) == [["a 1/3", "b"], ["a 2/3"], ["a 3/3"]]
    assert plan.lanes[1].seconds == pytest.approx(8.0)
    assert plan.bound.seconds == pytest.approx(8.0)


def test_a_start_up_that_eats_the_gain_keeps_it_whole() -> None:
    work = [timed("a", 10.0, rows=2, start_up=9.95), timed("b", 1.0)]
    assert held(make_plan(work, cards="01", rounds=6)) == [["a"], ["b"]]
    assert held(make_plan([timed("a", 10.0, rows=2, start_up=5.0), *work[1:]], cards="01", rounds=6)) == [
        ["a 1/2", "b"],
        ["a 2/2"],
    ]


def test_half_a_percent_is_not_worth_a_shard() -> None:
    assert held(make_plan([timed("a", 10.0, rows=2, start_up=9.9)], cards="01", rounds=6)) == [["a"], []]


def test_operators_within_their_share_are_left_whole() -> None:
    work = [timed(name, 5.0, rows=9) for name in "abc"]
    assert held(make_plan(work, cards="01", rounds=6)) == [["a", "c"], ["b"]]


def cut(name: str, start_up: float, *rows: float) -> Work:
    costs = tuple(RowCost(name=f"{name}{number}", seconds=row) for number, row in enumerate(rows))
    return Work(op=name, directory=name, pair_s=start_up + sum(rows), rows=costs)


@pytest.mark.parametrize(
    ("work", "critical"),
    [
        # Two shards of b meet on one card, which starts up once for them.
        pytest.param([cut("a", 1, 5, 9), cut("b", 2, 3, 5, 4)], 11.0, id="shards meet"),
        # One row of b is as long as two shards of it: only three are shorter.
        pytest.param([cut("a", 5, 5, 3, 2), cut("b", 0, 7, 3, 7)], 14.0, id="one shard more helps no one"),
    ],
)
def test_finer_shards_where_they_pay(work: list[Work], critical: float) -> None:
    plan = make_plan(work, cards="012", rounds=1)
    assert plan.critical_path_s == critical
    assert all(len({piece.directory for piece in lane.pieces}) == len(lane.pieces) for lane in plan.lanes)


def test_shards_that_all_meet_are_the_whole_operator() -> None:
    plan = make_plan([cut("a", 5), cut("b", 1, 3, 4, 3, 3), cut("c", 0, 1, 9)], cards="012", rounds=1)
    assert plan.critical_path_s == 10.0
    assert {piece.label for piece in plan.pieces} == {"a", "b 1/2", "b 2/2", "c"}


def test_rows_without_a_time_of_their_pair_cut_nothing() -> None:
    rows = tuple(RowCost(name=name, seconds=50.0) for name in "xyz")
    assert held(make_plan([Work(op="a", directory="a", rows=rows)], cards="012", rounds=1)) == [["a"], [], []]


def test_rows_that_claim_more_than_their_cells_took() -> None:
    work = Work(op="a", directory="a", pair_s=4.0, rows=tuple(RowCost(name=name, seconds=3.0) for name in "xy"))
    plan = make_plan([work], cards="01", rounds=1)
    assert [lane.seconds for lane in plan.lanes] == [2.0, 2.0]


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_rows_with_impossible_times_cut_nothing(bad: float) -> None:
    work = Work(op="a", directory="a", pair_s=4.0, rows=tuple(RowCost(name=str(s), seconds=s) for s in (3.0, bad)))
    assert held(make_plan([work], cards="01", rounds=1)) == [["a"], []]


def test_missing_times() -> None:
    plan = make_plan([timed("a", 4.0), timed("b", None), timed("c", 2.0), timed("d", math.nan)], cards="01", rounds=2)
    assert plan.guessed == ("b", "d")
    assert {piece.label: piece.seconds for piece in plan.pieces} == {"a": 8.0, "b": 6.0, "c": 4.0, "d": 6.0}
    assert "no time is known of b, d: counted as the mean of the others" in to_text(plan)
    unknown = make_plan([timed(name, None) for name in "abc"], cards="01", rounds=6)
    assert held(unknown) == [["a", "c"], ["b"]]
    assert not unknown.timed
    assert "all count alike" in "\n".join(to_text(unknown))
    assert " min" not in "\n".join(to_text(unknown)).replace("no minutes", "")
    assert {line.split("\t")[4] for line in to_tsv(unknown).splitlines()[1:]} == {""}
    assert unknown.to_data()["critical_path_s"] is None


def test_extras_come_last_to_the_card_with_the_least_load() -> None:
    work = [timed("a", 5.0), timed("b", 3.0), timed("big", 90.0, rows=9, extra=True), timed("new", None, extra=True)]
    plan = make_plan(work, cards="01", rounds=1)
    assert held(plan) == [["a", "new"], ["b", "big"]]
    assert plan.guessed == ("new",)


# What is written.


@given(works(untimed=True, extras=True), cards, rounds)
def test_lanes_survive_their_file(work: list[Work], cards: list[str], rounds: int) -> None:
    plan = make_plan(work, cards=cards, rounds=rounds)
    data = json.loads(json.dumps(plan.to_data()))
    again = lanes_of(data)
    assert [lane.card for lane in again] == cards
    assert [[(p.op, p.directory, p.kind, p.rows, p.label) for p in lane.pieces] for lane in again] == [
        [(p.op, p.directory, p.kind, p.rows, p.label) for p in lane.pieces] for lane in plan.lanes
    ]
    if plan.timed:
        assert [lane.seconds for lane in again] == pytest.approx([lane.seconds for lane in plan.lanes], abs=0.1)


def test_plan_tsv() -> None:
    plan = make_plan([timed("a", 10.0, rows=9, start_up=1.0), timed("b", 1.0)], cards=["GPU-1", "2"], rounds=6)
    assert [line.split("\t") for line in to_tsv(plan).splitlines()] == [
        ["card", "op", "shard", "rows", "seconds", "minutes", "kind", "directory"],
        ["GPU-1", "a", "1/2", "5", "36.0", "0.60", "subject", "a"],
        ["2", "a", "2/2", "4", "30.0", "0.50", "subject", "a"],
        ["2", "b", "", "", "6.0", "0.10", "subject", "b"],
    ]
    assert [lane["card"] for lane in plan.to_data(cards=False)["lanes"]] == [None, None]


def test_a_long_card_goes_over_several_lines() -> None:
    plan = make_plan([timed(f"operator_{number}", 60.0) for number in range(30)], cards=["GPU-1", "2"], rounds=1)
    lines = to_text(plan)
    assert max(map(len, lines)) <= 100
    assert lines[1].startswith("GPU-1")
    assert all(line.startswith(" " * 16) for line in lines[2:4])
    assert sum(line.count("operator_") for line in lines) == 30


def test_shards_and_controls_are_named_as_such() -> None:
    control = Work(op="c", directory="c", pair_s=1.0, kind=Kind.CONTROL)
    plan = make_plan([timed("a", 10.0, rows=9, start_up=1.0), control], cards="01", rounds=6)
    assert [line.split(maxsplit=2)[2] for line in to_text(plan)[1:3]] == [
        "a 1/2 (5 rows)",
        "a 2/2 (4 rows), c (control)",
    ]


# The seed's example.


def test_the_example_of_the_predecessor() -> None:
    minutes = {
        name: plan.critical_path_s / 60
        for name, plan in {
            "hash": hash_plan(example(), cards=CARDS, rounds=ROUNDS),
            "whole": make_plan(example(), cards=CARDS, rounds=ROUNDS, split=False),
            "cut": make_plan(example(), cards=CARDS, rounds=ROUNDS),
        }.items()
    }
    assert minutes["whole"] == pytest.approx(70.6, abs=1e-6)
    assert minutes["cut"] <= 52
    assert minutes["hash"] > minutes["whole"]


def test_the_example_says_who_sets_the_bound() -> None:
    plan = make_plan(example(), cards=CARDS, rounds=ROUNDS, split=False)
    assert (plan.bound.by, plan.bound.directory) == (BoundBy.OPERATOR, "topk")
    assert "the operator topk alone sets it; more cards do not help" in to_text(plan)[-1]
