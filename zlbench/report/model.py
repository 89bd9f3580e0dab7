"""What a report is made of: the readings of rounds as they lie on the disk. Values; nothing in here judges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class Metric(str, Enum):
    """What was measured. The value is that of repeat.json."""

    LATENCY = "latency_ms"
    COMPILE = "compile_ms"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One row in one valid round."""

    round: int
    before: float
    after: float

    @property
    def difference(self) -> float:
        """ln B - ln A: above 0, B takes longer."""
        return math.log(self.after) - math.log(self.before)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowReadings:
    """One row over all valid rounds.

    Args:
        unit: of its values: ``ms``, ``instructions``, ``cpu_ms``, ``wall_ms``.
        left_out: why rounds have no reading of it, a word each, such as TIMER_MISMATCH.
    """

    name: str
    dtype: str
    label: str
    unit: str
    readings: tuple[Reading, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class OpReadings:
    """One operator, its shards together.

    Args:
        rounds: numbers of the rounds that are complete and valid on both sides.
        failed: rounds of which a side did not end well, each with how.
        invalid: pairs that were invalidated and not made good, each with the cause.
        rerun: pairs that were invalidated, re-run ones included.
        lost: rows that a side did not measure in some round.
        fallbacks: cells' markers, counted by word.
        notes: what people should know.
    """

    op: str
    directory: str
    control: bool = False
    rows: tuple[RowReadings, ...] = ()
    rounds: tuple[int, ...] = ()
    failed: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    rerun: int = 0
    lost: tuple[str, ...] = ()
    fallbacks: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """What was compared, in words.

    Args:
        a, b: the sides.
        axis: what differs.
        conditions: card or target, timer, and the like.
        warnings: differences of the caliber that somebody allowed.
        screen: what the screen before it found; empty where there was none.
    """

    title: str
    metric: Metric | None
    a: str = "?"
    b: str = "?"
    axis: str = ""
    conditions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    screen: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Everything that a report is made of; no operators where nothing was measured, with the reason."""

    header: Header
    ops: tuple[OpReadings, ...] = ()
    planned: str = ""
    """How many rounds were asked for, in words."""
    progress: str = ""
    """Said where rounds are not at their end."""
    reason: str = ""
    """Why there are no rounds."""
