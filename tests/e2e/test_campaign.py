"""A campaign as people call it: all steps in one go, what it leaves, how it stops and goes on, and who looks at it."""

from __future__ import annotations

import csv
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from fakes.bench_rounds import table
from fakes.fake_card import FakeCards, uuid
from fakes.suites import ToyProject, alive_with, data

QUICK = ("--quick", "--rounds", "2", "--telemetry-interval", "0")


def campaign(project: ToyProject) -> Path:
    (found,) = project.runs.glob("campaign_*")
    return found


def steps(root: Path) -> dict[str, tuple[str, Any]]:
    return {step["name"]: (step["state"], step["exit_code"]) for step in data(root / "campaign.json")["steps"]}


DONE = ("finished", 0)


def test_all_steps_in_one_go_and_everything_is_found_again(project: ToyProject) -> None:
    ended = project.nox("-s", "campaign", "--", "toy", "other", *QUICK)
    assert ended.code == 0, ended.text
    root = campaign(project)
    assert steps(root) == dict.fromkeys(("screen", "partition", "ab_repeat", "report"), DONE)
    for name in ("screen/screen.tsv", "plan.tsv", "partition.json", "rounds/repeat.json", "rounds/status.tsv",
                 "report.md", "rows.csv", "status.json"):  # fmt: skip
        assert (root / name).is_file(), name
    assert not list(project.runs.glob("screen_*"))
    for text in (ended.out, (root / "report.md").read_text()):
        assert "invalid: FEW_PAIRS" in text
    with (root / "rows.csv").open() as stream:
        assert {line["n"] for line in csv.DictReader(stream)} == {"2"}
    # In a fresh shell each command finds it by itself.
    report = (root / "report.md").read_text()
    assert project.run("report").code == 0
    assert (root / "report.md").read_text() == report
    status = project.nox("-s", "status")
    assert status.code == 0
    assert f"runs/{root.name}: finished" in status.out
    assert "lane 0  finished  8/8" in status.out
    partition = project.run("partition", "--lanes", "2")
    assert f"partition of runs/{root.name}/screen" in partition.out
    assert len(data(root / "partition.json")["lanes"]) == 2
    assert project.run("diff", "toy").code == 0


def test_finished_steps_and_cells_are_not_run_again(project: ToyProject) -> None:
    assert project.run("campaign", "toy", *QUICK).code == 0
    root = campaign(project)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("result.json")}
    ended = project.run("campaign", "--resume")
    assert ended.code == 0
    assert ended.err.count("finished before") == 4
    assert {path: path.stat().st_mtime_ns for path in root.rglob("result.json")} == before
    named = project.run("campaign", "toy", *QUICK, "--resume", str(root))
    assert named.code == 0
    other = project.run("campaign", "other", "--resume", str(root))
    assert (other.code, "is a campaign of other operators: toy" in other.err) == (2, True)


def test_nothing_changed_is_said_and_ends_well(project: ToyProject) -> None:
    ended = project.run("campaign", "toy", "--null-test", "--a", "x", *QUICK)
    assert ended.code == 0, ended.text
    root = campaign(project)
    assert steps(root)["ab_repeat"] == ("skipped", None)
    assert not (root / "rounds").exists()
    for text in (ended.out, (root / "report.md").read_text()):
        assert "no rounds were measured: the screen found no operator whose machine code differs" in text


def test_what_could_be_judged_is_measured_and_the_rest_ends_it_with_6(project: ToyProject) -> None:
    project.trouble({"compiler": "y", "op": "other", "dtype": "float16", "shape": 1, "at": "call", "do": "segv"})
    ended = project.run("campaign", "toy", "other", *QUICK)
    assert ended.code == 6, ended.text
    root = campaign(project)
    assert steps(root) == {"screen": ("finished", 6), "partition": DONE, "ab_repeat": DONE, "report": DONE}
    assert {line.split(",")[0] for line in (root / "rows.csv").read_text().splitlines()[1:]} == {"toy"}


