"""What a suite needs beside the compiler, from its own pyproject.toml: torch and triton are never among it."""

from __future__ import annotations

import re

from zlbench.errors import UsageError
from zlbench.settings.tomlfile import read_toml
from zlbench.suite.provider import BUILTIN, Provider

COMPILERS = r"(py)?torch.*|(pytorch[_.-])?triton.*|flagtree.*|nvidia[_.-].*"
"""Torch, Triton, what they bring and what replaces them: these are under test."""
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def requirements(provider: Provider) -> tuple[str, ...]:
    """Return the suite's declared dependencies, sorted; none where it declares none or its file cannot be read."""
    path = provider.root / "pyproject.toml"
    if provider.name == BUILTIN or not path.is_file():
        return ()
    try:
        project = read_toml(path).data.get("project")
    except UsageError:
        return ()
    declared = project.get("dependencies") if isinstance(project, dict) else None
    texts = [text for text in declared if isinstance(text, str)] if isinstance(declared, list) else []
    return tuple(sorted({text for text in texts if not compiler(text)}))


def compiler(requirement: str) -> bool:
    """Whether a requirement would bring a compiler or a torch of its own."""
    found = _NAME.match(requirement)
    return found is None or re.fullmatch(COMPILERS, found[1], re.IGNORECASE) is not None
