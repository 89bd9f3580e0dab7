"""Sessions that people measure with: one for each command, and one more for each caliber of zlbench.toml."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import nox

from zlbench.cli.main import SUMMARIES, main
from zlbench.errors import ZlbenchError
from zlbench.settings import load_project
from zlbench_sessions import _exit

MEASURED = ("screen", "run")
"""Commands that have a session for every caliber."""
_TAGS = {
    **dict.fromkeys(("screen", "partition", "ab_repeat", "report", "campaign", "run"), "measure"), "build": "build",
}  # fmt: skip
DEFAULT_CALIBER = "default"


def register(root: Path) -> None:
    """Register the measuring sessions.

    The plain name runs the default caliber. Another caliber is a session of its own, ``screen(ampere)``, which runs
    only when it is named; with nox's parametrize, ``nox -s screen`` would run them all.
    """
    calibers, builds = _names(root)
    for command in SUMMARIES:
        _add(command, _session(command, root, ()), SUMMARIES[command], default=command == "screen", tags=_tags(command))
    for command in MEASURED:
        for caliber in calibers:
            if caliber != DEFAULT_CALIBER:
                _add(
                    f"{command}({caliber})", _session(command, root, ("--caliber", caliber)),
                    f"{command} with the caliber {caliber}.", tags=_tags(command),
                )  # fmt: skip
    for build in builds:
        _add(
            f"build({build})",
            _session("build", root, (build,)),
            f"Make the environment of build {build}.",
            tags=["build"],
        )


def _names(root: Path) -> tuple[list[str], list[str]]:
    """Calibers and builds of the project; a file that cannot be read is reported by the command that needs it."""
    try:
        project = load_project(root, os.environ)
    except ZlbenchError:
        return [], []
    return list(project.calibers), list(project.builds)


def _tags(command: str) -> list[str]:
    return [_TAGS.get(command, "look")]


def _add(
    name: str, function: Callable[[nox.Session], None], summary: str, *, default: bool = False, tags: Sequence[str] = ()
) -> None:
    function.__doc__ = summary
    nox.session(name=name, default=default, venv_backend="none", tags=list(tags))(function)


def _session(command: str, root: Path, extra: Sequence[str]) -> Callable[[nox.Session], None]:
    def function(session: nox.Session) -> None:
        env = {
            **os.environ,
            "NOX_CURRENT_SESSION": session.name,
            "ZLBENCH_ROOT": str(root),
            "ZLBENCH_CWD": str(session.invoked_from),
        }
        # In this process: the driver needs nothing that nox's own environment lacks, and its exit code stays whole.
        _exit.end(session, main([command, *extra, *session.posargs], env=env))

    return function
