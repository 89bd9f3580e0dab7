"""Start nox where there is none: make a small environment of our own once, install nox into it, go on in there.

Standard library only, and any Python from 3.10. Works where the system's Python is externally managed, because the
system's Python is only used to make a virtual environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

REQUIREMENTS = ("nox>=2026.8.10", "pyyaml>=6", "tabulate>=0.9")
_MINIMUM = (3, 10)


def main(root: Path, argv: Sequence[str]) -> int:
    """Replace this process by nox with the same arguments.

    Args:
        root: the checkout.
        argv: arguments for nox.
    """
    if sys.version_info < _MINIMUM:
        return _fail(f"Python {sys.version.split()[0]} is too old, 3.10 or later is needed", "Run it with another python3.")
    python = ready(root / ".nox" / "zlbench" / "driver")
    if python is None:
        return 3
    command = [str(python), "-m", "nox", "-f", str(root / "noxfile.py"), *argv]
    env = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    os.execve(str(python), command, env)  # noqa: S606 - an argument list, no shell


def ready(folder: Path) -> Path | None:
    """Return the interpreter of an environment that has nox, making it if needed; None after saying why not."""
    python = folder / "bin" / "python"
    done = folder / "zlbench-complete"
    wanted = "\n".join(REQUIREMENTS)
    if python.exists() and done.exists() and done.read_text() == wanted:
        return python
    _say(f"zlbench: installing {', '.join(REQUIREMENTS)} into {folder} (once)")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        if not _make_venv(folder):
            return None
    except OSError as error:
        _fail(f"{folder} cannot be made: {error.strerror}", "Check out zlbench where you may write.")
        return None
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS]
    if subprocess.run(pip, check=False).returncode:  # noqa: S603 - an argument list, no shell
        _fail("pip could not install nox", "Its message is above. Is a package index reachable?")
        return None
    done.write_text(wanted)
    return python


def _make_venv(folder: Path) -> bool:
    """Make a virtual environment with pip; where Debian's python3-venv is missing, install it or say how."""
    make = [sys.executable, "-m", "venv", str(folder)]
    if _has_ensurepip() or _install_ensurepip():
        made = subprocess.run(make, check=False, capture_output=True, text=True)  # noqa: S603 - no shell
        if made.returncode == 0:
            return True
        _fail("a virtual environment could not be made", (made.stdout + made.stderr).strip())
        return False
    _fail(
        f"{sys.executable} cannot make virtual environments: its venv package is not installed",
        f"Install it: apt-get install python{sys.version_info.major}.{sys.version_info.minor}-venv",
    )
    return False


def _has_ensurepip() -> bool:
    """Ask a new process: after an installation this one would not see the new module."""
    probe = [sys.executable, "-c", "import ensurepip, venv"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0  # noqa: S603 - no shell


def _install_ensurepip() -> bool:
    """Install Debian's venv package where we may (root, or sudo without a question)."""
    apt = shutil.which("apt-get")
    if apt is None:
        return False
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and shutil.which("sudo") is None:
        return False
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    _say(f"zlbench: installing the system package {package}")
    for command in ([*sudo, apt, "-qq", "update"], [*sudo, apt, "-qq", "install", "-y", package]):
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env=env).returncode:  # noqa: S603 - no shell
            return False
    return _has_ensurepip()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the only output there is before zlbench can run


def _fail(message: str, hint: str) -> int:
    _say(f"zlbench: {message}\n         {hint}")
    return 3
