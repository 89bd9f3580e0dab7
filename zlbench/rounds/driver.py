"""The driver of a root: one lane in this process, or several as children of it, with merged tables."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from zlbench import store
from zlbench.errors import ZlbenchError
from zlbench.lane_state import LaneState
from zlbench.live import LiveView
from zlbench.measure.prepare import Prepared
from zlbench.measure.request import Request
from zlbench.process import Child, Command, terminable
from zlbench.rounds.lane_process import DRIVER
from zlbench.rounds.names import STATUS_TSV
from zlbench.rounds.plan import RepeatLane, RepeatPlan
from zlbench.rounds.records import End, read_end
from zlbench.rounds.status import Table, write_merged
from zlbench.rounds.work import LaneWork
from zlbench.settings.stored import stored

LOG = "lane.log"
"""What a lane in a process of its own says."""
_LOOK_S = 0.5
_GRACE_S = 12.0
_START = "import sys; sys.path[:] = {path}; from zlbench.rounds.lane_process import main; sys.exit(main(sys.argv[1:]))"


@dataclass(kw_only=True)
class Driver:
    """Measures what is missing of a plan; whoever calls it holds root and cards."""

    request: Request
    prepared: Prepared
    plan: RepeatPlan
    root: Path
    env: Mapping[str, str]
    view: LiveView

    def run(self) -> list[int]:
        """Run every lane to its end; returns the exit code of each."""
        if len(self.plan.lanes) == 1:
            return [self._inline(self.plan.lanes[0])]
        # Limits of this call reach lanes by file: the plan itself never changes.
        store.write_json(self.root / DRIVER, {"schema_version": 1, "settings": stored(self.request.resolved)})
        with terminable():
            return self._children()

    def ends(self) -> list[End]:
        """What became of every operator, from the disk."""
        return ends_of(self.plan, self.root)

    @property
    def noun(self) -> str:
        """What a lane is called."""
        return "lane" if self.request.backend.deviceless else "card"

    def _inline(self, lane: RepeatLane) -> int:
        LaneWork(
            request=self.request, prepared=self.prepared, plan=self.plan, lane=lane, root=self.root, env=self.env,
            say=self.view.say, show=lambda state: self.view.show([state.line(noun=self.noun)]),
        ).run()  # fmt: skip
        return 0

    # --- several ---------------------------------------------------------------------------------------------------

    def _children(self) -> list[int]:
        lanes = [_LaneChild(lane=lane, folder=self.plan.folder(self.root, lane)) for lane in self.plan.lanes]
        try:
            for lane in lanes:
                lane.start(self._command(lane))
            while any(not lane.ended for lane in lanes):
                time.sleep(_LOOK_S)
                self._look(lanes)
        finally:
            _end_all(lanes)
            self._look(lanes)
            self._merge()
        return [lane.returncode for lane in lanes]

    def _command(self, lane: _LaneChild) -> Command:
        path = json.dumps([str(Path(part or ".").absolute()) for part in sys.path])
        with store.clear_errors(lane.folder):
            lane.folder.mkdir(parents=True, exist_ok=True)
        # By -c: a PYTHONPATH of ours would go on to the measured processes.
        return Command(
            argv=(sys.executable, "-c", _START.format(path=path), str(self.root), lane.lane.lane), env=dict(self.env),
            cwd=Path(self.plan.cwd), stdout=lane.folder / LOG, grace_s=_GRACE_S,
        )  # fmt: skip

    def _look(self, lanes: list[_LaneChild]) -> None:
        """Pass on what lanes said, and keep the merged table in step."""
        said = [(lane, line) for lane in lanes for line in lane.heard()]
        for lane, line in said:
            self.view.say(f"{self.noun} {lane.lane.lane}  {line}")
        states = [state for lane in lanes if (state := LaneState.read(lane.folder)) is not None]
        self.view.show([state.line(noun=self.noun) for state in states])
        if said:
            self._merge()

    def _merge(self) -> None:
        folders = [(lane.lane, self.plan.folder(self.root, lane)) for lane in self.plan.lanes]
        known = [(name, folder) for name, folder in folders if (folder / STATUS_TSV).is_file()]
        with contextlib.suppress(ZlbenchError):  # a full disk ends the lanes, each with its own words
            write_merged(self.root, known)


@dataclass(kw_only=True)
class _LaneChild:
    """A lane's process and how far its words have been heard."""

    lane: RepeatLane
    folder: Path
    returncode: int = -1
    _child: Child | None = None
    _heard: int = 0

    def start(self, command: Command) -> None:
        log = self.folder / LOG
        self._heard = log.stat().st_size if log.is_file() else 0
        self._child = Child(command)

    @property
    def ended(self) -> bool:
        """Whether its process is gone."""
        return self._child is None or self._child.wait(0)

    def ask_to_end(self) -> None:
        """Ask for an orderly end, and wait for nothing."""
        if self._child is not None and not self.ended:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGTERM)

    def end(self) -> None:
        """Make sure that it is gone with all that it started."""
        if self._child is None:
            return
        child, self._child = self._child, None
        try:
            child.end(0.0 if child.wait(0) else _GRACE_S)
        finally:
            self.returncode = child.close(timed_out=False).returncode

    def heard(self) -> Iterator[str]:
        """Whole lines that it said since the last time."""
        try:
            with (self.folder / LOG).open("rb") as stream:
                stream.seek(self._heard)
                whole, newline, _ = stream.read().rpartition(b"\n")
        except OSError:
            return
        self._heard += len(whole + newline)
        yield from whole.decode(errors="replace").splitlines()


def _end_all(lanes: list[_LaneChild]) -> None:
    for lane in lanes:
        lane.ask_to_end()
    for lane in lanes:
        lane.end()


def ends_of(plan: RepeatPlan, root: Path) -> list[End]:
    """What became of every operator of a root, from the disk."""
    found = []
    for lane in plan.lanes:
        folder = plan.folder(root, lane)
        pairs = Table.pairs(folder, repair=False)
        found += [read_end(folder, piece, plan.schedule, pairs) for piece in lane.ops]
    return found
