"""Making environments once, and finding them again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fakes.compilers import caller_env, imported_by, make_toy_compiler, make_toy_interpreter, make_toy_wheel

from zlbench.builds.check import check_imported
from zlbench.builds.environment import ensure, installed
from zlbench.builds.locks import locked
from zlbench.builds.spec import Build, BuildKind
from zlbench.errors import BuildMismatchError, PreflightError
from zlbench.process import Command, Outcome, run

if TYPE_CHECKING:
    from zlbench.builds.manifest import Manifest


class Bench:
    """A home directory, the lines that were said, and the commands that were run."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"
        self.said: list[str] = []
        self.commands: list[tuple[str, ...]] = []

    def run(self, command: Command) -> Outcome:
        self.commands.append(command.argv)
        return run(command)

    def ensure(self, build: Build, **options: object) -> Manifest:
        self.said.clear()
        self.commands.clear()
        wanted: dict[str, object] = {
            "home": self.home, "env": caller_env(), "log": self.said.append, "run": self.run, **options,
        }  # fmt: skip
        return ensure(build, **wanted)  # type: ignore[arg-type]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def wheel_build(tmp_path: Path, **content: object) -> Build:
    wheel = make_toy_wheel(tmp_path / "wheels", **content)  # type: ignore[arg-type]
    return Build(name="a", kind=BuildKind.WHEEL, requirement=str(wheel), torch="")


def tree_build(tmp_path: Path, **content: object) -> Build:
    tree = make_toy_compiler(tmp_path / "tree", **content)  # type: ignore[arg-type]
    return Build(name="t", kind=BuildKind.TREE, tree=tree, torch="")


def test_a_wheel_is_installed_once_and_then_found_in_silence(bench: Bench, tmp_path: Path) -> None:
    build = wheel_build(tmp_path)
    first = bench.ensure(build)
    assert "installing" in bench.said[0]
    assert first.interpreter == sys.executable
    assert first.torch_version is None
    assert Path(first.triton_path).is_relative_to(bench.home)
    assert bench.ensure(build) == first
    assert (bench.said, bench.commands) == ([], [])
    assert installed(bench.home) == [first]


def test_variables_of_a_build_do_not_make_it_again(bench: Bench, tmp_path: Path) -> None:
    build = wheel_build(tmp_path)
    bench.ensure(build)
    assert bench.ensure(replace(build, env={"X": "1"})).env == {"X": "1"}
    assert bench.commands == []


def test_a_wheel_file_with_new_content_under_the_old_name_is_installed_again(bench: Bench, tmp_path: Path) -> None:
    first = bench.ensure(wheel_build(tmp_path))
    second = bench.ensure(wheel_build(tmp_path, native=b"built again"))
    assert "has changed" in bench.said[0]
    assert second.native_sha256 != first.native_sha256


def test_rebuild_heals_a_changed_environment(bench: Bench, tmp_path: Path) -> None:
    build = wheel_build(tmp_path)
    first = bench.ensure(build)
    Path(first.native_path).write_bytes(b"something else")
    with pytest.raises(BuildMismatchError):
        bench.ensure(build)
    assert bench.ensure(build, rebuild=True).identity == first.identity


def test_touching_without_changing_is_no_change(bench: Bench, tmp_path: Path) -> None:
    build = wheel_build(tmp_path)
    first = bench.ensure(build)
    os.utime(first.native_path)
    assert bench.ensure(build).identity == first.identity
    assert bench.commands == []


def test_an_interrupted_install_is_never_taken_as_complete(bench: Bench, tmp_path: Path) -> None:
    build = wheel_build(tmp_path)

    def cut(command: Command) -> Outcome:
        outcome = run(command)
        if "install" in command.argv:
            raise KeyboardInterrupt
        return outcome

    with pytest.raises(KeyboardInterrupt):
        bench.ensure(build, run=cut)
    assert installed(bench.home) == []
    assert not list(bench.home.glob("builds/*/site*"))
    assert bench.ensure(build).triton_version == "3.6.0"


def test_a_manifest_that_cannot_be_read_is_no_manifest(bench: Bench, tmp_path: Path) -> None:
    build = wheel_build(tmp_path)
    first = bench.ensure(build)
    next(bench.home.glob("builds/*/manifest.json")).write_text("{")
    assert bench.ensure(build).identity == first.identity


def test_a_source_tree_follows_its_developer(bench: Bench, tmp_path: Path) -> None:
    build = tree_build(tmp_path)
    first = bench.ensure(build)
    make_toy_compiler(tmp_path / "tree", native=b"compiled again")
    second = bench.ensure(build)
    assert first.native_sha256 != second.native_sha256
    assert first.python_sha256 == second.python_sha256
    check_imported("A", second, imported_by(second, caller_env(), tmp_path))


