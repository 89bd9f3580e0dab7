"""The only module of the core that starts processes: a command in, an outcome out.

Every child has its own session, dies with the driver, has a deadline, and leaves no descendant behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from zlbench import proctree
from zlbench.errors import PreflightError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import FrameType

INTERRUPT_GRACE_S = 3.0
"""A person who pressed Ctrl-C waits no longer than this for a child to end by itself."""


class Terminated(KeyboardInterrupt):
    """SIGTERM reached the driver."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """What to start.

    Args:
        argv: program and arguments; never passed through a shell.
        env: the whole environment of the child, except for the marker that is added.
        cwd: directory to start in.
        stdin: bytes to feed; None is an empty input.
        stdout: file that standard output and standard error are appended to; None captures them.
        passed_on: descriptor of this process (1 or 2) that its standard output goes to, at once; its standard error
            goes to our own, and nothing is captured.
        timeout_s: seconds until the group is asked to end; None means no limit.
        grace_s: seconds between asking (SIGTERM) and ending (SIGKILL).
        interrupt_grace_s: the same where this process is itself interrupted; more for a child that has to end others.
        starts_none: the program starts no processes itself, so that its group is all that there is to end. Spares the
            search for descendants, which takes as long as a quick tool.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: bytes | None = None
    stdout: Path | None = None
    timeout_s: float | None = None
    grace_s: float = 30.0
    interrupt_grace_s: float = INTERRUPT_GRACE_S
    passed_on: int | None = None
    starts_none: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How it ended.

    `returncode` is the exit status, or minus the signal's number as in `subprocess`. `timed_out`: we ended it
    at its deadline. `interrupted`: it ended by an interrupt of its own. `survivors`: processes that even
    SIGKILL did not remove in time. `stdout` and `stderr` are empty when a file took them.
    """

    returncode: int
    signal: int | None
    timed_out: bool
    interrupted: bool
    elapsed_s: float
    stdout: str
    stderr: str
    survivors: tuple[int, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the child ended by itself with status 0."""
        return self.returncode == 0 and not self.timed_out


class Child:
    """A started child: its process, its marker, and how to end it with all its descendants."""

    def __init__(self, command: Command, *, env: Mapping[str, str] | None = None, fds: tuple[int, ...] = ()) -> None:
        self.command = command
        self.marker = proctree.new_marker()
        self.started = time.monotonic()
        self._survivors: tuple[int, ...] = ()
        if not command.starts_none:
            proctree.adopt_orphans()
        env = {**command.env, **(env or {}), proctree.MARKER: self.marker}
        # Files, not pipes: a grandchild that keeps a pipe open cannot hold the driver up.
        self._captured = () if command.stdout or command.passed_on is not None else (_memory_file(), _memory_file())
        try:
            with proctree.starting():
                self._process = _popen(command, env, fds, self._captured)
                self.pid = self._process.pid
                proctree.register(self.pid)
        except BaseException:
            for file in self._captured:
                file.close()
            raise
        self.pidfd = _pidfd(self.pid)

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the child has ended; return whether it has. Interrupts come through.

        It is not reaped here: as a zombie it keeps its process id from being given to somebody else.
        """
        if self._process.returncode is not None:
            return True
        if self.pidfd >= 0:
            poller = select.poll()
            poller.register(self.pidfd, select.POLLIN)
            return bool(poller.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000))
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(0.02)
        return True

    def end(self, grace_s: float) -> None:
        """Ask the group to end, then make sure that it and every descendant is gone."""
        try:
            if grace_s > 0 and not self.wait(0):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGTERM)
                self.wait(grace_s)
        finally:
            # Also when a second Ctrl-C cuts the wait short.
            if not self.command.starts_none:
                self._survivors = proctree.kill_tree(self.marker, self.pid)
            elif not self.wait(0):
                os.killpg(self.pid, signal.SIGKILL)
            if self.wait(1.0):
                self._process.wait()

    def close(self, *, timed_out: bool) -> Outcome:
        """Clear up after a child that has ended and describe how it did."""
        elapsed = time.monotonic() - self.started
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1
        proctree.unregister(self.pid)
        status = self._process.returncode
        status = -int(signal.SIGKILL) if status is None else status
        stdout, stderr = map(_text, self._captured) if self._captured else ("", "")
        return Outcome(
            returncode=status,
            signal=-status if status < 0 else None,
            timed_out=timed_out,
            interrupted=not timed_out and status in (-signal.SIGINT, 128 + signal.SIGINT),
            elapsed_s=elapsed,
            stdout=stdout,
            stderr=stderr,
            survivors=self._survivors,
        )


def run(command: Command) -> Outcome:
    """Run a command to its end or its deadline; nothing that it started is alive on return.

    An interrupt of the driver (Ctrl-C, SIGTERM) ends the child's tree and goes on upwards.
    """
    with terminable():
        child = Child(command)
        timed_out = False
        try:
            timed_out = not child.wait(command.timeout_s)
        except KeyboardInterrupt:
            child.end(min(command.grace_s, command.interrupt_grace_s))
            child.close(timed_out=False)
            raise
        try:
            child.end(command.grace_s if timed_out else 0.0)
        finally:
            outcome = child.close(timed_out=timed_out)
        return outcome


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into `Terminated` inside the block, so that children are ended before the driver goes.

    Does nothing outside the main thread, or where the program already handles the signal.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise_terminated(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


def _popen(
    command: Command, env: Mapping[str, str], fds: tuple[int, ...], captured: tuple[IO[bytes], ...]
) -> subprocess.Popen[bytes]:
    with contextlib.ExitStack() as files:
        outputs: tuple[IO[bytes] | int | None, ...] = captured or (command.passed_on, None)
        if command.stdout:
            log = files.enter_context(command.stdout.open("ab"))
            outputs = (log, log)
        stdin: int | IO[bytes] = subprocess.DEVNULL
        if command.stdin is not None:
            stdin = files.enter_context(_memory_file())
            stdin.write(command.stdin)
            stdin.seek(0)
        try:
            return subprocess.Popen(
                list(command.argv), env=dict(env), cwd=command.cwd, start_new_session=True, pass_fds=fds,
                stdin=stdin, stdout=outputs[0], stderr=outputs[1],
                preexec_fn=proctree.parent_death_hook(),  # noqa: PLW1509 - the hook argues why it is safe
            )  # fmt: skip
        except OSError as error:
            what = command.argv[0] if command.cwd.is_dir() else command.cwd
            raise PreflightError(
                f"cannot start {command.argv[0]}: {what}: {error.strerror}",
                check="process-start",
                hint="Check that the file exists and can be executed.",
            ) from error


def _memory_file() -> IO[bytes]:
    """Return a file that a full disk cannot fail."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("zlbench"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _text(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode("utf-8", errors="replace")


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return -1  # an old kernel, or a Python built on one: `wait` polls instead
