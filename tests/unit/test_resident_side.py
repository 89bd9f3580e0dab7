"""The driver's end of a resident side against workers of a few lines: every way in which one can be lost."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zlbench.cells import CellSpec, CellState
from zlbench.engine.local import WorkerSpec
from zlbench.engine.side import ItemFailedError, ResidentSide, SideLostError
from zlbench.errors import DISK_FULL_EXIT, PartialError, PreflightError

WORKER = """
import os, signal, sys, time
from zlbench.resident import Lines

lines = Lines.from_env(os.environ)
opening = lines.receive()
lines.send({"event": "imported", "observed": {"worker": os.getpid()}})
lines.send({"event": "ready", "targets_failed": opening.get("failed", {})} if not opening.get("refuse")
           else {"event": "failed", "error": "no such module"})

def cell(message):
    lines.send({"event": "started", "pid": os.getpid()})
    trouble(message["cell"]["op"], message)
    lines.send({"event": "prepared", "items": ["x", "y"], "values": ["cpu_ms"], "notes": [], "core": message["core"]})
    while (message := lines.receive()) is not None and message["do"] == "measure":
        if message["item"] == "broken":
            lines.send({"event": "failed", **message, "error": "cannot"})
            continue
        trouble(message["item"], message)
        lines.send({"event": "measured", **message, "values": {"cpu_ms": float(os.getpid())}})

def trouble(word, message):
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "hang":
        time.sleep(600)
    if word == "full":
        os._exit(28)
    if word == "half":
        os.write(lines.writer, b'{"event": "measu')
        os._exit(1)
    if word == "worker":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)

while (message := lines.receive()) is not None and message["do"] == "prepare":
    pid = os.fork()
    if pid == 0:
        os.environ["ZL_CELL"] = message["marker"]
        cell(message)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    lines.send({"event": "ended", "pid": pid, "returncode": os.waitstatus_to_exitcode(status)})
"""


class Lab:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[int] = []
        """Process of every worker that was started."""
        self._sides: list[ResidentSide] = []

    def side(self, **opening: Any) -> ResidentSide:
        package = self.folder / "fake" / "zlbench_plugins"
        package.mkdir(parents=True, exist_ok=True)
        (package / "worker.py").write_text(WORKER)
        core = str(Path(sys.modules["zlbench"].__file__ or "").parents[1])
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package.parent), core])}
        worker = WorkerSpec(
            side="A", interpreter=Path(sys.executable), safe_path=False, env=env, work_dir=self.folder, opening=opening
        )
        self._sides.append(
            ResidentSide(worker, check=lambda side, observed: self.workers.append(observed["worker"]), core=0)
        )
        return self._sides[-1]

    def close(self) -> None:
        for side in self._sides:
            side.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    found = Lab(tmp_path)
    yield found
    found.close()
    assert not [pid for pid in found.workers if _alive(pid)]


def _alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def cell(op: str = "mm") -> CellSpec:
    return CellSpec(
        cell=f"{op}/A", op=op, side="A", node="", suite_root="", package="", out_dir="", backend="compile",
        timer="compile",
    )  # fmt: skip


def test_one_cell_serves_many_measurements_and_one_worker_many_cells(lab: Lab) -> None:
    side = lab.side()
    assert side.prepare(cell(), 60).items == ("x", "y")
    first = {side.measure(item, 60).values["cpu_ms"] for item in ("x", "y", "x")}
    side.prepare(cell("fft"), 60)
    second = {side.measure("x", 60).values["cpu_ms"]}
    assert len(first) == len(second) == 1
    assert first != second
    assert len(lab.workers) == 1
    assert not _alive(int(first.pop())), "the first cell has quit"


def test_an_item_that_fails_leaves_the_side(lab: Lab) -> None:
    side = lab.side()
    side.prepare(cell(), 60)
    with pytest.raises(ItemFailedError, match="cannot"):
        side.measure("broken", 60)
    assert side.measure("x", 60).values


@pytest.mark.parametrize("item", ["die", "hang", "half", "worker"])
def test_a_side_that_is_lost_in_a_measurement_can_be_prepared_again(lab: Lab, item: str) -> None:
    side = lab.side()
    side.prepare(cell(), 60)
    before = side.measure("x", 60).values["cpu_ms"]
    with pytest.raises(SideLostError) as lost:
        side.measure(item, 1 if item == "hang" else 60)
    assert lost.value.state is (CellState.TIMEOUT if item == "hang" else CellState.CRASH)
    assert not _alive(int(before))
    with pytest.raises(SideLostError, match="not prepared"):
        side.measure("x", 60)
    side.prepare(cell(), 60)
    assert side.measure("x", 60).values["cpu_ms"] != before
    # Only what took the worker along, or left the channel unreadable, costs its imports again.
    assert len(lab.workers) == (2 if item in ("half", "worker") else 1)


@pytest.mark.parametrize("op", ["die", "hang", "worker"])
def test_a_side_that_is_lost_while_prepared(lab: Lab, op: str) -> None:
    side = lab.side()
    with pytest.raises(SideLostError):
        side.prepare(cell(op), 1 if op == "hang" else 60)
    assert side.prepare(cell(), 60).items == ("x", "y")


def test_a_full_disk_is_no_fault_of_the_item(lab: Lab) -> None:
    assert DISK_FULL_EXIT == 28
    side = lab.side()
    side.prepare(cell(), 60)
    with pytest.raises(PartialError, match="disk is full"):
        side.measure("full", 60)


def test_a_worker_that_cannot_import_or_compile_is_refused(lab: Lab) -> None:
    with pytest.raises(PreflightError, match="no such module"):
        lab.side(refuse=True).prepare(cell(), 60)
    with pytest.raises(PreflightError, match="cannot compile for hip:gfx942: no backend"):
        lab.side(failed={"hip:gfx942": "no backend"}).prepare(cell(), 60)


def test_closing_while_a_cell_is_there_leaves_nothing(lab: Lab) -> None:
    side = lab.side()
    side.prepare(cell(), 60)
    pid = int(side.measure("x", 60).values["cpu_ms"])
    side.close()
    until = time.monotonic() + 20
    while _alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _alive(pid)
    side.close()
