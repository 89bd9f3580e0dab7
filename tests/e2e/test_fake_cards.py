"""Measuring on a card, with cards that are not there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fakes.fake_card import DRIVER, NAME, FakeCards, uuid
from fakes.suites import Ended, ToyProject, data

from zlbench import backend as backends
from zlbench import cards as cards_of_machine

KEY = "foreign_processes"


@pytest.fixture
def cards(project: ToyProject) -> FakeCards:
    return FakeCards(project.root / "cards")


def measured(project: ToyProject, cards: FakeCards, *words: str, **env: str) -> Ended:
    run = ("run", "toy", "--build", "x", "--backend", "fakecard", "--quick", *words)
    return project.run(*run, env={"PYTHONPATH": cards.pythonpath(), **env})


def identity(project: ToyProject) -> dict[str, Any]:
    return data(max(project.runs.glob("toy_*/run_identity.json"), key=lambda path: path.stat().st_mtime_ns))


def test_a_toy_runs_on_a_fake_card(project: ToyProject, cards: FakeCards) -> None:
    ended = measured(project, cards)
    assert ended.code == 0, ended.text
    assert "CARD_BUSY" not in ended.text
    found = identity(project)
    assert (found["backend"], found["timer"], found["l2"]) == ("fakecard", "direct", "flushed")
    assert (found["device"], found["device_name"], found["device_uuid"]) == (NAME, NAME, uuid(0))
    assert (found["driver"], found["vendor"]) == (DRIVER, "fake")
    assert found["card_settings"] == {"sm_clock_max_mhz": 1980.0}
    assert found["foreign_processes"] == []


@pytest.mark.parametrize(
    ("words", "visible", "card"),
    [
        ((), None, 0),
        (("--device", "2"), None, 2),
        (("--device", "1"), "3,2", 2),
        ((), "3,2", 3),
        (("--device", uuid(1)), None, 1),
        (("--device", uuid(2)), f"{uuid(0)},{uuid(2)}", 2),
    ],
)
def test_the_card_that_was_meant_is_measured(
    project: ToyProject, words: tuple[str, ...], visible: str | None, card: int
) -> None:
    cards = FakeCards(project.root / "four", count=4)
    env = {} if visible is None else {"FAKECARD_VISIBLE_DEVICES": visible}
    ended = measured(project, cards, *words, **env)
    assert ended.code == 0, ended.text
    assert {line["uuid"] for line in cards.opened()} == {uuid(card)}
    assert identity(project)["device_uuid"] == uuid(card)


def test_a_card_that_was_not_kept_free_is_said(project: ToyProject, cards: FakeCards) -> None:
    backend = cards.folder / "zl_fakecard.py"
    backend.write_text(backend.read_text().replace('environment={"FAKECARD_DEVICE_ORDER": "TOOL"},', ""))
    ended = measured(project, cards, "--device", "0")
    assert identity(project)["device_uuid"] == uuid(1)
    assert "CARD_NOT_LOCKED measured on card 1, and it is card 0 that was kept free" in ended.out


def test_a_device_outside_of_the_visible_ones_is_refused(project: ToyProject, cards: FakeCards) -> None:
    ended = measured(project, cards, "--device", "1", FAKECARD_VISIBLE_DEVICES="1")
    assert ended.code == 2
    assert "device 1 is not among those that this process sees: FAKECARD_VISIBLE_DEVICES=1" in ended.err
    assert project.journal() == []


@pytest.mark.parametrize("words", [("run", "toy", "--build", "x"), ("screen", "toy"), ("screen", "toy", "--dry-run")])
def test_a_card_that_is_not_there_is_refused_before_anything_starts(
    project: ToyProject, cards: FakeCards, words: tuple[str, ...]
) -> None:
    env = {"PYTHONPATH": cards.pythonpath()}
    ended = project.run(*words, "--backend", "fakecard", "--device", "7", env=env)
    assert ended.code == 2, ended.text
    assert f"no card 7; there are 0 and 1\n         Cards: 0 {uuid(0)} {NAME}; 1 {uuid(1)} {NAME}." in ended.err
    assert not project.runs.exists()


def test_what_a_kernel_library_reads_is_a_condition_and_a_wait_is_not_passed_on(
    project: ToyProject, cards: FakeCards
) -> None:
    ended = measured(project, cards, FLA_USE_FAST_OPS="1", CUDA_LAUNCH_BLOCKING="1", CUDA_HOME="/opt/cuda")
    assert ended.code == 0, ended.text
    assert "note: CUDA_LAUNCH_BLOCKING is not passed on to measured processes" in ended.text
    listed = identity(project)["environment"]
    assert "FLA_USE_FAST_OPS=1" in listed
    assert not [item for item in listed if item.startswith(("CUDA_LAUNCH", "CUDA_HOME"))]


def test_a_busy_card_is_said_before_anything_is_measured(project: ToyProject, cards: FakeCards) -> None:
    cards.busy(1, "/opt/train")
    cards.busy(2, "elsewhere", card=1)
    ended = measured(project, cards)
    assert ended.code == 0, ended.text
    lines = ended.text.splitlines()
    said = next(
        number for number, line in enumerate(lines) if line.startswith("CARD_BUSY card=0 pid=1 name=/opt/train")
    )
    assert said < next(number for number, line in enumerate(lines) if line.startswith("[1/1]"))
    assert "elsewhere" not in ended.text
    assert "CARD_BUSY pid=1 name=/opt/train" in lines
    assert identity(project)["foreign_processes"] == [{"pid": 1, "name": "/opt/train", "memory_mb": 1024.0}]


def test_who_comes_in_between_marks_the_operator_at_hand(project: ToyProject, cards: FakeCards) -> None:
    """The toy puts somebody on the card while side A of its second operator runs."""
    state = json.loads((cards.folder / "cards.json").read_text())
    state["processes"] = [{"pid": 1, "name": "guest", "memory_mb": 9.0, "card": uuid(0)}]
    (project.suite / "cards.json").write_text(json.dumps(state))
    project.trouble(
        {"op": "other", "compiler": "x", "dtype": "float16", "shape": 1, "at": "call", "do": "card_changes"}
    )
    env = {"PYTHONPATH": cards.pythonpath(), "TOY_CARDS": str(cards.folder / "cards.json")}
    ended = project.run("screen", "toy", "other", "--backend", "fakecard", env=env)
    assert ended.code == 0, ended.text
    seen = {
        f"{op}/{side}": [item["name"] for item in data(project.screen / op / side / "run_identity.json")[KEY]]
        for op in ("toy", "other")
        for side in "AB"
    }
    assert seen == {"toy/A": [], "toy/B": [], "other/A": ["guest"], "other/B": ["guest"]}
    assert "CARD_BUSY op=other side=A,B pid=1 name=guest" in ended.out


def test_our_own_processes_are_not_foreign(project: ToyProject, cards: FakeCards) -> None:
    state = json.loads((cards.folder / "cards.json").read_text())
    state["processes"] = [{"pid": "WORKER", "name": "python", "memory_mb": 9.0, "card": uuid(0)}]
    (project.suite / "cards.json").write_text(json.dumps(state))
    project.trouble({"op": "toy", "dtype": "float16", "shape": 1, "at": "call", "do": "card_changes"})
    ended = measured(project, cards, TOY_CARDS=str(cards.folder / "cards.json"))
    assert ended.code == 0, ended.text
    assert "WORKER" not in (cards.folder / "cards.json").read_text()
    assert identity(project)["foreign_processes"] == []


def test_a_tool_that_hides_processes_says_that_somebody_is_there(project: ToyProject, cards: FakeCards) -> None:
    cards.busy(77, "hidden")
    cards.tool("hidden")
    cards.change(0, memory_used_mb=40_000.0)
    ended = measured(project, cards)
    assert ended.code == 0, ended.text
    assert "CARD_BUSY card=0 pid=unknown: memory is in use by processes that the tool does not show here" in ended.text
    assert identity(project)["foreign_processes"] == [{"pid": None, "name": None, "memory_mb": 40_000.0}]


@pytest.mark.parametrize(("state", "said"), [("fails", "could not talk to the driver"), ("garbage", "names no card")])
def test_a_tool_that_is_of_no_use_costs_its_facts_alone(
    project: ToyProject, cards: FakeCards, state: str, said: str
) -> None:
    cards.tool(state)
    ended = measured(project, cards)
    assert ended.code == 0, ended.text
    assert f"note: driver, clocks and other users of the card are unknown: {said}"[:60] in ended.text
    assert said in ended.text
    found = identity(project)
    assert (found["driver"], found["foreign_processes"], found["card_settings"]) == (None, None, {})
    assert (found["device_name"], found["device_uuid"]) == (NAME, uuid(0))
    assert len(cards.asked()) == 1


@contextmanager
def taken(project: ToyProject, card: int) -> Iterator[int]:
    """Somebody else's zlbench on a card; the id of its process."""
    code = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print(1, flush=True); time.sleep(600)"
    )
    folder = project.root.parent / "card-locks"
    folder.mkdir(exist_ok=True)
    path = folder / f"fakecard-{uuid(card).lower()}.lock"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        since = {"command": "zlbench run mm", "directory": "/runs/mm", "since": "2026-11-29 14:22:10+00:00"}
        path.write_text(json.dumps({"pid": other.pid, **since}))
        yield other.pid
        other.kill()


