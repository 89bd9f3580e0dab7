"""What a screen offers to rounds: who is chosen, what a pair and its rows took, tables of the predecessor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zlbench.errors import UsageError
from zlbench.judge import MachineCode, Verdict
from zlbench.partition_plan import Kind, RowCost, Work
from zlbench.screen.candidates import Candidate, extra_work, on_cards, read_candidates, row_costs, work_of
from zlbench.settings import parsers
from zlbench.suite.names import safe_dirname

HEAD = ("op", "op_file", "elapsed_before", "elapsed_after", "verdict", "backend", "machine_code", "directory")


def table(screen: Path, *lines: str, head: tuple[str, ...] = HEAD) -> Path:
    """Write a screen.tsv; a dot in a line is an empty field."""
    screen.mkdir(exist_ok=True)
    body = ["\t".join("" if word == "." else word for word in line.split()) for line in lines]
    (screen / "screen.tsv").write_text("\n".join(["\t".join(head), *body]) + "\n")
    return screen


def cell(pair: Path, side: str, *rows: tuple[str | None, float | None], elapsed_s: float | None = None) -> None:
    folder = pair / side
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps({"row": row, "elapsed_s": s}) + "\n" for row, s in rows))
    if elapsed_s is not None:
        (folder / "result.json").write_text(json.dumps({"elapsed_s": elapsed_s}))


def candidate(op: str, verdict: str = "IR_CHANGED", code: str = "changed", **more: str) -> Candidate:
    values = {"op": op, "op_file": op, "directory": op, "backend": "cuda", **more}
    return Candidate(verdict=verdict, code=code, pair_s=8.0, **values)


@pytest.mark.parametrize("verdict", [verdict.value for verdict in Verdict])
@pytest.mark.parametrize("code", [*(code.value for code in MachineCode), ""])
def test_who_is_chosen(verdict: str, code: str) -> None:
    item = candidate("a", verdict, code)
    changed = verdict == "IR_CHANGED" and code != "same"
    below = verdict == "NO_IR_DIFF" and code in ("changed", "unknown")
    assert item.chosen is (changed or below)
    assert item.control is (verdict in ("IR_CHANGED", "NO_IR_DIFF") and code == "same")


def test_every_verdict_can_be_asked_for() -> None:
    assert set(parsers.VERDICTS) == {verdict.value for verdict in Verdict}
    assert parsers.verdicts("IR_CHANGED,NO_ROWS INCOMPLETE") == ("IR_CHANGED", "NO_ROWS", "INCOMPLETE")


def test_times_come_from_the_cells_and_else_from_the_table(tmp_path: Path) -> None:
    screen = table(tmp_path / "s", "a f 1.0 2.0 IR_CHANGED cuda changed a@x", "b . 3.0 4.5 NO_IR_DIFF cuda same b",
                   "c . . 4.0 NO_ROWS cuda unknown c", "d . . . NO_ROWS cuda unknown .")  # fmt: skip
    cell(screen / "a@x", "A", ("r", 0.5), elapsed_s=1.04)
    cell(screen / "a@x", "B", ("r", 0.75), elapsed_s=2.02)
    cell(screen / "b", "A", elapsed_s=7.0)
    found = {item.op: item for item in read_candidates(screen)}
    assert [item.pair_s for item in found.values()] == [pytest.approx(3.06), 7.5, None, None]
    assert [item.directory for item in found.values()] == ["a@x", "b", "c", "d"]
    assert work_of(screen, found["a"]) == Work(
        op="a", directory="a@x", kind=Kind.SUBJECT, pair_s=found["a"].pair_s, rows=(RowCost(name="r", seconds=1.25),)
    )


def test_a_table_of_the_predecessor(tmp_path: Path) -> None:
    head = ("op", "op_file", "elapsed_before", "elapsed_after", "verdict", "backend")
    screen = table(tmp_path / "s", "topk topk 350 356 IR_CHANGED musa", "tanh tanh 4 4 NO_IR_DIFF musa", head=head)
    found = read_candidates(screen)
    assert [(item.op, item.pair_s, item.chosen, item.control) for item in found] == [
        ("topk", 706.0, True, False),
        ("tanh", 8.0, False, False),
    ]
    assert work_of(screen, found[0]).rows == ()
    assert on_cards(found)


def test_something_else_is_no_screen(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lacks the columns op and verdict"):
        read_candidates(table(tmp_path / "s", "x y", head=("card", "op")))


@pytest.mark.parametrize(
    ("a", "b", "costs"),
    [
        ([("x", 1.0), ("y", 2.0)], [("y", 0.25), ("x", 0.5)], [("x", 1.5), ("y", 2.25)]),
        ([("x", 0.0)], [("x", 0.0)], [("x", 0.0)]),
        ([("x", 1.0)], [("y", 1.0)], []),
        ([("x", 1.0), ("y", 1.0)], [("x", 1.0)], []),
        ([("x", 1.0), ("x", 1.0)], [("x", 1.0)], []),
        ([("x", 1.0), (None, 1.0)], [("x", 1.0), (None, 1.0)], []),
        ([("x", None)], [("x", 1.0)], []),
        ([], [], []),
    ],
    ids=["both", "nothing", "others", "fewer", "twice", "nameless", "untimed", "none"],
)
def test_rows_that_both_sides_have_once(
    tmp_path: Path, a: list[tuple[str | None, float | None]], b: list[tuple[str | None, float | None]],
    costs: list[tuple[str, float]],
) -> None:  # fmt: skip
    cell(tmp_path, "A", *a)
    cell(tmp_path, "B", *b)
    assert [(cost.name, cost.seconds) for cost in row_costs(tmp_path)] == costs


def test_extras_have_the_times_of_the_screen_where_it_knows_them(tmp_path: Path) -> None:
    known = [candidate("fft", op_file="perf_fft"), candidate("mm", directory="mm@cuda-80"),
             candidate("mm", directory="mm@cuda-90")]  # fmt: skip
    words = ("fft:perf_fft", "mm", "mm@cuda-80", "gelu:act:float16,bfloat16", "gelu:act:float16,bfloat16", "../x")
    found = extra_work(tmp_path, words, known)
    assert [(work.op, work.directory, work.pair_s) for work in found] == [
        ("fft", "fft", 8.0),
        ("mm", "mm@cuda-80", 8.0),
        ("mm", "mm@cuda-90", 8.0),
        ("gelu:act:float16,bfloat16", "gelu", None),
        ("../x", safe_dirname("../x"), None),
    ]
    assert all(work.extra for work in found)


@pytest.mark.parametrize(("names", "cards"), [((), False), (("compile",), False), (("compile", "cuda"), True),
                                              (("of another version",), True)])  # fmt: skip
def test_whether_lanes_are_cards(names: tuple[str, ...], cards: bool) -> None:
    assert on_cards([candidate("a", backend=name) for name in names]) is cards


@pytest.mark.parametrize(
    ("words", "found"),
    [("a b", ("a", "b")), ("a,b", ("a", "b")), ("a:f:float16,float32 b,", ("a:f:float16,float32", "b"))],
)
def test_how_operators_are_listed(words: str, found: tuple[str, ...]) -> None:
    assert parsers.operators(words) == found


def test_how_cards_are_listed() -> None:
    assert parsers.devices("0,GPU-1  2") == ("0", "GPU-1", "2")
    for wrong in (",", "0,1,0"):
        with pytest.raises(ValueError, match="card"):
            parsers.devices(wrong)
