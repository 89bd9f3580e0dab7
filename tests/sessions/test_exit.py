"""The exit code of nox itself: a session's own where one failed, nox's where several did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.suites import PATHS

NOXFILE = """\
import nox
from zlbench_sessions import _exit

def add(name, code):
    @nox.session(name=name, venv_backend="none")
    def function(session):
        print("ran", name, flush=True)
        _exit.end(session, code)

for name, code in {"fine": 0, "usage": 2, "refused": 4, "partial": 6, "late": 124, "stopped": 130}.items():
    add(name, code)
"""


@pytest.mark.parametrize(
    ("sessions", "code"),
    [
        (["fine"], 0),
        (["refused"], 4),
        (["late"], 124),
        (["fine", "partial"], 6),
        (["partial", "fine"], 6),
        (["refused", "partial"], 1),
        (["refused", "refused"], 4),
        (["stopped"], 130),
    ],
)
def test_the_exit_code(tmp_path: Path, sessions: list[str], code: int) -> None:
    (tmp_path / "noxfile.py").write_text(NOXFILE)
    foreign = ("NOX", "PYTEST_", "NO_COLOR", "FORCE_COLOR")
    env = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    env |= {"PYTHONPATH": os.pathsep.join(PATHS), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "nox", "--report", "report.json", "-s", *sessions]
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    assert ended.stdout.split() == [word for name in dict.fromkeys(sessions) for word in ("ran", name)]
    if code == 130:
        return
    # The exit is set last of all: nox has written its report and said how its sessions ended.
    report = json.loads((tmp_path / "report.json").read_text())
    assert {item["name"]: item["result"] == "success" for item in report["sessions"]} == {
        name: name == "fine" for name in sessions
    }
    if code not in (0, 1):
        assert f"exit {code}" in ended.stderr
