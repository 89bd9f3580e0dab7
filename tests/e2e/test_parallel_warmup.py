"""A sweep spread over cards: what the tuners choose, and when it stays serial."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.fake_card import uuid
from fakes.suites import data
from fakes.tuned_suites import TunedProject, blocks, records, replayed

SHAPES = "[[1, 64], [2, 64], [3, 64], [4, 64], [5, 64]]"


@pytest.fixture
def project(tmp_path: Path) -> TunedProject:
    found = TunedProject(tmp_path, home=tmp_path / "home")
    found.toy.table(shapes=[[number, 64] for number in range(1, 6)])
    return found


def said(project: TunedProject, *words: str, **env: str) -> str:
    ended = project.run("run", "tuned", "--build", "x", *words, **env)
    assert ended.code == 0, ended.text
    return next((line for line in ended.err.splitlines() if line.startswith("parallel warm-up")), "")


def newest(project: TunedProject) -> Path:
    return max(project.toy.runs.glob("tuned_*"), key=lambda path: path.stat().st_mtime_ns)


def test_a_sweep_is_spread_over_the_cards_and_measured_on_one(project: TunedProject) -> None:
    line = said(project, "--shapes", SHAPES, "--parallel-warmup", "2")
    assert line.startswith("parallel warm-up of tuned: 5 shapes on 2 cards (0, 1) in ")
    assert line.endswith("; 0 of 5 choices differ between cards")
    run = newest(project)
    # Round robin, one process a card; then each row replays.
    made = [int(record["key"][0]) for record in records(run)]
    assert sorted(made) == [1, 2, 3, 4, 5]
    assert made[:3] == [1, 3, 5]
    assert [item["outcome"] for item in replayed(run)] == ["hit"] * 5
    pids = [line["pid"] for line in project.toy.journal()]
    assert len(set(pids)) == 3
    meta = data(run / "autotune_records" / "meta.json")
    assert meta["mode"] == "record"
    assert meta["parallel_warmup"] == {"cards": [uuid(0), uuid(1)], "choices": 5, "conflicts": 0, "missed": 0}
    identity = data(run / "run_identity.json")
    assert identity["autotune_mode"] == "record"
    assert identity["device_uuid"] == uuid(0)
    assert identity["cards_beside"] == [uuid(1)]
    assert not list(project.toy.runs.glob(".work*"))


def test_its_record_can_be_replayed_and_equals_that_of_a_serial_sweep(project: TunedProject) -> None:
    said(project, "--shapes", SHAPES, "--parallel-warmup", "2")
    parallel = newest(project)
    said(project, "--shapes", SHAPES)
    serial = newest(project)
    assert (
        data(parallel / "run_identity.json")["autotune_source"] == data(serial / "run_identity.json")["autotune_source"]
    )
    assert said(project, "--shapes", SHAPES, "--replay-from", str(parallel), "--parallel-warmup", "2").endswith(
        "choices are replayed, nothing is swept"
    )
    again = newest(project)
    assert {item["outcome"] for item in replayed(again)} == {"hit"}
    assert blocks(replayed(again)) == blocks(replayed(parallel))


@pytest.mark.parametrize(
    ("words", "env", "reason"),
    [
        (("--parallel-warmup", "2", "--level", "comprehensive"), {}, "only at level core does a list say"),
        (("--parallel-warmup", "2", "--quick"), {}, "--quick measures one shape"),
        (("--parallel-warmup", "2", "--autotune", "0"), {}, "choices are not recorded"),
        (("--parallel-warmup", "2", "--device", "1"), {}, "1 card visible"),
        (("--parallel-warmup", "2"), {"FAKECARD_VISIBLE_DEVICES": "1"}, "1 card visible"),
        (("--parallel-warmup", "2", "--isolate-tuner-cache", "0"), {}, "the tuner cache is shared"),
    ],
)
def test_where_it_cannot_be_spread_the_reason_is_said(
    project: TunedProject, words: tuple[str, ...], env: dict[str, str], reason: str
) -> None:
    line = said(project, "--shapes", SHAPES, *words, **env)
    assert line.startswith("parallel warm-up of tuned: none, the sweep is serial: ")
    assert reason in line


def test_shapes_that_nobody_knows_in_advance_are_swept_serially(project: TunedProject) -> None:
    assert said(project, "--parallel-warmup", "2").endswith("the suite has no core_shapes.yaml")
    assert [item["source"] for item in records(newest(project))] == ["sweep"] * 5
    (project.toy.suite / "benchmark" / "core_shapes.yaml").write_text("Benchmark:\n  shapes: [[1, 64], [2, 64]]\n")
    assert "2 shapes on 2 cards (0, 1)" in said(project, "--parallel-warmup", "2")
    # What the file did not name is tuned while measuring, and that is said.
    parallel = newest(project)
    assert [item["outcome"] for item in replayed(parallel)] == ["hit", "hit", "miss", "miss", "miss"]
    # And recorded, so that a replay of it tunes nothing.
    assert sorted(int(record["key"][0]) for record in records(parallel)) == [1, 2, 3, 4, 5]
    assert [record["swept"] for record in records(parallel)][2:] == [6, 6, 6]
    assert data(parallel / "autotune_records" / "meta.json")["parallel_warmup"]["missed"] == 3
    text = "WARMUP_MISSED 3 keys tuned anew while measuring, on one card; 2 were warmed up"
    assert text in data(parallel / "result.json")["markers"]
    said(project, "--replay-from", str(parallel))
    assert [item["outcome"] for item in replayed(newest(project))] == ["hit"] * 5


@pytest.mark.parametrize("number", ["0", "1"])
def test_fewer_than_two_is_no_request(project: TunedProject, number: str) -> None:
    assert said(project, "--shapes", SHAPES, "--parallel-warmup", number) == ""


def test_a_card_that_fails_leaves_the_sweep_to_the_measuring_process(project: TunedProject) -> None:
    project.toy.trouble({"op": "tuned", "dtype": "float16", "shape": 2, "at": "call", "do": "kill_shard"})
    line = said(project, "--shapes", SHAPES, "--parallel-warmup", "2")
    assert "none, the sweep is serial: the sweep of 2 shapes failed on a card, see warmup.log" in line
    run = newest(project)
    assert data(run / "autotune_records" / "meta.json").get("parallel_warmup") is None
    assert [item["source"] for item in records(run)] == ["sweep"] * 5
    assert (run / "warmup.log").is_file()


def test_winners_that_differ_between_cards_are_counted(project: TunedProject) -> None:
    """Two shapes of one key, swept on cards that disagree."""
    project.toy.table(inputs_of_a_shape=1, tune_by_card={uuid(1): [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    line = said(project, "--shapes", "[[7, 64], [7, 32]]", "--parallel-warmup", "2")
    assert line.endswith("; 1 of 1 choices differ between cards")
    run = newest(project)
    assert blocks(records(run)) == [64, 64]
    events = [json.loads(text) for text in (run / "events.jsonl").read_text().splitlines()]
    texts = [event["text"] for event in events if event.get("marker") == "WARMUP_CONFLICT"]
    assert texts == ["1 key had other winners on another card, of 1"]
