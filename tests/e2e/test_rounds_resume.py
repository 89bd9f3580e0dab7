"""Rounds that are interrupted and gone on with: nothing that is finished is measured again, nothing is missing."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from pathlib import Path

import pytest
from fakes.bench_rounds import QUIET, Bench, cells_in_time, results, row_names, state, table
from fakes.fake_card import FakeCards
from fakes.suites import ToyProject, data, wait_until_gone

from zlbench import proctree


@pytest.fixture
def bench(project: ToyProject) -> Bench:
    return Bench(project=project, cards=FakeCards(project.root / "cards"))


def complete(root: Path, lanes: dict[str, tuple[str, ...]], rounds: int) -> None:
    """Assert that a root is what an undisturbed one is: every cell, every row, one line each."""
    wanted = {f"{lane}{op}/r{k}_{side}" for lane, ops in lanes.items() for op in ops for k in range(1, rounds + 1)
              for side in "AB"}  # fmt: skip
    names = row_names(root)
    assert set(cells_in_time(root)) == wanted
    # Binaries are there until their costs are read, which a driver that died had not come to.
    assert [str(path) for path in root.rglob("r*_?/kernels")] == []
    assert {cell: len(rows) for cell, rows in names.items()} == dict.fromkeys(wanted, 1)
    for lane, ops in lanes.items():
        folder = root / lane
        status = [(line["op"], line["round"], line["side"]) for line in table(folder / "status.tsv")]
        assert sorted(status) == sorted((op, str(k), side) for op in ops for k in range(1, rounds + 1) for side in "AB")
        pairs = [(line["op"], line["round"], line["valid"]) for line in table(folder / "pairs.tsv")]
        assert sorted(pairs) == sorted((op, str(k), "1") for op in ops for k in range(1, rounds + 1))
        assert (state(folder)["state"], state(folder)["done"]) == ("finished", len(status))


def kept(before: dict[str, tuple[int, bytes]], root: Path) -> None:
    """Assert that what was finished is as it was."""
    after = results(root)
    assert {name: after.get(name) for name in before} == before


def go_on(bench: Bench, root: Path) -> None:
    before = {name: found for name, found in results(root).items() if b'"state": "OK"' in found[1]}
    ended = bench.run("--resume", str(root))
    assert ended.code == 0, ended.text
    kept(before, root)


@pytest.mark.parametrize("after", ["[ 1/12]", "[ 2/12]", "[ 5/12]", "[ 8/12]"])
def test_a_killed_driver(bench: Bench, after: str) -> None:
    """Killed outright right after some cell; the next has begun or is about to."""
    running = bench.start("toy", "other", "--rounds", "3")
    running.until(after)
    running.send(signal.SIGKILL)
    assert running.end().code == -signal.SIGKILL
    root = bench.root
    assert data(root / "status.json")["state"] == "running", "nobody could say that it ended"
    go_on(bench, root)
    complete(root, {"": ("other", "toy")}, 3)
    assert data(root / "status.json")["state"] == "finished"


@pytest.mark.parametrize("place", ["r1_A", "r1_B", "r2_B", "r3_A"])
def test_a_driver_killed_in_the_middle_of_a_cell_with_a_grandchild(bench: Bench, place: str) -> None:
    number = {"r1_A": 0, "r1_B": 1, "r2_B": 2, "r3_A": 4}[place]
    running = bench.start("toy", "--rounds", "3")
    if number:
        running.until(f"[{number}/6]")
    bench.project.trouble({"op": "toy", "at": "call", "do": "kill_driver"})
    assert running.end().code == -signal.SIGKILL
    bench.project.trouble()
    grandchildren = (bench.project.suite / "grandchildren").read_text().split()
    go_on(bench, bench.root)
    complete(bench.root, {"": ("toy",)}, 3)
    # Whoever adopts orphans here need not have buried them yet.
    alive = {entry.pid for entry in proctree.table() if entry.state not in "ZX"}
    assert not [pid for pid in grandchildren if int(pid) in alive]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_an_interrupted_driver_says_how_to_go_on(bench: Bench, number: int, code: int) -> None:
    bench.project.trouble({"op": "other", "compiler": "y", "at": "call", "do": "hang"})
    running = bench.start("other", "toy", "--rounds", "2")
    running.until("r1_A")
    while not (bench.project.suite / "grandchildren").exists():
        time.sleep(0.02)
    running.send(number)
    ended = running.end()
    assert ended.code == code, ended.text
    assert f"go on:  zlbench ab_repeat --resume {bench.root}" in ended.err
    assert data(bench.root / "status.json")["state"] == "interrupted"
    assert state(bench.root)["state"] == "interrupted"
    bench.project.trouble()
    go_on(bench, bench.root)
    complete(bench.root, {"": ("other", "toy")}, 2)


def test_a_full_disk(bench: Bench) -> None:
    bench.project.trouble({"op": "toy", "compiler": "y", "at": "call", "do": "disk_full"})
    ended = bench.run("other", "toy", "--rounds", "2")
    assert ended.code == 6, ended.text
    assert "DISK_FULL" in ended.err
    assert f"go on:  zlbench ab_repeat --resume {bench.root}" in ended.err
    assert data(bench.root / "status.json")["state"] == "failed"
    bench.project.trouble()
    go_on(bench, bench.root)
    complete(bench.root, {"": ("other", "toy")}, 2)


def test_through_nox(bench: Bench) -> None:
    ended = bench.project.nox("-s", "ab_repeat", "--", "toy", "--rounds", "1", "--quick", env=QUIET)
    assert ended.code == 0, ended.text
    assert "look:  nox -s report -- " in ended.out


def test_a_second_driver_of_the_same_root_is_refused(bench: Bench) -> None:
    bench.project.trouble({"op": "toy", "compiler": "x", "at": "call", "do": "hang"})
    running = bench.start("toy", "--rounds", "1")
    running.until("latencies on")
    while not (bench.project.suite / "grandchildren").exists():
        time.sleep(0.02)
    second = bench.run("--resume", str(bench.root))
    assert second.code == 2, second.text
    assert f"another zlbench is writing into {bench.root}" in second.err
    assert f"pid {running.pid}" in second.err
    running.send(signal.SIGINT)
    assert running.end().code == 130


def test_other_questions_are_refused(bench: Bench) -> None:
    assert bench.run("toy", "--rounds", "1").code == 0
    before = results(bench.root)
    for words, env, said in (
        (("--retries", "1"), {}, "retries 2 then, 1 now"),
        (("--a", "y"), {}, "a unset then, y now"),
        (("other",), {}, "ops toy then, other now"),
        ((), {"TRITON_DEBUG": "1"}, "TRITON_DEBUG=1 now"),
    ):
        ended = bench.run("--resume", str(bench.root), *words, **env)
        assert (ended.code, said in ended.err) == (4, True), ended.text
    assert results(bench.root) == before
    # What is no part of the question may be another; the same words again are no other question.
    assert bench.run("toy", "--rounds", "1", "--cell-timeout", "99", "--resume", str(bench.root)).code == 0
    assert results(bench.root) == before


def test_a_torn_line_is_no_line(bench: Bench) -> None:
    assert bench.run("toy", "--rounds", "2").code == 0
    root = bench.root
    whole = table(root / "status.tsv")
    for name in ("status.tsv", "pairs.tsv"):
        path = root / name
        path.write_bytes(path.read_bytes()[:-9])
    (root / "toy" / "r2_A" / "result.json").unlink()
    go_on(bench, root)
    assert [line["side"] for line in table(root / "status.tsv")] == [line["side"] for line in whole]
    complete(root, {"": ("toy",)}, 2)


def test_a_pair_that_was_half_set_aside(bench: Bench) -> None:
    """Killed between the two renames: the pair is judged by what is there, and measured again as a whole or in part."""
    assert bench.run("toy", "--rounds", "2").code == 0
    root = bench.root
    (root / "toy" / "r1_B").rename(root / "toy" / "r1_B.invalid1")
    go_on(bench, root)
    a, b = (data(root / "toy" / name / "run_identity.json") for name in ("r1_A", "r1_B"))
    assert a["autotune_source"] == b["autotune_source"]
    complete(root, {"": ("toy",)}, 2)


def test_two_cards_and_a_killed_driver(bench: Bench) -> None:
    running = bench.start("toy", "other", "third", "--rounds", "2", "--devices", "0,1")
    running.until("r1_B")
    running.send(signal.SIGKILL)
    running.end()
    root = bench.root
    assert wait_until_gone(str(root)) == [], "lanes and cells go with their driver"
    go_on(bench, root)
    plan = data(root / "repeat.json")
    lanes = {f"{lane['lane']}/": tuple(op["dir"] for op in lane["ops"]) for lane in plan["lanes"]}
    assert sorted(op for ops in lanes.values() for op in ops) == ["other", "third", "toy"]
    complete(root, lanes, 2)


def test_no_lock_is_held_after_a_kill(bench: Bench) -> None:
    running = bench.start("toy", "--rounds", "2")
    running.until("r1_A")
    running.send(signal.SIGKILL)
    running.end()
    assert wait_until_gone(str(bench.root)) == []
    for path in (bench.root / ".lock", *(bench.project.root.parent / "card-locks").glob("*.lock")):
        file = os.open(path, os.O_RDWR)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(file)
