"""What a report is made of: the readings of rounds as they lie on the disk. Values; nothing in here judges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zlbench.rounds.names import Metric


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One row in one valid round."""

    round: int
    before: float
    after: float
    a_first: bool = True
    """Whether side A was measured first in this round."""

    @property
    def difference(self) -> float:
        """ln B - ln A: above 0, B takes longer."""
        return math.log(self.after) - math.log(self.before)


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """Why a valid round has no reading of a row.

    Args:
        reason: the word, such as TIMER_MISMATCH; note: what differs, such as ``cuda_graph on A, direct on B``.
        lost: whether a side did not measure it; else both did, and it is not compared.
    """

    round: int
    reason: str
    note: str = ""
    lost: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RowReadings:
    """One row over all valid rounds.

    Args:
        unit: of its values: ``ms``, ``instructions``, ``cpu_ms``, ``wall_ms``.
        timer, l2: how it was measured on both sides; empty where that is not known.
        counted: whether it was timed as its run was meant to be, and so counts in the operator's aggregate.
    """

    name: str
    dtype: str
    label: str
    unit: str
    readings: tuple[Reading, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    timer: str = ""
    l2: str = ""
    counted: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelCosts:
    """One kernel on one side, from its binary; None where it is unknown. `shared` in bytes."""

    registers: int | None = None
    spills: int | None = None
    shared: int | None = None
    instructions: int | None = None
    code: str = ""
    """Hash of the executable sections."""
    ttgir: str = ""
    """Hash of the normalised TTGIR."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelPair:
    """One kernel that a row launched, on both sides.

    Args:
        id: equal on both sides for equal parameters; variant: its short name.
        a, b: None where this side did not launch it.
        ir, code: ``same``, ``changed``, ``only A``, ``only B`` or ``unknown``.
        histogram: operations whose count differs: name, count in A, count in B.
        diff: readable unified diff of the TTGIR, empty where equal; `cut` says that it was shortened.
        rows: labels of rows that launched it.
    """

    id: str
    name: str
    variant: str = ""
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    signature: Mapping[str, Any] = field(default_factory=dict)
    num_warps: int | None = None
    num_stages: int | None = None
    rows: tuple[str, ...] = ()
    a: KernelCosts | None = None
    b: KernelCosts | None = None
    ir: str = "unknown"
    code: str = "unknown"
    histogram: tuple[tuple[str, int, int], ...] = ()
    diff: str = ""
    cut: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSighting:
    """One cell of a lane as the sampler saw the card meanwhile; None where it is not known.

    Args:
        start, end: seconds since the epoch.
        side, op, round: which cell; invalid: why its pair was invalidated, else empty.
    """

    lane: str
    op: str
    round: int
    side: str
    start: float
    end: float
    clock_mhz: float | None = None
    temp_c: float | None = None
    power_w: float | None = None
    util_pct: float | None = None
    throttle: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    invalid: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TelemetryPoint:
    """One reading of a lane's card; None where it is not known."""

    lane: str
    at: float
    clock_mhz: float | None = None
    temp_c: float | None = None
    power_w: float | None = None
    throttle: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpReadings:
    """One operator, its shards together.

    Args:
        rounds: numbers of the rounds that are complete and valid on both sides.
        failed: rounds of which a side did not end well, each with how.
        invalid: pairs that were invalidated and not made good, each with the cause.
        rerun: pairs that were invalidated, re-run ones included.
        lost: rows that a side did not measure in some round; those with a name are in `rows` as well.
        expected: rows that either side measured or should have; 0 where nobody counted.
        fallbacks: cells' markers, counted by word.
        notes: what people should know.
        markers: what cells said, word and text, each once.
        verdict: of the first pair by IR and code: IR_CHANGED, NO_IR_DIFF, …; empty where there is none.
        machine_code: of the first pair: ``same``, ``changed``, ``unknown``; empty where there is none.
        missing: rounds that the plan has and that are not finished.
        nothing: the word that says why nothing of it can be compared (ZERO_MATCHED, SWITCH_NO_IR_DIFF, …), and
            nothing_note the sentence; else empty.
        kernels: what ran, from the first pair; empty where nobody asked for them.
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
    markers: tuple[tuple[str, str], ...] = ()
    verdict: str = ""
    kernels: tuple[KernelPair, ...] = ()
    expected: int = 0
    machine_code: str = ""
    missing: int = 0
    nothing: str = ""
    nothing_note: str = ""


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
    sides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Identity of A and B as in run_identity.json, of the first cell that has one."""
    looks: tuple[tuple[int, float], ...] = ()
    """Looks at the rows: number of rounds and share of alpha. One with weight 1 for a fixed number."""
    cells: tuple[CellSighting, ...] = ()
    telemetry: tuple[TelemetryPoint, ...] = ()
    notes: tuple[str, ...] = ()
    """What the plan of the rounds had to say, such as that nothing is calibrated."""
    commands: tuple[str, ...] = ()
    """What can be typed to measure it again, ready for a shell; empty where nothing is remembered."""
