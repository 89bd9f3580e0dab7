"""Find and end every process that descends from a started child, whatever group or session it has moved to.

Linux only, read from ``/proc``. A child is recognised by a marker in its environment, which children inherit,
or by its ancestry; the driver is made the *subreaper*, so orphans come to it and can be reaped.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARKER = "ZL_CELL"

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_GONE = "ZX"
_KILL_PATIENCE_S = 10.0

# PyDLL keeps the interpreter lock: between fork and exec no other thread exists that could give it back.
_libc = ctypes.PyDLL(None, use_errno=True)

_start_lock = threading.Lock()
_roots: set[int] = set()
"""Children of this process that `zlbench.process` started and will itself wait for."""
_foreign: set[int] = set()
"""Children that existed before the first of ours: never touched."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the process table."""

    pid: int
    parent: int
    group: int
    session: int
    state: str
    started: str
    ticks: int = 0
    """Processor time that it has used, in clock ticks."""


def parent_death_hook() -> Callable[[], None]:
    """Return what a child runs after the fork, before anything else: it asks to be killed when this process dies.

    The signal follows the *thread* that forked; start children from a thread that outlives them.
    """
    driver = os.getpid()
    prctl = _libc.prctl
    getppid, leave = os.getppid, os._exit

    def hook() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        # The driver may have died before the call above: then nobody would ever send the signal.
        if getppid() != driver:
            leave(127)

    return hook


def adopt_orphans() -> None:
    """Make this process the parent of its descendants' orphans, once."""
    if not _roots:
        me = os.getpid()
        _foreign.clear()
        _foreign.update(entry.pid for entry in table() if entry.parent == me)
    keep_orphans()


def keep_orphans() -> None:
    """Have orphaned descendants come to this process as long as it lives; a fork does not inherit this."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Start and register a child inside: another thread that reaps orphans meanwhile must not take it for one."""
    with _start_lock:
        yield


def register(pid: int) -> None:
    """Note a child that its starter will wait for, so that nobody else reaps it."""
    _roots.add(pid)


def unregister(pid: int) -> None:
    """Forget a child that has been waited for."""
    _roots.discard(pid)


def table() -> list[Entry]:
    """Read the process table; processes that end meanwhile are left out."""
    names = os.listdir("/proc")  # noqa: PTH208 - a Path per process doubles the time of a scan
    return [entry for name in names if name.isdigit() and (entry := _entry(name)) is not None]


def _entry(pid: str) -> Entry | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None
    # The name in parentheses may hold anything, also a ")": cut after the last one.
    fields = text[text.rfind(")") + 2 :].split()
    state, (parent, group, session), started = fields[0], map(int, fields[1:4]), fields[19]
    ticks = int(fields[11]) + int(fields[12])
    return Entry(pid=int(pid), parent=parent, group=group, session=session, state=state, started=started, ticks=ticks)


def new_marker() -> str:
    """Return a marker that also tells which driver set it, for `sweep` to find what a killed one left."""
    return f"{_driver_id(os.getpid())}.{uuid.uuid4().hex}"


def _driver_id(pid: int) -> str:
    entry = _entry(str(pid))
    return f"{_pid_namespace()}.{pid}.{entry.started if entry else 0}"


def _pid_namespace() -> str:
    try:
        return "".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid")))  # noqa: PTH115 - not a path
    except OSError:
        return "0"


