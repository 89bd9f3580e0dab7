"""What earlier processes of one cell left on the disk, each of which lost its card; a fresh one goes on behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zlbench.cells import read_json_lines
from zlbench_plugins.context import CellContext


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """What earlier processes of this cell left, each of which lost its card."""

    rows: Sequence[dict[str, Any]] = ()
    left_out: Sequence[dict[str, Any]] = ()
    """Rows that nobody asked for, with name and number."""
    uncapturable: frozenset[int] = frozenset()
    """Numbers of rows that are not captured any more: in one process the fault may have been an earlier row's."""
    without_baseline: frozenset[int] = frozenset()
    """Numbers of rows whose baseline cost a process."""
    announced: frozenset[str] = frozenset()


_POISONINGS = 2
"""Processes that a row's capture may cost before it is timed without a graph."""


def read_past(context: CellContext) -> Past:
    """Read rows and events of this cell from the disk."""
    events = read_json_lines(context.out_dir / "events.jsonl")
    poisoned = [event for event in events if event["event"] == "capture_poisoned"]
    counts = Counter(event["sequence"] for event in poisoned if event.get("of") != "baseline")
    return Past(
        rows=read_json_lines(context.out_dir / "rows.jsonl"),
        left_out=[event for event in events if event["event"] == "left_out"],
        uncapturable=frozenset(sequence for sequence, count in counts.items() if count >= _POISONINGS),
        without_baseline=frozenset(event["sequence"] for event in poisoned if event.get("of") == "baseline"),
        announced=frozenset(str(event["op"]) for event in events if event["event"] == "planned"),
    )
