"""The measured worker of one side: pays the imports once, then forks a clean process for every operator.

A forked cell starts from the state right after the imports: no harness global, cache or seed of the operator before
it can be seen, an operator gives the same rows alone and after others, and a crash costs only itself. On the
device-less backend the worker also compiles one small kernel first, so that no operator pays for the compiler's start.

Protocol, JSON lines: ``open`` → ``ready`` (what was imported) or ``failed``; ``run`` (a cell) → ``started``, ``ended``
(exit status or signal); ``quit``. ``prepare`` lends the channel to a cell that stays (`resident_cell`) until it ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from zlbench import proctree
from zlbench.builds.probe import observe
from zlbench.cells import CellSpec
from zlbench.errors import DEVICE_LOST_EXIT, DISK_FULL_EXIT
from zlbench.resident import Lines
from zlbench_plugins import failures, resident_cell
from zlbench_plugins.worker_start import prepare

_OPENING = "ZL_OPENING"
"""What the driver said first, for a worker that begins again."""
_ORPHAN_PATIENCE_S = 2.0
"""The driver looks again, with more patience: a worker that waits serves nobody."""
_MAX_CONTINUED = 200
"""Fresh processes that one cell gets after rows that cost it its card: more than any benchmark has rows that do."""


class Worker:
    """Serves one driver until the channel ends."""

    def __init__(self, lines: Lines, *, wipe: Sequence[str] = ()) -> None:
        self._lines = lines
        self._wipe = [Path(folder) for folder in wipe]
        """Folders that every cell finds without files: caches whose place a suite fixes when imported."""
        self._children: dict[int, _Child] = {}
        """Cells in progress, by pidfd."""
        # What a cell leaves behind comes to us when the cell ends, whatever group and session it has moved to.
        proctree.adopt_orphans()

    def serve(self) -> None:
        """Answer messages and report ended cells until told to quit or until the driver is gone."""
        poller = select.poll()
        poller.register(self._lines.reader, select.POLLIN)
        while True:
            for fd, _ in poller.poll():
                if fd in self._children:
                    poller.unregister(fd)
                    again = self._reap(fd)
                    if again is not None:
                        poller.register(again, select.POLLIN)
                    continue
                self._lines.fill()
                while self._lines.pending:
                    message = self._lines.take()
                    if message["do"] == "quit":
                        return
                    if message["do"] == "run":
                        spec = CellSpec.from_json(message["cell"])
                        poller.register(self._start(spec, message["marker"]), select.POLLIN)
                    if message["do"] == "prepare":
                        self._lend(message)
                if self._lines.ended:
                    return

    def _start(self, spec: CellSpec, marker: str) -> int:
        """Fork one cell; returns the pidfd to watch."""
        if not spec.continued:
            _empty(self._wipe)
        pid = self._fork(spec, marker)
        self._lines.send({"event": "started", "cell": spec.cell, "pid": pid})
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = _Child(pid=pid, spec=spec, marker=marker)
        return pidfd

    def _lend(self, message: dict[str, Any]) -> None:
        """Fork a cell that stays and talks to the driver itself; nobody else does until it has ended."""
        spec = CellSpec.from_json(message["cell"])
        serve = partial(resident_cell.serve, lines=self._lines, request=message, run_cell=run_cell)
        pid = self._fork(spec, message["marker"], serve)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self._tell_ended(spec, pid, _bury(pid))

    def _fork(self, spec: CellSpec, marker: str, serve: Callable[[CellSpec], int] | None = None) -> int:
        """Fork a cell; returns its process id. With `serve` it keeps the channel, which is otherwise the worker's."""
        sys.stdout.flush()
        sys.stderr.flush()
        die_with_us = proctree.parent_death_hook()
        pid = os.fork()
        if pid == 0:
            if serve is None:
                self._lines.close()
            _become_cell(spec, marker=marker, die_with_worker=die_with_us, run=serve or run_cell)
        proctree.register(pid)
        return pid

    def _tell_ended(self, spec: CellSpec, pid: int, code: int) -> None:
        self._lines.send({"event": "ended", "cell": spec.cell, "pid": pid, "returncode": code})

    def _reap(self, pidfd: int) -> int | None:
        """Bury an ended cell and report it; one that lost its card goes on in a fresh process: its pidfd."""
        child = self._children.pop(pidfd)
        code = _bury(child.pid)
        os.close(pidfd)
        if code == DEVICE_LOST_EXIT and child.spec.continued < _MAX_CONTINUED:
            return self._start(replace(child.spec, continued=child.spec.continued + 1), child.marker)
        self._tell_ended(child.spec, child.pid, code)
        return None


