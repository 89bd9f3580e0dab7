"""Run cells on this machine: one resident worker a side, a process group a cell, deadlines, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zlbench import proctree
from zlbench.cells import CellSpec
from zlbench.errors import PreflightError, UsageError
from zlbench.process import Command
from zlbench.resident import Deadline, Resident, wait_any

OPEN_PATIENCE_S = 600.0
"""How long a worker may take for its imports; a shared, cold machine needs minutes for torch at times."""
_MAX_IDLE_DEATHS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSpec:
    """How the worker of one side is started.

    Args:
        env: the whole environment of the measured process.
        work_dir: where it runs; holds its log.
        opening: what it is told first (`torch`, `timer`, `targets`).
    """

    side: str
    interpreter: Path
    safe_path: bool
    env: Mapping[str, str]
    work_dir: Path
    opening: Mapping[str, Any]

    @property
    def log(self) -> Path:
        """What the worker itself says, outside its cells."""
        return self.work_dir / f"worker_{self.side}.log"

    @property
    def argv(self) -> tuple[str, ...]:
        """Command line; ``-P`` keeps the working directory off the import path where Python knows it (3.11)."""
        safe = ("-P",) if self.safe_path else ()
        return (str(self.interpreter), *safe, "-m", "zlbench_plugins.worker")


@dataclass(frozen=True, kw_only=True, slots=True)
class CellEnd:
    """How the process of a cell ended, before anybody looked at its files."""

    spec: CellSpec
    returncode: int
    elapsed_s: float
    timed_out: bool = False
    worker_died: bool = False
    beside_others: bool = False
    """Whether more cells died with the same worker, so that nobody knows which of them is to blame."""

    @property
    def signal(self) -> int | None:
        """The signal that ended it, if one did."""
        return -self.returncode if self.returncode < 0 else None


@dataclass(kw_only=True, slots=True)
class _Running:
    spec: CellSpec
    marker: str
    started: float
    pid: int = 0
    asked_to_end: float | None = None


@dataclass(kw_only=True, slots=True)
class _Lane:
    """One side's worker, its queue and what it runs now."""

    worker: WorkerSpec
    queue: deque[CellSpec]
    resident: Resident | None = None
    ready: bool = False
    checked: bool = False
    """Whether it has imported what was asked for and can compile for every target: looked at once."""
    opened: float = 0.0
    idle_deaths: int = 0
    importing: str = ""
    """The suite's package, while the worker imports it."""
    running: dict[str, _Running] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        return bool(self.queue or self.running)


