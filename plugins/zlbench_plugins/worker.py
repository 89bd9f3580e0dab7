"""The measured worker of one side: pays the imports once, then forks a clean process for every operator.

A forked cell starts from the state right after the imports: no harness global, cache or seed of the operator before
it can be seen, an operator gives the same rows alone and after others, and a crash costs only itself. On the
device-less backend the worker also compiles one small kernel first, so that no operator pays for the compiler's start.

Protocol, JSON lines: ``open`` → ``ready`` (what was imported) or ``failed``; ``run`` (a cell) → ``started``, ``ended``
(exit status or signal); ``quit``.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import select
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zlbench import proctree
from zlbench.builds.probe import observe
from zlbench.cells import CellSpec
from zlbench.errors import DISK_FULL_EXIT
from zlbench.resident import Lines
from zlbench_plugins import failures

# All but `device`, which does its work at import, for one cell.
_SHARED = (
    "autotune_pin",
    "autotune_sweep",
    "cases",
    "context",
    "failures",
    "inputs",
    "ir_meta",
    "pretty",
    "rows",
    "shapes",
    "timing",
)
_ORPHAN_PATIENCE_S = 2.0
"""The driver looks again, with more patience: a worker that waits serves nobody."""


class Worker:
    """Serves one driver until the channel ends."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._children: dict[int, tuple[int, str]] = {}
        """Cells in progress: pidfd → (pid, cell)."""
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
                    self._reap(fd)
                    continue
                self._lines.fill()
                while self._lines.pending:
                    message = self._lines.take()
                    if message["do"] == "quit":
                        return
                    if message["do"] == "run":
                        poller.register(self._start(message), select.POLLIN)
                if self._lines.ended:
                    return

    def _start(self, message: dict[str, Any]) -> int:
        spec = CellSpec.from_json(message["cell"])
        sys.stdout.flush()
        sys.stderr.flush()
        die_with_us = proctree.parent_death_hook()
        pid = os.fork()
        if pid == 0:
            self._lines.close()
            _become_cell(spec, marker=message["marker"], die_with_worker=die_with_us)
        proctree.register(pid)
        self._lines.send({"event": "started", "cell": spec.cell, "pid": pid})
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = (pid, spec.cell)
        return pidfd

    def _reap(self, pidfd: int) -> None:
        pid, cell = self._children.pop(pidfd)
        # Living cells keep their own orphans, so these are this one's. Gone before the next cell begins.
        proctree.kill_orphans(patience_s=_ORPHAN_PATIENCE_S)
        _, status = os.waitpid(pid, 0)
        os.close(pidfd)
        proctree.unregister(pid)
        code = os.waitstatus_to_exitcode(status)
        self._lines.send({"event": "ended", "cell": cell, "pid": pid, "returncode": code})


def _become_cell(spec: CellSpec, *, marker: str, die_with_worker: Callable[[], None]) -> None:
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
        code = run_cell(spec)
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
        f"--mode={spec.mode}", f"--level={spec.level}",
    ]  # fmt: skip
    for plugin in spec.plugins:
        arguments += ["-p", plugin]
    arguments += [f"--dtypes={dtype}" for dtype in spec.dtypes]
    if spec.warmup_ms is not None:
        arguments.append(f"--warmup={spec.warmup_ms}")
    if spec.rep_ms is not None:
        arguments.append(f"--iter={spec.rep_ms}")
    return arguments


def _ini_file(suite_root: Path) -> str:
    """The suite's own pytest settings, and never those of a directory above it, which are another project's."""
    found = (suite_root / name for name in ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"))
    return str(next((path for path in found if path.is_file()), os.devnull))


def prepare(message: dict[str, Any]) -> dict[str, str]:
    """Import everything that cells share, before the first of them; returns targets that could not be compiled for."""
    import pytest  # noqa: F401

    if message.get("torch"):
        import torch  # noqa: F401
    for name in _SHARED:
        importlib.import_module(f"zlbench_plugins.{name}")
    for name in message.get("preload") or []:
        _preload(name)
    failed = _warm_compiler(message.get("targets") or []) if message.get("timer") == "compile" else {}
    # Objects that exist now are never garbage of a cell: leave them out of every cell's collections.
    gc.collect()
    gc.freeze()
    return failed


def has_device(module: str) -> bool:
    """Ask Torch for a device, in a child: whoever asks may have opened it, and a forked cell could not use it then."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    code = 1
    try:
        import torch

        code = 0 if getattr(torch, module).is_available() else 1
    except BaseException:  # noqa: BLE001 - without Torch, or with one that lacks the module, there is no device either
        traceback.print_exc()
    finally:
        os._exit(code)


def _preload(package: str) -> None:
    """Import a suite's kernels, which nothing has run yet; its harness is imported anew in every cell."""
    module = importlib.import_module(package)
    for info in pkgutil.iter_modules(module.__path__):
        importlib.import_module(f"{package}.{info.name}")


def _warm_compiler(targets: list[str]) -> dict[str, str]:
    """Compile one kernel for each target: a compiler that cannot do that cannot run any operator."""
    from zlbench_plugins import device_targets

    failed = {}
    for target in targets:
        error = device_targets.warm(target)
        if error:
            failed[target] = error
    return failed


def main() -> int:
    """Entry point of ``python -m zlbench_plugins.worker``."""
    lines = Lines.from_env(os.environ)
    message = lines.receive()
    if message is None:
        return 0
    try:
        observed = observe()
        lines.send({"event": "imported", "observed": observed.to_dict()})
        failed = prepare(message)
    except Exception as error:  # noqa: BLE001 - an import may raise anything; the driver turns it into a message
        traceback.print_exc()
        lines.send({"event": "failed", "error": f"{type(error).__name__}: {error}"})
        return 1
    module = str(message.get("device_module") or "")
    lines.send({"event": "ready", "targets_failed": failed, "no_device": bool(module) and not has_device(module)})
    Worker(lines).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
