"""Run directories: the one module that creates them and writes whole files into them.

Rows are appended and flushed by the measured process; everything written here, by the driver or by that process, is a
whole file, put in place by a rename, so that no reader and no crash ever sees half of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from zlbench.errors import DISK_FULL_ERRNOS, PartialError, PreflightError, UsageError, ZlbenchError

RESULT = "result.json"
STATUS = "status.json"
_PATIENCE_S = 0.3


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn what the file system says into one message with a next step."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, path) from error


def disk_error(error: OSError, path: Path) -> ZlbenchError:
    """Say which path could not be written and what to do."""
    if error.errno in DISK_FULL_ERRNOS:
        return disk_full(path)
    return PreflightError(
        f"{path} cannot be written: {error.strerror or error}",
        check="out-dir",
        hint="Give a directory that you may write to: --out DIR (or OUT_DIR).",
    )


def disk_full(path: Path) -> PartialError:
    """The error for a disk that ran full in the middle; what was finished is kept."""
    return PartialError(
        f"the disk is full: {path} could not be written",
        hint="Free some space, then go on where it stopped, with --resume.",
        marker="DISK_FULL",
    )


def write_text(path: Path, text: str) -> None:
    """Replace a whole file by one with this text."""
    # An error message can quote a file name that is no UTF-8; in JSON this spelling reads back as it was.
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a whole file by one with these bytes."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with clear_errors(path):
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def write_json(path: Path, data: Any) -> None:
    """Replace a whole file by this data as JSON."""
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a whole JSON file; None where it is missing or was not written by us."""
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, RecursionError, ValueError):
        return None


def create_run_dir(root: Path, stem: str, now: datetime) -> Path:
    """Create ``<root>/<stem>_<YYYYmmdd-HHMMSS>``; of two started in one second, the second gets ``-2``."""
    with clear_errors(root):
        root.mkdir(parents=True, exist_ok=True)
    name = f"{stem}_{now:%Y%m%d-%H%M%S}"
    number = 1
    while True:
        path = root / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise disk_error(error, path) from error
        return path


@contextmanager
def hold(root: Path) -> Iterator[None]:
    """Have a run directory to oneself; the lock ends with its process, however that ends.

    Raises:
        UsageError: another zlbench is writing into it.
    """
    with clear_errors(root):
        stream = (root / ".lock").open("a+")
    with stream:
        # Who asks `is_held` has the lock for a moment.
        until = time.monotonic() + _PATIENCE_S
        while not _locked(stream, fcntl.LOCK_EX):
            if time.monotonic() > until:
                raise UsageError(
                    f"another zlbench is writing into {root}{_holder(stream)}",
                    hint="Wait for its end, or start a new run.",
                )
            time.sleep(_PATIENCE_S / 10)
        _name_holder(stream, f"{os.getpid()}\n")
        try:
            yield
        finally:
            _name_holder(stream, "")


def _name_holder(stream: IO[str], text: str) -> None:
    with suppress(OSError):  # for people alone; a full disk keeps nobody from having it
        stream.truncate(0)
        stream.write(text)
        stream.flush()


def _holder(stream: IO[str]) -> str:
    stream.seek(0)
    pid = stream.read(20).strip()
    return f": pid {pid}" if pid.isdecimal() else ""


def is_held(root: Path) -> bool:
    """Whether a living process has a run directory to itself; what its files say of a dead one is no longer true."""
    try:
        with (root / ".lock").open("r") as stream:
            return not _locked(stream, fcntl.LOCK_SH)
    except OSError:
        return False


def _locked(stream: IO[str], how: int) -> bool:
    try:
        fcntl.flock(stream, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def newest(root: Path, stem: str, *, having: str) -> Path | None:
    """Return the run directory of a kind that was started last and holds a certain file.

    By the time in its name: work on an older one afterwards (a rescore) does not make it the newest.
    """
    return newest_of(root, {stem: having})


def newest_of(root: Path, kinds: Mapping[str, str]) -> Path | None:
    """The same over several kinds, each with the file that it must hold; of the same second the kind named last."""
    order = {stem: number for number, stem in enumerate(kinds)}
    found = [
        (*_started(path.name[len(stem) + 1 :]), order[stem], path)
        for stem, having in kinds.items()
        for path in root.glob(f"{stem}_*")
        if (path / having).is_file()
    ]
    return max(found)[-1] if found else None


def _started(stamp: str) -> tuple[str, int, str]:
    """Sort key of ``20261129-142210`` and ``20261129-142210-2``; a name that somebody made up comes first."""
    match = re.fullmatch(r"(\d{8}-\d{6})(?:-(\d+))?", stamp)
    return (match[1], int(match[2] or 1), "") if match else ("", 0, stamp)


def append_marker(path: Path, marker: str, text: str) -> None:
    """Add a marker behind a measured process's own events; where a crash tore its last line, that stays a line."""
    with clear_errors(path), path.open("a+b") as stream:
        torn = False
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            torn = stream.read(1) != b"\n"
        line = json.dumps({"event": "marker", "marker": marker, "text": text}) + "\n"
        stream.write(b"\n" * torn + line.encode())
