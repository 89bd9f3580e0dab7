"""What a compiler build is, and how the words that people write for one are read."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from zlbench.errors import PreflightError, UsageError
from zlbench.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_TORCH = "torch==2.13.0"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,79}")
_VERSION = re.compile(r"\d+(\.\d+)+[A-Za-z0-9.+!-]*")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[^\]]*\])?\s*(===|==|~=|!=|<=|>=|<|>|@\s)\s*\S.*")
_FORMS = (
    "A build is a name from zlbench.toml, a version (3.7.1), a requirement (triton==3.7.1), a wheel file, "
    "a Python that has torch and triton, or a directory with a triton source tree."
)


class BuildKind(str, Enum):
    """Where the compiler comes from."""

    WHEEL = "wheel"
    INTERPRETER = "interpreter"
    TREE = "tree"


@dataclass(frozen=True, kw_only=True, slots=True)
class Build:
    """A compiler build, as asked for.

    Args:
        name: how people call it; also part of a directory name.
        kind: where the compiler comes from.
        requirement: for a wheel, what pip installs: ``triton==3.6.0``, a URL or the path of a ``.whl``.
        python: the interpreter that runs it. Nothing is ever installed in it. Without one, wheel and tree run
            in a virtual environment that is made with `torch` and `packages`; `torch` = "" makes none and
            runs in the driver's own interpreter.
        tree: for a source tree, the directory that holds ``triton/``.
        torch: what pip installs as torch; "" means that the build is used without torch.
        packages: further requirements beside torch.
        env: variables of the measured process.
    """

    name: str
    kind: BuildKind
    requirement: str | None = None
    python: Path | None = None
    tree: Path | None = None
    torch: str = DEFAULT_TORCH
    packages: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"a build cannot be named {self.name!r}",
                hint="Letters, digits and . _ + - ; the first is a letter or a digit; at most 80.",
            )
        need = {
            BuildKind.WHEEL: self.requirement,
            BuildKind.INTERPRETER: self.python,
            BuildKind.TREE: self.tree,
        }
        if not need[self.kind]:
            raise UsageError(f"build {self.name} ({self.kind.value}) does not say where it is", hint=_FORMS)

    def digest(self) -> str:
        """Return a hash of everything that decides what gets installed; name and variables do not."""
        parts = {
            "kind": self.kind.value,
            "requirement": self.requirement,
            "python": str(self.python) if self.python else None,
            "tree": str(self.tree) if self.tree else None,
            "torch": self.torch,
            "packages": list(self.packages),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def wheel_file(self) -> Path | None:
        """The local file that the requirement names, if it names one."""
        text = self.requirement or ""
        return Path(text) if text.endswith(".whl") and "://" not in text else None


def parse_build(text: str, known: Mapping[str, Build], *, cwd: Path) -> Build:
    """Return the build that `text` means; relative paths start at `cwd`.

    Args:
        text: a known name, a version, a requirement, or the path of a wheel, an interpreter or a source tree.
        known: the builds that have names.
        cwd: where relative paths start.
    """
    text = text.strip()
    if text in known:
        return known[text]
    if _VERSION.fullmatch(text):
        return Build(name=_name(f"triton-{text}"), kind=BuildKind.WHEEL, requirement=f"triton=={text}")
    if "://" in text or _REQUIREMENT.fullmatch(text):
        return Build(name=_name(text), kind=BuildKind.WHEEL, requirement=text)
    # os.path answers False where Path raises: a name too long, an unknown ~user, a NUL.
    path = cwd / os.path.expanduser(text)  # noqa: PTH111
    if text.endswith(".whl"):
        return _wheel_file(text, path)
    if text and os.path.isdir(path):  # noqa: PTH112
        return Build(name=_name(path.resolve().name), kind=BuildKind.TREE, tree=tree_root(path, text))
    if text and os.path.exists(path):  # noqa: PTH110
        return Build(name=_name(_owner(path)), kind=BuildKind.INTERPRETER, python=_executable(path, text))
    if "/" in text or text.startswith((".", "~")):
        raise UsageError(f"build {text}: there is no such file or directory", hint=_FORMS)
    hint = f"Give a version: {text}==3.7.1. {_FORMS}" if text in {"triton", "pytorch-triton"} else _FORMS
    raise UsageError(unknown("build", text, known), hint=hint)


def tree_root(path: Path, text: str) -> Path:
    """Return the directory to put on the path for a source tree: `path`, or ``python`` in it."""
    for root in (path, path / "python"):
        if (root / "triton" / "__init__.py").is_file():
            return Path(os.path.normpath(root))
    hint = f"Neither {path}/triton/__init__.py nor {path}/python/triton/__init__.py exists."
    if (path / "bin" / "python").exists():
        hint = f"It looks like a virtual environment: give its interpreter, {text.rstrip('/')}/bin/python."
    elif path.name == "triton" and (path / "__init__.py").is_file():
        hint = f"It is the package itself: give the directory above, {path.parent}."
    elif (path / "__init__.py").is_file() and (path / "_C").is_dir():
        hint = "It looks like the package itself under another name: put it as triton into a directory, and give that."
    raise UsageError(f"build {text}: this directory holds no triton package", hint=hint)


def _wheel_file(text: str, path: Path) -> Build:
    if not os.path.isfile(path):  # noqa: PTH113
        near = sorted(item.name for item in path.parent.glob("*.whl")) if os.path.isdir(path.parent) else []  # noqa: PTH112
        hint = f"Wheels in {path.parent}: {', '.join(near[:5])}." if near else f"No wheel is in {path.parent}."
        # The same check, and so the same exit code, as for a wheel that zlbench.toml names.
        raise PreflightError(f"build {text}: this wheel does not exist", check="build-source", hint=hint)
    distribution, _, rest = path.name.removesuffix(".whl").partition("-")
    name = _name(f"{distribution}-{rest.split('-')[0]}")
    return Build(name=name, kind=BuildKind.WHEEL, requirement=str(Path(os.path.normpath(path))))


def _executable(path: Path, text: str) -> Path:
    if not os.access(path, os.X_OK):
        raise UsageError(
            f"build {text}: this file is neither a wheel nor an interpreter that can be executed", hint=_FORMS
        )
    # Not resolved: the symlink in a virtual environment is what makes it that environment.
    return Path(os.path.normpath(path))


def _owner(python: Path) -> str:
    parent = python.absolute().parent
    return parent.parent.name if parent.name == "bin" and parent.parent.name else python.name


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+]+", "-", text).strip("-._+")[:80] or "build"
