"""A row that costs the process its card costs itself: the rows behind it are measured in a fresh process."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.fake_card import FakeCards
from fakes.suites import ToyProject, data, lines

AT_S3 = {"at": "call", "op": "toy", "dtype": "float16", "shape": 3, "do": "lose_device"}


@pytest.fixture
def env(project: ToyProject) -> dict[str, str]:
    return {"PYTHONPATH": FakeCards(project.root / "cards").pythonpath()}


def rows_of(project: ToyProject, side: str) -> list[dict[str, Any]]:
    return lines(project.screen / "toy" / side / "rows.jsonl")


def test_one_row_is_lost_and_every_other_is_measured_once(project: ToyProject, env: dict[str, str]) -> None:
    project.trouble({**AT_S3, "compiler": "y"})
    ended = project.run("screen", "toy", "other", "--backend", "fakecard", env=env)
    rows = rows_of(project, "B")
    lost = [row for row in rows if row["status"] != "SUCCESS"]
    assert [(row["dtype"], row["shape"], row["failure"]) for row in lost] == [("float16", [3, 64], "DEVICE_LOST")]
    assert [row["row"] for row in rows] == [row["row"] for row in rows_of(project, "A")]
    assert [row["sequence"] for row in rows] == list(range(len(rows)))
    pids = {line["pid"] for line in project.journal() if line["compiler"] == "y" and line["op"] == "toy"}
    assert len(pids) == 2
    result = data(project.screen / "toy" / "B" / "result.json")
    assert (result["state"], result["rows_ok"], result["rows_failed"], result["rows_not_measured"]) == (
        "OP_FAILED", len(rows) - 1, 1, 0,
    )  # fmt: skip
    assert "DEVICE_LOST op=toy side=B" in ended.out
    operators = {item["op"]: item["verdict"] for item in data(project.screen / "screen.json")["operators"]}
    assert operators == {"toy": "INCOMPLETE", "other": "IR_CHANGED"}
    assert ended.code == 6


def test_rows_that_were_finished_are_not_measured_again(project: ToyProject, env: dict[str, str]) -> None:
    project.trouble({**AT_S3, "compiler": "y"}, {**AT_S3, "compiler": "y", "dtype": "float32"})
    project.run("screen", "toy", "--backend", "fakecard", env=env)
    calls = [line["row"] for line in project.journal() if line["compiler"] == "y" and line["op"] == "toy"]
    per_process: dict[int, set[str]] = {}
    for line in project.journal():
        if line["compiler"] == "y":
            per_process.setdefault(line["pid"], set()).add(line["row"])
    assert len(per_process) == 3
    groups = list(per_process.values())
    assert all(not one & other for i, one in enumerate(groups) for other in groups[i + 1 :])
    every = {row["dtype"] + ":" + str(row["shape"][0]) for row in rows_of(project, "B") if "label" in row}
    assert set(calls) == every - {"float16:3", "float32:3"}


def test_inputs_that_cost_the_card_cost_their_row_alone(project: ToyProject, env: dict[str, str]) -> None:
    project.trouble({"at": "inputs", "op": "toy", "dtype": "float16", "shape": 2, "do": "lose_device", "compiler": "y"})
    project.run("screen", "toy", "--backend", "fakecard", env=env)
    rows = rows_of(project, "B")
    failed = [(row["dtype"], row["shape"], row["failure"]) for row in rows if row["status"] != "SUCCESS"]
    assert failed == [("float16", [2, 64], "DEVICE_LOST")]
    assert [row["shape"] for row in rows] == [row["shape"] for row in rows_of(project, "A")]


def test_two_losses_and_an_ordinary_failure_between(project: ToyProject, env: dict[str, str]) -> None:
    project.trouble(
        {**AT_S3, "shape": 2}, {**AT_S3, "shape": 3, "do": "error"}, {**AT_S3, "shape": 4, "dtype": "float16"},
    )  # fmt: skip
    project.run("run", "toy", "--backend", "fakecard", "--build", "x", env=env)
    (run_dir,) = project.runs.glob("toy_*")
    rows = lines(run_dir / "rows.jsonl")
    assert [row["sequence"] for row in rows] == list(range(10))
    assert [row.get("failure") for row in rows] == [None, "DEVICE_LOST", "ERROR", "DEVICE_LOST", *[None] * 6]
    assert len({row["row"] for row in rows}) == 10
