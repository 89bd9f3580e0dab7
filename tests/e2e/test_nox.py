"""nox as people call it: names, codes and lists come through whole."""

from __future__ import annotations

import pytest
from fakes.suites import ToyProject, data

CALIBERS = """
[caliber.default]
level = "core"
[caliber.wide]
level = "comprehensive"
[caliber.ampere]
targets = ["cuda:80"]
"""


def test_an_unknown_operator_names_the_nearest(project: ToyProject) -> None:
    ended = project.nox("-s", "screen", "--", "tpok", "--suite", "builtin")
    assert ended.code == 2
    assert "no operator named tpok in suite builtin. Nearest: topk." in ended.err
    assert "List them: nox -s screen -- --list" in ended.err
    assert "exit 2 (usage)" in ended.err
    assert "Traceback" not in ended.text


def test_a_session_that_is_refused_does_not_keep_the_next_from_running(project: ToyProject) -> None:
    ended = project.nox("-s", "screen", "run", "--", "--bogus")
    assert ended.code not in (0, None)
    for command in ("screen", "run"):
        assert f"zlbench: no option named --bogus in {command}." in ended.err
        assert f"See nox -s {command} -- --help" in ended.err
        assert f"Running session {command}\n" in ended.err
    assert "Traceback" not in ended.text


def test_help_does_not_end_nox(project: ToyProject) -> None:
    ended = project.nox("-s", "screen", "run", "--", "--help")
    assert ended.code == 0
    assert "usage: nox -s screen --" in ended.out
    assert "usage: nox -s run --" in ended.out


def test_calibers_are_sessions_and_only_the_default_one_runs_by_itself(project: ToyProject) -> None:
    project.toml(more=CALIBERS)
    listed = project.nox("-l")
    assert listed.code == 0
    sessions = {line.split()[1]: line.split()[0] for line in listed.out.splitlines() if line[:2] in ("* ", "- ")}
    for name in ("screen(wide)", "screen(ampere)", "run(wide)", "run(ampere)", "build(x)", "build(y)"):
        assert sessions[name] == "-"
    assert [name for name, mark in sessions.items() if mark == "*"] == ["screen"]
    assert not project.runs.exists()
    named = project.nox("-s", "screen", "--", "toy", "--quick")
    assert named.code == 0
    assert named.err.count("Running session") == 1
    assert [cell["level"] for cell in data(project.screen / "plan.json")["cells"]] == ["core", "core"]


def test_another_caliber_runs_where_it_is_named(project: ToyProject) -> None:
    project.toml(more=CALIBERS)
    ended = project.nox("-s", "screen(ampere)", "--", "toy", "--quick")
    assert ended.code == 0
    assert [cell["target"] for cell in data(project.screen / "plan.json")["cells"]] == ["cuda:80", "cuda:80"]


def test_plain_nox_asks_for_operators(project: ToyProject) -> None:
    ended = project.nox()
    assert ended.code == 2
    assert "no operator is named" in ended.err
    assert "nox -s screen -- --all" in ended.err


@pytest.mark.parametrize("broken", ['[caliber.x]\nlevle = "core"', "[build"])
def test_a_broken_project_file_still_lists_and_is_named_by_the_command(project: ToyProject, broken: str) -> None:
    project.toml(more=broken)
    assert project.nox("-l").code == 0
    ended = project.nox("-s", "screen", "--", "toy")
    assert ended.code == 2
    assert "zlbench.toml:" in ended.err
    assert "Traceback" not in ended.text
