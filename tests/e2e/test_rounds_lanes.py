"""Several lanes: a card each, apart from one another, merged in the root; without a device, a processor each."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from fakes.bench_rounds import Bench, state, table
from fakes.fake_card import FakeCards, uuid
from fakes.suites import ToyProject, data, lines, wait_until_gone


@pytest.fixture
def bench(project: ToyProject) -> Bench:
    return Bench(project=project, cards=FakeCards(project.root / "cards", count=3))


def cards_of(root: Path, lane: str) -> set[str]:
    found = (data(path)["device_uuid"] for path in (root / lane).glob("*/r*_[AB]/run_identity.json"))
    return set(found)


@pytest.mark.parametrize(("devices", "cards"), [("0,2", (0, 2)), (f"{uuid(1)},0", (1, 0)), ("all", (0, 1, 2))])
def test_every_lane_has_its_card(bench: Bench, devices: str, cards: tuple[int, ...]) -> None:
    ended = bench.run("toy", "other", "third", "--rounds", "1", "--devices", devices)
    assert ended.code == 0, ended.text
    root = bench.root
    plan = data(root / "repeat.json")
    assert [(lane["index"], lane["uuid"]) for lane in plan["lanes"]] == [(card, uuid(card)) for card in cards]
    assert {lane["lane"]: cards_of(root, lane["lane"]) for lane in plan["lanes"]} == {
        str(card): {uuid(card)} for card in cards
    }
    merged = table(root / "status.tsv")
    assert list(merged[0])[:4] == ["card", "round", "op", "side"]
    assert sorted((line["op"], line["side"]) for line in merged) == [
        (op, side) for op in ("other", "third", "toy") for side in "AB"
    ]
    assert {line["card"] for line in merged} == {str(card) for card in cards}
    for card in cards:
        assert state(root / str(card))["state"] == "finished"
    assert "card 0  [1/" in ended.err, "lanes' own words come with their card"


def test_a_partition_of_the_screen_is_used(bench: Bench) -> None:
    assert bench.screen("toy", "other").code == 0
    assert bench.project.run("partition", "--devices", "2,0", env=bench.env).code == 0
    ended = bench.project.run("ab_repeat", "--rounds", "1", env=bench.env)
    assert ended.code == 0, ended.text
    assert f"lanes: those of {bench.project.screen / 'partition.json'}" in ended.err
    plan = data(bench.root / "repeat.json")
    assert [lane["index"] for lane in plan["lanes"]] == [2, 0]
    named = bench.project.run("ab_repeat", "--devices", "1", "--dry-run", env=bench.env)
    assert "lanes: those of" not in named.err
    assert "1 lane" in named.out


def test_lanes_have_roots_and_caches_of_their_own(bench: Bench) -> None:
    assert bench.run("toy", "other", "--rounds", "1", "--devices", "0,1").code == 0
    root = bench.root
    assert sorted(path.name for path in root.iterdir() if path.is_dir()) == ["0", "1"]
    for lane in "01":
        assert (root / lane / "pairs.tsv").is_file()
        (op,) = [path.name for path in (root / lane).iterdir() if (path / "r1_A").is_dir()]
        assert data(root / lane / op / "r1_B" / "cell.json")["replay_from"] == str(root / lane / op / "r1_A")


def test_each_card_is_taken_while_the_driver_lives(bench: Bench) -> None:
    bench.project.trouble({"op": "toy", "compiler": "x", "at": "call", "do": "hang"})
    running = bench.start("toy", "other", "--rounds", "1", "--devices", "0,1")
    running.until("r1_B")  # the other lane has ended or is about to
    second = bench.project.run(
        "run", "third", "--build", "x", "--backend", "fakecard", "--quick", "--device", "1", env=bench.env
    )
    assert second.code == 3, second.text
    assert f"CARD_IN_USE card 1 is in use by pid {running.pid}" in second.err
    third = bench.project.run(
        "run", "third", "--build", "x", "--backend", "fakecard", "--quick", "--device", "2", env=bench.env
    )
    assert third.code == 0, third.text
    running.send(signal.SIGTERM)
    assert running.end().code == 130
    assert wait_until_gone(str(bench.root)) == []
    states = {state(bench.root / lane)["state"] for lane in "01"}
    assert "interrupted" in states
    assert states <= {"interrupted", "finished"}


def test_a_lane_whose_process_is_killed_leaves_a_part(bench: Bench) -> None:
    bench.project.trouble({"op": "toy", "compiler": "y", "at": "call", "do": "kill_lane"})
    ended = bench.run("toy", "other", "--rounds", "1", "--devices", "0,1")
    assert ended.code == 6, ended.text
    ends = {end["op"]: end["exit_code"] for end in data(bench.root / "status.json")["operators"]}
    assert ends == {"toy": 6, "other": 0}
    again = bench.run("--resume", str(bench.root))
    assert again.code == 0, again.text


def test_the_second_of_two_on_one_card_is_refused_and_leaves_nothing(bench: Bench) -> None:
    bench.project.trouble({"op": "toy", "compiler": "x", "at": "call", "do": "hang"})
    running = bench.start("toy", "--rounds", "1")
    running.until("latencies on")
    ended = bench.run("other", "--rounds", "1")
    assert ended.code == 3, ended.text
    assert f"CARD_IN_USE card 0 is in use by pid {running.pid} (zlbench ab_repeat toy" in ended.err
    assert len(list(bench.project.runs.glob("repeat_*"))) == 1
    running.send(signal.SIGINT)
    running.end()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_lanes_without_a_device_have_a_processor_each(project: ToyProject) -> None:
    words = ("ab_repeat", "toy", "other", "--quick", "--rounds", "2", "--lanes", "2")
    ended = project.run(*words, env={"TELEMETRY_INTERVAL": "0"})
    assert ended.code == 0, ended.text
    (root,) = project.runs.glob("repeat_*")
    plan = data(root / "repeat.json")
    assert plan["metric"] == "compile_ms"
    cores = [lane["core"] for lane in plan["lanes"]]
    assert len(set(cores)) == 2
    assert [lane["card"] for lane in plan["lanes"]] == [None, None]
    assert len(table(root / "status.tsv")) == 8
    rows = [row for path in root.glob("*/*/r*_[AB]/rows.jsonl") for row in lines(path)]
    assert {row["status"] for row in rows} == {"SUCCESS"}
    assert not (project.root.parent / "card-locks").exists()


def test_more_lanes_than_processors_are_refused(project: ToyProject) -> None:
    ended = project.run("ab_repeat", "toy", "--lanes", "4096")
    assert (ended.code, "this process may use" in ended.err) == (2, True), ended.text
