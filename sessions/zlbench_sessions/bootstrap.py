"""Start nox where there is none: make a small environment of our own once, install nox into it, go on in there.

Standard library only, and any Python from 3.10. Works where the system's Python is externally managed, because the
system's Python is only used to make a virtual environment. The environment also gets the ``zlbench`` command.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

REQUIREMENTS = (
    "jinja2>=3.1", "nox>=2026.8.10", "pyyaml>=6", "scipy>=1.11", "tabulate>=0.9", "tomli>=2; python_version<'3.11'",
)  # fmt: skip
_MINIMUM = (3, 10)
# A script of two languages, as pip makes them: the kernel's limit on the length of a #! line does not reach it.
_COMMAND = """\
#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import sys

sys.path[:1] = {path!r}
from zlbench.cli import main

sys.exit(main())
"""


def main(root: Path, argv: Sequence[str]) -> int:
    """Replace this process by nox with the same arguments.

    Args:
        root: the checkout.
        argv: arguments for nox.
    """
    if sys.version_info < _MINIMUM:
        return _fail(
            f"Python {sys.version.split()[0]} is too old, 3.10 or later is needed", "Run it with another python3."
        )
    try:
        python = ready(root)
    except OSError as error:
        return _fail(
            f"{error.filename or root} cannot be written: {error.strerror}",
            "Put the checkout where you may write, with space.",
        )
    if python is not None:
        _become_nox(root, python, argv)
    return 3


def _become_nox(root: Path, python: Path, argv: Sequence[str]) -> NoReturn:
    command = [str(python), "-m", "nox", "-f", str(root / "noxfile.py"), *argv]
    env = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    os.execve(str(python), command, env)


def ready(root: Path) -> Path | None:
    """Return the interpreter of an environment that has nox, making it if needed; None after saying why not."""
    folder = root / ".nox" / "zlbench" / "driver"
    python = folder / "bin" / "python"
    done = folder / "zlbench-complete"
    # With the place in it: scripts of a moved checkout point to where it was.
    wanted = "\n".join((*REQUIREMENTS, str(root)))
    if _complete(python, done, wanted):
        return python
    with _alone(folder.with_suffix(".lock")):
        if _complete(python, done, wanted):
            return python
        _say(f"zlbench: installing nox into {folder} (once)")
        shutil.rmtree(folder, ignore_errors=True)
        if not _make_venv(folder) or not _pip(python, *REQUIREMENTS):
            return None
        _write_command(root, python)
        done.write_text(wanted, encoding="utf-8")
    _say(f'zlbench: to have nox and zlbench at hand: export PATH="{python.parent}:$PATH"')
    return python


def _complete(python: Path, done: Path, wanted: str) -> bool:
    return python.exists() and done.exists() and done.read_text(encoding="utf-8") == wanted


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let a second call in the same fresh checkout wait for the first."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _write_command(root: Path, python: Path) -> None:
    """Put ``zlbench`` beside nox; it runs the checkout's own code, so there is nothing to install again."""
    command = python.parent / "zlbench"
    path = [str(root / name) for name in ("", "plugins", "backends")]
    command.write_text(_COMMAND.format(python=python, path=path), encoding="utf-8")
    command.chmod(0o755)


def _pip(python: Path, *words: str) -> bool:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    # A user's own `user = true` would contradict both a virtual environment and --target.
    env = {**os.environ, "PIP_USER": "0", "PIP_ROOT_USER_ACTION": "ignore"}
    if subprocess.run(pip, check=False, stdin=subprocess.DEVNULL, env=env).returncode:
        _fail(f"pip could not install {', '.join(words)}", "Its message is above. Is a package index reachable?")
        return False
    return True


def _make_venv(folder: Path) -> bool:
    """Make a virtual environment with pip; where Debian's python3-venv is missing, do without it or install it."""
    if _has("ensurepip"):
        return _venv(folder)
    if _has("pip"):
        return _venv(folder, "--without-pip") and _copy_pip(folder)
    if _install_ensurepip():
        return _venv(folder)
    _fail(
        f"{sys.executable} cannot make virtual environments: its venv package is not installed",
        f"Install it: apt-get install {_venv_package()}",
    )
    return False


def _venv(folder: Path, *options: str) -> bool:
    make = [sys.executable, "-m", "venv", *options, str(folder)]
    made = subprocess.run(make, check=False, capture_output=True, text=True)
    if made.returncode:
        _fail("a virtual environment could not be made", (made.stdout + made.stderr).strip())
    return made.returncode == 0


def _copy_pip(folder: Path) -> bool:
    """Install a pip into the environment from outside; `pip --python` would need pip 22.3 or later there."""
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    return _pip(Path(sys.executable), "--target", str(site), "pip")


def _has(module: str) -> bool:
    """Ask a new process: after an installation this one would not see the new module."""
    probe = [sys.executable, "-c", f"import venv, {module}; {module}.__file__.strip()"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


def _install_ensurepip() -> bool:
    """Install Debian's venv package where we may (root, or sudo without a question)."""
    apt = shutil.which("apt-get")
    if apt is None:
        return False
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and shutil.which("sudo") is None:
        return False
    package = _venv_package()
    _say(f"zlbench: installing the system package {package}")
    for command in ([*sudo, apt, "-qq", "update"], [*sudo, apt, "-qq", "install", "-y", package]):
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env=env).returncode:
            return False
    return _has("ensurepip")


def _venv_package() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - the only output there is before zlbench can run


def _fail(message: str, hint: str) -> int:
    _say(f"zlbench: {message}\n         {hint}")
    return 3
