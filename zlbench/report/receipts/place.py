"""Where receipts may go: nothing of anybody else's is written over."""

from __future__ import annotations

from pathlib import Path

from zlbench import store
from zlbench.errors import UsageError
from zlbench.report.receipts.bundle import NAMES, SUMS


def require_place(folder: Path, shown: Path | None = None) -> None:
    """Let receipts go into a folder that is new, empty, or holds a bundle of an earlier report.

    Args:
        shown: the folder as people know it.

    Raises:
        UsageError: it holds something else, or is none. PreflightError: it cannot be read.
    """
    shown = shown or folder
    with store.clear_errors(folder):
        if folder.exists() and not folder.is_dir():
            raise _refused(f"{shown} is a file.")
        there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        if not there or (there >= NAMES and _named(folder / SUMS) == NAMES - {SUMS}):
            return
    # What would be lost is said before what would merely have neighbours.
    first = min(there, key=lambda name: (name not in NAMES, name))
    raise _refused(f"{shown} holds what is not a bundle of receipts: {shown / first}")


def _named(sums: Path) -> set[str]:
    """The names in a file of checksums; what is no such file names none."""
    if not sums.is_file():
        return set()
    lines = sums.read_bytes().decode("utf-8", "replace").splitlines()
    return {name for line in lines for _, blanks, name in [line.partition("  ")] if blanks}


def _refused(what: str) -> UsageError:
    return UsageError(what, hint="Nothing is written. Give a new or an empty folder: --receipts DIR")
