"""Repeated rounds of compile times: the same protocol and the same files, kernel by kernel."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fakes.bench_rounds import QUIET, results, state, table
from fakes.suites import Ended, ToyProject, data, lines


def measured(project: ToyProject, *words: str) -> Ended:
    return project.run("ab_repeat", *words, env=QUIET)


def root_of(project: ToyProject) -> Path:
    (found,) = project.runs.glob("repeat_*")
    return found


def test_rounds_of_compile_times(project: ToyProject) -> None:
    assert project.run("screen", "toy", "other").code == 0
    ended = measured(project, "--rounds", "3")
    assert ended.code == 0, ended.text
    root = root_of(project)
    plan = data(root / "repeat.json")
    assert (plan["metric"], plan["rounds"]) == ("compile_ms", {"fixed": 3})
    for op in ("toy", "other"):
        kernels = [item["item"] for item in data(root / op / "items.json")["items"]]
        for number in (1, 2, 3):
            for side in "AB":
                rows = lines(root / op / f"r{number}_{side}" / "rows.jsonl")
                assert [row["row"] for row in rows] == kernels
                assert {row["first"] for row in rows} == {side == ("B", "A")[number % 2]}
        assert data(root / op / "first_pair.json")["verdict"] == "IR_CHANGED"
    assert len(table(root / "status.tsv")) == 12
    assert {line["valid"] for line in table(root / "pairs.tsv")} == {"1"}
    assert len({line["pid"] for line in project.journal()[40:]}) == 4, "one process an operator and side"


def test_a_dead_switch_is_found_before_the_second_round(project: ToyProject) -> None:
    project.table(fold_is="9")
    ended = measured(project, "toy", "--quick", "--build", "x", "--switch", "TOY_FOLD", "--rounds", "3")
    assert ended.code == 5, ended.text
    assert "SWITCH_NO_IR_DIFF op=toy switch=TOY_FOLD" in ended.err
    assert sorted(results(root_of(project))) == ["toy/r1_A/result.json", "toy/r1_B/result.json"]


@pytest.mark.parametrize("after", ["r1_B", "r2_B"])
def test_a_killed_driver_goes_on(project: ToyProject, after: str) -> None:
    running = project.start("ab_repeat", "toy", "other", "--rounds", "3", env=QUIET)
    running.until(after)
    running.send(signal.SIGKILL)
    running.end()
    root = root_of(project)
    before = results(root)
    ended = measured(project, "--resume", str(root))
    assert ended.code == 0, ended.text
    after_it = results(root)
    assert {name: after_it[name] for name in before} == before
    assert len(after_it) == 12
    assert len(table(root / "status.tsv")) == 12
    assert state(root)["done"] == 12


def test_several_targets_are_operators_of_their_own(project: ToyProject) -> None:
    ended = measured(project, "toy", "--quick", "--rounds", "1", "--target", "cuda:80,cuda:90")
    assert ended.code == 0, ended.text
    assert {line["op"] for line in table(root_of(project) / "status.tsv")} == {"toy@cuda-80", "toy@cuda-90"}


def test_a_side_that_cannot_be_prepared_leaves_a_part(project: ToyProject) -> None:
    project.trouble({"compiler": "y", "op": "toy", "dtype": "float16", "at": "compiled", "do": "kill_cell"})
    ended = measured(project, "toy", "--quick", "--rounds", "2")
    assert ended.code == 6, ended.text
    project.trouble()
    again = measured(project, "--resume", str(root_of(project)))
    assert again.code == 0, again.text
