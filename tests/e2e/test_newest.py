"""Which screen is meant where nobody names one, and the hint that names it where that would be another."""

from __future__ import annotations

import shlex

import pytest
from fakes.suites import Ended, ToyProject


def hint(ended: Ended) -> list[str]:
    (line,) = [line for line in ended.out.splitlines() if line.startswith("look:")]
    return shlex.split(line.removeprefix("look:"))[1:]


def test_a_rescore_does_not_make_a_screen_the_newest(project: ToyProject) -> None:
    assert project.run("screen", "toy").code == 0
    older = project.screen
    newer = project.run("screen", "other")
    assert newer.code == 0
    assert project.run("rescore", str(older)).code == 0
    assert project.run("diff", "other").code == 0  # the older one has no such operator
    assert hint(newer) == ["diff", "other"]


@pytest.mark.parametrize("by", ["option", "environment"])
def test_the_hint_finds_a_screen_elsewhere(project: ToyProject, by: str) -> None:
    env = {"OUT_DIR": "there"} if by == "environment" else {}
    ended = project.run("screen", "toy", *([] if env else ["--out", "there"]), env=env)
    assert ended.code == 0
    words = hint(ended)
    assert ("--screen" in words) is (by == "option")
    assert "toy_kernel" in project.run(*words, env=env).out


def test_the_hint_of_an_older_screen_that_was_gone_on_with_names_it(project: ToyProject) -> None:
    assert project.run("screen", "toy").code == 0
    older = project.screen
    assert project.run("screen", "other").code == 0
    again = project.run("screen", "--resume", str(older))
    assert hint(again) == ["diff", "toy", "--screen", str(older.relative_to(project.root))]
    assert project.run(*hint(again)).code == 0


def test_diff_says_where_it_looked_and_takes_a_directory_as_compare_does(project: ToyProject) -> None:
    assert project.run("screen", "toy").code == 0
    older = project.screen
    assert project.run("screen", "other").code == 0
    newer = project.screens()[-1]
    missed = project.run("diff", "toy")
    assert missed.code == 2
    assert f"no operator named toy in {newer}, the newest screen. Known: other." in missed.err
    assert "Another screen: --screen DIR" in missed.err
    wanted = project.run("diff", "toy", "--screen", str(older)).out
    assert "toy: 2 kernels changed" in wanted
    folder = str(older.relative_to(project.root))
    for words in ([folder], [folder, "toy"], [f"{folder}/toy"], [f"{folder}/"]):
        assert project.run("diff", *words).out == wanted
    for words in ([folder, str(newer)], [folder, "--screen", str(newer)]):
        assert "one screen, several are named" in project.run("diff", *words).err


def test_the_folders_of_several_targets_are_named_as_targets_are(project: ToyProject) -> None:
    assert project.run("screen", "toy", "--quick", "--target", "cuda:80,cuda:90").code == 0
    both = project.run("diff", "toy").out
    assert [line.partition(":")[0] for line in both.splitlines() if "changed," in line] == ["toy@cuda", "toy@cuda"]
    assert "toy@cuda:80: " in both
    assert project.run("diff", "toy@cuda:90").out == project.run("diff", "toy@cuda-90").out in both
    assert "toy@cuda:80, toy@cuda:90." in project.run("diff", "toyy").err
