"""pip and venv, and what is made of their failures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fakes.compilers import caller_env

from zlbench.builds.installer import Installer, failure
from zlbench.errors import ExitCode, PreflightError
from zlbench.process import Command, Outcome, run

if TYPE_CHECKING:
    from collections.abc import Callable

NO_VERSION = """\
ERROR: Could not find a version that satisfies the requirement triton==3.7.9 (from versions: 3.6.0, 3.7.1)
ERROR: No matching distribution found for triton==3.7.9
"""
NO_NETWORK = """\
WARNING: Retrying after connection broken by 'NewConnectionError('Temporary failure in name resolution')'
ERROR: Could not find a version that satisfies the requirement triton==3.7.1 (from versions: none)
ERROR: No matching distribution found for triton==3.7.1
"""
NO_NAME = """\
ERROR: Could not find a version that satisfies the requirement tritonn==3.7.1 (from versions: none)
ERROR: No matching distribution found for tritonn==3.7.1
"""
NO_FILE = """\
WARNING: Requirement '/t/triton-3.6.0-py3-none-any.whl' looks like a filename, but the file does not exist
Processing /t/triton-3.6.0-py3-none-any.whl
ERROR: Could not install packages due to an OSError: [Errno 2] No such file or directory: '/t/triton.whl'
"""
FULL = """\
Collecting triton==3.6.0
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device
"""
TRACEBACK = """\
ERROR: Exception:
Traceback (most recent call last):
OSError: [Errno 28] No space left on device
"""
PLATFORM = "ERROR: triton-3.6.0-cp312-cp312-linux_aarch64.whl is not a supported wheel on this platform.\n"


@pytest.mark.parametrize(
    ("text", "line", "step"),
    [
        (NO_VERSION, "Could not find a version that satisfies the requirement triton==3.7.9", "3.7.1"),
        (NO_NETWORK, "Could not find a version", "check the network"),
        (NO_NAME, "requirement tritonn==3.7.1", "no tritonn"),
        (NO_FILE, "No such file or directory", "check its path"),
        (FULL, "No space left on device", "free some space"),
        (TRACEBACK, "OSError: [Errno 28] No space left on device", "free some space"),
        (PLATFORM, "not a supported wheel", "another Python or machine"),
        ("Segmentation fault\n", "Segmentation fault", "by hand"),
        ("", "said nothing", "by hand"),
    ],
    ids=["version", "network", "name", "file", "disk", "traceback", "platform", "crash", "silence"],
)
def test_one_line_and_a_next_step(text: str, line: str, step: str) -> None:
    error = failure(text, ("triton==3.7.1",), Path("/logs/x.log"))
    assert (error.code, error.check) == (ExitCode.PREFLIGHT, "build-install")
    assert line in error.message
    assert step in error.hint
    assert "/logs/x.log" in error.hint
    assert "from versions" not in error.message
    assert "\n" not in error.message


def installer(tmp_path: Path, run_it: Callable[[Command], Outcome] = run, **env: str) -> Installer:
    return Installer(home=tmp_path, run=run_it, env=caller_env(**env), log=lambda _: None)


def outcome(code: int) -> Outcome:
    return Outcome(
        returncode=code, signal=None, timed_out=False, interrupted=False, elapsed_s=0.0, stdout="", stderr=""
    )


class Recorder:
    """Stands for pip: writes what it is told into the log, and keeps the commands."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.answers = list(answers)
        self.commands: list[Command] = []

    def __call__(self, command: Command) -> Outcome:
        self.commands.append(command)
        code, text = self.answers.pop(0) if self.answers else (0, "")
        assert command.stdout is not None
        with command.stdout.open("a") as file:
            file.write(text)
        return outcome(code)


def test_a_broken_wheel_is_told_by_the_real_pip(tmp_path: Path) -> None:
    wheel = tmp_path / "triton-3.6.0-py3-none-any.whl"
    wheel.write_bytes(b"no zip")
    log = tmp_path / "log"
    with pytest.raises(PreflightError, match="cannot install") as caught:
        installer(tmp_path).install(Path(sys.executable), (str(wheel),), log, target=tmp_path / "site")
    assert "damaged" in caught.value.hint
    assert "Processing" in log.read_text()


def test_only_the_last_run_is_read_for_the_reason(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(FULL)
    fake = Recorder((0, ""), (1, PLATFORM))
    with pytest.raises(PreflightError, match="supported wheel"):
        installer(tmp_path, fake).install(Path("/p/python"), ("x.whl",), log, target=tmp_path / "site")


def test_settings_of_pip_pass_through_and_those_of_our_python_do_not(tmp_path: Path) -> None:
    fake = Recorder()
    env = {
        "PIP_INDEX_URL": "file:///mirror", "HTTPS_PROXY": "http://proxy", "PIP_USER": "1",
        "PIP_TARGET": "/elsewhere", "PYTHONPATH": "/leak", "VIRTUAL_ENV": "/v",
    }  # fmt: skip
    installer(tmp_path, fake, **env).install(Path("/p/python"), ("x==1",), tmp_path / "log", target=tmp_path / "site")
    pip = fake.commands[-1]
    assert pip.env["PIP_INDEX_URL"] == "file:///mirror"
    assert pip.env["HTTPS_PROXY"] == "http://proxy"
    assert pip.env["PIP_USER"] == "0"
    assert not {"PIP_TARGET", "PYTHONPATH", "VIRTUAL_ENV"} & set(pip.env)
    assert pip.argv[:3] == ("/p/python", "-m", "pip")
    assert "--no-deps" in pip.argv
    assert pip.argv[-2:] == ("--", "x==1")


def test_no_pip_is_put_into_an_interpreter_that_has_none(tmp_path: Path) -> None:
    fake = Recorder((1, "No module named pip"))
    installer(tmp_path, fake).install(Path("/p/python"), ("x==1",), tmp_path / "log", target=tmp_path / "site")
    pip = fake.commands[-1].argv
    assert pip[0] != "/p/python"
    assert pip[pip.index("--python") + 1] == "/p/python"


@pytest.mark.parametrize("has_pip", [True, False])
def test_debian_without_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_pip: bool) -> None:
    monkeypatch.setattr("zlbench.builds.installer._has_pip", lambda: has_pip)
    fake = Recorder((1, "The virtual environment was not created because ensurepip is not available.\n"))
    make = installer(tmp_path, fake)
    if has_pip:
        make.venv(Path("/usr/bin/python3"), tmp_path / "v", tmp_path / "log")
        assert "--without-pip" in fake.commands[-1].argv
        return
    with pytest.raises(PreflightError) as caught:
        make.venv(Path("/usr/bin/python3"), tmp_path / "v", tmp_path / "log")
    assert "apt-get install python3-venv" in caught.value.hint


def test_another_failure_of_venv_is_one_line(tmp_path: Path) -> None:
    fake = Recorder((1, "Traceback\nError: [Errno 28] No space left on device\n"))
    with pytest.raises(PreflightError, match="No space left on device"):
        installer(tmp_path, fake).venv(Path("/usr/bin/python3"), tmp_path / "v", tmp_path / "log")
