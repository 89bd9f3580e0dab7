"""A long-living child that the driver talks to in JSON lines: the measured worker, one a side."""

from __future__ import annotations

import contextlib
import json
import os
import select
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from zlbench.process import Child, Command, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

CHANNEL = "ZL_CHANNEL"
_CHUNK = 1 << 16
_SEND_PATIENCE_S = 60.0


class Deadline(TimeoutError):  # noqa: N818 - reads as what it is at the place where it is caught
    """The other end did not answer in time."""


class Lines:
    """JSON lines over a pair of pipe ends, without blocking longer than asked."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader = reader
        self.writer = writer
        self._ready: deque[bytes] = deque()
        self._rest = b""
        self.ended = False

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Lines:
        """The child's end. Its own children do not inherit it: then an end of file means that it is gone."""
        reader, writer = (int(word) for word in env[CHANNEL].split(","))
        for number in (reader, writer):
            os.set_inheritable(number, False)  # noqa: FBT003 - positional only
        return cls(reader, writer)

    @property
    def pending(self) -> bool:
        """Whether a message has been read and not yet taken."""
        return bool(self._ready)

    def send(self, message: object, *, timeout_s: float = _SEND_PATIENCE_S) -> None:
        """Write one message.

        Raises `Deadline` when the other end does not read, BrokenPipeError when it is gone.
        """
        data = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        os.set_blocking(self.writer, False)
        until = time.monotonic() + timeout_s
        while data:
            if not _writable(self.writer, until - time.monotonic()):
                raise Deadline(f"not read within {timeout_s:g} s")
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(self.writer, data) :]

    def take(self) -> Any:
        """Return the next message that is already here."""
        return json.loads(self._ready.popleft())

    def fill(self) -> None:
        """Read what is there, once; notes an end of file. A line cut short by a death is dropped."""
        data = os.read(self.reader, _CHUNK)
        if not data:
            self.ended = True
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._ready.extend(line for line in lines if line.strip())

    def receive(self) -> Any:
        """Wait for the next message, however long; None at the end. For the child's end."""
        while not self._ready and not self.ended:
            self.fill()
        return self.take() if self._ready else None

    def close(self) -> None:
        """Close both ends."""
        os.close(self.reader)
        os.close(self.writer)


class Resident:
    """A child with a message channel. Its output goes to `command.stdout`; `command.timeout_s` is not used.

    The child finds the channel with ``Lines.from_env(os.environ)``. Start it from a thread that outlives it.
    """

    def __init__(self, command: Command) -> None:
        child_reads, we_write = os.pipe()
        we_read, child_writes = os.pipe()
        try:
            self._child = Child(
                command, env={CHANNEL: f"{child_reads},{child_writes}"}, fds=(child_reads, child_writes)
            )
        except BaseException:
            os.close(we_read)
            os.close(we_write)
            raise
        finally:
            os.close(child_reads)
            os.close(child_writes)
        self._lines = Lines(we_read, we_write)
        # Death is watched as well: a grandchild that still holds the pipe would otherwise hide it.
        self._watch = select.epoll()
        self._watch.register(we_read, select.EPOLLIN)
        if self._child.pidfd >= 0:
            self._watch.register(self._child.pidfd, select.EPOLLIN)
        self._outcome: Outcome | None = None

    @property
    def pid(self) -> int:
        """Process id, also the id of the child's group and session."""
        return self._child.pid

    @property
    def marker(self) -> str:
        """What every descendant carries in its environment."""
        return self._child.marker

    @property
    def alive(self) -> bool:
        """Whether the child has not ended yet."""
        return self._outcome is None and not self._child.wait(0)

    def fileno(self) -> int:
        """For select and poll: readable when bytes have come or the child has ended; see also `pending`."""
        return self._watch.fileno()

    @property
    def pending(self) -> bool:
        """Whether `receive` would return at once without reading: `wait_any` looks at this too."""
        return self._lines.pending or self._lines.ended

    def send(self, message: object) -> None:
        """Send one message. BrokenPipeError: the child is gone. `Deadline`: it does not read."""
        if self._lines.ended:
            # The kernel takes bytes for a reader that is still being torn down.
            raise BrokenPipeError(f"process {self.pid} has ended")
        self._lines.send(message)

    def receive(self, timeout_s: float | None = None) -> Any:
        """Return the next message, or None when the child has ended and all it wrote has been taken.

        Raises `Deadline` when nothing came within `timeout_s`; the child is left as it is.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._lines.pending and not self._lines.ended:
            left = None if until is None else max(0.0, until - time.monotonic())
            events = dict(self._watch.poll(left))
            if self._lines.reader in events:
                self._lines.fill()
            elif events:
                self._lines.ended = True  # dead, and the pipe is drained
            elif left == 0.0:
                raise Deadline(f"no message within {timeout_s:g} s")
        return self._lines.take() if self._lines.pending else None

    def terminate(self, *, grace_s: float | None = None, timed_out: bool = False) -> Outcome:
        """End the child and all its descendants; a second call returns the same outcome."""
        if self._outcome is None:
            try:
                self._child.end(self._child.command.grace_s if grace_s is None else grace_s)
            finally:
                self._watch.close()
                self._lines.close()
                self._outcome = self._child.close(timed_out=timed_out)
        return self._outcome

    def finish(self, timeout_s: float) -> Outcome:
        """Wait for a child that was told to stop, then `terminate` what is left of it."""
        ended = self._outcome is not None or self._child.wait(timeout_s)
        return self.terminate(timed_out=not ended)

    def __enter__(self) -> Resident:
        return self

    def __exit__(self, kind: type[BaseException] | None, _value: object, _trace: TracebackType | None) -> None:
        self.terminate(grace_s=0.0 if kind else None)


def wait_any(residents: Sequence[Resident], timeout_s: float | None) -> list[Resident]:
    """Return the residents that have a message or an end to tell; waits for the first, [] at the time-out."""
    ready = [resident for resident in residents if resident.pending]
    if ready or not residents:
        return ready
    poller = select.poll()
    by_file = {resident.fileno(): resident for resident in residents}
    for number in by_file:
        poller.register(number, select.POLLIN)
    events = poller.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000)
    return [by_file[number] for number, _ in events]


def _writable(number: int, left_s: float) -> bool:
    poller = select.poll()
    poller.register(number, select.POLLOUT)
    return bool(poller.poll(max(0.0, left_s) * 1000))
