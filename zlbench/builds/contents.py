"""The content of an installed triton package: which files make the code, and what they hash to."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CHUNK = 1 << 20
# Headers serve the launcher stub only, caches are derived, the profiler and the test tool make no code.
_SKIPPED_DIRS = frozenset({"__pycache__", "include", ".git", "FileCheck"})


class Part(str, Enum):
    """What a file is to the compiler."""

    NATIVE = "native"
    """``_C/libtriton*.so``."""
    PYTHON = "python"
    """Every ``.py``: front end and pass pipelines."""
    TOOLS = "tools"
    """ptxas and its like, device bitcode, plugins: they decide the machine code as well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stamp:
    """What tells cheaply that a file was not touched. `changed_ns` (ctime) cannot be set back by a copy."""

    path: str
    size: int
    modified_ns: int
    changed_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRecord:
    """One hashed file; the stamp's path is relative to the package."""

    stamp: Stamp
    part: Part
    sha256: str


def stamp(path: Path, shown: str | None = None) -> Stamp:
    """Take the stamp of a file; raises OSError when there is none."""
    status = path.stat()
    return Stamp(
        path=shown or str(path),
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns,
    )


def untouched(known: Stamp) -> bool:
    """Whether the file behind an absolute stamp is as it was."""
    try:
        return stamp(Path(known.path)) == known
    except OSError:
        return False


def scan(package: Path) -> list[tuple[Part, Stamp]]:
    """List the files of a triton package that make code, sorted by path."""
    found = [
        (part, stamp(path, relative)) for relative, path in _walk(package) if (part := part_of(relative)) is not None
    ]
    return sorted(found, key=lambda item: item[1].path)


def part_of(relative: str) -> Part | None:
    """Say what a file is to the compiler, by its path inside the package; None: nothing."""
    first, _, rest = relative.partition("/")
    name = relative.rpartition("/")[2]
    if name.endswith(".py"):
        return Part.PYTHON
    library = ".so" in name or name.endswith((".dylib", ".pyd"))
    if first == "_C" and library and "/" not in rest:
        if name.startswith("libtriton"):
            return Part.NATIVE
        return None if name.startswith("libproton") else Part.TOOLS
    if first == "backends" and "/" in rest:
        return Part.TOOLS
    return Part.TOOLS if first == "plugins" and library else None


def record(package: Path, known: Iterable[FileRecord] = ()) -> tuple[FileRecord, ...]:
    """Hash a package; a file whose stamp is among the known ones is not read again."""
    before = {item.stamp: item.sha256 for item in known}
    return tuple(
        FileRecord(stamp=found, part=part, sha256=before.get(found) or sha256(package / found.path))
        for part, found in scan(package)
    )


def fresh(package: Path, known: Iterable[FileRecord]) -> bool:
    """Whether every file of the package has the stamp that was recorded, and none was added or lost."""
    try:
        return [found for _, found in scan(package)] == [item.stamp for item in known]
    except OSError:
        return False


def differences(before: Iterable[FileRecord], after: Iterable[FileRecord]) -> list[str]:
    """Name the files whose content differs, the native library first."""
    old = _by_path(before)
    new = _by_path(after)
    names = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    return sorted(names, key=lambda path: (part_of(path) is not Part.NATIVE, path))


def digest(records: Iterable[FileRecord], part: Part) -> str:
    """Hash one part: sorted relative paths with their contents' hashes. "" when there is no such file."""
    lines = sorted(f"{item.stamp.path}\0{item.sha256}\n" for item in records if item.part is part)
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else ""


def sha256(path: Path) -> str:
    """Hash a file."""
    state = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            state.update(chunk)
    return state.hexdigest()


def _by_path(records: Iterable[FileRecord]) -> Mapping[str, str]:
    return {item.stamp.path: item.sha256 for item in records}


def _walk(package: Path) -> Iterator[tuple[str, Path]]:
    """Yield relative and absolute paths. Links are followed: source trees link their back ends."""
    seen: set[str] = set()
    for folder, names, files in os.walk(package, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            names.clear()
            continue
        seen.add(real)
        names[:] = sorted(name for name in names if name not in _SKIPPED_DIRS)
        base = os.path.relpath(folder, package)
        for name in files:
            path = Path(folder, name)
            if path.is_file():
                yield name if base == "." else f"{base}/{name}", path
