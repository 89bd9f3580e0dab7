"""A campaign as values: commands of its steps, what follows what, and how it is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlbench import store
from zlbench.campaign import steps
from zlbench.campaign.record import Record, StepState
from zlbench.errors import ExitCode, UsageError
from zlbench.settings import Project, load_project, resolve
from zlbench.settings.words import COMMAND_LINE, given_words, words_for


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return load_project(tmp_path, {})


def test_a_step_gets_the_words_that_it_understands(project: Project) -> None:
    argv = ["topk", "mm", "--quick", "--dtypes", "float16,float32", "--verdict", "IR_CHANGED", "--rounds", "4",
            "--cell-timeout", "60", "--target", "cuda:80"]  # fmt: skip
    words = given_words(resolve("campaign", argv, env={"BENCH_LEVEL": "comprehensive"}, project=project))
    assert words_for("screen", words) == [
        "topk", "mm", "--dtypes", "float16", "--dtypes", "float32", "--target", "cuda:80", "--level", "comprehensive",
        "--quick", "--cell-timeout", "60",
    ]  # fmt: skip
    assert words_for("partition", words) == ["--verdict", "IR_CHANGED", "--rounds", "4"]
    again = resolve("screen", words_for("screen", words), env={}, project=project)
    assert (again.texts("ops"), again.text("level"), again.flag("quick")) == (("topk", "mm"), "comprehensive", True)
    assert "level" not in given_words(
        resolve("campaign", argv, env={"BENCH_LEVEL": "core"}, project=project), COMMAND_LINE
    )


def test_a_flag_that_a_variable_switches_off_is_no_word(project: Project) -> None:
    words = given_words(resolve("campaign", ["topk"], env={"DRY_RUN": "0"}, project=project))
    assert words["dry_run"] == []


def test_commands_are_the_same_at_the_start_and_when_it_goes_on(tmp_path: Path) -> None:
    words = {"ops": ["topk"], "rounds": ["--rounds", "4"], "json": ["--json"], "resume": ["--resume", "x"]}
    assert steps.command("screen", tmp_path, words) == ("screen", "topk", "--resume", str(tmp_path / "screen"))
    assert steps.command("partition", tmp_path, words) == (
        "partition", str(tmp_path / "screen"), "--rounds", "4", "--out", str(tmp_path),
    )  # fmt: skip
    rounds = tmp_path / "rounds"
    assert steps.command("ab_repeat", tmp_path, words) == (
        "ab_repeat", str(tmp_path), "--rounds", "4", "--root", str(rounds),
    )  # fmt: skip
    rounds.mkdir()
    (rounds / "repeat.json").write_text("{}")
    assert steps.command("ab_repeat", tmp_path, words)[:3] == ("ab_repeat", "--resume", str(rounds))
    assert steps.command("report", tmp_path, words) == ("report", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "code", "on"),
    [
        ("screen", 0, True), ("screen", 6, True), ("screen", 1, True), ("screen", 2, False), ("screen", 3, False),
        ("screen", 4, False), ("screen", 130, False), ("screen", -9, False), ("partition", 2, False),
        ("ab_repeat", 0, True), ("ab_repeat", 6, True), ("ab_repeat", 3, False), ("ab_repeat", -9, False),
        ("report", 5, True), ("report", 4, True),
    ],
)  # fmt: skip
def test_what_follows_what(name: str, code: int, *, on: bool) -> None:
    assert steps.goes_on(name, code) is on


def test_nothing_to_measure_is_known_from_the_partition(tmp_path: Path) -> None:
    def partition(*kinds: str) -> None:
        lanes = [{"lane": "0", "ops": [{"op": "x", "kind": kind} for kind in kinds]}]
        store.write_json(tmp_path / "partition.json", {"lanes": lanes})

    partition("control", "subject")
    assert steps.nothing_to_measure(tmp_path) == ""
    partition("control")
    assert "nothing to measure" in steps.nothing_to_measure(tmp_path)


def test_a_record_is_read_back_and_ends_with_the_first_bad_code(tmp_path: Path) -> None:
    record = Record(words={"ops": ("topk",)}, cwd="/somewhere", started="now")
    record = record.with_step(
        "screen", state=StepState.FINISHED, exit_code=6, command=("screen", "topk"), elapsed_s=1.5
    )
    record = record.with_step("ab_repeat", state=StepState.FINISHED, exit_code=1)
    record.write(tmp_path)
    assert Record.read(tmp_path) == record
    assert record.code is ExitCode.PARTIAL
    assert record.with_step("screen", exit_code=-9).code is ExitCode.PARTIAL
    assert Record(words={}, cwd="/").code is ExitCode.OK
    assert store.read_json(tmp_path / store.STATUS)["state"] == "running"
    with pytest.raises(UsageError, match="is no campaign"):
        Record.read(tmp_path / "nowhere")
