"""A screen on a card that is gone on with: what replays is measured again where what it replayed is."""

from __future__ import annotations

import pytest
from fakes.fake_card import FakeCards
from fakes.suites import ToyProject, data


@pytest.fixture
def env(project: ToyProject) -> dict[str, str]:
    return {"PYTHONPATH": FakeCards(project.root / "cards").pythonpath()}


def test_a_side_that_crashed_takes_its_replay_along(project: ToyProject, env: dict[str, str]) -> None:
    project.trouble({"at": "call", "op": "toy", "dtype": "float16", "shape": 3, "compiler": "x", "do": "segv"})
    project.run("screen", "toy", "other", "--backend", "fakecard", env=env)
    project.trouble()
    before = len(project.journal())
    ended = project.run("screen", "toy", "other", "--backend", "fakecard", "--resume", str(project.screen), env=env)
    assert ended.code == 0, ended.text
    verdicts = {item["op"]: item["verdict"] for item in data(project.screen / "screen.json")["operators"]}
    assert verdicts == {"toy": "IR_CHANGED", "other": "IR_CHANGED"}
    again = {(line["op"], line["compiler"]) for line in project.journal()[before:]}
    assert again == {("toy", "x"), ("toy", "y")}


def test_a_finished_screen_measures_nothing_again(project: ToyProject, env: dict[str, str]) -> None:
    project.run("screen", "toy", "--backend", "fakecard", env=env)
    before = len(project.journal())
    ended = project.run("screen", "toy", "--backend", "fakecard", "--resume", str(project.screen), env=env)
    assert ended.code == 0
    assert len(project.journal()) == before
