"""Finds the data folders (`ops/`, `shapes/`) in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_directory(name: str) -> Path:
    """Return the folder ``ops`` or ``shapes``.

    A wheel carries both under ``zlbench/_data``; in a checkout they are beside the package.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"this installation of zlbench has no {name} folder beside or inside {_PACKAGE}")


def builtin_suite() -> Path:
    """Return the root of the built-in suite, which has ``benchmark/`` and ``src/zlbench_builtin/``."""
    return data_directory("ops") / "builtin"
