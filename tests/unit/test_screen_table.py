"""The screen's table: the columns that scripts rely on, and what a person reads in 100 of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fakes.run_dirs import direct, row
from hypothesis import given
from hypothesis import strategies as st

from zlbench.caliber import Caliber
from zlbench.cells import CellOutcome, CellState
from zlbench.compare import compare
from zlbench.cost_table import Cost, CostPair
from zlbench.judge import Judgement, MachineCode, Verdict
from zlbench.pair_times import LEGEND, PairTimes, meaning
from zlbench.run_rows import RunRows
from zlbench.screen.table import Line, by_urgency, summary, to_data, to_text, to_tsv

S2 = [
    "op",
    "op_file",
    "dtypes",
    "rows_before",
    "rows_after",
    "kernels_before",
    "kernels_after",
    "cvt_before",
    "cvt_after",
    "elapsed_before",
    "elapsed_after",
    "verdict",
    "backend",
    "device",
    "timer",
    "bench_level",
    "shape_mode",
    "tuner_cache",
    "direct_repeat",
]
NEW = [
    "machine_code",
    "kernels",
    "ir_changed",
    "code_changed",
    "raw_changed",
    "registers_before",
    "registers_after",
    "spills_before",
    "spills_after",
    "shared_before",
    "shared_after",
    "instructions_before",
    "instructions_after",
    "rows_matched",
    "rows_expected",
    "state_before",
    "state_after",
    "next",
    "reason",
    "directory",
    "latency_meaning",
    "latency_change",
    "latency_min",
    "latency_max",
    "latency_rows",
    "latency_excluded_timer",
    "canary_drift",
    "replay_fallbacks",
]
CALIBER = Caliber(
    backend="compile", device="cuda:90", timer="compile", bench_level="core", shape_mode="upstream",
    tuner_cache="isolated", direct_repeat=1, shapes_hash="123456789012",
)  # fmt: skip


def line(
    op: str = "topk", verdict: Verdict = Verdict.IR_CHANGED, *, code: MachineCode = MachineCode.CHANGED,
    kernels: int = 24, ir: int = 1, changed: int = 2, raw: int = 0, next_step: str = "ab_repeat", reason: str = "why",
    target: str = "cuda:90", cvt: tuple[int, int] = (9, 6), costs: Mapping[Cost, CostPair] | None = None,
    states: tuple[CellState, CellState] = (CellState.OK, CellState.OK), caliber: Caliber = CALIBER,
    times: PairTimes | None = None,
) -> Line:  # fmt: skip
    before, after = (
        CellOutcome(state=state, returncode=0, elapsed_s=8.04, rows_ok=5, kernels=kernels, convert_layouts=count)
        for state, count in zip(states, cvt, strict=True)
    )
    judgement = Judgement(
        verdict=verdict, machine_code=code, reason=reason, next_step=next_step, kernels=kernels, ir_changed=ir,
        code_changed=changed, raw_changed=raw, rows_matched=5, rows_expected=5, changed_kernels=("k-1",),
    )  # fmt: skip
    return Line(
        op=op, op_file=f"test_{op}", dtypes="", target=target, directory=op, before=before, after=after,
        judgement=judgement, caliber=caliber.columns(), costs=costs or {}, times=times,
    )  # fmt: skip


def pair(before: int | None, after: int | None, differ: int = 0) -> CostPair:
    return CostPair(before=before, after=after, differ=differ)


def cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.split("  ") if cell.strip()]


def test_the_columns_that_people_s_scripts_read_come_first_and_in_order() -> None:
    head = to_tsv([line()]).splitlines()[0].split("\t")
    assert head[: len(S2)] == S2
    caliber = list(CALIBER.columns())
    assert head == [*S2[:12], *caliber, *NEW]
    assert len(head) == len(set(head))
    assert caliber[:7] == S2[12:]


def test_the_columns_of_an_empty_screen() -> None:
    assert to_tsv([]).splitlines()[0].split("\t") == [*S2[:12], *NEW]


def test_every_value_stands_in_its_column() -> None:
    costs = {Cost.REGISTERS: pair(38, 36, 2), Cost.SPILLS: pair(None, 0)}
    (row,) = csv.DictReader(to_tsv([line(costs=costs)]).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    assert (row["op"], row["op_file"], row["verdict"], row["device"]) == ("topk", "test_topk", "IR_CHANGED", "cuda:90")
    assert (row["rows_before"], row["kernels_after"], row["kernels"]) == ("5", "24", "24")
    assert (row["cvt_before"], row["cvt_after"], row["elapsed_before"]) == ("9", "6", "8.0")
    assert (row["registers_before"], row["registers_after"]) == ("38", "36")
    assert (row["spills_before"], row["spills_after"], row["shared_before"]) == ("", "0", "")
    assert (row["machine_code"], row["ir_changed"], row["code_changed"]) == ("changed", "1", "2")
    assert (row["state_before"], row["next"], row["reason"], row["directory"]) == ("OK", "ab_repeat", "why", "topk")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_whatever_the_reason_says_it_stays_one_field(reason: str) -> None:
    text = to_tsv([line(reason=reason), line("sort")])
    # Split as files are read: at more than \n, as str.splitlines does.
    rows = [row.split("\t") for row in text.splitlines()]
    assert [len(row) for row in rows] == [len(rows[0])] * 3


def test_data_has_numbers_as_numbers_and_words_as_words() -> None:
    (found,) = to_data([line(op="64", reason="17", costs={Cost.SHARED: pair(0, None)})])
    assert (found["op"], found["reason"], found["shapes_hash"]) == ("64", "17", "123456789012")
    assert (found["rows_before"], found["elapsed_before"], found["shared_before"]) == (5, 8.0, 0)
    assert (found["shared_after"], found["registers_before"]) == ("", "")
    assert (found["direct_repeat"], found["target"], found["changed_kernels"]) == (1, "cuda:90", ["k-1"])
    assert json.loads(json.dumps(found)) == found


def test_data_holds_the_columns_of_the_table() -> None:
    (found,) = to_data([line()])
    assert [*found][:-2] == to_tsv([line()]).splitlines()[0].split("\t")


def typical() -> list[Line]:
    same = {cost: pair(64, 64) for cost in Cost}
    moved = {Cost.REGISTERS: pair(38, 36, 5), Cost.SPILLS: pair(0, 0), Cost.SHARED: pair(16384, 16384)}
    return [
        line("topk", code=MachineCode.SAME, changed=0, cvt=(12, 12), costs=same, next_step="same code: control"),
        line("fft", kernels=5, ir=5, changed=5, costs=moved),
        line("softmax", Verdict.NO_IR_DIFF, code=MachineCode.SAME, kernels=15, ir=0, changed=0, cvt=(2, 2), costs=same,
             next_step="control"),
        line("cross_entropy", Verdict.INCOMPLETE, next_step="see run.log"),
        line("gelu", Verdict.NO_IR_DIFF, kernels=3, ir=0, changed=1, costs={Cost.REGISTERS: pair(40, 40, 1)},
             next_step="code differs: ab_repeat"),
        line("zeros", Verdict.NO_TRITON, code=MachineCode.UNKNOWN, kernels=0, next_step="nothing to compare"),
    ]  # fmt: skip


def test_what_needs_attention_comes_first() -> None:
    order = [found.op for found in by_urgency(typical())]
    assert order == ["cross_entropy", "fft", "topk", "gelu", "softmax", "zeros"]
    assert [cells(text)[0] for text in to_text(typical())] == ["op", *order]


def test_failures_of_all_kinds_come_before_changes() -> None:
    failures = [verdict for verdict in Verdict if verdict.value not in ("IR_CHANGED", "NO_IR_DIFF", "NO_TRITON")]
    lines = [line("a"), *(line(verdict.value.lower(), verdict) for verdict in failures)]
    assert by_urgency(lines)[-1].op == "a"
    assert all(found.judgement.failed for found in by_urgency(lines)[:-1])


def test_a_hundred_columns_are_enough() -> None:
    # The rarest of rows, costs that moved below an equal largest, takes a few more.
    lines = [found for found in typical() if found.op != "gelu"]
    assert max(len(text) for text in to_text(lines)) <= 100
    assert max(len(text) for text in to_text(typical())) <= 110


def test_equal_changed_and_unknown_costs_can_be_told_apart() -> None:
    costs = {Cost.REGISTERS: pair(38, 36, 5), Cost.SPILLS: pair(0, 0), Cost.SHARED: pair(1024, 1024, 2)}
    head, row = to_text([line(costs=costs)])
    assert cells(head) == ["op", "verdict", "kernels", "IR", "code", "registers", "spills", "shared", "cvt", "next"]
    assert cells(row) == [
        "topk", "IR_CHANGED", "24", "1/24", "2/24", "38 → 36", "=", "1024 (2 differ)", "9 → 6", "ab_repeat",
    ]  # fmt: skip
    _, row = to_text([line(cvt=(4, 4), costs={Cost.SPILLS: pair(None, 3), Cost.SHARED: pair(3, None)})])
    assert cells(row)[5:9] == ["?", "?", "?", "4"]


def test_unknown_code_is_no_count() -> None:
    _, row = to_text([line(code=MachineCode.UNKNOWN)])
    assert cells(row)[4] == "?"


@pytest.mark.parametrize(
    "verdict", [v for v in Verdict if v not in (Verdict.IR_CHANGED, Verdict.NO_IR_DIFF)], ids=lambda v: v.value
)
def test_what_was_not_compared_shows_no_comparison(verdict: Verdict) -> None:
    _, row = to_text([line(verdict=verdict, costs={cost: pair(1, 2, 1) for cost in Cost})])
    assert cells(row)[3:9] == ["-"] * 6


def timed(verdict: Verdict, code: MachineCode, a: list[dict], b: list[dict]) -> Line:
    judged = line(verdict=verdict, code=code)
    comparison = compare(*(RunRows(rows=rows, timer="cuda_graph", l2="warm") for rows in (a, b)), op="topk")
    return replace(judged, times=PairTimes(comparison=comparison, meaning=meaning(judged.judgement)))


A = [row("r1", 0.010), row("r2", 0.020)]
B = [row("r1", 0.0102), row("r2", 0.0196)]


@pytest.mark.parametrize(
    ("verdict", "code", "shown", "what"),
    [
        (Verdict.IR_CHANGED, MachineCode.CHANGED, "0.0 %", "change"),
        (Verdict.IR_CHANGED, MachineCode.UNKNOWN, "0.0 %", "change"),
        (Verdict.NO_IR_DIFF, MachineCode.CHANGED, "0.0 %", "change"),
        (Verdict.NO_IR_DIFF, MachineCode.SAME, "noise 2.0 %", "noise"),
        (Verdict.NO_IR_DIFF, MachineCode.UNKNOWN, "noise 2.0 %", "noise"),
        (Verdict.IR_CHANGED, MachineCode.SAME, "noise 2.0 %", "noise"),
        (Verdict.NO_TRITON, MachineCode.UNKNOWN, "-", ""),
        (Verdict.NO_ROWS, MachineCode.UNKNOWN, "-", ""),
        (Verdict.INCOMPLETE, MachineCode.CHANGED, "-", ""),
        (Verdict.NOT_COMPARABLE, MachineCode.CHANGED, "-", ""),
    ],
)
def test_times_of_one_pair_are_a_hint_or_noise(verdict: Verdict, code: MachineCode, shown: str, what: str) -> None:
    found = timed(verdict, code, A, B)
    head, text, blank, legend = to_text([found])
    assert cells(head)[-2:] == ["one pair", "next"]
    assert cells(text)[-2] == shown
    assert (blank, legend) == ("", LEGEND)
    (data,) = to_data([found])
    low, high = (-2.0, 2.0) if what else ("", "")
    assert (data["latency_meaning"], data["latency_min"], data["latency_max"]) == (what, low, high)
    assert (data["latency_rows"], data["latency_excluded_timer"]) == (2, 0)


def test_times_that_were_taken_otherwise_are_counted_and_left_out() -> None:
    found = timed(Verdict.IR_CHANGED, MachineCode.CHANGED, [*A, row("r3", 0.03)], [*A, direct("r3", 0.18)])
    (data,) = to_data([found])
    assert (data["latency_change"], data["latency_rows"], data["latency_excluded_timer"]) == (0.0, 2, 1)
    only_direct = timed(Verdict.IR_CHANGED, MachineCode.CHANGED, A, [direct("r1", 0.1), direct("r2", 0.1)])
    assert cells(to_text([only_direct])[1])[-2] == "-"


def test_a_hundred_columns_are_enough_for_times_too() -> None:
    times = timed(Verdict.NO_IR_DIFF, MachineCode.SAME, A, B).times
    lines = [replace(found, times=times) for found in typical() if found.op != "gelu"]
    shown = to_text(lines)
    assert max(len(text) for text in shown) <= 100
    # What is equal everywhere makes room for them, and is said.
    assert not {"spills", "shared"} & set(cells(shown[0]))
    assert shown[-2] == "equal on both sides in every operator compared: spills, shared"
    assert "38 → 36" in "".join(shown)


def test_with_no_device_there_is_no_column_of_times() -> None:
    assert "one pair" not in to_text(typical())[0]
    (row_of_tsv,) = csv.DictReader(to_tsv([line()]).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    assert {row_of_tsv[column] for column in NEW[-8:-1]} == {""}


def test_a_target_has_its_column_where_there_are_several() -> None:
    head, first, second = to_text([line(target="cuda:90"), line("sort", target="cuda:80")])
    assert cells(head)[1] == "target"
    assert (cells(first)[1], cells(second)[1]) == ("cuda:80", "cuda:90")


def test_the_summary_counts() -> None:
    assert summary(typical(), "41 s") == (
        "6 operators · 2 IR changed, 1 of them in machine code · 1 in machine code alone · 1 failed · 41 s"
    )
    quiet = line(verdict=Verdict.NO_IR_DIFF, code=MachineCode.SAME)
    assert summary([quiet], "1.0 s") == "1 operator · 0 IR changed · 0 failed · 1.0 s"
    bytes_alone = line(verdict=Verdict.NO_IR_DIFF, code=MachineCode.SAME, raw=4)
    assert "4 kernels differ in bytes before normalising" in summary([quiet, bytes_alone], "1.0 s")
    assert "bytes" not in summary([*typical(), bytes_alone], "1.0 s")
    two = [quiet, line(verdict=Verdict.NO_IR_DIFF, code=MachineCode.SAME, target="cuda:80")]
    assert summary(two, "1.0 s").startswith("1 operator on 2 targets, 2 lines · 0 IR changed")


def test_data_of_every_line_has_the_same_keys() -> None:
    found: list[dict[str, Any]] = to_data(typical())
    assert {tuple(item) for item in found} == {tuple(found[0])}