class LocalEngine:
    """Runs the cells of both sides, side by side where `jobs` allows.

    Args:
        check: told what a worker really imported, before it runs anything; raises to refuse.
        cell_timeout_s: limit of one cell; its group then gets SIGTERM, and SIGKILL after `grace_s`.
    """

    def __init__(
        self, workers: Sequence[WorkerSpec], *, check: Callable[[str, Mapping[str, Any]], None], cell_timeout_s: float,
        grace_s: float = 30.0,
    ) -> None:  # fmt: skip
        self._lanes = {worker.side: _Lane(worker=worker, queue=deque()) for worker in workers}
        self._check = check
        self._jobs = 1
        self._begin: Callable[[CellSpec], None] = lambda _: None
        self._timeout_s = cell_timeout_s
        self._grace_s = grace_s
        self._number: dict[str, int] = {}
        """Place of each cell in the plan."""

    def run(
        self, cells: Sequence[CellSpec], *, jobs: int, begin: Callable[[CellSpec], None] = lambda _: None,
        tick: Callable[[], None] = lambda: None, keep: bool = False,
    ) -> Iterator[CellEnd]:  # fmt: skip
        """Run every cell and yield each as it ends; whatever happens, no process of ours is alive afterwards.

        Args:
            jobs: cells at a time over all sides; 1 where a card is measured.
            begin: told of a cell right before it is started; may make its directory.
            tick: called at least twice a second.
            keep: leave the workers alive for the next call where this one ends well; `close` ends them.
        """
        self._jobs, self._begin = max(1, jobs), begin
        self._drop_dead()
        whole = False
        for number, cell in enumerate(cells):
            self._lanes[cell.side].queue.append(cell)
            self._number[cell.cell] = number
        try:
            while any(lane.busy for lane in self._lanes.values()):
                self._open_lanes()
                self._dispatch()
                yield from self._turn()
                tick()
            whole = True
        finally:
            if not (keep and whole):
                self.close()

    def _drop_dead(self) -> None:
        """A worker that died between two calls takes no cell along: another is started in its place."""
        for lane in self._lanes.values():
            if lane.resident is not None and not lane.resident.alive:
                resident, lane.resident, lane.ready = lane.resident, None, False
                resident.terminate(grace_s=0.0)

    def close(self) -> None:
        """End all workers and whatever their cells started."""
        for lane in self._lanes.values():
            resident, lane.resident, lane.ready = lane.resident, None, False
            for running in lane.running.values():
                proctree.kill_tree(running.marker, running.pid)
            if resident is not None:
                _quit(resident)
                resident.finish(0.0 if lane.running else 5.0)

    def _open_lanes(self) -> None:
        for lane in self._lanes.values():
            if lane.resident is None and lane.queue:
                worker = lane.worker
                lane.resident = Resident(
                    Command(argv=worker.argv, env=worker.env, cwd=worker.work_dir, stdout=worker.log, grace_s=0.0)
                )
                lane.opened = time.monotonic()
                with contextlib.suppress(BrokenPipeError):  # its death is read from the channel
                    lane.resident.send({"do": "open", **worker.opening})

    def _dispatch(self) -> None:
        """Start cells while there is room, on the side that runs fewest; one at a time goes in the planned order."""
        while sum(len(lane.running) for lane in self._lanes.values()) < self._jobs:
            waiting = [lane for lane in self._lanes.values() if lane.queue]
            if not all(lane.checked for lane in waiting):
                return  # a side with the wrong compiler or without a target is refused before any cell starts
            if self._jobs == 1:
                # Else the side whose imports are quicker would go first, now A and now B.
                waiting = sorted(waiting, key=lambda lane: self._number[lane.queue[0].cell])[:1]
            free = [lane for lane in waiting if lane.ready]
            if not free:
                return
            lane = min(free, key=lambda lane: (len(lane.running), -len(lane.queue)))
            self._start(lane, lane.queue.popleft())

    def _start(self, lane: _Lane, spec: CellSpec) -> None:
        assert lane.resident is not None
        self._begin(spec)
        running = _Running(spec=spec, marker=proctree.new_marker(), started=time.monotonic())
        lane.running[spec.cell] = running
        try:
            lane.resident.send({"do": "run", "cell": spec.to_json(), "marker": running.marker})
        except BrokenPipeError:
            return  # its death is read from the channel, in order

    def _turn(self) -> Iterator[CellEnd]:
        """Wait for the next thing to happen on any side and deal with it."""
        self._enforce_limits()
        residents = {id(lane.resident): lane for lane in self._lanes.values() if lane.resident is not None}
        for resident in wait_any([lane.resident for lane in residents.values() if lane.resident], 0.5):
            lane = residents[id(resident)]
            try:
                message = resident.receive(0.0)
            except Deadline:
                continue
            if message is None:
                yield from self._worker_died(lane)
            else:
                yield from self._handle(lane, message)

    def _handle(self, lane: _Lane, message: Mapping[str, Any]) -> Iterator[CellEnd]:
        event = message["event"]
        if event == "imported":
            self._check(lane.worker.side, message["observed"])
        elif event == "ready":
            _refuse_without_plugins(lane.worker, message)
            _refuse_without_device(lane.worker, message)
            self._refuse_targets(lane, message)
            lane.ready = lane.checked = True
            lane.importing = ""
        elif event == "importing":
            lane.importing = message["package"]
        elif event == "failed":
            raise _cannot_start(lane, message["error"])
        elif event == "started" and message["cell"] in lane.running:
            lane.running[message["cell"]].pid = message["pid"]
        elif event == "ended":
            running = lane.running.pop(message["cell"])
            # Whatever the cell started is gone before the next one begins. The worker has ended all that descends from
            # it; by its marker only what even that missed is found. Its process id may be somebody else's by now.
            proctree.kill_tree(running.marker)
            yield CellEnd(
                spec=running.spec, returncode=message["returncode"], elapsed_s=time.monotonic() - running.started,
                timed_out=running.asked_to_end is not None,
            )  # fmt: skip

    def _refuse_targets(self, lane: _Lane, message: Mapping[str, Any]) -> None:
        for target, error in (message.get("targets_failed") or {}).items():
            raise PreflightError(
                f"side {lane.worker.side} cannot compile for {target}: {error}",
                check="target-compiles",
                hint="Choose a target that both compilers know (--target), or another build.",
            )

    def _worker_died(self, lane: _Lane) -> Iterator[CellEnd]:
        """Everything in progress on this side died with its worker; the rest goes on in a fresh one."""
        assert lane.resident is not None
        resident, lane.resident, lane.ready = lane.resident, None, False
        end = resident.terminate(grace_s=0.0)
        died, lane.running = lane.running, {}
        lane.idle_deaths = 0 if died else lane.idle_deaths + 1
        for running in died.values():
            proctree.kill_tree(running.marker, running.pid)
            yield CellEnd(
                spec=running.spec, returncode=end.returncode, elapsed_s=time.monotonic() - running.started,
                timed_out=running.asked_to_end is not None, worker_died=True, beside_others=len(died) > 1,
            )  # fmt: skip
        if lane.idle_deaths >= _MAX_IDLE_DEATHS:
            raise _cannot_start(lane, f"it ended with status {end.returncode}, three times in a row")

    def _enforce_limits(self) -> None:
        now = time.monotonic()
        for lane in self._lanes.values():
            if lane.resident is not None and not lane.ready and now - lane.opened > OPEN_PATIENCE_S:
                raise _cannot_start(lane, f"no answer within {OPEN_PATIENCE_S:.0f} s")
            for running in lane.running.values():
                if running.asked_to_end is None and now - running.started > self._timeout_s:
                    running.asked_to_end = now
                    _signal_group(running.pid, signal.SIGTERM)
                elif running.asked_to_end is not None and now - running.asked_to_end > self._grace_s:
                    proctree.kill_tree(running.marker, running.pid)