def _bury(pid: int) -> int:
    """Wait for a cell that has ended, and end what it left behind; returns its exit status, negative for a signal."""
    # Living cells keep their own orphans, so these are this one's. Gone before the next cell begins.
    proctree.kill_orphans(patience_s=_ORPHAN_PATIENCE_S)
    _, status = os.waitpid(pid, 0)
    proctree.unregister(pid)
    return os.waitstatus_to_exitcode(status)


def _empty(folders: Sequence[Path]) -> None:
    """Remove the files below folders; the folders stay, since a suite that made them does not look again."""
    for folder in folders:
        for path in folder.rglob("*"):
            if not path.is_dir() or path.is_symlink():
                path.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Child:
    pid: int
    spec: CellSpec
    marker: str


def _become_cell(
    spec: CellSpec, *, marker: str, die_with_worker: Callable[[], None], run: Callable[[CellSpec], int]
) -> None:
    """Turn this forked process into the cell and never return."""
    code = 70
    try:
        os.setpgid(0, 0)
        die_with_worker()
        proctree.keep_orphans()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.environ[proctree.MARKER] = marker
        out_dir = Path(spec.out_dir)
        _redirect(out_dir / "run.log")
        os.chdir(out_dir)
        code = run(spec)
    except BaseException as error:  # noqa: BLE001 - the last frame of a process whose log is all that is left of it
        code = DISK_FULL_EXIT if failures.classify(error) is failures.FailureKind.DISK_FULL else code
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            code = DISK_FULL_EXIT
        os._exit(code)


def _redirect(log: Path) -> None:
    """Send both streams, of this process and its children, to the cell's log."""
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


def run_cell(spec: CellSpec) -> int:
    """Run pytest on the cell's node with its plugins; returns pytest's exit status."""
    import pytest

    from zlbench_plugins import context

    context.activate(context.CellContext(spec))
    code = int(pytest.main(pytest_arguments(spec)))
    # Whatever pytest made of it: a record that could not be written is what ended this cell.
    return DISK_FULL_EXIT if context.JsonLines.lost_a_line else code


def pytest_arguments(spec: CellSpec) -> list[str]:
    """The command line of a cell: absolute node id, ``--opt=value`` throughout, plugins in order."""
    arguments = [
        spec.node, "-s", "-q", "--tb=short", "--assert=plain", "-p", "no:cacheprovider", "--color=no",
        f"--rootdir={spec.suite_root}", "-c", _ini_file(Path(spec.suite_root)),
        f"{_mode_option()}={spec.mode}", f"--level={spec.level}",
    ]  # fmt: skip
    for plugin in spec.plugins:
        arguments += ["-p", plugin]
    arguments += [f"--dtypes={dtype}" for dtype in spec.dtypes]
    if spec.warmup_ms is not None:
        arguments.append(f"--warmup={spec.warmup_ms}")
    if spec.rep_ms is not None:
        arguments.append(f"--iter={spec.rep_ms}")
    return arguments


def _mode_option() -> str:
    """What suites call their option for the mode: FlagGems has another name for one vendor."""
    vendor = os.environ.get("GEMS_VENDOR") or os.environ.get("FLAGGEMS_VENDOR")
    return "--fg_mode" if vendor == "kunlunxin" else "--mode"


def _ini_file(suite_root: Path) -> str:
    """The suite's own pytest settings, and never those of a directory above it, which are another project's."""
    found = (suite_root / name for name in ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"))
    return str(next((path for path in found if path.is_file()), os.devnull))


def _begin_again(lines: Lines, message: dict[str, Any]) -> NoReturn:
    """Replace this process, whose import of the suite opened the card, by one in which each cell imports it anew."""
    print(f"{', '.join(message['preload'])} opens the card when imported: every cell imports it anew", file=sys.stderr)  # noqa: T201 - the worker's log
    os.environ[_OPENING] = json.dumps({**message, "preload": []})
    for number in (lines.reader, lines.writer):
        os.set_inheritable(number, True)  # noqa: FBT003 - positional only
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def main() -> int:
    """Entry point of ``python -m zlbench_plugins.worker``."""
    lines = Lines.from_env(os.environ)
    again = os.environ.pop(_OPENING, None)
    message = json.loads(again) if again else lines.receive()
    if message is None:
        return 0
    try:
        observed = observe()
        lines.send({"event": "imported", "observed": observed.to_dict()})
        os.environ.update(message.get("environment") or {})
        ready = prepare(message, lines.send)
        if ready.pop("begin_again", False):
            _begin_again(lines, message)
    except Exception as error:  # noqa: BLE001 - an import may raise anything; the driver turns it into a message
        traceback.print_exc()
        lines.send({"event": "failed", "error": f"{type(error).__name__}: {error}"})
        return 1
    lines.send({"event": "ready", **ready})
    Worker(lines, wipe=message.get("wipe") or []).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
