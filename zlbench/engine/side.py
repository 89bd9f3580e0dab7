"""One side that stays resident and measures on demand: the driver's end of a small protocol, the same for every metric.

An *item* is what is measured once at a time: a kernel (compile time) or a row (latency). A *metric* is what is measured
of it. JSON lines over the worker's channel, strictly in turns; the worker itself is opened as for cells:

  driver  ``{"do": "prepare", "cell": CellSpec, "marker": …, "core": 3 | null}``
  side    ``{"event": "started", "pid": …}``, then
          ``{"event": "prepared", "items": [name, …], "values": [name of a number, …], "notes": […], "returncode": …}``
  driver  ``{"do": "measure", "item": name, "number": n}``
  side    ``{"event": "measured", "item", "number", "values": {name: number}, "stages": {stage: {name: number}}, …}`` or
          ``{"event": "failed", "item", "number", "error"}``: the item's fault, the side stays
  driver  ``{"do": "quit"}``: the resident cell ends, then the worker says ``{"event": "ended", "returncode": …}``

A cell that dies is reported by its worker in the same way, at any moment; a hanging one is ended here at its deadline.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zlbench import proctree, store
from zlbench.cells import CellSpec, CellState
from zlbench.engine.local import OPEN_PATIENCE_S, WorkerSpec
from zlbench.errors import DISK_FULL_EXIT, PreflightError
from zlbench.process import Command
from zlbench.resident import Deadline, Resident

_END_PATIENCE_S = 10.0
_KILLED = -int(signal.SIGKILL)
"""How long a worker may take to say that a cell which was killed has ended."""
_QUIT_PATIENCE_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """What a side is ready to measure."""

    items: tuple[str, ...]
    values: tuple[str, ...]
    """Names of the numbers of a reading, the most telling first."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One measurement of one item."""

    values: Mapping[str, float]
    stages: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same values for each part of the work, in order."""
    stages_ms: Mapping[str, float] = field(default_factory=dict)
    """Wall time of the parts as the measured program itself tells it."""


class ItemFailedError(Exception):
    """The item could not be measured; the side is as ready as before."""


class SideLostError(Exception):
    """The resident cell is gone, with what it had prepared; whatever was told before is kept.

    Args:
        state: crash or time limit.
        killed: somebody sent SIGKILL, or may have: no fault of what was measured.
    """

    def __init__(self, state: CellState, text: str, *, killed: bool = False) -> None:
        super().__init__(text)
        self.state = state
        self.killed = killed


class ResidentSide:
    """Starts a side's worker when first needed and lends itself to one operator at a time.

    Args:
        check: told what the worker really imported; raises to refuse.
        core: the processor that the resident cell stays on; None leaves it to the system.
    """

    def __init__(
        self, worker: WorkerSpec, *, check: Callable[[str, Mapping[str, Any]], None], core: int | None = None
    ) -> None:
        self.worker = worker
        self._check = check
        self._core = core
        self._resident: Resident | None = None
        self._marker = ""
        self._pid = 0
        """The resident cell, 0 where there is none."""
        self._number = 0

    @property
    def label(self) -> str:
        """A or B."""
        return self.worker.side

    def prepare(self, cell: CellSpec, timeout_s: float) -> Prepared:
        """Make a resident cell for one operator; one that is there is told to quit first.

        Raises:
            SideLostError: it died or took too long.
            PreflightError: the worker cannot be started, or is not what was asked for.
            PartialError: the disk is full.
        """
        self.release()
        resident = self._open()
        self._marker = proctree.new_marker()
        self._tell({"do": "prepare", "cell": cell.to_json(), "marker": self._marker, "core": self._core})
        until = time.monotonic() + timeout_s
        message = self._hear(resident, until, "prepared")
        if message["event"] == "started":
            self._pid = int(message["pid"])
            message = self._hear(resident, until, "prepared")
        return Prepared(
            items=tuple(message["items"]), values=tuple(message["values"]), notes=tuple(message.get("notes") or ())
        )

    def measure(self, item: str, timeout_s: float) -> Reading:
        """Measure one item once.

        Raises:
            ItemFailedError: the item raised.
            SideLostError: the side died or took too long.
        """
        if self._resident is None or not self._pid:
            raise SideLostError(CellState.CRASH, "it was not prepared")
        self._number += 1
        self._tell({"do": "measure", "item": item, "number": self._number})
        message = self._hear(self._resident, time.monotonic() + timeout_s, f"measured {item}")
        if message["event"] == "failed":
            raise ItemFailedError(message["error"])
        return Reading(
            values=message["values"], stages=message.get("stages") or {}, stages_ms=message.get("stages_ms") or {}
        )

    def release(self) -> None:
        """Tell the resident cell to quit; the worker stays for the next operator."""
        if not self._pid or self._resident is None:
            return
        try:
            self._tell({"do": "quit"})
            self._await_end(self._resident, _QUIT_PATIENCE_S)
        except SideLostError:
            return
        self._pid = 0

    def close(self) -> None:
        """End the worker and all that it started."""
        self.release()
        if self._resident is None:
            return
        resident, self._resident = self._resident, None
        with contextlib.suppress(BrokenPipeError, Deadline):
            resident.send({"do": "quit"})
        resident.finish(5.0)

    def _open(self) -> Resident:
        """The worker, started and ready."""
        if self._resident is not None:
            return self._resident
        worker = self.worker
        self._resident = resident = Resident(
            Command(argv=worker.argv, env=worker.env, cwd=worker.work_dir, stdout=worker.log, grace_s=0.0)
        )
        until = time.monotonic() + OPEN_PATIENCE_S
        with contextlib.suppress(BrokenPipeError):  # its death is read from the channel
            resident.send({"do": "open", **worker.opening})
        try:
            while True:
                message = self._opening_message(resident, until)
                if message["event"] == "imported":
                    self._check(worker.side, message["observed"])
                elif message["event"] == "failed":
                    raise self._cannot_start(message["error"])
                elif message["event"] == "ready":
                    self._refuse_unfit(message)
                    return resident
        except BaseException:
            self._resident = None
            resident.terminate(grace_s=0.0)
            raise

    def _opening_message(self, resident: Resident, until: float) -> Mapping[str, Any]:
        try:
            message: Mapping[str, Any] | None = resident.receive(max(0.0, until - time.monotonic()))
        except Deadline:
            raise self._cannot_start(f"no answer within {OPEN_PATIENCE_S:.0f} s") from None
        if message is None:
            raise self._cannot_start("it ended before it was ready")
        return message

    def _refuse_unfit(self, ready: Mapping[str, Any]) -> None:
        if ready.get("no_device"):
            raise self._cannot_start(f"there is no card: {ready['no_device']}")
        for target, error in (ready.get("targets_failed") or {}).items():
            raise PreflightError(
                f"side {self.label} cannot compile for {target}: {error}",
                check="target-compiles",
                hint="Choose a target that both compilers know (--target), or another build.",
            )

    def _cannot_start(self, why: str) -> PreflightError:
        error = PreflightError(
            f"side {self.label}: {self.worker.interpreter} could not be made ready: {why}",
            check="worker-starts",
            hint=f"The whole log: {self.worker.log}",
        )
        error.log = self.worker.log
        return error

    def _tell(self, message: Mapping[str, Any]) -> None:
        assert self._resident is not None
        try:
            self._resident.send(message)
        except BrokenPipeError:
            return  # its death is read from the channel
        except Deadline:
            self._drop_worker()
            raise SideLostError(CellState.CRASH, "it reads no messages any more") from None

    def _hear(self, resident: Resident, until: float, what: str) -> Mapping[str, Any]:
        """The next message of the resident cell; whatever else happens, the cell is lost."""
        try:
            message: Mapping[str, Any] | None = resident.receive(max(0.0, until - time.monotonic()))
        except Deadline:
            self._end_cell(resident)
            raise SideLostError(CellState.TIMEOUT, f"it had not {what} at its limit, and was ended") from None
        except ValueError:  # the last words of a dying process, cut short, and those of its worker behind them
            self._drop_worker()
            # How is not known any more; to try once more costs little.
            raise SideLostError(CellState.CRASH, f"it died before it had {what}", killed=True) from None
        if message is None:
            status = self._drop_worker()
            text = f"its worker ended (status {status}) before it had {what}"
            raise SideLostError(CellState.CRASH, text, killed=status == _KILLED)
        if message["event"] == "ended":
            self._pid = 0
            proctree.kill_tree(self._marker)
            if message["returncode"] == DISK_FULL_EXIT:
                raise store.disk_full(self.worker.work_dir)
            text = f"{_ending(message['returncode'])} before it had {what}"
            raise SideLostError(CellState.CRASH, text, killed=message["returncode"] == _KILLED)
        return message

    def _end_cell(self, resident: Resident) -> None:
        """End a cell that hangs, with all that it started; the worker then says so, or goes too."""
        proctree.kill_tree(self._marker, self._pid)
        self._await_end(resident, _END_PATIENCE_S)

    def _await_end(self, resident: Resident, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        message: Mapping[str, Any] | None = {}
        try:
            while message is not None and message.get("event") != "ended":
                message = resident.receive(max(0.0, until - time.monotonic()))
        except (Deadline, ValueError):
            message = None
        if message is None:
            self._drop_worker()
        self._pid = 0
        proctree.kill_tree(self._marker)

    def _drop_worker(self) -> int:
        """End the worker as well; the next `prepare` starts another."""
        resident, self._resident, self._pid = self._resident, None, 0
        if resident is None:
            return 0
        status = resident.terminate(grace_s=0.0).returncode
        proctree.kill_tree(self._marker)
        return status


def _ending(returncode: int) -> str:
    return f"it ended by signal {-returncode}" if returncode < 0 else f"it ended with status {returncode}"