def test_what_cannot_be_meant_leaves_nothing_and_what_cannot_start_stops(project: ToyProject) -> None:
    for words, said in (
        (("tyo",), "Nearest: toy"), ((), "no operator is named"), (("toy", "--resume"), "no campaign in"),
        (("toy", "--bogus"), "no option named --bogus in campaign"), (("--resume", "nowhere"), "is no campaign"),
    ):  # fmt: skip
        ended = project.run("campaign", *words)
        assert (ended.code, said in ended.err) == (2, True), ended.text
    assert not project.runs.exists()
    project.toml(y='tree = "gone"')
    assert project.run("campaign", "toy", *QUICK).code == 3
    root = campaign(project)
    assert steps(root)["screen"] == ("failed", 3)
    assert steps(root)["partition"] == ("waiting", None)
    project.toml()
    assert project.run("campaign", "--resume").code == 0


def test_a_dry_run_prints_the_whole_plan_and_writes_nothing(project: ToyProject) -> None:
    first = project.run("campaign", "toy", "other", *QUICK, "--dry-run")
    assert first.code == 0
    assert first.out.count("minutes unknown") == 2
    assert not project.runs.exists()
    assert project.run("screen", "toy", "other", "--quick").code == 0
    again = project.run("campaign", "toy", "other", *QUICK, "--dry-run")
    assert again.out.count("about 0.") == 2
    assert "zlbench ab_repeat" in again.out
    plan = json.loads(project.run("campaign", "toy", "other", *QUICK, "--dry-run", "--json").out)
    assert [step["name"] for step in plan["steps"]] == ["screen", "partition", "ab_repeat", "report"]
    assert set(plan["minutes"]) == {"screen", "ab_repeat"}
    assert not list(project.runs.glob("campaign_*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_what_it_started_and_status_says_so(project: ToyProject, number: int) -> None:
    project.trouble({"compiler": "y", "op": "toy", "dtype": "float16", "shape": 1, "at": "call", "do": "hang"})
    running = project.start("campaign", "toy", "other", *QUICK)
    until = time.monotonic() + 60
    while not (project.suite / "grandchildren").exists() and time.monotonic() < until:
        time.sleep(0.05)
    live = project.run("status")
    assert "running" in live.out.splitlines()[0]
    assert "screen: " in live.out
    second = project.run("campaign", "--resume")
    assert (second.code, "another zlbench is writing into" in second.err) == (2, True)
    running.send(number)
    ended = running.end()
    assert ended.code == (-9 if number == signal.SIGKILL else 130)
    root = campaign(project)
    dead = project.run("status")
    if number == signal.SIGKILL:
        assert "its driver is dead: nothing runs" in dead.out
    else:
        assert steps(root)["screen"] == ("interrupted", 130)
        assert "interrupted" in dead.out.splitlines()[0]
        assert "go on:  zlbench campaign --resume" in ended.err
        assert data(root / "screen" / "status.json")["state"] == "interrupted"
    assert f"go on:  zlbench campaign --resume runs/{root.name}" in dead.out
    project.trouble()
    assert project.run("campaign", "--resume").code == 0
    assert alive_with(str(project.root)) == []
    assert steps(root) == dict.fromkeys(("screen", "partition", "ab_repeat", "report"), DONE)


def test_variables_of_the_caller_are_kept_with_the_campaign(project: ToyProject) -> None:
    """They are asked for again when it goes on, in whatever shell."""
    project.trouble(
        {"compiler": "y", "op": "toy", "dtype": "float32", "shape": 1, "at": "call", "do": "interrupt_driver"}
    )
    env = {"OPS": "toy", "DTYPES": "float32", "ROUNDS": "3", "TELEMETRY_INTERVAL": "0", "SCREEN": "elsewhere"}
    project.run("campaign", "--quick", env=env)
    project.trouble()
    assert project.run("campaign", "--resume").code == 0
    root = campaign(project)
    assert data(root / "rounds" / "repeat.json")["rounds"] == {"fixed": 3}
    assert {cell["dtypes"][0] for cell in data(root / "screen" / "plan.json")["cells"]} == {"float32"}
    with (root / "rows.csv").open() as stream:
        assert {line["n"] for line in csv.DictReader(stream)} == {"3"}


def test_as_data(project: ToyProject) -> None:
    ended = project.run("campaign", "toy", *QUICK, "--json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert [step["state"] for step in found["steps"]] == ["finished"] * 4
    status = json.loads(project.run("status", "--json").out)
    assert (status["state"], status["alive"], status["lanes"][0]["done"]) == ("finished", False, 4)
    report = json.loads(project.run("report", "--json").out)
    assert report["operators"][0]["rows"][0]["n"] == 2


def test_no_campaign_and_no_rounds_are_said_so(project: ToyProject) -> None:
    for command in ("status", "report"):
        ended = project.run(command)
        assert (ended.code, "no campaign and no repeated rounds in" in ended.err) == (2, True)
        ended = project.run(command, ".")
        said = "holds neither repeat.json nor" if command == "status" else "it holds no repeat.json, no campaign.json"
        assert (ended.code, said in ended.err) == (2, True), ended.text


def test_without_cards_named_the_one_that_was_screened_on_is_measured_on(project: ToyProject, tmp_path: Path) -> None:
    fake = FakeCards(tmp_path / "cards")
    words = ("campaign", "toy", *QUICK, "--backend", "fakecard", "--device", "1")
    ended = project.run(*words, env={"PYTHONPATH": fake.pythonpath()})
    assert ended.code == 0, ended.text
    root = campaign(project)
    plan = data(root / "rounds" / "repeat.json")
    assert plan["metric"] == "latency_ms"
    assert [lane["uuid"] for lane in plan["lanes"]] == [uuid(1)]
    assert f"--devices {uuid(1)}" in ended.err
    assert "+ is slower, − is faster (B against A)" in ended.out
    assert "  card 1  finished  4/4" in project.run("status").out
    with (root / "rows.csv").open() as stream:
        assert {(line["unit"], line["n"]) for line in csv.DictReader(stream)} == {("ms", "2")}


# --- what --resume may ask -------------------------------------------------------------------------------------------

OTHER_QUESTIONS = (
    ("--level", "comprehensive"), ("--target", "cuda:80"), ("--dtypes", "float32"), ("--configs", "all"), ("--a", "y"),
    ("--axis", "other"), ("--retries", "1"), ("--devices", "0,1"),
)  # fmt: skip


def refuses_other_questions(project: ToyProject, root: Path, asked: tuple[tuple[str, ...], ...]) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*.json")}
    for words in asked:
        ended = project.run("campaign", "--resume", *words)
        said = f"{root} was started with other settings:\n  {words[0][2:]} "
        assert (ended.code, said in ended.err, ended.out) == (4, True, ""), (words, ended.text)
        dry = project.run("campaign", "--resume", *words, "--dry-run")
        assert dry.code == 4, dry.text
    assert {path: path.read_bytes() for path in root.rglob("*.json")} == before


def test_a_finished_campaign_refuses_another_question_and_stays_as_it_is(project: ToyProject) -> None:
    assert project.run("campaign", "toy", *QUICK).code == 0
    refuses_other_questions(project, campaign(project), OTHER_QUESTIONS)
    # What it was started with, or has by default, is no other question.
    same = project.run("campaign", "--resume", "--level", "core", "--quick", "--retries", "2", "--cell-timeout", "99")
    assert (same.code, same.err.count("finished before")) == (0, 4), same.text


def test_interrupted_rounds_refuse_another_question_and_go_on_afterwards(project: ToyProject) -> None:
    running = project.start("campaign", "toy", *QUICK)
    running.until("[3/4]")
    project.trouble({"compiler": "y", "op": "toy", "at": "call", "do": "hang"})
    until = time.monotonic() + 60
    while not (project.suite / "grandchildren").exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send(signal.SIGINT)
    assert running.end().code == 130
    project.trouble()
    root = campaign(project)
    refuses_other_questions(project, root, OTHER_QUESTIONS[:2])
    ended = project.run("campaign", "--resume")
    assert ended.code == 0, ended.text
    assert steps(root) == dict.fromkeys(("screen", "partition", "ab_repeat", "report"), DONE)


def test_rounds_that_are_refused_are_not_finished(project: ToyProject) -> None:
    assert project.run("campaign", "toy", *QUICK).code == 0
    root = campaign(project)
    refused = project.run("campaign", "--resume", "--rounds", "3", env={"TRITON_TOY_ONLY": "1"})
    assert (refused.code, "was started with other variables" in refused.err) == (4, True), refused.text
    assert steps(root)["ab_repeat"] == ("failed", 4)
    again = project.run("campaign", "--resume")
    assert (again.code, again.err.count("finished before")) == (0, 2), again.text
    assert steps(root)["ab_repeat"] == DONE


def test_a_finished_campaign_is_told_anew_where_a_report_is_asked_for(project: ToyProject) -> None:
    assert project.run("campaign", "toy", "--quick", "--rounds", "2", "--telemetry-interval", "0").code == 0
    root = campaign(project)
    measured = {path: path.stat().st_mtime_ns for path in root.rglob("result.json")}
    ended = project.run("campaign", "--resume", "--export", "go", "--receipts", "given", "--delta", "3")
    assert (ended.code, ended.err.count("finished before")) == (0, 3), ended.text
    assert (project.root / "given").is_dir()
    for name, text in (("export", "go"), ("delta", "3")):
        assert data(root / "campaign.json")["words"][name] == [f"--{name}", text]
    assert {path: path.stat().st_mtime_ns for path in root.rglob("result.json")} == measured


def test_a_threshold_on_a_finished_campaign_ends_it_with_7_until_it_is_asked_otherwise(project: ToyProject) -> None:
    assert project.run("campaign", "toy", "--quick", "--rounds", "6", "--telemetry-interval", "0").code == 0
    root = campaign(project)
    for path in root.glob("rounds/toy/r*_B/rows.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row.update(compile_ms=9 * row["compile_ms"], value=9 * row["value"], turns=[9 * it for it in row["turns"]])
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = project.run("campaign", "--resume", "--fail-on", "slower>2%")
    assert (ended.code, ended.err.count("finished before")) == (7, 3), ended.text
    assert steps(root)["report"] == ("finished", 7)
    assert "--fail-on slower>2%: 1 operator and 1 row beyond it" in ended.out
    quiet = project.run("campaign", "--resume")
    assert (quiet.code, quiet.err.count("finished before")) == (7, 4), quiet.text
    assert project.run("campaign", "--resume", "--fail-on", "faster>2%").code == 0


def test_what_is_told_to_the_rounds_is_free_until_they_are_planned(project: ToyProject) -> None:
    assert project.run("campaign", "toy", "--null-test", "--a", "x", *QUICK).code == 0
    root = campaign(project)
    ended = project.run("campaign", "--resume", "--verdict", "NO_IR_DIFF", "--lanes", "1")
    assert ended.err.count("finished before") == 1, ended.text
    assert steps(root)["partition"] == DONE


def test_ab_repeat_goes_on_with_the_rounds_of_the_newest_campaign(project: ToyProject) -> None:
    project.toml(y='tree = "gone"')
    assert project.run("campaign", "toy", *QUICK).code == 3
    without = project.run("ab_repeat", "--resume")
    go_on = f"zlbench campaign --resume runs/{campaign(project).name}"
    assert (without.code, go_on in without.err) == (2, True), without.text
    project.toml()
    assert project.run("campaign", "--resume").code == 0
    ended = project.run("ab_repeat", "--resume", "--telemetry-interval", "0")
    assert ended.code == 0, ended.text
    assert f"runs/{campaign(project).name}/rounds/status.tsv" in ended.out


# --- two at a time ---------------------------------------------------------------------------------------------------

ON_CARDS = ("campaign", "toy", *QUICK, "--backend", "fakecard")


def cells(root: Path) -> list[Path]:
    return sorted({*root.glob("screen/*/?/result.json"), *root.glob("rounds/**/r*_?/result.json")})


def test_of_two_in_the_same_second_on_one_card_one_is_refused_and_leaves_nothing(
    project: ToyProject, tmp_path: Path
) -> None:
    env = {"PYTHONPATH": FakeCards(tmp_path / "cards").pythonpath()}
    running = [project.start(*ON_CARDS, env=env) for _ in range(2)]
    ends = [one.end() for one in running]
    assert sorted(ended.code for ended in ends) == [0, 3], [ended.text for ended in ends]
    refused = next(number for number, ended in enumerate(ends) if ended.code == 3)
    assert f"CARD_IN_USE card 0 is in use by pid {running[1 - refused].pid} (zlbench campaign toy" in ends[refused].err
    assert "--wait-for-card" in ends[refused].err
    root = campaign(project)
    assert steps(root) == dict.fromkeys(("screen", "partition", "ab_repeat", "report"), DONE)
    assert len(cells(root)) == 6


def test_the_second_waits_until_the_whole_first_one_is_over(project: ToyProject, tmp_path: Path) -> None:
    """Between two steps of the first one the card is nobody else's, either."""
    env = {"PYTHONPATH": FakeCards(tmp_path / "cards").pythonpath()}
    first = project.start(*ON_CARDS, env=env)
    first.until("[1/4]")
    second = project.start(*ON_CARDS, "--wait-for-card", "600", env=env)
    second.until("waiting 600 s at most")
    live = project.run("status")
    assert live.code == 0, live.text
    for running in (first, second):
        ended = running.end(120)
        assert ended.code == 0, ended.text
    one, other = sorted(project.runs.glob("campaign_*"), key=lambda path: cells(path)[0].stat().st_mtime_ns)
    assert len(cells(one)) == len(cells(other)) == 6
    assert max(path.stat().st_mtime_ns for path in cells(one)) < min(path.stat().st_mtime_ns for path in cells(other))


def test_one_that_waits_and_is_interrupted_goes_on_later(project: ToyProject, tmp_path: Path) -> None:
    env = {"PYTHONPATH": FakeCards(tmp_path / "cards").pythonpath()}
    project.trouble({"compiler": "x", "op": "toy", "at": "call", "do": "hang"})
    first = project.start(*ON_CARDS, env=env)
    first.until("[1/4]")
    second = project.start("campaign", "other", *QUICK, "--backend", "fakecard", "--wait-for-card", "600", env=env)
    second.until("waiting 600 s at most")
    second.send(signal.SIGINT)
    waited = second.end()
    assert waited.code == 130, waited.text
    root = next(
        path for path in project.runs.glob("campaign_*") if data(path / "campaign.json")["words"]["ops"] == ["other"]
    )
    assert (data(root / "campaign.json")["state"], cells(root)) == ("interrupted", [])
    refused = project.run("campaign", "--resume", str(root), "--wait-for-card", "0", env=env)
    assert (refused.code, "CARD_IN_USE card 0" in refused.err) == (3, True), refused.text
    first.send(signal.SIGINT)
    first.end()
    again = project.run("campaign", "--resume", str(root), env=env)
    assert again.code == 0, again.text


def test_two_in_the_same_second_on_two_cards_touch_nothing_of_each_other(project: ToyProject, tmp_path: Path) -> None:
    env = {"PYTHONPATH": FakeCards(tmp_path / "cards").pythonpath()}
    running = [project.start(*ON_CARDS, "--device", str(card), env=env) for card in (0, 1)]
    for one in running:
        ended = one.end(120)
        assert ended.code == 0, ended.text
    roots = sorted(project.runs.glob("campaign_*"))
    assert len(roots) == 2
    cards_of = {root: {data(path)["device_uuid"] for path in root.rglob("run_identity.json")} for root in roots}
    assert sorted(map(tuple, cards_of.values())) == [(uuid(0),), (uuid(1),)]
    for root, other in (roots, roots[::-1]):
        assert steps(root) == dict.fromkeys(("screen", "partition", "ab_repeat", "report"), DONE)
        assert len(cells(root)) == 6
        strange = f"{other}/".encode()
        assert [path for path in root.rglob("*") if path.is_file() and strange in path.read_bytes()] == []
        status = [(line["round"], line["side"]) for line in table(root / "rounds" / "status.tsv")]
        assert sorted(status) == [("1", "A"), ("1", "B"), ("2", "A"), ("2", "B")]
