"""Does a suite know how to call kernels of this Triton? Read from the suite's source, never from a list of commits.

FlagGems' LibEntry keeps compiled kernels and launches them itself. Triton 3.3 began to take every argument, constants
included; LibEntry does so behind a test of the version. On a version that its test leaves out it passes too few
arguments, and the launcher reads the wrong ones.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zlbench.suite.provider import Provider

_FIRST = (3, 3)
"""Triton's launcher takes every argument from here on."""
_NEWEST_MINOR = 60
_NAMES = ("major_version", "minor_version")
_PLAIN = (
    ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Compare, ast.Name, ast.Constant, ast.Load, ast.Tuple,
    ast.List, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Unsuited:
    """A suite's source that does not know a Triton."""

    path: Path
    line: int
    known: str
    """Versions that it does know, for people: ``3.3 to 3.6``."""
    version: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line} passes every argument only to Triton {self.known}, and this is {self.version}: "
            "from their second call on, kernels get wrong arguments"
        )


def unsuited(provider: Provider, version: str) -> Unsuited | None:
    """Return why the suite calls kernels of this Triton wrongly; None where nothing says that it does."""
    found = re.match(r"(\d+)\.(\d+)", version)
    path = provider.package_dir / "utils" / "libentry.py"
    if found is None or not path.is_file():
        return None
    wanted = (int(found[1]), int(found[2]))
    if wanted < _FIRST:
        return None
    gates = list(_gates(path))
    known = [minor for minor in range(_NEWEST_MINOR) if any(_holds(gate.test, 3, minor) for gate in gates)]
    # A suite without such a test, or with one that is for older versions alone, is none of our business.
    if not any((3, minor) >= _FIRST for minor in known) or any(_holds(gate.test, *wanted) for gate in gates):
        return None
    line = min(gate.lineno for gate in gates)
    return Unsuited(path=path, line=line, known=f"3.{known[0]} to 3.{known[-1]}", version=version)


def _gates(path: Path) -> Iterator[ast.If]:
    """Every ``if`` of class LibEntry that asks for nothing but the version of Triton."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError):
        return
    for entry in ast.walk(tree):
        if isinstance(entry, ast.ClassDef) and entry.name == "LibEntry":
            for node in ast.walk(entry):
                if isinstance(node, ast.If) and _asks_version(node.test):
                    yield node


def _asks_version(test: ast.expr) -> bool:
    nodes = list(ast.walk(test))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return "minor_version" in names and names <= set(_NAMES) and all(isinstance(node, _PLAIN) for node in nodes)


def _holds(test: ast.expr, major: int, minor: int) -> bool:
    # Only comparisons of two numbers with constants come here.
    names = {"__builtins__": {}, "major_version": major, "minor_version": minor}
    try:
        return bool(eval(compile(ast.Expression(test), "<version test>", "eval"), names))
    except TypeError:
        return False