@pytest.mark.parametrize(
    "words", [("run", "toy", "--build", "x"), ("screen", "toy"), ("screen", "toy", "--device", "0")]
)
def test_a_card_that_another_zlbench_measures_on_is_refused(
    project: ToyProject, cards: FakeCards, words: tuple[str, ...]
) -> None:
    with taken(project, 0) as pid:
        ended = project.run(*words, "--backend", "fakecard", "--quick", env={"PYTHONPATH": cards.pythonpath()})
    assert ended.code == 3, ended.text
    assert f"CARD_IN_USE card 0 is in use by pid {pid} (zlbench run mm) in /runs/mm since 2026" in ended.err
    assert "--wait-for-card" in ended.err
    assert project.journal() == []
    assert [path.name for path in project.runs.iterdir() if not path.name.startswith("screen_")] == []


def test_another_card_is_free(project: ToyProject, cards: FakeCards) -> None:
    with taken(project, 0):
        ended = measured(project, cards, "--device", "1")
    assert ended.code == 0, ended.text
    assert {line["uuid"] for line in cards.opened()} == {uuid(1)}


def test_a_card_is_waited_for(project: ToyProject, cards: FakeCards) -> None:
    words = ("run", "toy", "--build", "x", "--backend", "fakecard", "--quick", "--wait-for-card", "600")
    with taken(project, 0) as pid:
        waiting = project.start(*words, env={"PYTHONPATH": cards.pythonpath()})
        waiting.until("waiting 600 s at most")
    ended = waiting.end()
    assert ended.code == 0, ended.text
    assert ended.text.count(f"card 0 is in use by pid {pid} (zlbench run mm)") == 1


