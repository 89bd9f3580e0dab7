"""``zlbench report --fail-on``: exit 7, what GitHub is told, and which codes outweigh it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.report_roots import write_pair, write_plan

from zlbench.cli.main import main

ROUNDS = 6
CONTROLS = ("softmax", "bmm", "cumsum", "layer_norm")


@pytest.fixture
def rounds(tmp_path: Path) -> Path:
    """A root of rounds: mm is slower by 5 %, topk as fast as before, four controls."""
    root = tmp_path / "runs" / "repeat_20261129-101010"
    ops = [("mm", "subject"), ("topk", "subject"), *((name, "control") for name in CONTROLS)]
    write_plan(root, {"0": ops}, rounds=ROUNDS)
    for number in range(1, ROUNDS + 1):
        wave = 1 + 0.0004 * (number % 3)
        write_pair(root / "mm", number, {"r1": (wave, 1.05 * (2 - wave))}, op="mm")
        write_pair(root / "topk", number, {"r1": (wave, 2 - wave), "r2": (2.0, 2.0 * wave)}, op="topk")
        for place, name in enumerate(CONTROLS):
            write_pair(root / name, number, {"r1": (wave, wave + 0.0001 * place)}, op=name)
    return root


def report(root: Path, *words: str, env: Mapping[str, str] | None = None) -> int:
    base = {"ZLBENCH_ROOT": str(root.parents[1]), "ZLBENCH_CWD": str(root.parents[1])}
    return main(["report", str(root), *words], env={**base, **(env or {})})


def test_a_regression_ends_with_7_and_is_named(rounds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(rounds, "--fail-on", "slower>2%") == 7
    ended = capsys.readouterr()
    assert "--fail-on slower>2%: 1 operator and 1 row beyond it" in ended.out
    assert "  mm float16 " in ended.out
    assert ended.err.splitlines()[-1] == "exit 7 (regression)"
    assert "## Thresholds" in (rounds / "report.md").read_text()
    assert "::error" not in ended.out + ended.err


def test_nothing_beyond_is_no_failure(rounds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(rounds, "--fail-on", "slower>9%", "--fail-on", "faster>1%") == 0
    out = capsys.readouterr().out
    assert "--fail-on slower>9%: nothing beyond it" in out
    assert "--fail-on faster>1%: nothing beyond it" in out
    assert report(rounds) == 0
    assert "--fail-on" not in capsys.readouterr().out


def test_github_gets_annotations_and_the_page(rounds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "step.md"
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}
    assert report(rounds, "--fail-on", "slower>2%", "--json", env=env) == 7
    ended = capsys.readouterr()
    assert json.loads(ended.out)
    errors = [line for line in ended.err.splitlines() if line.startswith("::")]
    assert [line.split("::")[1].split(" ", maxsplit=1)[0] for line in errors] == ["error", "error", "notice"]
    assert errors[0].startswith("::error title=mm::slower, +4.9")
    assert page.read_text() == (rounds / "report.md").read_text()


def test_a_page_that_cannot_be_written_changes_nothing(rounds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(rounds, env={"GITHUB_STEP_SUMMARY": str(rounds / "none" / "step.md")}) == 0
    assert "note: GITHUB_STEP_SUMMARY: " in capsys.readouterr().err


def test_what_is_missing_outweighs_a_regression_and_hides_none(
    rounds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (rounds / "topk" / "r6_B").iterdir():
        path.unlink()
    assert report(rounds, "--fail-on", "slower>2%", env={"GITHUB_ACTIONS": "true"}) == 6
    ended = capsys.readouterr()
    assert "1 operator and 1 row beyond it" in ended.out
    assert "::error title=mm::" in ended.err


@pytest.mark.parametrize("command", ["report", "campaign"])
def test_a_bad_threshold_is_refused_before_anything_is_done(
    command: str, rounds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [command, *([str(rounds)] if command == "report" else ["mm"]), "--fail-on", "slower>2"]
    assert main(words, env={"ZLBENCH_ROOT": str(rounds.parents[1])}) == 2
    err = capsys.readouterr().err
    assert "fail-on: 'slower>2': how much slower is said in percent: slower>2%" in err
    assert "such as slower>2%" in err
    assert not (rounds / "report.md").exists()
