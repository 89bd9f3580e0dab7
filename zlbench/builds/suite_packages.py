"""What a suite imports beside torch and triton, in a folder of its own: no build is made anew for a suite.

Only for interpreters that zlbench made. One that a person gave is never installed for; what it lacks, the first import
of the suite says.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zlbench import process
from zlbench.builds import lacking as script
from zlbench.builds.installer import CHECK, Installer
from zlbench.builds.locks import locked
from zlbench.builds.manifest import Manifest
from zlbench.errors import PreflightError
from zlbench.process import Command, Outcome

_ROUNDS = 5
"""Levels of packages that need packages; a set that is deeper is not resolved by installing one level a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SuitePackages:
    """Finds or makes the folder of a suite's packages.

    Args:
        suite: for messages and the folder's name.
        requirements: as in `zlbench.suite.requirements`.
        left_out: pattern of names that are never installed.
        home: directory of everything that zlbench makes.
    """

    suite: str
    requirements: Sequence[str]
    left_out: str
    home: Path
    env: Mapping[str, str]
    log: Callable[[str], None]
    run: Callable[[Command], Outcome] = process.run

    def ensure(self, manifest: Manifest, *, install: bool = True) -> tuple[str, ...]:
        """Return path entries for a build's interpreter; none where nothing is needed or nothing may be installed.

        Raises:
            PreflightError: pip cannot install them, or they have not been made and may not be made now.
        """
        home = self.home.absolute()
        # The folder's links are resolved, the interpreter's own is not: it is what makes an environment that one.
        made_here = Path(manifest.interpreter).parent.resolve().is_relative_to((home / "base").resolve())
        if not self.requirements or not made_here:
            return ()
        where = str(Path(manifest.interpreter).parent.resolve())
        key = json.dumps([where, manifest.python_version, *self.requirements])
        folder = home / "suites" / f"{self.suite}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        with locked(home / "locks" / f"suite-{folder.name}.lock", self.suite, self.log):
            if not folder.is_dir():
                if not install:
                    raise self._not_made()
                self._make(Path(manifest.interpreter), folder)
        return (str(folder),) if any(folder.iterdir()) else ()

    def _make(self, python: Path, folder: Path) -> None:
        """Install level by level, aside; the folder gets its name when complete, and stays empty if nothing lacks."""
        installer = Installer(home=self.home.absolute(), run=self.run, env=self.env, log=self.log)
        log = self.home.absolute() / "logs" / f"suite-{folder.name}.log"
        draft = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
        try:
            draft.mkdir(parents=True)
            for _ in range(_ROUNDS):
                wanted = self._lacking(python, draft)
                if not wanted:
                    draft.replace(folder)
                    return
                self.log(f"suite {self.suite}: installing {' '.join(wanted)} beside the builds (log: {log})")
                installer.install(python, wanted, log, target=draft)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        raise PreflightError(
            f"suite {self.suite}: {' '.join(wanted)} is still missing after {_ROUNDS} rounds of pip",
            check=CHECK, hint=f"Full output: {log}",
        )  # fmt: skip

    def _lacking(self, python: Path, draft: Path) -> tuple[str, ...]:
        env = {**self.env, "PYTHONPATH": str(draft), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
        argv = (str(python), str(Path(script.__file__).resolve()), json.dumps(list(self.requirements)), self.left_out)
        outcome = self.run(Command(argv=argv, env=env, cwd=self.home.absolute(), timeout_s=120.0))
        for line in outcome.stdout.splitlines():
            if line.startswith(script.RESULT):
                return tuple(json.loads(line.removeprefix(script.RESULT)))
        said = [line for line in outcome.stderr.splitlines() if line.strip()] or [f"exit {outcome.returncode}"]
        raise PreflightError(
            f"suite {self.suite}: what {python} lacks for it cannot be found out: {said[-1].strip()}",
            check=CHECK, hint=f"Look at the dependencies of its pyproject.toml: {', '.join(self.requirements)}.",
        )  # fmt: skip

    def _not_made(self) -> PreflightError:
        return PreflightError(
            f"suite {self.suite}: its packages have not been installed ({', '.join(self.requirements)})",
            check="build-made",
            hint="The first screen or run installs them, in a folder beside the builds.",
        )