def marker_of(pid: int) -> str:
    """Return the marker in a process's environment, or "" if it has none or may not be read."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return ""
    key = f"{MARKER}=".encode()
    found = [item for item in environ.split(b"\0") if item.startswith(key)]
    return found[0][len(key) :].decode(errors="replace") if found else ""


def victims(marker: str, root: int, entries: list[Entry]) -> set[int]:
    """Return the processes that belong to `root` (0: unknown): by marker, session or group, or ancestry."""
    me = os.getpid()
    # Session 0 stands for "outside of this container", so an unknown root must never match it.
    mine = {
        entry.pid
        for entry in entries
        if entry.pid != me
        and ((root and root in (entry.pid, entry.session, entry.group)) or marker_of(entry.pid) == marker)
    }
    return _with_descendants(mine, entries) - {me}


def _with_descendants(pids: set[int], entries: list[Entry]) -> set[int]:
    found, more = set(pids), set(pids)
    while more:
        more = {entry.pid for entry in entries if entry.parent in more} - found
        found |= more
    return found


def ours(driver: int | None = None) -> set[int]:
    """A driver (default: this process), all that descends from it, and what carries the marker of one it started."""
    entries = table()
    root = os.getpid() if driver is None else driver
    own = _driver_id(root)
    marked = {entry.pid for entry in entries if marker_of(entry.pid).rpartition(".")[0] == own}
    return _with_descendants({root, *marked}, entries)


def _dead_orphans(entries: list[Entry]) -> set[int]:
    """Return orphans that came to us already dead: their environment, and so their marker, is gone.

    A child that somebody else in this program started shares our session and is left to its starter.
    """
    me, session = os.getpid(), os.getsid(0)
    return {
        entry.pid
        for entry in entries
        if entry.state in _GONE
        and entry.parent == me
        and entry.session != session
        and entry.pid not in _foreign | _roots
    }


def kill_tree(marker: str, root: int = 0, *, patience_s: float = _KILL_PATIENCE_S) -> tuple[int, ...]:
    """End everything that carries `marker` or descends from `root`, and reap what becomes ours.

    `root` itself is killed and not reaped: whoever started it waits for it. Returns the processes that would
    not go within `patience_s`, such as one stuck in a driver call; normally none.
    """
    until = time.monotonic() + patience_s
    seen: set[int] = set()
    while True:
        with _start_lock:
            entries = table()
            seen |= victims(marker, root, entries) | _dead_orphans(entries)
        left = [entry for entry in entries if entry.pid in seen]
        for entry in left:
            if entry.state not in _GONE:
                send(entry.pid, signal.SIGKILL)
            elif entry.parent == os.getpid() and entry.pid not in _roots:
                _reap(entry.pid)
        remain = tuple(entry.pid for entry in left if entry.pid != root or entry.state not in _GONE)
        if not remain or time.monotonic() > until:
            return remain
        time.sleep(0.002)


def kill_orphans(*, patience_s: float = _KILL_PATIENCE_S) -> tuple[int, ...]:
    """End and reap every child that was not registered here, with its descendants: what ended children left behind.

    For a process that starts nothing but registered children, each of which adopts its own orphans while it lives.
    A fork without exec is found too, which carries no marker of its own. Returns what would not go.
    """
    me = os.getpid()
    until = time.monotonic() + patience_s
    while True:
        entries = table()
        ours = {entry.pid for entry in entries if entry.parent == me} - _foreign - _roots
        left = [entry for entry in entries if entry.pid in _with_descendants(ours, entries)]
        for entry in left:
            if entry.state not in _GONE:
                send(entry.pid, signal.SIGKILL)
            elif entry.parent == me:
                _reap(entry.pid)
        if not left or time.monotonic() > until:
            return tuple(entry.pid for entry in left)
        time.sleep(0.002)


def send(pid: int, number: int) -> None:
    """Signal one process; one that has gone, or is not ours, is no error."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def sweep() -> tuple[int, ...]:
    """End what drivers that were killed outright left behind; return the markers' driver ids.

    The direct child of a killed driver dies with it, that child's own children do not.
    """
    here = _pid_namespace()
    entries = table()
    alive = {f"{entry.pid}.{entry.started}" for entry in entries if entry.state not in _GONE}
    abandoned = {}
    for entry in entries:
        parts = marker_of(entry.pid).split(".")
        if len(parts) == 4 and parts[0] == here and f"{parts[1]}.{parts[2]}" not in alive:
            abandoned[".".join(parts)] = int(parts[1])
    for marker in abandoned:
        kill_tree(marker)
    return tuple(sorted(set(abandoned.values())))
