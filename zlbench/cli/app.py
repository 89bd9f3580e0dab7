"""What every sub-command gets: the project, the resolved options, the environment, and where to write."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from zlbench.colour import Paint, painter
from zlbench.settings import Project, Resolved, SourceKind
from zlbench.text import say


@dataclass(frozen=True, kw_only=True, slots=True)
class App:
    """One call of the command.

    Args:
        cwd: where relative paths of the caller start.
        home: where builds, caches and locks live, ``<project>/.nox/zlbench``.
        now: the clock that names run directories.
    """

    command: str
    project: Project
    resolved: Resolved
    env: Mapping[str, str]
    cwd: Path
    now: datetime

    @property
    def home(self) -> Path:
        """Directory for what is made once and reused."""
        given = self.env.get("ZLBENCH_HOME", "").strip()
        return Path(given).expanduser() if given else self.project.root / ".nox" / "zlbench"

    @property
    def runs(self) -> Path:
        """Directory of run directories."""
        return (self.cwd / (self.resolved.path("out") or "runs")).resolve()

    @property
    def jobs(self) -> int:
        """Cells side by side: what was asked for, else the processors that we may use."""
        given = self.resolved.value("jobs")
        return int(given) if given else len(os.sched_getaffinity(0))

    @property
    def paint(self) -> Paint:
        """What colours a word of a result, where results go to a terminal or somebody asked for it."""
        asked = self.resolved.source("color").kind.rank > SourceKind.FILE.rank
        return painter(self.resolved.text("color"), asked=asked, env=self.env, stream=sys.stdout)

    def hint(self, command: str, *words: str) -> str:
        """How to call another command from here: through nox where we were called through nox."""
        rest = shlex.join(words)
        if self.env.get("NOX_CURRENT_SESSION"):
            return f"nox -s {command} -- {rest}" if words else f"nox -s {command}"
        return f"zlbench {command} {rest}".rstrip()

    def talk(self, text: str = "") -> None:
        """Say something to the person who waits."""
        say(text)

    def tell_runner(self, line: str) -> None:
        """Tell a CI runner something; data in it is escaped by whoever made the line."""
        say(line, command=True)

    def result(self, text: str) -> None:
        """Print a result."""
        say(text, to=sys.stdout)

    def json(self, data: Any) -> None:
        """Print a result as JSON."""
        self.result(json.dumps(data, indent=1, ensure_ascii=False, default=str))