def test_a_bare_tree_gets_the_entry_points_that_triton_looks_for(bench: Bench, tmp_path: Path) -> None:
    build = tree_build(tmp_path, more={"backends/nvidia/compiler.py": "", "backends/amd/compiler.py": ""})
    path = bench.ensure(build).pythonpath
    code = (
        "from importlib.metadata import entry_points\n"
        "print(sorted(entry.value for entry in entry_points(group='triton.backends')))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert shown.strip() == "['triton.backends.amd', 'triton.backends.nvidia']"
    (tmp_path / "tree" / "triton-3.6.0.dist-info").mkdir()
    assert bench.ensure(build, rebuild=True).pythonpath == (str(tmp_path / "tree"),)


def test_a_tree_without_a_native_library_has_to_be_built_first(bench: Bench, tmp_path: Path) -> None:
    build = tree_build(tmp_path)
    (tmp_path / "tree" / "triton" / "_C" / "libtriton.so").unlink()
    with pytest.raises(PreflightError, match="no native library") as caught:
        bench.ensure(build)
    assert caught.value.check == "build-native"


def test_the_commit_is_that_of_the_checkout_which_tracks_the_tree(bench: Bench, tmp_path: Path) -> None:
    build = tree_build(tmp_path)
    tree = tmp_path / "tree"

    def git(*words: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        return subprocess.run(
            ["git", *who, *words], cwd=tree, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    # A checkout that lies around the tree, and does not track it, says nothing about it.
    assert (bench.ensure(build).commit, bench.ensure(build).dirty) == (None, None)
    git("add", "-f", ".")
    git("commit", "-qm", "x")
    clean = bench.ensure(build)
    assert (clean.commit, clean.dirty) == (git("rev-parse", "HEAD"), False)
    make_toy_compiler(tree, version="3.6.1")
    assert bench.ensure(build).dirty is True


@pytest.mark.parametrize(
    ("version", "commit"), [("3.6.0+git1a2b3c4d", "1a2b3c4d"), ("3.6.0+20260101", None), ("3.6.0", None)]
)
def test_the_commit_may_be_in_the_version(bench: Bench, tmp_path: Path, version: str, commit: str | None) -> None:
    found = bench.ensure(tree_build(tmp_path, version=version))
    assert (found.commit, found.dirty) == (commit, None)


def test_an_interpreter_is_used_as_it_is(bench: Bench, tmp_path: Path) -> None:
    python = make_toy_interpreter(tmp_path / "venv", version="3.4.0")
    before = sorted(path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts)

    def no_network(command: Command) -> Outcome:
        if "--target" in command.argv:
            Path(command.argv[command.argv.index("--target") + 1], "pytest").mkdir(parents=True)
            return succeeded()
        return bench.run(command)

    build = Build(name="i", kind=BuildKind.INTERPRETER, python=python, torch="")
    found = bench.ensure(build, run=no_network)
    assert found.interpreter == str(python)
    assert found.triton_version == "3.4.0"
    # It has no pytest: that comes from a directory beside it, behind everything.
    assert [Path(entry).parent.name for entry in found.pythonpath] == ["tools"]
    assert sorted(path for path in (tmp_path / "venv").rglob("*") if "__pycache__" not in path.parts) == before
    check_imported("A", found, imported_by(found, caller_env(), tmp_path))


def succeeded() -> Outcome:
    return Outcome(returncode=0, signal=None, timed_out=False, interrupted=False, elapsed_s=0.0, stdout="", stderr="")


def test_an_interpreter_without_torch_is_named_with_the_reason(bench: Bench, tmp_path: Path) -> None:
    python = make_toy_interpreter(tmp_path / "venv")
    with pytest.raises(PreflightError, match="No module named 'torch'") as caught:
        bench.ensure(Build(name="i", kind=BuildKind.INTERPRETER, python=python))
    assert caught.value.check == "interpreter-imports"
    assert str(python) in caught.value.message
    assert "without torch" in caught.value.hint
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import time; time.sleep(600)", "no answer within 2 s"),
        ("import os; os.abort()", "signal 6"),
        ("raise ImportError('libcudart.so.12: cannot open')", "libcudart"),
        ("import sys; sys.exit(3)", "exit 3"),
    ],
)
def test_a_compiler_that_cannot_be_imported(bench: Bench, tmp_path: Path, code: str, said: str) -> None:
    build = tree_build(tmp_path)
    (tmp_path / "tree" / "triton" / "__init__.py").write_text(code)
    with pytest.raises(PreflightError, match=said) as caught:
        bench.ensure(build, import_timeout_s=2)
    assert caught.value.check == "interpreter-imports"
    assert installed(bench.home) == []


def test_what_the_compiler_prints_while_imported_does_not_matter(bench: Bench, tmp_path: Path) -> None:
    build = tree_build(tmp_path)
    (tmp_path / "tree" / "triton" / "__init__.py").write_text("print('hello'); __version__ = '1'")
    assert bench.ensure(build).triton_version == "1"


def test_a_requirement_without_triton_in_it(bench: Bench, tmp_path: Path) -> None:
    wheel = make_toy_wheel(tmp_path / "wheels", distribution="other", import_name="other")
    build = Build(
        name="o",
        kind=BuildKind.WHEEL,
        requirement=str(wheel),
        torch="",
        python=make_toy_interpreter(tmp_path / "v"),
    )
    with pytest.raises(PreflightError, match="came from"):
        bench.ensure(build)


def test_the_callers_pythonpath_does_not_colour_the_record(bench: Bench, tmp_path: Path) -> None:
    leak = make_toy_compiler(tmp_path / "leak", version="0.0")
    build = tree_build(tmp_path, version="3.5.0")
    found = bench.ensure(build, env=caller_env(PYTHONPATH=str(leak)))
    assert (found.triton_version, found.pythonpath) == ("3.5.0", (str(tmp_path / "tree"),))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (Build(name="b", kind=BuildKind.WHEEL, requirement="/gone/triton-1.whl"), "wheel /gone/triton-1.whl"),
        (
            Build(name="b", kind=BuildKind.INTERPRETER, python=Path("/gone/python")),
            "interpreter /gone/python",
        ),
        (Build(name="b", kind=BuildKind.INTERPRETER, python=Path("/dev/null")), "/dev/null is not"),
        (Build(name="b", kind=BuildKind.TREE, tree=Path("/gone")), "/gone holds no triton"),
    ],
    ids=["wheel", "interpreter", "no program", "tree"],
)
def test_a_source_that_is_not_there_stops_before_anything_is_made(bench: Bench, build: Build, said: str) -> None:
    with pytest.raises(PreflightError, match=said) as caught:
        bench.ensure(build)
    assert caught.value.check == "build-source"
    assert (bench.commands, bench.home.exists()) == ([], False)


