"""Output that cannot be written costs its lines and nothing else: the screen goes on and keeps its exit code."""

from __future__ import annotations

import shlex
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.suites import ToyProject, data

from zlbench.cli import screen as screen_command
from zlbench.errors import ExitCode


def shell(project: ToyProject, words: str, redirected: str) -> tuple[int, str]:
    """Run it as typed into bash; returns zlbench's own exit status and all that was still said."""
    line = f"{shlex.quote(sys.executable)} -m zlbench {words} {redirected}; echo status ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line],
        env=project.env(),
        cwd=project.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    rest, _, status = done.stdout.rpartition("status ")
    return int(status), rest + done.stderr


@pytest.mark.parametrize("redirected", ["2>&1 | head -1", "2>/dev/full", ">/dev/full", "2>&-", ">/dev/full 2>&1"])
def test_a_screen_goes_on(project: ToyProject, redirected: str) -> None:
    code, said = shell(project, "screen toy other", redirected)
    assert code == 0
    status = data(project.screen / "status.json")
    assert (status["state"], status["exit_code"], len(status["cells"])) == ("finished", 0, 4)
    assert [item["op"] for item in data(project.screen / "screen.json")["operators"]] == ["toy", "other"]
    assert "disk is full" not in said
    assert "--resume" not in said
    assert "Exception ignored" not in said
    assert ("the result could not be written to standard output" in said) is (redirected == ">/dev/full")


@pytest.mark.parametrize("redirected", ["| head -1", ">/dev/full", "2>/dev/full"])
def test_the_exit_code_is_that_of_the_screen(project: ToyProject, redirected: str) -> None:
    project.trouble({"compiler": "y", "op": "toy", "dtype": "float16", "shape": 3, "at": "call", "do": "segv"})
    code, _ = shell(project, "screen toy other", redirected)
    assert code == 6
    assert data(project.screen / "status.json")["exit_code"] == 6


@pytest.mark.parametrize("redirected", ["| head -1", ">/dev/full", "2>/dev/full"])
def test_run_keeps_its_exit_code(project: ToyProject, redirected: str) -> None:
    project.trouble({"compiler": "y", "op": "toy", "dtype": "float16", "shape": 3, "at": "call", "do": "segv"})
    code, said = shell(project, "run toy --build y", redirected)
    assert code == 6
    assert "disk is full" not in said


@pytest.mark.parametrize(
    ("error", "state", "code", "said"),
    [
        (RuntimeError("a fault"), "failed", ExitCode.OP_FAILED, "internal fault: RuntimeError: a fault"),
        (OSError(5, "Input/output error"), "failed", ExitCode.OP_FAILED, "Input/output error"),
        (KeyboardInterrupt(), "interrupted", ExitCode.INTERRUPTED, ""),
    ],
)
def test_whatever_ends_a_screen_is_in_its_status(
    error: BaseException, state: str, code: ExitCode, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[Any, ...]] = []

    def run(_jobs: int) -> None:
        raise error

    screen: Any = SimpleNamespace(
        run=run, write_status=lambda *words: written.append(words), lines={}, root="runs/screen_1",
        request=SimpleNamespace(jobs=lambda jobs: jobs),
    )  # fmt: skip
    app: Any = SimpleNamespace(jobs=1, talk=lambda text: None)
    monkeypatch.setattr(screen_command, "_resume_command", lambda app, root: "")
    with pytest.raises(type(error)):
        screen_command._run_to_the_end(screen, app)
    ((was, exit_code, text),) = written
    assert (was, exit_code) == (state, code)
    assert said in text
