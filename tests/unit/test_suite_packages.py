"""What a suite needs beside the compiler: read from its pyproject.toml, found or installed beside the builds."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from zlbench import process
from zlbench.builds.lacking import lacking
from zlbench.builds.manifest import Manifest
from zlbench.builds.spec import BuildKind
from zlbench.builds.suite_packages import SuitePackages
from zlbench.errors import PreflightError
from zlbench.process import Command, Outcome
from zlbench.suite.provider import BUILTIN, Provider
from zlbench.suite.requirements import COMPILERS, compiler, requirements


def provider(root: Path, text: str, name: str = "flag_gems") -> Provider:
    (root / "pyproject.toml").write_text(text, encoding="utf-8")
    return Provider(name=name, root=root, package="flag_gems")


def test_dependencies_less_torch_triton_and_their_kin(tmp_path: Path) -> None:
    text = (
        '[project]\ndependencies = ["torch>=2.2", "triton==3.6.0", "pytorch-triton", "torch_npu==2.9", "torchvision",\n'
        ' "nvidia-cudnn-cu12", "flagtree==0.3", "sqlalchemy==2.0.48", "packaging>=26.0"]\n'
    )
    found = requirements(provider(tmp_path, text))
    assert found == ("packaging>=26.0", "sqlalchemy==2.0.48")


@pytest.mark.parametrize(
    "text",
    ["", "[project]\n", '[project]\ndependencies = "x"\n', "[project]\ndynamic = ['dependencies']\n", "not toml ="],
)
def test_nothing_declared_nothing_needed(tmp_path: Path, text: str) -> None:
    assert requirements(provider(tmp_path, text)) == ()


def test_the_built_in_suite_never_needs_anything(tmp_path: Path) -> None:
    assert requirements(provider(tmp_path, '[project]\ndependencies = ["x"]\n', name=BUILTIN)) == ()


def test_a_text_that_is_no_requirement_is_not_installed() -> None:
    assert compiler("-r requirements.txt")
    assert not compiler("PyYAML==6.0.1")


def test_what_is_there_in_another_version_is_there() -> None:
    assert lacking(["pytest==0.1", "no-such-thing-anywhere>=2"], COMPILERS) == ["no-such-thing-anywhere>=2"]


def test_torch_and_triton_are_not_looked_for_and_markers_count() -> None:
    wanted = [
        "triton==9",
        "torch",
        'no-such-thing-anywhere; python_version < "3"',
        "no-such-thing[x]>=1 ; os_name != 'y'",
    ]
    assert lacking(wanted, COMPILERS) == ["no-such-thing[x]>=1"]


def manifest(python: Path) -> Manifest:
    return Manifest(
        name="b", kind=BuildKind.WHEEL, spec_digest="d", interpreter=str(python), python_version="3.11.0",
        pythonpath=(), triton_path="/t", triton_version="3.6.0", native_path="", native_sha256="", python_sha256="",
        tools_sha256="",
    )  # fmt: skip


class Machine:
    """Starts nothing: pip makes an empty package, the look at an interpreter says what was not made."""

    def __init__(self, answers: list[list[str]]) -> None:
        self.answers = answers
        self.installed: list[tuple[str, ...]] = []

    def __call__(self, command: Command) -> Outcome:
        done = process.run(dataclasses.replace(command, argv=(sys.executable, "-c", "")))
        if "lacking.py" in " ".join(command.argv):
            return dataclasses.replace(done, stdout=f"noise\nZL_LACKING {json.dumps(self.answers.pop(0))}\n")
        if "--target" in command.argv:
            assert "--no-deps" in command.argv
            Path(command.argv[command.argv.index("--target") + 1], "made").mkdir(parents=True)
            self.installed.append(command.argv[command.argv.index("--") + 1 :])
        return done


def packages(home: Path, machine: Any, lines: list[str] | None = None) -> SuitePackages:
    said = [] if lines is None else lines
    return SuitePackages(
        suite="s", requirements=("x",), left_out=COMPILERS, home=home, env={}, log=said.append, run=machine
    )


@pytest.fixture
def python(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "base" / "abc" / "bin" / "python"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_what_lacks_is_installed_once_and_alone(tmp_path: Path, python: Path) -> None:
    machine = Machine([["x>=1"], []])
    lines: list[str] = []
    found = packages(tmp_path / "home", machine, lines).ensure(manifest(python))
    assert machine.installed == [("x>=1",)]
    assert "installing x>=1" in lines[0]
    assert [Path(entry).parent.name for entry in found] == ["suites"]
    assert packages(tmp_path / "home", machine, lines).ensure(manifest(python)) == found
    assert len(lines) == 1


def test_nothing_lacks_and_no_entry_is_made(tmp_path: Path, python: Path) -> None:
    machine = Machine([[]])
    assert packages(tmp_path / "home", machine).ensure(manifest(python)) == ()
    assert packages(tmp_path / "home", machine).ensure(manifest(python)) == ()
    assert machine.installed == []


def test_a_persons_interpreter_gets_nothing(tmp_path: Path) -> None:
    other = tmp_path / "venv" / "bin" / "python"
    other.parent.mkdir(parents=True)
    machine = Machine([])
    assert packages(tmp_path / "home", machine).ensure(manifest(other)) == ()


def test_where_nothing_may_be_installed_it_is_said(tmp_path: Path, python: Path) -> None:
    with pytest.raises(PreflightError, match="have not been installed"):
        packages(tmp_path / "home", Machine([])).ensure(manifest(python), install=False)


def test_a_set_that_never_ends_leaves_nothing_behind(tmp_path: Path, python: Path) -> None:
    machine = Machine([["x"]] * 9)

    def run(command: Command) -> Outcome:
        for folder in (tmp_path / "home").glob("suites/*.tmp/made"):
            folder.rmdir()
        return machine(command)

    with pytest.raises(PreflightError, match="still missing"):
        packages(tmp_path / "home", run).ensure(manifest(python))
    assert list((tmp_path / "home" / "suites").iterdir()) == []