def test_a_machine_without_a_device_has_no_locks(project: ToyProject) -> None:
    assert project.run("run", "toy", "--build", "x", "--quick").code == 0
    assert not (project.root.parent / "card-locks").exists()


def test_a_machine_without_cards_says_what_is_missing(project: ToyProject, cards: FakeCards) -> None:
    cards.remove()
    ended = measured(project, cards)
    assert ended.code == 3
    assert "check=device-available" in ended.err
    assert "This machine has none of " in ended.err
    assert project.journal() == []
    (cards.folder / "dev" / "fakecardctl").touch()  # there is one, and a torch that does not see it
    ended = measured(project, cards)
    assert ended.code == 3
    assert "hold a torch without a device: give one that has it, --build /path/to/python" in ended.err


@pytest.mark.skipif(
    any(cards_of_machine.present(backends.get(name)) for name in ("ascend", "cuda", "musa", "rocm")),
    reason="a real card would be taken",
)
@pytest.mark.parametrize(
    ("python", "there", "said"),
    [
        (True, True, "fake cards (fakecard: "),
        (False, True, "compile only (the builds hold a CPU torch; --backend fakecard with --build /path/to/python"),
        (True, False, "compile only (no card found)"),
    ],
)
def test_auto_takes_a_card_where_the_builds_bring_their_torch(
    project: ToyProject, cards: FakeCards, python: bool, there: bool, said: str
) -> None:
    if python:
        own = f"python = {json.dumps(sys.executable)}\ntree = "
        project.toml(x=own + json.dumps(str(project.builds / "x")), y=own + json.dumps(str(project.builds / "y")))
    if not there:
        cards.remove()
    env = {"PYTHONPATH": cards.pythonpath()}
    ended = project.run("screen", "toy", "--quick", env=env)
    assert ended.code == 0, ended.text
    assert said in ended.err
    backend = data(project.screen / "toy" / "A" / "run_identity.json")["backend"]
    assert backend == ("fakecard" if python and there else "compile")
    assert project.run("doctor", env=env).out.count(said.split("(")[1][:20]) == 1
