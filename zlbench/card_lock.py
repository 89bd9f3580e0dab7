"""One zlbench on one card of a host: a lock file a card that all users of the host share.

The lock is the kernel's (flock), so it is free as soon as its process is gone, however that ended; the file stays and
says who held it last. Lanes without a device need none: `zlbench.processors` gives each a processor of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from zlbench import proctree
from zlbench.backend import Backend
from zlbench.errors import PreflightError
from zlbench.smi import CardFacts

SHARED = Path("/tmp/zlbench-cards")
"""Not in $TMPDIR, which differs between users and jobs: then each would have locks of its own."""
FOLDER = "ZLBENCH_CARD_LOCKS"
"""Environment variable that names another folder."""
CHECK = "card-free"
IN_USE = "CARD_IN_USE"
_POLL_S = 0.2
_NAMED_S = 1.0
"""Between its lock and its name a holder needs a moment; one that cannot write keeps its name for itself."""
_KEPT: dict[Path, int] = {}
"""Files that this process holds locked, and how many times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """Who holds a card."""

    pid: int
    command: str
    directory: str
    since: str

    def __str__(self) -> str:
        return f"pid {self.pid} ({self.command}) in {self.directory} since {self.since}"

    @classmethod
    def me(cls, directory: Path) -> Holder:
        """This process."""
        since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        return cls(pid=os.getpid(), command=_command(sys.argv), directory=str(directory), since=since)

    @classmethod
    def read(cls, file: int) -> Holder | None:
        """What a lock file says; None where it says nothing (yet)."""
        try:
            data = json.loads(os.pread(file, 4096, 0))
            return cls(pid=int(data["pid"]), **{name: str(data[name]) for name in ("command", "directory", "since")})
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _command(argv: Sequence[str]) -> str:
    """A command in one line, as it is typed: ``python -m zlbench`` is known to itself by a path."""
    path = Path(argv[0] if argv else "")
    name = path.parent.name if path.name == "__main__.py" else path.name
    return " ".join(shlex.join([name, *argv[1:]]).split())[:300]


def key_of(backend: Backend, card: CardFacts | str) -> str:
    """Name of a card's lock: by UUID where its tool tells one, else by its number within the family.

    Args:
        card: its facts, or the name it was asked for by where no tool knows it.
    """
    name = card if isinstance(card, str) else card.uuid or str(card.index)
    return f"{backend.name}-{re.sub(r'[^a-z0-9-]+', '_', name.lower())[:80]}"


def folder_of(env: Mapping[str, str]) -> Path | None:
    """The folder of lock files: one for the whole host, else one of this user; None where neither can be had.

    Containers that share cards and not ``/tmp`` can be given one folder by `FOLDER`.
    """
    given, own = env.get(FOLDER, "").strip(), env.get("XDG_RUNTIME_DIR", "").strip()
    if given:
        return Path(given) if _usable(Path(given), mode=0o1777) else None
    if _usable(SHARED, mode=0o1777):
        return SHARED
    return Path(own) / SHARED.name if own and _usable(Path(own) / SHARED.name, mode=0o700) else None


def _usable(folder: Path, *, mode: int) -> bool:
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            folder.chmod(mode)  # what mkdir is given, the umask cuts
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and os.access(folder, os.W_OK | os.X_OK)


@contextlib.contextmanager
def held(
    key: str, *, folder: Path, what: str, directory: Path, wait_s: float, say: Callable[[str], None]
) -> Iterator[None]:
    """Hold one card inside the block; a process that holds it already, or whose ancestor does, may enter again.

    Args:
        key: from `key_of`.
        what: the card in words, for messages.
        directory: where the holder writes, for whoever wants the card meanwhile.
        wait_s: seconds to wait for another zlbench; 0 refuses at once.

    Raises:
        PreflightError: somebody else has it (CARD_IN_USE), or the lock file cannot be opened.
    """
    path = folder / f"{key}.lock"
    if path in _KEPT:
        _KEPT[path] += 1
        try:
            yield
        finally:
            _KEPT[path] -= 1
        return
    file = _acquire(path, what=what, wait_s=wait_s, say=say)
    try:
        if file is None:
            yield  # an ancestor's
            return
        _write(file, json.dumps(asdict(Holder.me(directory))).encode())
        _KEPT[path] = 1
        try:
            yield
        finally:
            del _KEPT[path]
            _write(file, b"")
    finally:
        if file is not None:
            os.close(file)


def _acquire(path: Path, *, what: str, wait_s: float, say: Callable[[str], None]) -> int | None:
    """A locked file; None where an ancestor of this process has it locked."""
    until, named = time.monotonic() + wait_s, time.monotonic() + _NAMED_S
    waiting = False
    while True:
        file = _open(path, what)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = Holder.read(file)
            os.close(file)
        except BaseException:
            os.close(file)
            raise
        else:
            if _is_still(path, file):
                return file
            os.close(file)  # somebody cleared the folder meanwhile: the lock of a file that is gone keeps nobody out
            continue
        if holder is None and time.monotonic() < named:
            time.sleep(0.02)
            continue
        if holder is not None and holder.pid in _ancestors():
            return None
        if time.monotonic() >= until:
            raise _in_use(what, holder, path, wait_s)
        if not waiting:
            say(f"{what} is in use by {holder or 'another zlbench'}: waiting {wait_s:g} s at most")
        waiting = True
        time.sleep(min(_POLL_S, max(0.0, until - time.monotonic())))


def _open(path: Path, what: str) -> int:
    """Open a lock file, also that of another user; it is never inherited by a program that we start."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        # Without O_CREAT first: the kernel refuses that for files of others in a folder like /tmp.
        for more in (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY):
            try:
                file = os.open(path, flags | more, 0o666)
            except (FileNotFoundError, FileExistsError):
                continue
            except PermissionError:
                if more == os.O_RDONLY or more & os.O_CREAT:
                    raise
                continue
            if more & os.O_CREAT:
                os.fchmod(file, 0o666)
            return file
        raise FileNotFoundError(path)
    except OSError as error:
        raise PreflightError(
            f"whether {what} is free cannot be told: {path}: {error.strerror or error}",
            check=CHECK,
            hint=f"Look at {path}; it is a plain file that everybody may write, and nothing is lost with it.",
        ) from error


def _is_still(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file))
    except OSError:
        return False


def _write(file: int, data: bytes) -> None:
    """Say who holds it; that is for people, and a full disk or another user's file keeps nobody from measuring."""
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.pwrite(file, data, 0)


def _ancestors() -> set[int]:
    parents = {entry.pid: entry.parent for entry in proctree.table()}
    found: set[int] = set()
    pid = parents.get(os.getpid(), 0)
    while pid > 1 and pid not in found:
        found.add(pid)
        pid = parents.get(pid, 0)
    return found


def _in_use(what: str, holder: Holder | None, path: Path, wait_s: float) -> PreflightError:
    waited = f", also after {wait_s:g} s" if wait_s else ""
    return PreflightError(
        f"{what} is in use by {holder or f'another zlbench (it holds {path})'}{waited}",
        check=CHECK,
        hint="Two at a time would time each other. Wait for it with --wait-for-card SECONDS, or take another card.",
        marker=IN_USE,
    )
