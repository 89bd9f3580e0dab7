"""Processors for lanes that measure without a device: each its own, spread over physical cores."""

from __future__ import annotations

import os
from pathlib import Path

from zlbench.errors import UsageError


def lane_cores(lanes: int, *, allowed: set[int] | None = None, root: Path = Path("/")) -> tuple[int, ...]:
    """A processor for each lane that measures without a device, no two alike.

    Those of one physical core share its units, so as many cores are spread over as there are. `allowed` is by default
    what this process may use.

    Raises:
        UsageError: there are fewer processors than lanes.
    """
    usable = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    if lanes > len(usable):
        raise UsageError(
            f"{lanes} lanes were asked for, and this process may use {len(usable)} processors",
            hint=f"Ask for {len(usable)} lanes at most: two on one processor would time each other.",
        )
    seen: dict[str, int] = {}
    turns = []
    for number in usable:
        core = _core_of(number, root)
        turns.append((seen.setdefault(core, 0), number))
        seen[core] += 1
    return tuple(number for _, number in sorted(turns)[:lanes])


def _core_of(number: int, root: Path) -> str:
    """What is the same for all processors of one physical core."""
    siblings = root / f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list"
    try:
        return siblings.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return str(number)
