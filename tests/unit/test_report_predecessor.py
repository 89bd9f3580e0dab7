"""Old results are read like our own: guarded, matched by the whole input, with what their logs leave in doubt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.old_runs import ok, table, write_rounds, write_run, write_screen, write_status
from fakes.report_roots import write_pair, write_plan
from fakes.run_dirs import row
from fakes.run_dirs import write_run as write_our_run

from zlbench.errors import NotComparableError, UsageError
from zlbench.report.model import Measured, OpReadings, RowReadings
from zlbench.report.predecessor.read import read_predecessor, recognise
from zlbench.report.summary import summarise

NO_GRAPH, REPLAYED = "BENCHMARK_DIRECT_NO_CUDAGRAPH", "AUTOTUNE_REPLAY_FALLBACK"
TIMES = {"64x1024": (0.5, 0.51), "8x8": (0.002, 0.002)}


def only(measured: Measured) -> OpReadings:
    (op,) = measured.ops
    return op


def by_label(op: OpReadings) -> dict[str, RowReadings]:
    return {f"{one.dtype} {one.label}": one for one in op.rows}


def change(one: RowReadings) -> float:
    """B against A of the only reading."""
    (reading,) = one.readings
    return reading.after / reading.before - 1


def pair(folder: Path, a: str, b: str, *, markers_a: tuple[str, ...] = (), markers_b: tuple[str, ...] = ()) -> Measured:
    """Two runs of topk with these tables, read."""
    paths = [
        write_run(folder / f"topk_2026091{day}-074112", text, markers=said, autotune_mode=mode)
        for day, text, said, mode in ((0, a, markers_a, "record"), (1, b, markers_b, "replay"))
    ]
    return read_predecessor(paths)


# --- what is the predecessor's --------------------------------------------------------------------------------------


def test_its_directories_are_recognised(tmp_path: Path) -> None:
    write_rounds(tmp_path / "ab" / "topk", "topk", rounds=2, rows=TIMES)
    write_rounds(tmp_path / "cards" / "3" / "sort", "sort", rounds=1, rows=TIMES)
    write_screen(tmp_path / "screen", {"topk": "IR_CHANGED"})
    write_run(tmp_path / "topk_20260910-074112", table("topk", [ok(0.5, 64)]))
    write_run(tmp_path / "bare", table("topk", [ok(0.5, 64)]), identity=False)
    for name in ("ab", "ab/topk", "ab/topk/r1_A", "cards", "screen", "topk_20260910-074112", "bare"):
        assert recognise(tmp_path / name), name


def test_ours_and_others_are_not(tmp_path: Path) -> None:
    ours = tmp_path / "topk_20261129-131047"
    write_our_run(ours, [row("r1", 0.5)])
    root = tmp_path / "repeat_20261129-131047"
    write_plan(root, {"0": [("topk", "subject")]}, rounds=1)
    write_pair(root / "topk", 1, {"r1": (0.5, 0.5)})
    started = tmp_path / "started"
    started.mkdir()
    (started / "run.log").write_text("nothing yet\n")
    (started / "run_identity.json").write_text(json.dumps({"schema_version": 1, "op": "topk"}))
    screen = tmp_path / "screen_20261129-131047"
    write_screen(screen, {"topk": "IR_CHANGED"})
    table_text = (screen / "screen.tsv").read_text().replace("direct_repeat\n", "direct_repeat\tconfigs\n")
    (screen / "screen.tsv").write_text(table_text)
    (tmp_path / "log_alone").mkdir()
    (tmp_path / "log_alone" / "run.log").write_text("a log of anything\n")
    for path in (ours, root, root / "topk", started, screen, tmp_path / "log_alone", tmp_path, tmp_path / "never"):
        assert not recognise(path), path
    (root / "repeat.json").unlink()
    assert not recognise(root)


def test_what_cannot_be_compared_is_refused_with_the_next_step(tmp_path: Path) -> None:
    one = write_run(tmp_path / "topk_20260910-074112", table("topk", [ok(0.5, 64)]))
    write_rounds(tmp_path / "ab" / "topk", "topk", rounds=1, rows=TIMES)
    for paths, said in (
        ([one], "is one run; with what is it compared"), ([tmp_path / "never"], "holds nothing of the predecessor"),
        ([one, tmp_path / "ab"], "2 directories are given that are no pair of runs"),
        ([], "0 directories are given"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said) as caught:
            read_predecessor(paths)
        assert "r1_A" in caught.value.hint


# --- rows -----------------------------------------------------------------------------------------------------------


def test_a_pair_of_runs(tmp_path: Path) -> None:
    measured = pair(
        tmp_path,
        table("topk", [ok(0.5, 64, 1024), ok(0.25, 8)]) + table("topk", [ok(1.0, 8)], dtype="float32"),
        # Other order, other dtype order.
        table("topk", [ok(1.1, 8)], dtype="float32") + table("topk", [ok(0.2, 8), ok(0.5, 64, 1024)]),
    )
    rows = by_label(only(measured))
    assert {name: round(change(one), 6) for name, one in rows.items()} == {
        "float16 64x1024": 0.0, "float16 8": -0.2, "float32 8": 0.1,
    }  # fmt: skip
    assert {(one.unit, one.timer, one.counted) for one in rows.values()} == {("ms", "cuda_graph", True)}
    assert (only(measured).op, only(measured).rounds) == ("topk", (1,))
    assert measured.header.title == "report of topk_20260910-074112 and topk_20260911-074112"
    assert (measured.header.a, measured.header.b) == ("topk_20260910-074112", "topk_20260911-074112")
    assert measured.header.conditions[:4] == ("musa", "device 3", "vendor mthreads", "cuda_graph")
    assert measured.looks == ((1, 1.0),)
    assert measured.sides["A"]["python_hash_seed"] == 7


def test_inputs_that_print_alike_are_never_paired_by_place(tmp_path: Path) -> None:
    """A plain and a transposed case of one size."""
    a = table("mm", [ok(0.5, 64, 64), ok(0.9, 64, 64), ok(0.1, 8)])
    b = table("mm", [ok(0.5, 64, 64), ok(0.8, 64, 64), ok(0.1, 8)])
    rows = by_label(only(pair(tmp_path, a, b)))
    assert rows["float16 64x64"].readings == ()
    assert [(one.reason, one.note) for one in rows["float16 64x64"].left_out] == [
        ("DUPLICATE_ROW", "2 times on A, 2 times on B")
    ]
    assert change(rows["float16 8"]) == 0


def test_the_whole_input_counts(tmp_path: Path) -> None:
    long = "[torch.Size([64, 1024]), 32], {'dim': -1}"
    a = table("topk", [("SUCCESS", 1.0, 0.5, f"({long})"), ("SUCCESS", 1.0, 0.7, "[torch.Size([64, 1024]), 16]")])
    b = table("topk", [("SUCCESS", 1.0, 0.7, "[torch.Size([64, 1024]), 16]"), ("SUCCESS", 1.0, 0.5, f"({long})")])
    op = only(pair(tmp_path, a, b))
    assert {one.label: change(one) for one in op.rows} == {"([64x1024, 32], {'dim': -1})": 0.0, "64x1024, 16": 0.0}
    folded = [table("topk", [ok(0.5, 8)], legend=f"same: k={k}") for k in (16, 32)]
    assert [one.readings for one in only(pair(tmp_path / "folded", *folded)).rows] == [(), ()]


def test_rows_of_one_side_and_times_that_cannot_be(tmp_path: Path) -> None:
    a = table("topk", [ok(0.01, 1), ok(0.01, 2), ok(0.04, 3), ok(0.01, 4), ok(0.01, 5)])
    b = table("topk", [ok(0.0102, 1), ("FAILED", 1.0, None, "[torch.Size([2])]"), ok(0.0, 4), ok(float("nan"), 5)])
    op = only(pair(tmp_path, a, b))
    rows = by_label(op)
    assert round(change(rows["float16 1"]), 9) == 0.02
    assert {name: [(one.reason, one.lost) for one in found.left_out] for name, found in rows.items()} == {
        "float16 1": [], "float16 2": [("FAILED", True)], "float16 3": [("UNEQUAL_ROWS", True)],
        "float16 4": [("INVALID_LATENCY", False)], "float16 5": [("INVALID_LATENCY", False)],
    }  # fmt: skip
    assert op.lost == ("float16 2: FAILED on B", "float16 3: UNEQUAL_ROWS on B")
    nothing = only(pair(tmp_path / "other", table("topk", [ok(1.0, 1)]), table("topk", [ok(1.0, 1)], dtype="int8")))
    assert nothing.nothing == "ZERO_MATCHED"


def test_a_table_that_cannot_be_read_is_told_with_file_and_line(tmp_path: Path) -> None:
    broken = table("topk", [ok(0.5, 8)]) + "SUCCESS             0.5           oops            [torch.Size([4])]\n"
    with pytest.raises(UsageError, match=r"topk_20260911-074112/run\.log:7: a row of the table cannot be read"):
        pair(tmp_path, table("topk", [ok(0.5, 8)]), broken)


# --- timers ---------------------------------------------------------------------------------------------------------

FOUR = table("topk", [ok(0.01, 1), ok(0.01, 2), ok(0.01, 3), ok(0.01, 4)])
SLOW = table("topk", [ok(0.01, 1), ok(0.01, 2), ok(0.061, 3), ok(0.01, 4)])


def test_a_row_that_one_side_timed_directly_is_left_out(tmp_path: Path) -> None:
    op = only(pair(tmp_path, FOUR, SLOW, markers_b=(f"{NO_GRAPH} phase=capture shape=[torch.Size([3])] repeat=1",)))
    rows = by_label(op)
    assert [(one.reason, one.note) for one in rows["float16 3"].left_out] == [
        ("TIMER_MISMATCH", "cuda_graph on A, direct on B")
    ]
    assert [change(rows[f"float16 {size}"]) for size in (1, 2, 4)] == [0.0, 0.0, 0.0]
    assert op.fallbacks == ((NO_GRAPH, 1),)
    assert op.notes == ()


def test_a_row_that_both_sides_timed_directly_does_not_count_in_the_aggregate(tmp_path: Path) -> None:
    said = (f"{NO_GRAPH} phase=capture shape=[torch.Size([3])] repeat=1",)
    rows = by_label(only(pair(tmp_path, SLOW, SLOW, markers_a=said, markers_b=said)))
    assert (rows["float16 3"].timer, rows["float16 3"].counted) == ("direct", False)
    assert (rows["float16 4"].timer, rows["float16 4"].counted) == ("cuda_graph", True)


def test_where_every_call_fell_back_every_row_did(tmp_path: Path) -> None:
    rows = by_label(only(pair(tmp_path, FOUR, SLOW, markers_b=(f"{NO_GRAPH} phase=warmup",) * 8)))
    assert {one.left_out[0].reason for one in rows.values()} == {"TIMER_MISMATCH"}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param((), (f"{NO_GRAPH} phase=capture reason=sync",), id="on B"),
        pytest.param((f"{NO_GRAPH} phase=capture",) * 2, (f"{NO_GRAPH} phase=capture",), id="more often on A"),
    ],
)
def test_where_one_side_alone_timed_some_row_directly_no_row_of_that_round_is_compared(
    tmp_path: Path, a: tuple[str, ...], b: tuple[str, ...]
) -> None:
    op = only(pair(tmp_path, FOUR, SLOW, markers_a=a, markers_b=b))
    sides = ("cuda_graph or direct", "cuda_graph") if a else ("cuda_graph", "cuda_graph or direct")
    said = ("TIMER_MISMATCH", f"{sides[0]} on A, {sides[1]} on B")
    assert [(one.readings, [(out.reason, out.note) for out in one.left_out]) for one in op.rows] == [((), [said])] * 4
    assert [note.partition(":")[0] for note in op.notes] == [f"{NO_GRAPH} {len(a)} on A, {len(b)} on B"]


def test_a_row_that_both_logs_name_is_compared_whatever_else_one_of_them_says(tmp_path: Path) -> None:
    named = f"{NO_GRAPH} phase=capture shape=[torch.Size([3])] repeat=1"
    op = only(pair(tmp_path, SLOW, SLOW, markers_a=(named,), markers_b=(named, f"{NO_GRAPH} phase=capture")))
    assert {name: len(one.readings) for name, one in by_label(op).items()} == {
        "float16 1": 0, "float16 2": 0, "float16 3": 1, "float16 4": 0,
    }  # fmt: skip


def test_where_one_side_alone_ran_on_another_config_no_row_of_that_round_is_compared(tmp_path: Path) -> None:
    op = only(pair(tmp_path, FOUR, SLOW, markers_b=(f"{REPLAYED} reason=key_missing",)))
    said = (REPLAYED, "the log does not say whether it was this row on B")
    assert [(one.readings, [(out.reason, out.note) for out in one.left_out]) for one in op.rows] == [((), [said])] * 4


def test_a_row_that_the_log_says_ran_on_another_config_is_left_out_alone(tmp_path: Path) -> None:
    op = only(pair(tmp_path, FOUR, SLOW, markers_b=(f"{REPLAYED} reason=key_missing shape=[torch.Size([3])]",)))
    assert {name: [out.reason for out in one.left_out] for name, one in by_label(op).items()} == {
        "float16 1": [], "float16 2": [], "float16 3": [REPLAYED], "float16 4": [],
    }  # fmt: skip
    assert op.notes == ()


def test_a_graph_is_never_called_faster_than_a_direct_call(tmp_path: Path) -> None:
    """The sides differ by their timers alone, in every round."""
    root = tmp_path / "topk"
    for number in range(1, 7):
        for side, latency in (("A", 0.010), ("B", 0.061)):
            lines = table("topk", [ok(latency * (1 + number / 1000), 64), ok(0.2 * (1 + number / 1000), 1024)])
            mode = "record" if (number, side) == (1, "A") else "replay"
            write_run(root / f"r{number}_{side}", lines, autotune_mode=mode,
                      markers=[f"{NO_GRAPH} phase=capture reason=host sync"] if side == "B" else [])  # fmt: skip
    summary = summarise(read_predecessor([root]))
    assert {row.row.label: (row.n, row.result) for row in summary.subjects[0].rows if row.n} == {}


def test_as_many_unnamed_fallbacks_on_both_sides_are_a_doubt(tmp_path: Path) -> None:
    said = (f"{NO_GRAPH} phase=capture", f"{REPLAYED} reason=key_missing")
    op = only(pair(tmp_path, SLOW, SLOW, markers_a=said, markers_b=said))
    assert len(by_label(op)["float16 3"].readings) == 1
    assert [note.partition(":")[0] for note in op.notes] == [f"{NO_GRAPH} 1 on A, 1 on B", f"{REPLAYED} 1 on A, 1 on B"]
    assert op.markers == ((NO_GRAPH, "phase=capture"), (REPLAYED, "reason=key_missing"))
    assert op.fallbacks == ((REPLAYED, 2), (NO_GRAPH, 2))


@pytest.mark.parametrize(("direct", "timer", "other"), [(3, "direct", 2), (2, "cuda_graph", 2), (1, "cuda_graph", 1)])
def test_the_timer_of_most_rounds_is_the_row_s_and_at_a_tie_that_of_the_run(
    tmp_path: Path, direct: int, timer: str, other: int
) -> None:
    rounds, said = (5 if direct == 3 else 4), [f"{NO_GRAPH} shape=[torch.Size([3])]"]
    for number in range(1, rounds + 1):
        for side in "AB":
            write_run(tmp_path / "topk" / f"r{number}_{side}", FOUR, markers=said if number <= direct else [],
                      autotune_mode="record" if (number, side) == (1, "A") else "replay")  # fmt: skip
    row = by_label(only(read_predecessor([tmp_path / "topk"])))["float16 3"]
    assert (row.timer, len(row.readings), row.counted) == (timer, rounds - other, timer == "cuda_graph")
    assert [item.reason for item in row.left_out] == ["TIMER_MISMATCH"] * other


def test_an_input_in_two_tables_is_named_only_with_its_dtype(tmp_path: Path) -> None:
    both = table("topk", [ok(0.5, 3)]) + table("topk", [ok(0.5, 3)], dtype="bfloat16")
    unclear = only(pair(tmp_path / "1", both, both, markers_b=(f"{NO_GRAPH} shape=[torch.Size([3])]",)))
    assert not any(one.readings for one in unclear.rows)
    assert len(unclear.notes) == 1
    clear = only(pair(tmp_path / "2", both, both, markers_b=(f"{NO_GRAPH} torch.bfloat16 [torch.Size([3])]",)))
    assert {name: len(one.left_out) for name, one in by_label(clear).items()} == {"float16 3": 0, "bfloat16 3": 1}


# --- the caliber ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("backend", "cuda", "backend: before=musa after=cuda"), ("device", "4", "device: before=3 after=4"),
        ("timer", "direct", "timer: before=cuda_graph after=direct"),
        ("bench_level", "comprehensive", "bench_level: before=core after=comprehensive"),
        ("shape_mode", "file", "shape_mode: before=upstream after=file"),
        ("tuner_cache", "shared", "tuner_cache: before=isolated after=shared"),
        ("direct_repeat", 5, "direct_repeat: before=1 after=5"), ("vendor", "nvidia", "vendor: before=mthreads"),
        ("provider", "flaggems_vllm", "provider: before=flag_gems after=flaggems_vllm"),
        ("autotune_mode", "record", "RECORD_VS_RECORD"), ("timer", None, "timer: before=cuda_graph after=missing"),
        ("dtypes", "float16", "dtypes: before= after=float16"),
    ],
)  # fmt: skip
def test_each_condition_is_compared(tmp_path: Path, field: str, value: object, said: str) -> None:
    a = write_run(tmp_path / "topk_1", table("topk", [ok(0.5, 8)]), autotune_mode="record")
    conditions: dict[str, Any] = {"autotune_mode": "replay", field: value}
    b = write_run(tmp_path / "b" / "topk_1", table("topk", [ok(0.5, 8)]), **conditions)
    with pytest.raises(NotComparableError) as caught:
        read_predecessor([a, b])
    assert f"[caliber] topk_1: {said}" in caught.value.message or said in caught.value.message
    allowed = read_predecessor([a, b], allow=True)
    assert any(said in line for line in allowed.header.warnings)
    assert len(only(allowed).rows) == 1


def test_a_missing_identity_is_refused(tmp_path: Path) -> None:
    a = write_run(tmp_path / "topk_1", table("topk", [ok(0.5, 8)]))
    b = write_run(tmp_path / "b" / "topk_1", table("topk", [ok(0.6, 8)]), identity=False)
    with pytest.raises(NotComparableError, match=r"run_identity\.json: before=present after=missing") as caught:
        read_predecessor([a, b])
    assert "--allow-caliber-mismatch" in caught.value.hint
    allowed = only(read_predecessor([a, b], allow=True))
    assert round(change(allowed.rows[0]), 9) == 0.2
    neither = [write_run(tmp_path / side, table("topk", [ok(0.5, 8)]), identity=False) for side in ("x", "y/x")]
    assert only(read_predecessor(neither, allow=True)).rows[0].counted


def test_what_neither_wrote_down_is_said_and_not_refused(tmp_path: Path) -> None:
    paths = [
        write_run(tmp_path / name, table("topk", [ok(0.5, 8)]), direct_repeat=None, dtypes=None)
        for name in ("topk", "b/topk")
    ]
    warnings = read_predecessor(paths).header.warnings
    assert "[caliber] warning topk: direct_repeat: before=missing after=missing" in warnings
    assert warnings[-1].startswith("[caliber] warning: not written down, and taken for equal: ")
    assert {"direct_repeat", "dtypes", "l2", "driver"} <= set(warnings[-1].rpartition(": ")[2].split(", "))
    assert not {"timer", "suite"} & set(warnings[-1].rpartition(": ")[2].split(", "))


def test_tables_of_another_mode_and_runs_of_another_operator_are_refused(tmp_path: Path) -> None:
    one = table("topk", [ok(0.5, 8)])
    for number, (other, name, said) in enumerate((
        (table("topk", [ok(0.5, 8)], mode="operator"), "topk", "mode of the tables: before=kernel after=operator"),
        (table("topk", [ok(0.5, 8)], level="comprehensive"), "topk", "level of the tables: before=core after=compreh"),
        (one, "sort", "op: before=topk after=sort"),
    )):  # fmt: skip
        paths = [write_run(tmp_path / f"{number}" / "topk", one), write_run(tmp_path / f"{number}" / "b" / name, other)]
        with pytest.raises(NotComparableError, match=said):
            read_predecessor(paths)


# --- rounds ---------------------------------------------------------------------------------------------------------


def test_rounds_of_several_operators(tmp_path: Path) -> None:
    root = tmp_path / "ab_repeat_20260910"
    write_rounds(root / "topk", "topk", rounds=6, rows=TIMES)
    write_rounds(root / "perf_sort", "sort", rounds=6, rows={"8": (0.1, 0.1)})
    ends = [(1, "A"), (1, "B"), (2, "B"), (2, "A"), (3, "B"), (3, "A"), (4, "A"), (4, "B")]
    ends += [(number, side) for number in (5, 6) for side in "AB"]
    write_status(root, [
        (number, op, side, "01"["AB".index(side)], 0) for op in ("topk", "perf_sort") for number, side in ends
    ])  # fmt: skip
    write_screen(root, {"topk": "IR_CHANGED", "perf_sort": "IR_CHANGED", "tanh": "NO_IR_DIFF"})
    measured = read_predecessor([root])
    assert [(op.op, op.directory, op.rounds, op.verdict) for op in measured.ops] == [
        (op, op, (1, 2, 3, 4, 5, 6), "IR_CHANGED") for op in ("perf_sort", "topk")
    ]
    readings = by_label(measured.ops[1])["float16 64x1024"].readings
    assert [reading.a_first for reading in readings] == [True, False, False, True, True, True]
    assert [round(reading.after / reading.before, 4) for reading in readings] == [1.02] * 6
    header = measured.header
    assert (header.a, header.b, header.axis) == ("flag_gems switch 0", "flag_gems switch 1", "switch")
    assert header.screen == (
        "screen: 3 operators · 2 IR_CHANGED · 1 NO_IR_DIFF", "IR_CHANGED: topk, perf_sort", "NO_IR_DIFF: tanh",
    )  # fmt: skip
    assert (measured.planned, measured.looks) == ("6 rounds", ((6, 1.0),))
    summary = summarise(measured)
    verdicts = {row.row.label: row.result.verdict.value for row in summary.subjects[1].rows if row.result is not None}
    assert verdicts["64x1024"] == "slower"
    assert verdicts["8x8"] == "no difference"


def test_rounds_without_a_table_are_taken_by_what_is_there(tmp_path: Path) -> None:
    root = tmp_path / "topk"
    write_rounds(root, "topk", rounds=3, rows=TIMES)
    (root / "r3_B" / "run.log").unlink()
    (root / "r2_A" / "run.log").write_text("killed\n")
    measured = read_predecessor([root])
    op = only(measured)
    assert (op.op, op.directory, op.rounds, op.missing) == ("topk", "topk", (1,), 1)
    assert op.failed == ("round 2 A: NOTHING_MEASURED",)
    assert (measured.header.a, measured.header.axis) == ("flag_gems", "")
    assert only(read_predecessor([write_back(root)])).rows[0].readings[0].a_first


def write_back(root: Path) -> Path:
    """The same root after it was copied, with other times of files."""
    for path in sorted(root.rglob("run.log"), reverse=True):
        path.write_text(path.read_text())
    return root


def test_runs_that_ended_badly_do_not_count(tmp_path: Path) -> None:
    write_rounds(tmp_path / "topk", "topk", rounds=6, rows=TIMES)
    lines = [(number, "topk", side, "RLC", 0) for number in range(1, 6) for side in "AB"]
    codes = {(2, "B"): 124, (3, "A"): -9, (4, "B"): 1, (5, "A"): 139}
    write_status(tmp_path, [(number, op, side, switch, codes.get((number, side), rc))
                            for number, op, side, switch, rc in lines])  # fmt: skip
    measured = read_predecessor([tmp_path])
    op = only(measured)
    assert op.failed == ("round 2 B: CELL_TIMEOUT", "round 3 A: CRASH", "round 5 A: CRASH")
    assert (op.rounds, op.missing) == ((1, 4), 1)  # round 6 has no line: it did not come to its end
    assert measured.header.axis == "switch RLC"
    inside = read_predecessor([tmp_path / "topk"])
    assert only(inside).rounds == (1, 4)


def test_cards_have_a_root_each(tmp_path: Path) -> None:
    for card in ("0", "3"):
        write_rounds(tmp_path / card / "topk", "topk", rounds=1, rows=TIMES)
        write_status(tmp_path / card, [(1, "topk", side, "-", 0) for side in "AB"])
        (tmp_path / card / "telemetry.tsv").write_text(
            "timestamp\tindex\tsm_clock_mhz\tmem_clock_mhz\ttemp_c\tpower_w\tutil_pct\n"
            f"2026-09-10T07:41:17\t{card}\t1700\t2500\t37\t400\t80\n2026-09-10T07:41:12\t{card}\t1888\t2500\t36\t477.68\t87\n"
            "2026-09-10T07:41:22\tbroken\n2026-09-10T07:4"
        )
    write_screen(tmp_path, {"topk": "IR_CHANGED"})
    measured = read_predecessor([tmp_path])
    assert [(op.op, op.directory, op.verdict) for op in measured.ops] == [
        ("topk", "0/topk", "IR_CHANGED"), ("topk", "3/topk", "IR_CHANGED"),
    ]  # fmt: skip
    assert [(point.lane, point.clock_mhz, point.power_w) for point in measured.telemetry] == [
        ("0 0", 1888.0, 477.68), ("0 0", 1700.0, 400.0), ("3 3", 1888.0, 477.68), ("3 3", 1700.0, 400.0),
    ]  # fmt: skip
    assert measured.telemetry[1].at - measured.telemetry[0].at == 5
    assert (measured.header.a, measured.header.axis) == ("flag_gems", "")
    assert measured.notes == ("telemetry.tsv of the predecessor has times without their zone, which are taken for UTC",)
    (tmp_path / "3" / "telemetry.tsv").write_text("")
    assert {point.lane for point in read_predecessor([tmp_path / "0"]).telemetry} == {"0"}


def test_a_screen_alone_has_verdicts(tmp_path: Path) -> None:
    write_screen(tmp_path, {"topk": "IR_CHANGED", "addmm": "NO_ROWS"})
    measured = read_predecessor([tmp_path])
    assert (measured.ops, measured.header.metric) == ((), None)
    assert measured.reason == "this is a screen of the predecessor: it has verdicts and no rounds"
    assert measured.header.screen[0] == "screen: 2 operators · 1 IR_CHANGED · 1 NO_ROWS"
    assert summarise(measured).reason == measured.reason


def test_nobody_is_marked_or_written_to(tmp_path: Path) -> None:
    write_rounds(tmp_path / "topk", "topk", rounds=2, rows=TIMES)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    first = read_predecessor([tmp_path])
    assert read_predecessor([tmp_path]) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