def _refuse_without_plugins(worker: WorkerSpec, message: Mapping[str, Any]) -> None:
    missing = message.get("plugins_missing")
    if missing:
        raise UsageError(
            f"side {worker.side}: {worker.interpreter} finds no pytest plugin {', '.join(missing)}",
            hint="--extra-plugins (ZL_EXTRA_PLUGINS) takes names of modules; PYTHONPATH says where others lie.",
        )


def _refuse_without_device(worker: WorkerSpec, message: Mapping[str, Any]) -> None:
    if message.get("no_device"):
        raise PreflightError(
            f"side {worker.side}: there is no card for {worker.interpreter}: {message['no_device']}",
            check="device-available",
            hint="\n".join(
                filter(
                    None, (worker.opening.get("device_absent"), "Compile only, which needs no card: --backend compile.")
                )
            ),
        )


def _cannot_start(lane: _Lane, why: str) -> PreflightError:
    worker = lane.worker
    if lane.importing:
        error = PreflightError(
            f"side {worker.side}: {worker.interpreter} cannot import {lane.importing}: {why}",
            check="suite-imports",
            hint=f"{_missing_hint(worker, why)}The whole log: {worker.log}",
        )
    else:
        error = PreflightError(
            f"side {worker.side}: {worker.interpreter} could not be made ready: {why}",
            check="worker-starts",
            hint=f"Its last words: {_last_line(worker.log) or 'none'}\nThe whole log: {worker.log}",
        )
    error.log = worker.log
    return error


_DISTRIBUTIONS = {"yaml": "pyyaml", "sqlalchemy": "sqlalchemy", "cv2": "opencv-python", "sklearn": "scikit-learn"}
"""Names to install where they are not those to import."""


def _missing_hint(worker: WorkerSpec, why: str) -> str:
    found = re.search(r"No module named '([A-Za-z0-9_]+)", why)
    if found is None:
        return ""
    name = _DISTRIBUTIONS.get(found[1], found[1].replace("_", "-"))
    return (
        f"Put it there: {worker.interpreter} -m pip install {name}\n"
        f'For a build that zlbench makes: packages = ["{name}"] under [build.NAME] in zlbench.toml.\n'
    )


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].strip()[:300] if lines else ""


def _signal_group(pid: int, number: int) -> None:
    if pid:
        try:
            os.killpg(pid, number)
        except (ProcessLookupError, PermissionError):
            return


def _quit(resident: Resident) -> None:
    try:
        resident.send({"do": "quit"})
    except (BrokenPipeError, OSError):
        return