def test_nothing_is_installed_when_that_is_not_allowed(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="has not been made") as caught:
        bench.ensure(wheel_build(tmp_path), install=False)
    assert caught.value.check == "build-made"
    assert bench.commands == []


def test_a_full_or_closed_disk_is_one_line(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PreflightError, match="Not a directory") as caught:
        bench.ensure(wheel_build(tmp_path), home=tmp_path / "file" / "home")
    assert "space and write access" in caught.value.hint


def test_a_second_one_waits_and_says_so(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "a.lock"
    said = threading.Event()
    order: list[str] = []

    def note(line: str) -> None:
        order.append(line)
        said.set()

    def second() -> None:
        with locked(lock, "a", note):
            order.append("second")

    with locked(lock, "a", order.append):
        thread = threading.Thread(target=second)
        thread.start()
        assert said.wait(20)
        order.append("first")
    thread.join(20)
    assert order == ["build a: another zlbench is making it, waiting", "first", "second"]


def test_the_base_is_made_once_for_all_builds_and_again_after_an_interrupt(bench: Bench, tmp_path: Path) -> None:
    made: list[str] = []

    def fake(command: Command) -> Outcome:
        argv = command.argv
        if argv[1:3] == ("-m", "venv"):
            made.append("venv")
            make_toy_interpreter(Path(argv[-1]))
        elif "install" in argv and "--target" not in argv:
            made.append("pip")
            if made.count("pip") == 1:
                raise KeyboardInterrupt
            torch = next(Path(argv[0]).parents[1].glob("lib/python*")) / "site-packages" / "torch"
            torch.mkdir()
            (torch / "__init__.py").write_text("__version__ = '2.13.0+cpu'")
            (torch / "version.py").touch()
        elif "--target" in argv:
            target = Path(argv[argv.index("--target") + 1])
            make_toy_compiler(target)
        elif argv[1] != "-c":
            return run(command)
        return succeeded()

    build = Build(name="a", kind=BuildKind.WHEEL, requirement="triton==3.6.0")
    with pytest.raises(KeyboardInterrupt):
        bench.ensure(build, run=fake)
    first = bench.ensure(build, run=fake)
    bench.ensure(replace(build, name="b", requirement="triton==3.7.1"), run=fake)
    assert made == ["venv", "pip", "venv", "pip"]
    assert first.torch_version == "2.13.0+cpu"
    assert Path(first.interpreter).is_relative_to(bench.home / "base")
