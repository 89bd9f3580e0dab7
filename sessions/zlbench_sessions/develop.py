"""Sessions for those who work on zlbench itself: tests, lint, types."""

from __future__ import annotations

import os
from pathlib import Path

import nox

from zlbench.builds.environment import ensure
from zlbench.errors import ZlbenchError
from zlbench.settings import load_project
from zlbench_sessions import _exit

PACKAGES = ("zlbench", "plugins", "backends", "sessions")
PATHS = ("noxfile.py", *PACKAGES, "tests", "benchmarks", "ops", "docs")


def register(root: Path) -> None:
    """Register the development sessions."""
    pyproject = nox.project.load_toml(root / "pyproject.toml")

    @nox.session(tags=["develop"], default=False)
    def tests(session: nox.Session) -> None:
        """Tests without torch or triton and those on two real compilers, side by side. Arguments go to pytest."""
        session.install(*nox.project.dependency_groups(pyproject, "tests"), "nox>=2026.8.10")
        # Hundreds of processes that tests start may not write bytecode: a fresh checkout would be compiled in each.
        session.run("python", "-m", "compileall", "-q", *PACKAGES)
        if "--unit" in session.posargs:
            words = (word for word in session.posargs if word != "--unit")
            session.run("pytest", *_side_by_side(), "-m", "not triton", *words)
            return
        _make_builds(session, root)
        env = {"ZLBENCH_HOME": str(root / ".nox" / "zlbench")}
        session.run("pytest", *_side_by_side(), *session.posargs, env=env)

    @nox.session(tags=["develop"], default=False)
    def lint(session: nox.Session) -> None:
        """Ruff and the direction of imports."""
        session.install(*nox.project.dependency_groups(pyproject, "lint"), "nox>=2026.8.10", "pyyaml", "pytest")
        session.run("ruff", "check", *PATHS)
        session.run("ruff", "format", "--check", *PATHS)
        env = {"PYTHONPATH": os.pathsep.join(str(root / name) for name in ("", "plugins", "backends", "sessions"))}
        session.run("lint-imports", "--no-cache", env=env)

    @nox.session(tags=["develop"], default=False)
    def types(session: nox.Session) -> None:
        """Mypy, strict."""
        session.install(*nox.project.dependency_groups(pyproject, "types"))
        session.run("mypy")

    @nox.session(tags=["develop"], default=False)
    def docs(session: nox.Session) -> None:
        """Write the reference pages that follow from the code; with --check only say which are out of date."""
        session.install("pyyaml>=6", "tomli>=2; python_version<'3.11'")
        session.run("python", "docs/generate.py", *session.posargs)


def _side_by_side() -> tuple[str, ...]:
    """Options for pytest-xdist; the engine's files are run by tests/real, which has the interpreter for them.

    Most tests start processes and wait for them, so there is one more at a time than there are processors. A file's
    tests stay together, for what is made once for all of them; the order of files is that of tests/conftest.py.
    """
    count = min(len(os.sched_getaffinity(0)) + 1, 4)
    return ("-n", str(count), "--dist", "loadfile", "--no-loadscope-reorder", "--ignore=tests/engine")


def _make_builds(session: nox.Session, root: Path) -> None:
    """Make the environments of the default pair, shared with ``nox -s screen``."""
    project = load_project(root, {})
    axis = project.axis("releases")
    known = project.known_builds()
    try:
        for name in (axis.a, axis.b):
            ensure(known[name], home=root / ".nox" / "zlbench", env=os.environ, log=session.log)
    except ZlbenchError as error:
        session.log(f"{error.message}\n{error.hint}")
        _exit.end(session, int(error.code))
        raise
