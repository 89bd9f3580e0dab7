"""pip and venv behind one small class, and their failures in one line each."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zlbench.builds.locks import locked
from zlbench.errors import PreflightError
from zlbench.nearest import nearest
from zlbench.process import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from zlbench.process import Outcome

CHECK = "build-install"

# What belongs to the calling shell's Python would be applied to the one we install with.
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "PYTHONSAFEPATH")
# Of the user's pip settings only those go that contradict --target; indexes, proxies, constraints stay.
_PIP = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
_PIP_DROPPED = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DRY_RUN")
_OPTIONS = ("install", "--disable-pip-version-check", "--no-input", "--progress-bar=off", "--no-color")


@dataclass(frozen=True, kw_only=True, slots=True)
class Installer:
    """Makes virtual environments and installs into them or into a target directory.

    Args:
        home: directory that holds everything zlbench makes; ``pip-venv`` in it is used where no pip is found.
        run: starts a command.
        env: the caller's environment, pip's own variables included.
        log: takes lines for people.
    """

    home: Path
    run: Callable[[Command], Outcome]
    env: Mapping[str, str]
    log: Callable[[str], None]

    def venv(self, python: Path, target: Path, log: Path) -> None:
        """Make a virtual environment with pip in it."""
        outcome, text = self._logged((str(python), "-m", "venv", str(target)), log)
        if outcome.ok:
            return
        if "ensurepip" in text and _has_pip():
            # Debian ships venv without ensurepip; the driver's pip can install from outside.
            shutil.rmtree(target, ignore_errors=True)
            outcome, text = self._logged((str(python), "-m", "venv", "--without-pip", str(target)), log)
            if outcome.ok:
                return
        if "ensurepip" in text or "No module named venv" in text:
            raise PreflightError(
                f"{python} cannot make virtual environments: its venv module is incomplete",
                check=CHECK,
                hint="On Debian and Ubuntu: sudo apt-get install python3-venv",
            )
        raise PreflightError(
            f"{python} -m venv failed: {_last_line(text) or f'exit {outcome.returncode}'}",
            check=CHECK,
            hint=f"Full output: {log}",
        )

    def install(self, python: Path, wanted: tuple[str, ...], log: Path, *, target: Path | None = None) -> None:
        """Install requirements for `python`, either in it or, with no dependencies, into `target` alone."""
        where = ("--no-deps", "--target", str(target)) if target else ()
        outcome, text = self._logged((*self._pip(python, log), *_OPTIONS, *where, "--", *wanted), log)
        if not outcome.ok:
            raise failure(text, wanted, log, status=outcome.returncode)

    def _pip(self, python: Path, log: Path) -> tuple[str, ...]:
        """Return the command that is pip for `python`, without putting a pip into it."""
        if self._logged((str(python), "-c", "import pip"), log)[0].ok:
            return (str(python), "-m", "pip")
        if _has_pip():
            return (sys.executable, "-m", "pip", "--python", str(python))
        own = self.home / "pip-venv"
        with locked(self.home / "locks" / "pip-venv.lock", "pip", self.log):
            if not (own / "bin" / "pip").exists():
                shutil.rmtree(own, ignore_errors=True)
                self.venv(Path(sys.executable), own, log)
        return (str(own / "bin" / "python"), "-m", "pip", "--python", str(python))

    def _logged(self, argv: tuple[str, ...], log: Path) -> tuple[Outcome, str]:
        """Run with the output appended to the log, and return what was appended."""
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        start = log.stat().st_size
        kept = {key: value for key, value in self.env.items() if key not in (*_FOREIGN, *_PIP_DROPPED)}
        outcome = self.run(Command(argv=argv, env={**kept, **_PIP}, cwd=self.home, stdout=log, timeout_s=None))
        with log.open("rb") as file:
            file.seek(start)
            return outcome, file.read().decode("utf-8", errors="replace")


def failure(text: str, wanted: tuple[str, ...], log: Path, *, status: int = 1) -> PreflightError:
    """Turn pip's output into one decisive line and a next step."""
    errors = [line.removeprefix("ERROR:").strip() for line in text.splitlines() if line.startswith("ERROR:")]
    line = _decisive(errors) or _last_line(text) or f"pip ended with {status} and said nothing"
    what = " ".join(wanted)
    return PreflightError(
        f"cannot install {what}: {line[:300]}",
        check=CHECK,
        hint=f"{_next_step(text, what)}\nFull output: {log}",
    )


def _decisive(errors: list[str]) -> str:
    for error in errors:
        # pip's summary "No matching distribution" repeats the requirement; the line before it has the reason.
        if "from versions:" in error:
            return error.partition(" (from versions:")[0]
    # "Exception:" heads a traceback of pip's own, whose last line has the reason.
    return errors[-1] if errors and errors[-1] != "Exception:" else ""


def _next_step(text: str, what: str) -> str:
    versions = re.search(r"requirement (\S+?)[=<>~!]=?=?(\S*) \(from versions: ([^)]*)\)", text)
    table = (
        (r"No space left on device|Errno 28", "The disk is full: free some space and run it again."),
        (
            r"Permission denied|Errno 13|Read-only file system",
            "Make the directory writable.",
        ),
        (
            r"NewConnectionError|Temporary failure in name resolution|Timeout|ProxyError|SSLError",
            "No package index could be reached: check the network, or pip's settings (pip config list).",
        ),
        (
            r"not a supported wheel on this platform",
            f"The wheel is made for another Python or machine; this is Python {_driver_version()}.",
        ),
        (r"is invalid|invalid wheel|BadZipFile|not a zip", "The file is damaged or no wheel: get it again."),
        (r"Invalid requirement|Invalid version", "Write a requirement such as triton==3.7.1."),
        (
            r"looks like a filename, but the file does not exist|Errno 2\]",
            "The wheel file has gone: check its path.",
        ),
        (
            r"THESE PACKAGES DO NOT MATCH THE HASHES",
            "The download is damaged, or a constraint pins another file.",
        ),
    )
    for pattern, step in table:
        if re.search(pattern, text):
            return step
    if versions and versions[3] not in {"", "none"}:
        known = [word.strip() for word in versions[3].split(",")]
        near = nearest(versions[2], known) or known[-3:]
        return f"The index has no such version for this Python. Nearest: {', '.join(near)}."
    if versions:
        return f"The index has no {versions[1]} for this Python: check the spelling and pip config list."
    return f"Try it by hand: pip install {what}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _has_pip() -> bool:
    return importlib.util.find_spec("pip") is not None


def _driver_version() -> str:
    return ".".join(map(str, sys.version_info[:2]))
