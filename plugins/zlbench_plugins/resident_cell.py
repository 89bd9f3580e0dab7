"""A cell that stays: prepared once, it measures one item of its operator whenever the driver asks, until told to quit.

It is forked from its side's worker as every cell is and talks over the worker's channel, while the worker waits for its
end. What is measured is a `Metric`; messages and order are described in `zlbench.engine.side`.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from zlbench.backend import Timer
from zlbench.cells import CellSpec
from zlbench.errors import DISK_FULL_EXIT
from zlbench.resident import Lines
from zlbench_plugins.failures import FailureKind, classify, one_line

RunCell = Callable[[CellSpec], int]


class Metric(Protocol):
    """What a resident cell can measure of its items."""

    def prepare(self) -> dict[str, Any]:
        """Make everything ready.

        Returns items (their names, equal on both sides), values (names of the numbers of a reading) and notes.
        """

    def measure(self, item: str) -> dict[str, Any]:
        """Measure one item once; returns values, and stages of them, by name. Raises what the item raises."""


def serve(spec: CellSpec, lines: Lines, request: Mapping[str, Any], run_cell: RunCell) -> int:
    """Be the resident cell of one operator; returns the exit status of its process."""
    lines.send({"event": "started", "pid": os.getpid()})
    _stay_on(request.get("core"))
    metric = _metric(spec, run_cell)
    lines.send({"event": "prepared", **metric.prepare()})
    while (message := lines.receive()) is not None and message["do"] == "measure":
        item, number = str(message["item"]), message["number"]
        try:
            reading = metric.measure(item)
        except Exception as error:  # noqa: BLE001 - whatever a compiler raises costs this item alone
            traceback.print_exc()
            if classify(error) is FailureKind.DISK_FULL:
                return DISK_FULL_EXIT
            lines.send({"event": "failed", "item": item, "number": number, "error": one_line(error)[:500]})
        else:
            lines.send({"event": "measured", "item": item, "number": number, **reading})
    return 0


def _metric(spec: CellSpec, run_cell: RunCell) -> Metric:
    from zlbench_plugins.compile_rounds import CompileMetric

    if spec.timer != Timer.COMPILE.value:
        raise ValueError(f"a resident cell measures compile times, not timer {spec.timer}")
    return CompileMetric(spec, run_cell)


def _stay_on(core: int | None) -> None:
    """Stay on one core, with all that this process starts: cores of one machine are not alike."""
    if core is not None:
        os.sched_setaffinity(0, {core})
