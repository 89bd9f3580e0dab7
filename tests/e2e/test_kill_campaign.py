"""SIGKILL at random moments, in short: `benchmarks/kill_campaign.py` does it 200 times."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fakes.fake_card import FakeCards
from fakes.killing import Killed
from fakes.suites import ToyProject

WORDS = ("toy", "other", "--rounds", "2", "--telemetry-interval", "1")
KILLS = 4


def test_compile_times_come_out_the_same(project: ToyProject) -> None:
    project.table(shapes=[[1, 64], [2, 64]])
    subject = Killed(project=project, words=WORDS)
    subject.undisturbed()
    subject.kill(KILLS, random.Random(4))
    assert sum(subject.kills.values()) == KILLS
    assert subject.finished >= 1


@pytest.mark.parametrize("cards", [1, 2])
def test_latencies_on_cards_come_out_the_same(project: ToyProject, tmp_path: Path, cards: int) -> None:
    project.table(shapes=[[1, 64], [2, 64]])
    fake = FakeCards(tmp_path / "cards", cards)
    devices = ",".join(map(str, range(cards)))
    subject = Killed(
        project=project, words=(*WORDS, "--backend", "fakecard", "--devices", devices, "--no-split"),
        env={"PYTHONPATH": fake.pythonpath()},
    )  # fmt: skip
    subject.undisturbed()
    subject.kill(KILLS, random.Random(5))
    assert sum(subject.kills.values()) == KILLS
    assert subject.finished >= 1
