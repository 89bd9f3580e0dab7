"""P8 UNEQUAL-ROWS: rows are matched one by one; what only one side has is listed with its reason, never averaged."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from fakes.run_dirs import CALIBER, failed, not_measured, row, write_run
from fakes.suites import Ended, ToyProject

from zlbench.cells import CellState

SLOW = ("r5", "r6")


def six(us: tuple[float, ...] = (10, 10, 10, 10, 40, 40), **more: str) -> list[dict]:
    return [row(f"r{number}", value / 1000, **more) for number, value in enumerate(us, 1)]


def four_and_out_of_memory() -> list[dict]:
    return [*six((10.2, 10.2, 10.2, 10.2)), *(failed(name, "OOM", phase="inputs") for name in SLOW)]


def compare(project: ToyProject, *words: str) -> Ended:
    ended = project.run("compare", "a", "b", *words)
    assert "Traceback" not in ended.text
    return ended


def operator(ended: Ended) -> dict:
    (found,) = json.loads(ended.out)["operators"]
    return found


@pytest.fixture
def a(project: ToyProject) -> Path:
    return write_run(project.root / "a", six())


def test_only_what_both_sides_measured_is_compared(project: ToyProject, a: Path) -> None:
    write_run(project.root / "b", four_and_out_of_memory(), side="B", state=CellState.OP_FAILED)
    ended = compare(project)
    assert ended.code == 6
    lines = ended.out.splitlines()
    assert any("4 of 6 rows compared" in line and "lost 2 (2 OOM)" in line for line in lines[:4])
    assert ended.out.count("+2.0 %") == 4
    for name in SLOW:
        assert any(line.startswith(f"OOM side=B row={name} ") for line in lines)
    assert "incomplete: 4 of 6 rows matched, no geomean" in ended.out
    # Neither the ratio of the naive means (10.2 / 20.0) nor any other headline.
    assert re.findall(r"[−-]49|49(?:\.\d+)? %", ended.out) == []
    assert "exit 6 (partial)" in ended.err


def test_an_incomplete_operator_has_no_headline_in_the_data_either(project: ToyProject, a: Path) -> None:
    write_run(project.root / "b", four_and_out_of_memory(), side="B", state=CellState.OP_FAILED)
    ended = compare(project, "--json")
    found = operator(ended)
    assert (found["rows_matched"], found["rows_expected"], found["complete"]) == (4, 6, False)
    assert (found["geomean_change"], found["geomean_rows"]) == (None, 0)
    assert [(item["row"], item["sides"], item["reason_b"]) for item in found["lost"]] == [
        ("r5", "B", "OOM"), ("r6", "B", "OOM"),
    ]  # fmt: skip
    assert json.loads(ended.out)["exit_code"] == ended.code == 6


@pytest.mark.parametrize(
    ("state", "missing", "reasons"),
    [
        (CellState.CRASH, [not_measured("r5", "CRASH"), not_measured("r6")], ["CRASH", "NOT_MEASURED"]),
        (CellState.TIMEOUT, [not_measured("r5", "CELL_TIMEOUT"), not_measured("r6")], ["CELL_TIMEOUT", "NOT_MEASURED"]),
        (CellState.CRASH, [], ["CRASH", "CRASH"]),
        (CellState.OK, [], ["UNEQUAL_ROWS", "UNEQUAL_ROWS"]),
    ],
)
def test_the_reason_is_that_of_the_side(
    project: ToyProject, a: Path, state: CellState, missing: list[dict], reasons: list[str]
) -> None:
    write_run(project.root / "b", six((10.2, 10.2, 10.2, 10.2)), side="B", state=state, missing=missing)
    ended = compare(project, "--json")
    assert [item["reason_b"] for item in operator(ended)["lost"]] == reasons
    assert ended.code == 6


def test_rows_that_both_sides_lost_leave_it_incomplete(project: ToyProject) -> None:
    write_run(project.root / "a", six()[:5], state=CellState.CRASH, missing=[not_measured("r6", "CRASH")])
    write_run(project.root / "b", [*six()[:5], failed("r6", "OOM")], side="B", state=CellState.OP_FAILED)
    ended = compare(project, "--json")
    (lost,) = operator(ended)["lost"]
    assert (lost["sides"], lost["reason_a"], lost["reason_b"]) == ("A,B", "CRASH", "OOM")
    assert (operator(ended)["geomean_change"], ended.code) == (None, 6)


def test_another_dtype_label_matches_nothing(project: ToyProject, a: Path) -> None:
    rows = [{**item, "row": f"toy|bfloat16|{item['row']}", "dtype": "bfloat16"} for item in six()]
    write_run(project.root / "b", rows, side="B")
    ended = compare(project)
    assert ended.code == 4
    assert "ZERO_MATCHED op=toy none of 6 rows of A has a counterpart among 6 rows of B" in ended.out
    assert "0 of 12 rows compared" in ended.out
    assert "exit 4 (not comparable)" in ended.err


@pytest.mark.parametrize("bad", [0, 0.0, -0.01, math.nan, math.inf, None, "nan"])
def test_a_latency_that_cannot_be_leaves_its_row_out(project: ToyProject, a: Path, bad: object) -> None:
    rows = [{**item, "latency_ms": bad if item["row"] == "r3" else item["latency_ms"] * 1.02} for item in six()]
    write_run(project.root / "b", rows, side="B")
    found = operator(ended := compare(project, "--json"))
    assert [(item["row"], item["reason"]) for item in found["excluded"]] == [("r3", "INVALID_LATENCY")]
    assert found["geomean_change"] == pytest.approx(0.02)
    assert found["geomean_rows"] == 5
    assert ended.code == 6
    text = compare(project).out
    assert "INVALID_LATENCY row=r3" in text
    assert "over 5 of 6 rows" in text


def test_a_side_without_any_row_is_nothing_measured(project: ToyProject, a: Path) -> None:
    missing = [not_measured("r1", "CRASH"), *(not_measured(f"r{number}") for number in range(2, 7))]
    write_run(project.root / "b", [], side="B", state=CellState.CRASH, missing=missing)
    ended = compare(project)
    assert ended.code == 5
    assert "NOTHING_MEASURED op=toy no row was measured on side B" in ended.out
    assert "CRASH side=B row=r1" in ended.out


# What comes before any row.


def test_other_conditions_are_refused_before_any_number(project: ToyProject, a: Path) -> None:
    write_run(project.root / "b", six(), side="B", bench_level="comprehensive")
    ended = compare(project)
    assert (ended.code, ended.out) == (4, "")
    assert "[caliber] toy: bench_level: before=core after=comprehensive" in ended.err
    allowed = compare(project, "--allow-caliber-mismatch")
    assert allowed.code == 0
    assert allowed.out.splitlines()[0] == "[caliber] toy: bench_level: before=core after=comprehensive"


def test_an_identity_that_is_missing_is_refused(project: ToyProject, a: Path) -> None:
    write_run(project.root / "b", six(), side="B", identity=False)
    ended = compare(project)
    assert (ended.code, ended.out) == (4, "")
    assert "run_identity.json: before=present after=missing" in ended.err
    assert compare(project, "--allow-caliber-mismatch").code == 0


def test_two_records_are_refused(project: ToyProject) -> None:
    write_run(project.root / "a", six(), autotune_mode="record")
    write_run(project.root / "b", six(), side="B", autotune_mode="record")
    ended = compare(project)
    assert ended.code == 4
    assert "RECORD_VS_RECORD" in ended.err


def test_shapes_that_were_not_in_force_are_refused(project: ToyProject, a: Path) -> None:
    write_run(project.root / "b", six(), side="B", markers=["SHAPES_NOT_IN_FORCE GluBenchmark ignores them"])
    ended = compare(project)
    assert ended.code == 4
    assert "SHAPES_NOT_IN_FORCE" in ended.err


def test_another_operator_is_refused(project: ToyProject, a: Path) -> None:
    write_run(project.root / "b", six(), side="B", op="fft")
    ended = compare(project)
    assert ended.code == 4
    assert "[caliber] toy: op: before=toy after=fft" in ended.err


def test_runs_that_only_compiled_have_no_latency(project: ToyProject) -> None:
    for side in "AB":
        rows = [{**item, "latency_ms": None, "timer": "compile"} for item in six()]
        write_run(project.root / side.lower(), rows, side=side, backend="compile", timer="compile", l2=None)
    ended = compare(project)
    assert ended.code == 5
    assert "only compiled" in ended.err
    assert "zlbench diff OP" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a",), "is one run; with what is it compared?"),
        (("a", "a"), "both sides are"),
        (("a", "nowhere"), "is no directory"),
        (("a", "empty"), "is no run directory"),
        (("a", "b", "a"), "3 directories are given"),
        ((), "no screen in"),
    ],
)
def test_what_cannot_be_meant(project: ToyProject, a: Path, words: tuple[str, ...], said: str) -> None:
    (project.root / "empty").mkdir()
    write_run(project.root / "b", six(), side="B")
    ended = project.run("compare", *words)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.text


def test_what_the_plugins_said_stands_below(project: ToyProject) -> None:
    busy = "CARD_BUSY pid=4711 another process"
    write_run(project.root / "a", six(), markers=[busy, "BASELINE_NOT_INDEPENDENT toy"])
    write_run(project.root / "b", six(), side="B", markers=[busy])
    lines = compare(project).out.splitlines()
    assert "CARD_BUSY op=toy side=A,B pid=4711 another process" in lines
    said = [line for line in lines if line.startswith("BASELINE_NOT_INDEPENDENT")]
    assert said == ["BASELINE_NOT_INDEPENDENT op=toy its baseline is no canary"]


# A screen, its pairs, and both sides of one.


def screen(project: ToyProject) -> Path:
    root = project.runs / "screen_20261129-120000"
    write_run(root / "toy" / "A", six())
    write_run(root / "toy" / "B", six((10.2, 10.2, 10.2, 10.2, 40.8, 40.8)), side="B")
    write_run(root / "fft" / "A", six(), op="fft")
    write_run(root / "fft" / "B", four_and_out_of_memory(), side="B", op="fft", state=CellState.OP_FAILED)
    (root / "screen.tsv").write_text("op\tverdict\n")
    return root


def test_a_whole_screen(project: ToyProject) -> None:
    root = screen(project)
    for words in ((), (str(root),)):
        ended = project.run("compare", *words)
        assert ended.code == 6
        operators = [line.split()[:4] for line in ended.out.splitlines() if " of 6 " in line and "compared" not in line]
        assert operators == [["fft", "4", "of", "6"], ["toy", "6", "of", "6"]]
        assert "10 of 12 rows compared" in ended.out


def test_one_pair_of_a_screen_in_both_spellings(project: ToyProject) -> None:
    pair = screen(project) / "toy"
    both = [project.run("compare", *words) for words in ((str(pair),), (str(pair / "A"), str(pair / "B")))]
    assert [ended.code for ended in both] == [0, 0]
    assert both[0].out == both[1].out
    assert "+2.0 %" in both[0].out


def test_an_operator_that_is_refused_does_not_hide_the_others(project: ToyProject) -> None:
    root = screen(project)
    write_run(root / "mm" / "A", six(), op="mm")
    write_run(root / "mm" / "B", six(), side="B", op="mm", caliber=CALIBER, driver="580")
    ended = project.run("compare", str(root))
    assert ended.code == 4
    assert "[caliber] mm: driver: before=575.57 after=580" in ended.out
    assert any(line.startswith("toy ") for line in ended.out.splitlines())
    assert not any(line.startswith("mm ") for line in ended.out.splitlines())
