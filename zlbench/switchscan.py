"""Does a switch occur anywhere in the compiler or the suite? A misspelt one makes every result equal."""

from __future__ import annotations

import mmap
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import PreflightError
from .nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .axis import Switch

TEXT_SUFFIXES = frozenset({".py", ".pyi", ".yaml", ".yml", ".c", ".cc", ".cpp", ".h", ".hpp", ".cu"})
_SWITCH_LIKE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_CODE = TEXT_SUFFIXES - {".yaml", ".yml"}
NATIVE_SUFFIXES = frozenset({".so", ".pyd", ".dylib"})
_SKIPPED_DIRECTORIES = frozenset({"__pycache__", ".git", ".nox", ".venv", "node_modules"})
_WORD_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
# In text a switch's name is a quoted word, in a native library a NUL-terminated one.
_QUOTED_NAME = re.compile(rb"[\"']([A-Z][A-Z0-9_]{5,60})[\"']")
_NATIVE_NAME = re.compile(rb"\0([A-Z][A-Z0-9_]{5,60})(?=\0)")


def files_of(roots: Iterable[Path]) -> Iterator[Path]:
    """Yield readable source files first, then native libraries, which are a thousand times as large."""
    native: list[Path] = []
    for root in roots:
        if root.is_file():
            (native if root.suffix in NATIVE_SUFFIXES else []).append(root)
            if root.suffix not in NATIVE_SUFFIXES:
                yield root
            continue
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(set(folders) - _SKIPPED_DIRECTORIES)
            for name in sorted(names):
                suffix = "." + name.rpartition(".")[2]
                if suffix in TEXT_SUFFIXES:
                    yield Path(folder, name)
                elif suffix in NATIVE_SUFFIXES or ".so." in name:
                    native.append(Path(folder, name))
    yield from native


def find_switch(name: str, roots: Iterable[Path]) -> Path | None:
    """Return the first file that can read a variable of this name, or None.

    A name such as DISABLE_MMA_V3 counts wherever it stands as a whole word. One that could be any word (``debug``)
    must stand in quotes in source code, where every comment has such words.

    A miss over Triton's 400 MB native library takes about 0.2 s: the pages are mapped, not copied.
    """
    word = name.encode()
    plain = _SWITCH_LIKE.fullmatch(name) is None
    return next((path for path in files_of(roots) if _occurs(word, path, quoted=plain and path.suffix in _CODE)), None)


def known_switches(roots: Iterable[Path]) -> set[str]:
    """Return every name that looks like a switch in the same files, for "nearest" (about 1 s)."""
    names: set[bytes] = set()
    for path in files_of(roots):
        pattern = _QUOTED_NAME if path.suffix in TEXT_SUFFIXES else _NATIVE_NAME
        for content in _contents(path):
            names.update(pattern.findall(content))
    return {name.decode("ascii") for name in names}


def require_known(switches: Iterable[Switch], roots: Sequence[Path], *, where: str) -> None:
    """Check that every switch is read somewhere.

    Args:
        where: what was searched, in words: ``triton 3.6.0 (build a) nor in suite builtin``.

    Raises:
        PreflightError: ``check=switch-known``, with the nearest names that do occur.
    """
    for switch in switches:
        if find_switch(switch.name, roots) is not None:
            continue
        close = nearest(switch.name, known_switches(roots))
        ending = f" Nearest: {', '.join(close)}." if close else ""
        raise PreflightError(
            f"{switch.name} occurs nowhere in {where}.{ending}",
            check="switch-known",
            hint='A switch that nothing reads makes both sides equal and every result "no difference".',
        )


def _contents(path: Path) -> Iterator[bytes | mmap.mmap]:
    """Yield the file's bytes, mapped; nothing for an empty or unreadable file."""
    try:
        with path.open("rb") as stream:
            if os.fstat(stream.fileno()).st_size == 0:
                return
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield content
    except OSError:
        return


def _occurs(word: bytes, path: Path, *, quoted: bool) -> bool:
    for content in _contents(path):
        at = content.find(word)
        while at >= 0:
            end = at + len(word)
            before = content[at - 1 : at]
            after = content[end : end + 1]
            if quoted and before == after and before in (b'"', b"'"):
                return True
            if not quoted and not (before and before[0] in _WORD_BYTES) and not (after and after[0] in _WORD_BYTES):
                return True
            at = content.find(word, at + 1)
    return False
