"""What lies on the disk of rounds, as a report takes it in: order, timers, markers, looks, and what each row lacks."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from fakes.report_roots import write_pair, write_plan
from fakes.run_dirs import direct, row, write_run
from hypothesis import given
from hypothesis import strategies as st

from zlbench import store
from zlbench.cells import CellState
from zlbench.inference.types import Why
from zlbench.report.model import LeftOut, Measured, OpReadings, Reading, RowReadings
from zlbench.report.reading.load import Kind, load, source_of
from zlbench.report.reading.tables import Tables
from zlbench.report.samples import resolution, samples_of, settings_of, why_no_headline
from zlbench.report.summary import summarise


def root(folder: Path, *, rounds: int = 2, metric: str = "latency_ms") -> Path:
    write_plan(folder, {"0": [("toy", "subject")]}, rounds=rounds, metric=metric)
    return folder


def read(folder: Path, **how: bool) -> Measured:
    return load(source_of([folder]), **how)


def only(measured: Measured) -> OpReadings:
    (op,) = measured.ops
    return op


def status(folder: Path, *cells: tuple[int, str]) -> None:
    head = "round\top\tside\tswitch\trc\telapsed_s\tsuccess\tfailed\treplay_fallback\tno_cudagraph\tcapture_poisoned"
    lines = [f"{number}\ttoy\t{side}\t-\t0\t1.0\t1\t0\t0\t0\t0" for number, side in cells]
    (folder / "status.tsv").write_text("\n".join((head, *lines)) + "\n")


def first(measured: Measured) -> list[bool]:
    return [reading.a_first for reading in only(measured).rows[0].readings]


def test_the_plan_tells_which_side_came_first(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=4)
    for number in range(1, 5):
        write_pair(folder / "toy", number, {"r1": (1.0, 1.1)})
    assert first(read(folder)) == [True, False, True, False]


def test_what_the_cells_say_of_when_they_started_outweighs_the_table_that_the_plan_contradicts(tmp_path: Path) -> None:
    folder = root(tmp_path)
    for number in (1, 2):
        write_pair(folder / "toy", number, {"r1": (1.0, 1.1)})
    status(folder, (1, "B"), (1, "A"), (2, "B"), (2, "A"))
    assert first(read(folder)) == [False, False]
    for side, at in (("A", 10.0), ("B", 20.0)):
        store.write_json(folder / "toy" / f"r1_{side}" / "telemetry.json", {"started": at, "ended": at + 5})
    assert first(read(folder)) == [True, False]


@pytest.mark.parametrize("told", [{"started": "soon"}, {"started": None}, {}, [], "x", {"started": True}])
def test_telemetry_that_says_no_time_says_nothing(tmp_path: Path, told: Any) -> None:
    folder = root(tmp_path, rounds=1)
    write_pair(folder / "toy", 1, {"r1": (1.0, 1.1)})
    for side in "AB":
        store.write_json(folder / "toy" / f"r1_{side}" / "telemetry.json", told)
    assert first(read(folder, details=False)) == [True]


def test_a_kernel_says_itself_whose_turn_came_first(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=1, metric="compile_ms")
    for side in "AB":
        rows = [row("k1", None, timer="compile", metric="instructions", value=2e6, first=side == "B", dtype="-")]
        write_run(folder / "toy" / f"r1_{side}", rows, side=side, timer="compile")
    (found,) = only(read(folder)).rows
    assert (found.timer, found.unit, found.readings[0].a_first) == ("compile", "instructions", False)


def test_a_kernel_that_the_sides_measured_in_two_units_is_left_out(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=2, metric="compile_ms")
    for number in (1, 2):
        for side in "AB":
            metric = "cpu_ms" if (number, side) == (2, "B") else "instructions"
            rows = [row("k1", None, timer="compile", metric=metric, value=2e6, dtype="-")]
            mode = "record" if (number, side) == (1, "A") else "replay"
            write_run(folder / "toy" / f"r{number}_{side}", rows, side=side, timer="compile", autotune_mode=mode)
    (found,) = only(read(folder)).rows
    assert (found.unit, [reading.round for reading in found.readings]) == ("instructions", [1])
    note = "instructions on A, cpu_ms on B"
    assert found.left_out == (LeftOut(round=2, reason="TIMER_MISMATCH", note=note),)


def test_the_mean_of_an_operator_is_over_the_rows_that_it_is_judged_by(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=6)
    for number in range(1, 7):
        for side in "AB":
            factor = 1.05 if side == "B" else 1.0
            rows = [row(f"r{index}", 0.1 * index * factor * (1 + number / 1e4)) for index in (1, 2, 3)]
            for name, first in (("r4", True), ("r5", False)):
                other = side == "B" and (number <= 3) is first
                rows.append((direct if other else row)(name, 0.7 if side == "B" else 0.1))
            mode = "record" if (number, side) == (1, "A") else "replay"
            write_run(folder / "toy" / f"r{number}_{side}", rows, side=side, autotune_mode=mode)
    summary = summarise(read(folder))
    (op,) = summary.subjects
    assert [one.n for one in op.rows] == [6, 6, 6, 3, 3]
    assert op.why_not == ""
    assert op.result is not None
    assert summary.inference is not None
    assert (op.result.rows, op.rounds, summary.inference.campaign.operators) == (3, 6, 1)
    assert op.change == pytest.approx(0.05)


def test_how_a_row_was_timed_goes_with_it(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=1)
    for side in "AB":
        write_run(folder / "toy" / f"r1_{side}", [row("r1", 1.0, l2="flushed"), direct("r2", 2.0)], side=side)
    graph, other = only(read(folder)).rows
    assert (graph.timer, graph.l2, graph.counted) == ("cuda_graph", "flushed", True)
    assert (other.timer, other.l2, other.counted) == ("direct", "warm", False)
    assert [(sample.counted, len(sample.pairs)) for sample in samples_of(read(folder))] == [(True, 1), (False, 1)]


def test_a_row_that_is_lost_in_one_round_says_where(tmp_path: Path) -> None:
    folder = root(tmp_path)
    write_pair(folder / "toy", 1, {"r1": (1.0, 1.1), "r2": (1.0, 1.1)})
    write_pair(folder / "toy", 2, {"r1": (1.0, 1.1), "r2": (1.0, None)})
    op = only(read(folder))
    assert op.rows[1].left_out == (LeftOut(round=2, reason="UNEQUAL_ROWS", note="on B", lost=True),)
    assert (op.expected, op.lost) == (2, ("float16 2x64: UNEQUAL_ROWS on B",))
    assert why_no_headline(op) == "incomplete: 1 of 2 rows on both sides in every round"
    assert [sample.counted for sample in samples_of(read(folder))] == [False, False]


def test_what_cells_said_stands_once_with_its_side(tmp_path: Path) -> None:
    folder = root(tmp_path)
    for number in (1, 2):
        for side, said in (("A", ["CARD_BUSY pid=1"]), ("B", ["CARD_BUSY pid=1", "BENCHMARK_CAPTURE_POISONED x"])):
            write_run(folder / "toy" / f"r{number}_{side}", [row("r1", 1.0)], side=side, markers=said,
                      autotune_mode="record" if (number, side) == (1, "A") else "replay")  # fmt: skip
    assert only(read(folder)).markers == (("CARD_BUSY", "pid=1"), ("BENCHMARK_CAPTURE_POISONED", "side=B x"))


def test_the_first_pair_tells_the_verdict_by_ir(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=1)
    write_pair(folder / "toy", 1, {"r1": (1.0, 1.1)})
    told = {
        "verdict": "IR_CHANGED",
        "machine_code": "changed",
        "dead_switch": False,
        "not_comparable": "",
        "notes": ["n"],
    }
    store.write_json(folder / "toy" / "first_pair.json", told)
    op = only(read(folder))
    assert (op.verdict, op.machine_code, op.notes, op.nothing) == ("IR_CHANGED", "changed", ("n",), "")


def test_a_first_pair_that_could_not_be_compared_has_no_values_unless_that_is_allowed(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=1)
    write_pair(folder / "toy", 1, {"r1": (1.0, 1.1)})
    told = {"verdict": "CACHE_NOT_FRESH", "dead_switch": False, "not_comparable": "a shared cache", "notes": []}
    store.write_json(folder / "toy" / "first_pair.json", told)
    op = only(read(folder))
    assert (op.nothing, op.nothing_note, op.rows[0].readings) == ("NOT_COMPARABLE", "a shared cache", ())
    assert only(read(folder, allow=True)).rows[0].readings != ()


def test_looks_and_identities_come_from_plan_and_cells(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=1)
    write_pair(folder / "toy", 1, {"r1": (1.0, 1.1)})
    assert read(folder).looks == ((1, 1.0),)
    plan = store.read_json(folder / "repeat.json")
    store.write_json(folder / "repeat.json", {**plan, "rounds": {"looks": [4, 8, 16]}})
    measured = read(folder)
    assert [number for number, _ in measured.looks] == [4, 8, 16]
    assert [weight for _, weight in measured.looks] == pytest.approx([0.1, 0.3, 0.6])
    assert settings_of(measured, delta=0.02).delta == 0.02
    assert {side: known["side"] for side, known in measured.sides.items()} == {"A": "A", "B": "B"}
    assert measured.sides["A"]["driver"] == "575.57"


def test_a_round_of_which_one_side_failed_is_a_failed_one_although_the_other_has_not_run(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=1)
    write_run(folder / "toy" / "r1_A", [row("r1", 1.0)], state=CellState.CRASH)
    op = only(read(folder))
    assert (op.failed, op.rounds, op.missing) == (("round 1 A: CRASH",), (), 1)


def readings(count: int, ms: float = 1.0) -> tuple[Reading, ...]:
    return tuple(Reading(round=number, before=ms, after=ms) for number in range(1, count + 1))


def sample_why(op: OpReadings) -> Why | None:
    measured = read_nothing(op)
    (sample,) = samples_of(measured)
    return sample.why


def read_nothing(op: OpReadings) -> Measured:
    from zlbench.report.model import Header

    return Measured(header=Header(title="x", metric=None), ops=(op,))


def test_why_a_row_has_too_few_pairs() -> None:
    def op(count: int, *left_out: str, invalid: int = 0) -> OpReadings:
        gone = tuple(LeftOut(round=9, reason=reason) for reason in left_out)
        one = RowReadings(name="r", dtype="-", label="r", unit="ms", readings=readings(count), left_out=gone)
        return OpReadings(op="o", directory="o", rows=(one,), rounds=(1,), invalid=("round: cause",) * invalid)

    assert sample_why(op(4, "TIMER_MISMATCH", invalid=9)) is None
    assert sample_why(op(0, "TIMER_MISMATCH", "CONFIG_MISMATCH")) is Why.CALIBER
    assert sample_why(op(0, "TIMER_MISMATCH", "OOM")) is None
    assert sample_why(op(3, invalid=1)) is Why.PAIRS_DISTURBED
    assert sample_why(op(2, invalid=1)) is None  # there are too few of them anyway


@pytest.mark.parametrize(
    ("unit", "timer", "l2", "value", "step"),
    [
        ("ms", "direct", "warm", 0.01, 0.05),
        ("ms", "cuda_graph", "flushed", 0.01, 0.05),
        ("ms", "cuda_graph", "warm", 0.01, 5e-5),
        ("ms", "cuda_graph", "warm", 50.0, 1e-5),
        ("instructions", "compile", "", 1000.0, 1e-3),
        ("cpu_ms", "compile", "", 1.0, 1e-6),
    ],
)
def test_the_smallest_step_of_a_value(unit: str, timer: str, l2: str, value: float, step: float) -> None:
    one = RowReadings(name="r", dtype="-", label="r", unit=unit, readings=readings(2, value), timer=timer, l2=l2)
    assert resolution(one) == pytest.approx(step)
    assert resolution(RowReadings(name="r", dtype="-", label="r", unit=unit)) == 0.0


@given(st.text(alphabet="optyruneAB019\t\n-.\x00é", max_size=200), st.booleans())
def test_tables_that_are_torn_or_of_somebody_else_say_nothing_wrong(
    tmp_path_factory: pytest.TempPathFactory, text: str, headed: bool
) -> None:
    folder = tmp_path_factory.mktemp("lane")
    heads = {"pairs.tsv": "op\tround\tvalid\tcause\ttries\tnote\n", "status.tsv": "round\top\tside\n"}
    for name, head in heads.items():
        (folder / name).write_text((head if headed else "") + text)
    tables = Tables.read(folder)
    assert tables.first(("toy", "toy"), 1) in ("", "A", "B")
    assert tables.reruns(("toy", "toy")) >= 0
    assert all(one.tries >= 1 for rounds in tables.judged.values() for one in rounds.values())


def test_a_pair_and_a_screen_are_no_rounds(tmp_path: Path) -> None:
    for op in ("toy", "fft"):
        for side in "AB":
            write_run(tmp_path / "screen_1" / op / side, [row("r1", 1.0, op=op)], side=side, op=op)
    (tmp_path / "screen_1" / "screen.tsv").write_text("op\tverdict\n")
    whole = source_of([tmp_path / "screen_1"])
    assert (whole.kind, len(whole.pairs), whole.title) == (Kind.PAIRS, 2, "report of screen_1")
    pair = source_of([tmp_path / "screen_1" / "toy"])
    assert (pair.kind, pair.title) == (Kind.PAIRS, "report of toy")
    runs = source_of([tmp_path / "screen_1" / "toy" / "A", tmp_path / "screen_1" / "fft" / "A"])
    assert runs.title == "report of toy/A and fft/A"
    assert [op.op for op in load(whole).ops] == ["fft", "toy"]


def plan_looks(folder: Path, *looks: int) -> None:
    plan = store.read_json(folder / "repeat.json")
    store.write_json(folder / "repeat.json", {**plan, "rounds": {"looks": list(looks)}})


def done(folder: Path) -> int | None:
    (sample,) = samples_of(read(folder))
    return sample.rounds_done


def test_rounds_that_are_not_at_their_end_say_how_far_they_are(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=12)
    for number in range(1, 6):
        write_pair(folder / "toy", number, {"r1": (1.0, 1.1)})
    assert done(folder) == 5
    assert (
        summarise(read(folder)).subjects[0].rows[0].result.what == "invalid: NO_LOOK_YET (not at its end: no look yet)"
    )
    plan_looks(folder, 4, 8, 16)
    assert done(folder) == 5
    assert summarise(read(folder)).subjects[0].rows[0].result.n == 4
    store.write_json(folder / "toy" / "settled.json", {"rounds": 5, "rows": {"r1": {"why": "effect"}}})
    assert done(folder) is None


def test_rounds_at_their_end_are_all_done(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=5)
    for number in range(1, 6):
        write_pair(folder / "toy", number, {"r1": (1.0, 1.1)})
    assert done(folder) is None


def test_a_failed_round_is_not_to_come(tmp_path: Path) -> None:
    folder = root(tmp_path, rounds=6)
    for number in range(1, 6):
        write_pair(folder / "toy", number, {"r1": (1.0, 1.1)})
    write_run(folder / "toy" / "r6_A", [row("r1", 1.0)], state=CellState.CRASH, autotune_mode="replay")
    assert only(read(folder)).missing == 1
    assert done(folder) is None
    root(tmp_path, rounds=8)
    assert done(folder) == 6


def test_a_part_of_an_operator_that_is_done_is_so_whatever_another_lacks() -> None:
    def one(name: str, count: int) -> RowReadings:
        return RowReadings(name=name, dtype="-", label=name, unit="ms", readings=readings(count))

    op = OpReadings(op="o", directory="o", rows=(one("fast", 6), one("slow", 3)), rounds=tuple(range(1, 7)), missing=3)
    measured = dataclasses.replace(read_nothing(op), looks=((6, 1.0),))
    assert [sample.rounds_done for sample in samples_of(measured)] == [None, 3]
    assert [sample.rounds_done for sample in samples_of(read_nothing(op))] == [None, None]
