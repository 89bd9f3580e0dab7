"""What a lane does now: `state.json`, written by the rounds, read by whoever looks. A value and its line of text."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.text import seconds

STATE = "state.json"


class Phase(str, Enum):
    """How far a lane is."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneState:
    """One lane at one moment.

    Args:
        op: the operator that is measured now, with ``round`` and ``side``; "" between two.
        started: when this cell began, seconds since the epoch.
        done, total: finished cells, and those of the plan.
        eta_s: seconds left, from measured cells; None where nobody knows.
        replay_fallback, no_cudagraph, capture_poisoned: the three markers, counted over the finished cells.
    """

    lane: str
    state: Phase = Phase.RUNNING
    op: str = ""
    round: int | None = None
    side: str = ""
    started: float | None = None
    done: int = 0
    total: int = 0
    eta_s: float | None = None
    replay_fallback: int = 0
    no_cudagraph: int = 0
    capture_poisoned: int = 0
    pid: int | None = None

    def write(self, folder: Path) -> None:
        """Replace the lane's state.json."""
        data = {**asdict(self), "state": self.state.value, "pid": self.pid or os.getpid()}
        store.write_json(folder / STATE, {"schema_version": 1, **data})

    @classmethod
    def read(cls, folder: Path) -> LaneState | None:
        """Read a lane's state.json; None where there is none yet."""
        data = store.read_json(folder / STATE)
        return cls.from_json(data) if isinstance(data, Mapping) else None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LaneState:
        """Rebuild; keys that a later version added are left alone."""
        known = {item.name for item in fields(cls)}
        values = {"lane": "0", **{key: value for key, value in data.items() if key in known}}
        phases = {phase.value for phase in Phase}
        state = values.get("state")
        return cls(**{**values, "state": Phase(state) if state in phases else Phase.RUNNING})

    def line(self, *, now: float | None = None, noun: str = "lane") -> str:
        """``lane 0  mm round 3 A since 12 s   17/48   left about 3 min 20 s   markers 0 0 0``."""
        parts = [f"{noun} {self.lane}", self._doing(time.time() if now is None else now), f"{self.done}/{self.total}"]
        if self.state is Phase.RUNNING and self.done < self.total:
            parts.append("time left unknown" if self.eta_s is None else f"left about {seconds(self.eta_s)}")
        counts = (self.replay_fallback, self.no_cudagraph, self.capture_poisoned)
        parts.append(f"replay fallback {counts[0]} · no graph {counts[1]} · poisoned {counts[2]}")
        return "  ".join(parts)

    def _doing(self, now: float) -> str:
        if self.state is not Phase.RUNNING:
            return str(self.state.value)
        if not self.op:
            return "between two cells"
        where = "" if self.round is None else f" round {self.round} {self.side}".rstrip()
        since = "" if self.started is None else f" since {seconds(max(0.0, now - self.started))}"
        return f"{self.op}{where}{since}"

    def dead(self) -> LaneState:
        """The same, where nobody writes it any more."""
        return replace(self, state=Phase.INTERRUPTED) if self.state is Phase.RUNNING else self
