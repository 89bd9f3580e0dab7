"""P3 DEAD-SWITCH: a switch that reaches nothing must not end as "no difference"."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.suites import ToyProject, data

SWITCH = ("--build", "x", "--switch")


def screen(project: ToyProject, switch: str, *words: str) -> tuple[int, str, dict]:
    ended = project.run("screen", "toy", *SWITCH, switch, *words)
    (operator,) = data(project.screen / "screen.json")["operators"]
    return ended.code, ended.text, operator


def test_a_reader_that_understands_another_word(tmp_path: Path, shared, project: ToyProject) -> None:
    deaf = ToyProject(tmp_path / "deaf", builds=shared.builds, home=shared.home, fold_is="on")
    code, text, operator = screen(deaf, "TOY_FOLD")
    assert code == 5
    assert "SWITCH_NO_IR_DIFF op=toy switch=TOY_FOLD" in text
    assert operator["verdict"] == "NO_IR_DIFF"
    assert (operator["ir_changed"], operator["code_changed"]) == (0, 0)
    assert "%" not in text  # no delta anywhere
    assert data(deaf.screen / "status.json")["exit_code"] == 5
    # One pair and no more was run.
    assert [line["fold"] for line in deaf.journal()].count("1") == 10
    assert len(deaf.journal()) == 20


def test_a_name_that_nothing_reads_although_it_occurs(project: ToyProject) -> None:
    code, text, operator = screen(project, "TOY_FLOD")
    assert code == 5
    assert "SWITCH_NO_IR_DIFF op=toy switch=TOY_FLOD" in text
    assert operator["verdict"] == "NO_IR_DIFF"


def test_a_name_that_occurs_nowhere_stops_before_anything_runs(project: ToyProject) -> None:
    ended = project.run("screen", "toy", *SWITCH, "TOY_FOLDD")
    assert ended.code == 3
    assert "PREFLIGHT_FAILED check=switch-known" in ended.err
    assert "TOY_FOLDD occurs nowhere" in ended.err
    assert "Nearest: TOY_FOLD." in ended.err
    assert project.journal() == []
    assert "Traceback" not in ended.text


def test_a_cache_that_ignores_the_switch_is_no_matter_where_each_side_has_its_own(project: ToyProject) -> None:
    code, text, operator = screen(project, "TOY_FOLD", "--jobs", "1")
    assert code == 0
    assert operator["verdict"] == "IR_CHANGED"
    assert "SWITCH_NO_IR_DIFF" not in text
    assert [line["fold"] for line in project.journal()] == ["0"] * 10 + ["1"] * 10


def test_no_difference_is_not_claimed_from_a_shared_cache(project: ToyProject) -> None:
    code, text, operator = screen(project, "TOY_FOLD", "--jobs", "1", "--share-cache")
    assert code == 4
    assert operator["verdict"] == "CACHE_NOT_FRESH"
    assert "CACHE_NOT_FRESH" in text
    assert "SWITCH_NO_IR_DIFF" not in text
    assert "2 kernels came out of a cache that this side did not fill" in operator["reason"]


@pytest.mark.parametrize("value", ["1,1", "0,0"])
def test_equal_values_are_refused(project: ToyProject, value: str) -> None:
    ended = project.run("screen", "toy", *SWITCH, f"TOY_FOLD={value}")
    assert ended.code == 2
    assert "same value on both sides" in ended.err
    assert not project.runs.exists()
