"""Sessions for those who work on zlbench itself: tests, lint, types."""

from __future__ import annotations

import os
from pathlib import Path

import nox

from zlbench.builds.environment import ensure
from zlbench.builds.manifest import Manifest
from zlbench.errors import ZlbenchError
from zlbench.settings import load_project
from zlbench_sessions import _exit

PATHS = ("noxfile.py", "zlbench", "plugins", "backends", "sessions", "tests", "benchmarks", "ops", "docs")


def register(root: Path) -> None:
    """Register the development sessions."""
    pyproject = nox.project.load_toml(root / "pyproject.toml")

    @nox.session(tags=["develop"], default=False)
    def tests(session: nox.Session) -> None:
        """Unit tests without torch or triton, then the engine on two real compilers. Arguments go to pytest."""
        session.install(*nox.project.dependency_groups(pyproject, "tests"), "nox>=2026.8.10")
        if "--unit" in session.posargs:
            session.run(
                "pytest",
                "--ignore=tests/engine",
                "-m",
                "not triton",
                *(word for word in session.posargs if word != "--unit"),
            )
            return
        manifests = _builds(session, root)
        env = {
            "ZLBENCH_HOME": str(root / ".nox" / "zlbench"),
            "ZLBENCH_TEST_BUILDS": os.pathsep.join(manifest.name for manifest in manifests),
        }
        session.run("pytest", "--ignore=tests/engine", *session.posargs, env=env)
        _inside(session, manifests[0])

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


def _builds(session: nox.Session, root: Path) -> list[Manifest]:
    """Environments of the default pair, shared with ``nox -s screen``."""
    project = load_project(root, {})
    axis = project.axis("releases")
    known = project.known_builds()
    try:
        return [
            ensure(known[name], home=root / ".nox" / "zlbench", env=os.environ, log=session.log)
            for name in (axis.a, axis.b)
        ]
    except ZlbenchError as error:
        session.log(f"{error.message}\n{error.hint}")
        _exit.end(session, int(error.code))
        raise


def _inside(session: nox.Session, manifest: Manifest) -> None:
    """Tests that import torch and triton run in the build's own interpreter."""
    paths = [*manifest.pythonpath, *(str(Path.cwd() / name) for name in ("", "plugins", "backends"))]
    session.run(
        manifest.interpreter, "-m", "pytest", "-p", "no:cacheprovider", "tests/engine",
        external=True, env={"PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
