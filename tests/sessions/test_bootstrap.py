"""Starting where there is no nox: an environment is made once, from a stand-in for the system's Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from zlbench_sessions import bootstrap

# Answers `-c` (is a module there?), `-m venv DIR`, and `-m pip install`; $LOG notes what it was asked.
PYTHON = """\
#!/bin/sh
echo "$*" >>"$LOG"
case "$1 $2" in
  "-c "*) case "$2" in *"$HAS"*) exit 0;; *) exit 1;; esac;;
  "-m venv") for last; do :; done; mkdir -p "$last/bin" && cp "$0" "$last/bin/python";;
  "-m pip") exit "${PIP_STATUS:-0}";;
esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stand-in was asked."""
    script = tmp_path / "python3"
    script.write_text(PYTHON)
    script.chmod(0o755)
    path = tmp_path / "log"
    for name, value in {"LOG": str(path), "HAS": "ensurepip", "PATH": "/usr/bin:/bin"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "executable", str(script))
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "checkout").mkdir()
    return tmp_path / "checkout"


def asked(log: Path) -> list[str]:
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [line for line in lines if not line.startswith("-c ")]


def test_an_environment_is_made_once(root: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = bootstrap.ready(root)
    assert python == root / ".nox" / "zlbench" / "driver" / "bin" / "python"
    venv, pip = asked(log)
    assert venv == f"-m venv {python.parents[1]}"
    assert pip == f"-m pip install --quiet --disable-pip-version-check {' '.join(bootstrap.REQUIREMENTS)}"
    assert "installing nox into" in capsys.readouterr().err
    command = python.parent / "zlbench"
    assert os.access(command, os.X_OK)
    assert str(root) in command.read_text()
    assert bootstrap.ready(root) == python
    assert (asked(log), capsys.readouterr()) == ([], ("", ""))


def test_a_checkout_that_moved_has_its_environment_made_anew(root: Path, log: Path) -> None:
    bootstrap.ready(root)
    asked(log)
    moved = root.with_name("moved")
    root.rename(moved)
    python = bootstrap.ready(moved)
    assert python is not None
    assert len(asked(log)) == 2
    assert str(root) + "/" not in (python.parent / "zlbench").read_text()


def test_other_requirements_make_it_anew(root: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap.ready(root)
    asked(log)
    monkeypatch.setattr(bootstrap, "REQUIREMENTS", ("nox>=9999",))
    bootstrap.ready(root)
    assert asked(log)[-1].endswith("nox>=9999")


def test_a_pip_that_fails_leaves_nothing_that_looks_complete(
    root: Path, log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_STATUS", "1")
    assert bootstrap.ready(root) is None
    assert "pip could not install" in capsys.readouterr().err
    assert bootstrap.main(root, []) == 3
    monkeypatch.setenv("PIP_STATUS", "0")
    assert bootstrap.ready(root) is not None


def test_without_ensurepip_pip_comes_from_outside(root: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAS", "import venv, pip;")
    assert bootstrap.ready(root) is not None
    venv, target, install = asked(log)
    assert venv.startswith("-m venv --without-pip ")
    assert "--target" in target
    assert install.endswith(bootstrap.REQUIREMENTS[-1])


def test_without_venv_the_package_is_named(
    root: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HAS", "nothing that is asked for")
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: None)
    assert bootstrap.main(root, []) == 3
    assert f"apt-get install python3.{sys.version_info.minor}-venv" in capsys.readouterr().err


def test_a_checkout_that_cannot_be_written_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".nox").write_text("")
    assert bootstrap.main(tmp_path, []) == 3
    assert "cannot be written" in capsys.readouterr().err


def test_a_python_that_is_too_old_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert bootstrap.main(root, []) == 3
    assert "3.10 or later is needed" in capsys.readouterr().err
    assert list(root.iterdir()) == []
