"""A screen's operators over cards and lanes, through the command: who is taken, what is written, what is refused."""

from __future__ import annotations

import csv
import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest
from fakes.suites import PATHS, ToyProject, data, lines, make_table_backend

OPERATORS = ("toy", "other", "third")


@pytest.fixture
def screened(project: ToyProject) -> ToyProject:
    """A finished screen of three changed operators."""
    assert project.run("screen", *OPERATORS).code == 0
    return project


def tsv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def held(plan: dict[str, Any]) -> dict[str, list[str]]:
    return {lane["lane"]: [op["op"] for op in lane["ops"]] for lane in plan["lanes"]}


def took(project: ToyProject, op: str, *, row_s: float, start_up_s: float) -> None:
    """Let both cells of an operator have taken this long."""
    for side in "AB":
        cell = project.screen / op / side
        rows = [row | {"elapsed_s": row_s} for row in lines(cell / "rows.jsonl")]
        (cell / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        result = data(cell / "result.json") | {"elapsed_s": row_s * len(rows) + start_up_s}
        (cell / "result.json").write_text(json.dumps(result))


def test_lanes_of_the_newest_screen(screened: ToyProject) -> None:
    for op, seconds in zip(OPERATORS, (3.0, 2.0, 1.0), strict=True):
        took(screened, op, row_s=0.0, start_up_s=seconds)
    before = data(screened.screen / "plan.json")
    ended = screened.run("partition", "--lanes", "2", "--rounds", "4")
    assert ended.code == 0
    assert "3 operators to measure, 3 screened · 4 rounds · 2 lanes" in ended.out
    assert (
        "on one lane 0.80 min · critical path 0.40 min (lane 0) · average load 0.40 min · imbalance 1.00" in ended.out
    )
    plan = data(screened.screen / "partition.json")
    assert held(plan) == {"0": ["toy"], "1": ["other", "third"]}
    assert [lane["card"] for lane in plan["lanes"]] == [None, None]
    assert plan["lanes"][1]["ops"][0] == {
        "op": "other", "dir": "other", "kind": "subject", "seconds": 16.0, "rows": None, "shard": 1, "shards": 1,
    }  # fmt: skip
    table = tsv(screened.screen / "plan.tsv")
    assert [(line["card"], line["op"], line["seconds"], line["minutes"]) for line in table] == [
        ("0", "toy", "24.0", "0.40"), ("1", "other", "16.0", "0.27"), ("1", "third", "8.0", "0.13"),
    ]  # fmt: skip
    assert data(screened.screen / "plan.json") == before
    assert screened.run("rescore").code == 0


def test_a_heavy_operator_is_cut_by_the_rows_of_its_cells(screened: ToyProject) -> None:
    took(screened, "toy", row_s=10.0, start_up_s=5.0)
    ended = screened.run("partition", "--lanes", "3", "--json")
    assert ended.code == 0
    plan = json.loads(ended.out)
    assert plan == data(screened.screen / "partition.json")
    shards = [op for lane in plan["lanes"] for op in lane["ops"] if op["op"] == "toy"]
    names = [row["row"] for row in lines(screened.screen / "toy" / "A" / "rows.jsonl")]
    assert sorted(name for shard in shards for name in shard["rows"]) == sorted(names)
    assert [(shard["shard"], shard["shards"], len(shard["rows"])) for shard in shards] == [
        (1, 3, 4),
        (2, 3, 3),
        (3, 3, 3),
    ]
    assert [shard["seconds"] for shard in shards] == [540.0, 420.0, 420.0]
    assert plan["lower_bound"]["seconds"] <= plan["critical_path_s"] == 540.0
    whole = json.loads(screened.run("partition", "--lanes", "3", "--json", "--no-split").out)
    assert whole["critical_path_s"] == 1260.0
    assert (whole["lower_bound"]["by"], whole["lower_bound"]["dir"]) == ("operator", "toy")


def test_a_dry_run_and_the_variables_of_the_predecessor(screened: ToyProject) -> None:
    variables = {
        "SCREEN": str(screened.screen / "screen.tsv"), "DEVICES": "5,7", "ROUNDS": "2", "EXTRA_OPS": "fresh toy",
        "VERDICT": "NO_IR_DIFF", "DRY_RUN": "1",
    }  # fmt: skip
    ended = screened.run("partition", env=variables)
    assert ended.code == 0
    assert "2 operators to measure, 3 screened · 2 rounds · 2 lanes" in ended.out
    assert "left out  IR_CHANGED, other code: other, third" in ended.out
    assert "no time is known of fresh: counted as the mean of the others" in ended.out
    assert "nothing was written" in ended.out
    assert not (screened.screen / "plan.tsv").exists()
    assert not (screened.screen / "partition.json").exists()
    again = screened.run("partition", "--verdict", "IR_CHANGED", "--devices", "1", "--json", env=variables)
    (ops,) = held(json.loads(again.out)).values()
    assert (sorted(ops[:3]), ops[3:]) == (sorted(OPERATORS), ["fresh"])
    assert json.loads(again.out)["notes"] == ["toy of --extra-ops is among the chosen already"]


def test_nothing_changed_is_a_plan_without_work(screened: ToyProject) -> None:
    ended = screened.run("partition", "--verdict", "NO_ROWS")
    assert ended.code == 0
    assert "nothing to measure" in ended.out
    assert "left out  IR_CHANGED, other code: toy, other, third" in ended.out
    assert tsv(screened.screen / "plan.tsv") == []


def test_a_plan_beside_the_screen(screened: ToyProject) -> None:
    ended = screened.run("partition", str(screened.screen), "--lanes", "1", "--out", "elsewhere/plans")
    assert ended.code == 0
    assert "elsewhere/plans/plan.tsv" in ended.out
    assert data(screened.root / "elsewhere" / "plans" / "partition.json")["screen"] == str(screened.screen)
    assert not (screened.screen / "plan.tsv").exists()


REFUSED = {
    ("--lanes", "0"): "'0' is less than 1",
    ("--lanes", "2", "--devices", "0"): "--devices and --lanes are both given",
    ("--devices", ","): "it names no card",
    ("--devices", "1", "--devices", "1"): "card 1 is named twice",
    ("--verdict", "IR_CHANGE"): "Nearest: IR_CHANGED",
    ("nowhere",): "holds no screen.tsv",
    ("a", "b"): "2 screens are given",
    ("--rounds", "none"): "not a whole number",
}


def test_what_is_refused(screened: ToyProject) -> None:
    for words, said in REFUSED.items():
        ended = screened.run("partition", *words)
        assert ended.code == 2
        assert said in ended.err
        assert "Traceback" not in ended.text
    assert not (screened.screen / "plan.tsv").exists()


def test_no_screen_and_a_screen_in_progress(project: ToyProject) -> None:
    ended = project.run("partition", "--lanes", "2")
    assert (ended.code, "no screen in" in ended.err) == (2, True)
    assert project.run("screen", "toy").code == 0
    status = project.screen / "status.json"
    status.write_text(json.dumps(data(status) | {"state": "running"}))
    with (project.screen / ".lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        ended = project.run("partition", "--lanes", "2")
        assert (ended.code, "another zlbench is writing into" in ended.err) == (2, True)
        ended = project.run("partition", "--lanes", "2", "--dry-run")
        assert (ended.code, "the screen is running" in ended.out) == (0, True)


def test_cards_have_to_be_named(project: ToyProject) -> None:
    backend = make_table_backend(project.root / "backend")
    env = {"PYTHONPATH": os.pathsep.join([*PATHS, str(backend)])}
    assert project.run("screen", "toy", "--backend", "table", env=env).code == 0
    ended = project.run("partition", env=env)
    assert ended.code == 2
    assert "no card is named" in ended.err
    assert "zlbench partition --devices 0,1" in ended.err
    ended = project.run("partition", "--devices", "0,GPU-5d1e", "--json", env=env)
    assert ended.code == 0
    assert [(lane["lane"], lane["card"]) for lane in json.loads(ended.out)["lanes"]] == [("0", "0"), ("GPU-5d1e",) * 2]


def test_a_session_like_the_others(screened: ToyProject) -> None:
    ended = screened.nox("-s", "partition", "--", "--lanes", "2")
    assert ended.code == 0
    assert "critical path" in ended.out
    assert screened.nox("-s", "partition", "--", "--lanes", "no").code == 2
