"""Measuring on a card, with cards that are not there."""

from __future__ import annotations

import pytest
from fakes.fake_card import FakeCards
from fakes.suites import ToyProject, data


@pytest.fixture
def cards(project: ToyProject) -> FakeCards:
    return FakeCards(project.root / "cards")


def test_a_toy_runs_on_a_fake_card(project: ToyProject, cards: FakeCards) -> None:
    ended = project.run("run", "toy", "--build", "x", "--backend", "fakecard", env={"PYTHONPATH": cards.pythonpath()})
    assert ended.code == 0, ended.text
    (identity,) = project.runs.glob("toy_*/run_identity.json")
    found = data(identity)
    assert (found["backend"], found["timer"], found["l2"]) == ("fakecard", "direct", "flushed")
