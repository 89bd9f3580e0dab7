"""Rounds that go on with more: a higher number, and pairs that stayed invalid; what is complete and valid stays."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from fakes.bench_rounds import QUIET, Bench, cells_in_time, results, state, table
from fakes.fake_card import FakeCards
from fakes.suites import ToyProject, data


@pytest.fixture
def bench(project: ToyProject) -> Bench:
    return Bench(project=project, cards=FakeCards(project.root / "cards"))


def cells(op: str, *numbers: int) -> set[str]:
    return {f"{op}/r{number}_{side}" for number in numbers for side in "AB"}


def kept(before: dict[str, tuple[int, bytes]], root: Path) -> None:
    """Assert that what was finished is as it was."""
    after = results(root)
    assert {name: after.get(name) for name in before} == before


def looks(bench: Bench, root: Path) -> list[tuple[int, float]]:
    """What the report goes by."""
    found = json.loads(bench.project.run("report", str(root), "--json").out)
    return [(look["rounds"], look["weight"]) for look in found["statistics"]["settings"]["looks"]]


# --- a higher number -------------------------------------------------------------------------------------------------


def test_finished_rounds_go_on_to_a_higher_number(bench: Bench) -> None:
    assert bench.run("toy", "--rounds", "2").code == 0
    root, before = bench.root, results(bench.root)
    plan = (root / "repeat.json").read_bytes()
    assert looks(bench, root) == [(2, 1.0)]
    shown = bench.run("--resume", str(root), "--rounds", "4", "--dry-run")
    assert (shown.code, "4 rounds" in shown.out) == (0, True), shown.text
    assert (root / "repeat.json").read_bytes() == plan
    ended = bench.run("--resume", str(root), "--rounds", "4")
    assert ended.code == 0, ended.text
    assert "rounds: 2 were planned, now 4; that is another look at the same rows" in ended.err
    assert "after 2 and 4 rounds (0.5 and 0.5)" in ended.err
    kept(before, root)
    assert set(cells_in_time(root)) == cells("toy", 1, 2, 3, 4)
    assert cells_in_time(root)[4:] == ["toy/r3_A", "toy/r3_B", "toy/r4_B", "toy/r4_A"]
    assert data(root / "repeat.json")["rounds"] == {"fixed": 4, "extended": [2]}
    assert (state(root)["done"], state(root)["total"]) == (8, 8)
    assert looks(bench, root) == [(2, 0.5), (4, 0.5)]
    assert "4 rounds (raised from 2)" in bench.project.run("report", str(root)).out
    # The number is the plan's from now on: going on needs no word, and says nothing again.
    again = bench.run("--resume", str(root), "--rounds", "4")
    assert (again.code, "another look" in again.err) == (0, False), again.text
    third = bench.run("--resume", str(root), "--rounds", "5")
    assert third.code == 0, third.text
    assert data(root / "repeat.json")["rounds"] == {"fixed": 5, "extended": [2, 4]}
    assert looks(bench, root) == [(2, 0.5), (4, 0.25), (5, 0.25)]


def test_no_row_is_settled_early_where_a_fixed_number_was_raised(bench: Bench) -> None:
    """All times are equal, so that --until-settled would drop every row after round 4."""
    assert bench.run("toy", "--rounds", "4").code == 0
    ended = bench.run("--resume", str(bench.root), "--rounds", "5")
    assert ended.code == 0, ended.text
    assert set(cells_in_time(bench.root)) == cells("toy", 1, 2, 3, 4, 5)
    assert not (bench.root / "toy" / "settled.json").exists()


def test_fewer_rounds_are_refused_with_what_is_there(bench: Bench) -> None:
    assert bench.run("toy", "--rounds", "2").code == 0
    before, plan = results(bench.root), (bench.root / "repeat.json").read_bytes()
    ended = bench.run("--resume", str(bench.root), "--rounds", "1")
    assert ended.code == 4, ended.text
    assert f"{bench.root} has 2 rounds in its plan, --rounds 1 asks for fewer:\n  toy: 2 rounds finished" in ended.err
    # A higher number does not bring other settings along, and those leave the plan as it was.
    other = bench.run("--resume", str(bench.root), "--rounds", "3", "--retries", "1")
    assert (other.code, "retries 2 then, 1 now" in other.err) == (4, True), other.text
    assert "rounds 2 then" not in other.err
    way = bench.run("--resume", str(bench.root), "--max-rounds", "9")
    assert (way.code, "max_rounds 16 then, 9 now" in way.err) == (4, True), way.text
    assert ((bench.root / "repeat.json").read_bytes(), results(bench.root)) == (plan, before)


def test_the_most_rounds_of_rows_that_settle_are_raised(bench: Bench) -> None:
    flaky = {"compiler": "y", "op": "toy", "dtype": "float16", "shape": 2, "at": "call", "do": "error_every_second"}
    bench.project.trouble(flaky)
    words = ("ab_repeat", "toy", "--until-settled", "--max-rounds", "5", "--backend", "fakecard")
    assert bench.project.run(*words, env=bench.env).code == 1
    wrong = bench.run("--resume", str(bench.root), "--rounds", "9")
    assert (wrong.code, "rounds 6 then, 9 now" in wrong.err) == (4, True), wrong.text
    bench.project.trouble()
    ended = bench.run("--resume", str(bench.root), "--max-rounds", "6")
    assert "5 were planned, now 6" in ended.err
    assert data(bench.root / "repeat.json")["rounds"] == {"looks": [4, 5, 6], "extended": [5]}
    assert looks(bench, bench.root) == [(4, 0.1), (5, 0.45), (6, 0.45)]
    assert (bench.root / "toy" / "r6_B" / "result.json").is_file()


def test_two_cards_and_a_driver_that_was_killed(bench: Bench) -> None:
    running = bench.start("toy", "other", "--rounds", "2", "--devices", "0,1")
    running.until("r1_B")
    running.send(signal.SIGKILL)
    running.end()
    root = bench.root
    before = {name: found for name, found in results(root).items() if b'"state": "OK"' in found[1]}
    ended = bench.run("--resume", str(root), "--rounds", "3")
    assert ended.code == 0, ended.text
    kept(before, root)
    assert {tuple(path.split("/")[1:]) for path in cells_in_time(root)} == {
        tuple(path.split("/")) for op in ("toy", "other") for path in cells(op, 1, 2, 3)
    }
    assert {line["round"] for line in table(root / "status.tsv")} == {"1", "2", "3"}


def test_compile_times_go_on_too(project: ToyProject) -> None:
    assert project.run("ab_repeat", "toy", "--quick", "--rounds", "1", env=QUIET).code == 0
    (root,) = project.runs.glob("repeat_*")
    before = results(root)
    ended = project.run("ab_repeat", "--resume", str(root), "--rounds", "2", env=QUIET)
    assert ended.code == 0, ended.text
    kept(before, root)
    assert set(cells_in_time(root)) == cells("toy", 1, 2)


def test_a_finished_campaign_goes_on_to_a_higher_number(project: ToyProject) -> None:
    words = ("--quick", "--rounds", "1", "--telemetry-interval", "0")
    assert project.run("campaign", "toy", *words).code == 0
    (root,) = project.runs.glob("campaign_*")
    before = results(root)
    less = project.run("campaign", "--resume", "--rounds", "0")
    assert less.code == 2, less.text
    ended = project.run("campaign", "--resume", "--rounds", "2")
    assert ended.code == 0, ended.text
    assert ended.err.count("finished before") == 2, "the screen and the partition"
    kept(before, root)
    assert data(root / "rounds" / "repeat.json")["rounds"] == {"fixed": 2, "extended": [1]}
    assert "2 rounds" in (root / "report.md").read_text()
    # The number that the campaign was started with is not asked for again, nor is a lower one.
    quiet = project.run("campaign", "--resume")
    assert (quiet.code, quiet.err.count("finished before")) == (0, 4), quiet.text
    record = (root / "campaign.json").read_bytes()
    less = project.run("campaign", "--resume", "--rounds", "1")
    assert (less.code, "--rounds 1 asks for fewer:\n  toy: 2 rounds finished" in less.err) == (4, True), less.text
    assert (root / "campaign.json").read_bytes() == record
    # Raised without the campaign: it goes on with what the plan has.
    assert project.run("ab_repeat", "--resume", str(root), "--rounds", "3", env=QUIET).code == 0
    after = project.run("campaign", "--resume")
    assert after.code == 0, after.text
    assert data(root / "rounds" / "repeat.json")["rounds"] == {"fixed": 3, "extended": [1, 2]}


# --- pairs that stayed invalid ---------------------------------------------------------------------------------------


def valid(bench: Bench) -> dict[str, str]:
    return {line["round"]: line["valid"] for line in table(bench.root / "pairs.tsv")}


def test_pairs_that_stayed_invalid_are_measured_again_and_no_others(bench: Bench) -> None:
    """Somebody is on the card during rounds 1 and 2. What the first side A recorded is what round 3 replayed."""
    bench.project.trouble({"compiler": "y", "at": "call", "do": "busy_once"})
    ended = bench.run("toy", "--rounds", "3", "--retries", "0")
    assert ended.code == 6, ended.text
    assert valid(bench) == {"1": "0", "2": "0", "3": "1"}
    assert f"go on: zlbench ab_repeat --resume runs/{bench.root.name}" in ended.out
    before = {name: found for name, found in results(bench.root).items() if "/r3_" in name}
    old = results(bench.root)["toy/r1_A/result.json"]
    bench.project.trouble()
    again = bench.run("--resume", str(bench.root))
    assert again.code == 0, again.text
    assert valid(bench) == {"1": "1", "2": "1", "3": "1"}
    kept(before, bench.root)
    folder = bench.root / "toy"
    aside = sorted(path.name for path in folder.glob("*.invalid*"))
    assert aside == ["r1_A.invalid1", "r1_B.invalid1", "r2_A.invalid1", "r2_B.invalid1"]
    assert (folder / "r1_A.invalid1" / "result.json").read_bytes() == old[1]
    # One record still: that of the first cell, which all replay, the one in its place included.
    cell = data(folder / "r1_A" / "cell.json")
    assert (cell["autotune"], cell["replay_from"]) == ("replay", str(folder / "r1_A.invalid1"))
    sources = {data(path)["autotune_source"] for path in folder.glob("r[123]_[AB]/run_identity.json")}
    assert len(sources) == 1
    assert len(table(bench.root / "status.tsv")) == 6
    report = json.loads(bench.project.run("report", str(bench.root), "--json").out)
    assert report["operators"][0]["rows"][0]["n"] == 3
    done = results(bench.root)
    more = bench.run("--resume", str(bench.root), "--rounds", "4")
    assert more.code == 0, more.text
    kept(done, bench.root)
    assert data(folder / "r4_A" / "cell.json")["replay_from"] == str(folder / "r1_A.invalid1")


def test_where_no_pair_was_valid_the_first_one_records_anew(bench: Bench) -> None:
    bench.project.trouble({"compiler": "y", "at": "call", "do": "busy"})
    assert bench.run("toy", "--rounds", "1", "--retries", "1").code == 6
    # Nothing has changed: the retries are there again, and no more than those.
    ended = bench.run("--resume", str(bench.root))
    assert ended.code == 6, ended.text
    assert ended.err.count("measured again (1 of 1)") == 1
    (line,) = table(bench.root / "pairs.tsv")
    assert (line["valid"], line["tries"]) == ("0", "4")
    assert len(list((bench.root / "toy").glob("r1_A.invalid*"))) == 3
    bench.project.trouble()
    bench.cards.idle()
    assert bench.run("--resume", str(bench.root)).code == 0
    assert data(bench.root / "toy" / "r1_A" / "cell.json")["autotune"] == "record"
    assert valid(bench) == {"1": "1"}


def test_killed_while_an_invalid_pair_is_measured_again(bench: Bench) -> None:
    bench.project.trouble({"compiler": "y", "at": "call", "do": "busy_once"})
    assert bench.run("toy", "--rounds", "3", "--retries", "0").code == 6
    before = {name: found for name, found in results(bench.root).items() if "/r3_" in name}
    bench.project.trouble({"compiler": "y", "at": "call", "do": "kill_driver"})
    killed = bench.run("--resume", str(bench.root))
    assert killed.code == -signal.SIGKILL, killed.text
    bench.project.trouble()
    ended = bench.run("--resume", str(bench.root))
    assert ended.code == 0, ended.text
    assert valid(bench) == {"1": "1", "2": "1", "3": "1"}
    kept(before, bench.root)
    assert set(cells_in_time(bench.root)) - {path for path in cells_in_time(bench.root) if "invalid" in path} == cells(
        "toy", 1, 2, 3
    )


@pytest.mark.parametrize("cut", ["nothing", "side B"])
def test_a_pair_that_was_about_to_be_set_aside(bench: Bench, cut: str) -> None:
    """Killed right after it was noted which record stays, or between the two renames."""
    bench.project.trouble({"compiler": "y", "at": "call", "do": "busy_once"})
    assert bench.run("toy", "--rounds", "3", "--retries", "0").code == 6
    bench.project.trouble()
    folder = bench.root / "toy"
    (folder / "record.json").write_text(json.dumps({"schema_version": 1, "cell": "r1_A.invalid1"}))
    if cut == "side B":
        (folder / "r1_B").rename(folder / "r1_B.invalid1")
    before = {name: found for name, found in results(bench.root).items() if "/r3_" in name}
    ended = bench.run("--resume", str(bench.root))
    assert ended.code in (0, 6), ended.text
    assert bench.run("--resume", str(bench.root)).code == 0
    assert valid(bench) == {"1": "1", "2": "1", "3": "1"}
    kept(before, bench.root)


def test_a_campaign_goes_on_with_invalid_pairs(bench: Bench) -> None:
    project = bench.project
    words = ("campaign", "toy", "--quick", "--rounds", "2", "--retries", "0", "--backend", "fakecard")
    project.trouble({"compiler": "y", "at": "call", "do": "busy"})
    ended = project.run(*words, env=bench.env)
    assert ended.code == 6, ended.text
    assert "go on:  zlbench campaign --resume" in ended.out
    project.trouble()
    bench.cards.idle()
    again = project.run("campaign", "--resume", env=bench.env)
    (root,) = project.runs.glob("campaign_*")
    assert {line["valid"] for line in table(root / "rounds" / "pairs.tsv")} == {"1"}, again.text
