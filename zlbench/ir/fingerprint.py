"""Fingerprint of a run: relative path and normalised text of every `.ttgir`; and the comparison of two."""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from zlbench.errors import NotComparableError
from zlbench.ir.errors import IrError
from zlbench.ir.normalise import NORMALISER_VERSION, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Below this many bytes of IR a second process costs more than it saves.
_BYTES_PER_WORKER = 4_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class IrFingerprint:
    """What a run compiled.

    Args:
        files: path below the root, with `/`, to SHA-256 of the normalised text.
        stamps: the patterns whose attributes were taken out before hashing.
        version: of the normaliser.
    """

    files: Mapping[str, str]
    stamps: tuple[str, ...] = ()
    version: int = NORMALISER_VERSION
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        lines = [f"{self.version}", *(f"{digest} {path}" for path, digest in sorted(self.files.items()))]
        whole = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
        object.__setattr__(self, "digest", whole)


@dataclass(frozen=True, kw_only=True, slots=True)
class IrComparison:
    """Paths of two fingerprints, sorted: in both with different text, on one side only, in both and equal."""

    changed: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    equal: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs. Two empty runs are the same: whether anything ran is another question."""
        return not (self.changed or self.only_a or self.only_b)


def fingerprint_dir(root: Path, stamps: Sequence[str] = (), *, workers: int | None = None) -> IrFingerprint:
    """Fingerprint of every `.ttgir` below `root`, at any depth.

    Raises:
        IrError: the directory does not exist, or a file cannot be read, is empty or is cut off.
    """
    if not root.is_dir():
        raise IrError(f"no IR directory {root}")
    paths = sorted(
        Path(folder, name)
        for folder, _, names in os.walk(root, onerror=_unreadable)
        for name in names
        if name.endswith(".ttgir")
    )
    digests = fingerprint_files(paths, stamps, workers=workers)
    files = {path.relative_to(root).as_posix(): digest for path, digest in digests.items()}
    return IrFingerprint(files=files, stamps=tuple(stamps))


def fingerprint_files(
    paths: Iterable[Path], stamps: Sequence[str] = (), *, workers: int | None = None
) -> dict[Path, str]:
    """SHA-256 of the normalised text of each file.

    Args:
        workers: processes; None takes one per core where the amount of IR is worth it and forking is safe.
    """
    paths = list(paths)
    if workers is None:
        workers = _useful_workers(paths)
    if workers <= 1 or len(paths) < 2:
        return {path: _fingerprint_file(path, tuple(stamps)) for path in paths}
    return _in_processes(paths, tuple(stamps), workers)


def compare(a: IrFingerprint, b: IrFingerprint) -> IrComparison:
    """What differs between two runs.

    Raises:
        NotComparableError: they were made with different stamps or by different normalisers.
    """
    if (a.version, sorted(a.stamps)) != (b.version, sorted(b.stamps)):
        raise NotComparableError(
            "IR fingerprints of different kind: "
            f"version {a.version} and {b.version}, stamps {sorted(a.stamps)} and {sorted(b.stamps)}",
            hint="Make both again from the stored .ttgir files: nox -s rescore",
        )
    both = sorted(a.files.keys() & b.files.keys())
    return IrComparison(
        changed=tuple(path for path in both if a.files[path] != b.files[path]),
        only_a=tuple(sorted(a.files.keys() - b.files.keys())),
        only_b=tuple(sorted(b.files.keys() - a.files.keys())),
        equal=tuple(path for path in both if a.files[path] == b.files[path]),
    )


def _unreadable(error: OSError) -> None:
    """os.walk skips a folder that it cannot read; its kernels must not look as if they had not been compiled."""
    raise IrError(f"cannot read {error.filename}: {error.strerror}") from error


def _fingerprint_file(path: Path, stamps: tuple[str, ...]) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IrError(f"cannot read {path}: {error.strerror}") from error
    return digest(normalised(data, path, stamps))


def normalised(data: bytes, path: Path, stamps: Sequence[str]) -> str:
    """The normalised text of a whole file; what is no UTF-8 is kept by surrogates.

    Raises:
        IrError: it is cut off, or no IR; the error names `path`.
    """
    try:
        text = normalise(data.decode("utf-8", "surrogateescape"), stamps)
    except IrError as error:
        raise IrError(f"{path}: {error.message}", hint=_HINT) from error
    # Every module is printed with its closing brace in the first column.
    if "module" not in text or not text.endswith(("\n}\n", "\n#-}\n")):
        raise IrError(f"{path}: cut off, or not IR (no closed module)", hint=_HINT)
    return text


def digest(text: str) -> str:
    """SHA-256 of a normalised text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


_HINT = "The cell that wrote it was probably killed or the disk was full: run this operator again."


def _useful_workers(paths: Sequence[Path]) -> int:
    # Forking a process that has threads can deadlock the child; a caller with threads is served here instead.
    if len(paths) < 200 or threading.active_count() > 1 or not hasattr(os, "sched_getaffinity"):
        return 1
    cores = len(os.sched_getaffinity(0))
    sample = paths[:: max(len(paths) // 20, 1)]
    size = sum(path.stat().st_size for path in sample if path.is_file()) * len(paths) // len(sample)
    return max(1, min(cores, 16, size // _BYTES_PER_WORKER))


def _in_processes(paths: Sequence[Path], stamps: tuple[str, ...], workers: int) -> dict[Path, str]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Neighbours in the list are often similar in size: deal them out like cards, several hands a worker.
    hands = workers * 4
    shares = [paths[start::hands] for start in range(min(hands, len(paths)))]
    digests: dict[Path, str] = {}
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork")) as pool:
        for share, result in zip(shares, pool.map(_fingerprint_share, shares, [stamps] * len(shares)), strict=True):
            digests.update(zip(share, result, strict=True))
    return {path: digests[path] for path in paths}


def _fingerprint_share(paths: Sequence[Path], stamps: tuple[str, ...]) -> list[str]:
    return [_fingerprint_file(path, stamps) for path in paths]
