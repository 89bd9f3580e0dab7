"""Latencies of two runs, row by row: what may be compared, what is left out and why, and what one pair can say.

Pure: the rows of two finished runs in, a value out. Whether the runs may be compared at all is the guard's question and
comes first. One pair is one observation, so nothing in here calls a row faster or slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from zlbench.backend import Timer
from zlbench.errors import ExitCode
from zlbench.run_rows import Lost, Row, RunRows, by_name, described, lost_rows

DRIFT_BOUND = 0.02
"""Relative change of the baseline between the sides beyond which it is said: two captures of one small kernel differ by
as much without any drift (one H200, between processes: 0.5 % for a kernel above 10 µs, 2 % for one of 1 µs)."""
NOT_INDEPENDENT = "BASELINE_NOT_INDEPENDENT"
_PLAUSIBLE_MS = (1e-9, 1e12)
"""What a clock can show at all; beyond it a number is a fault, and a ratio of two such could overflow."""


class Exclusion(str, Enum):
    """Why a row that both sides measured is not compared. The names are those that `zlbench explain` knows."""

    DUPLICATE_ROW = "DUPLICATE_ROW"
    INVALID_LATENCY = "INVALID_LATENCY"
    TIMER_MISMATCH = "TIMER_MISMATCH"
    L2_MISMATCH = "L2_MISMATCH"
    REPLAY_FALLBACK = "AUTOTUNE_REPLAY_FALLBACK"
    CONFIG_MISMATCH = "CONFIG_MISMATCH"


@dataclass(frozen=True, kw_only=True, slots=True)
class RowPair:
    """One compared row: medians in milliseconds."""

    row: Row
    timer: str
    before_ms: float
    after_ms: float
    counted: bool
    """Whether it was timed as its run was meant to be, and so counts in the operator's aggregate."""
    markers: tuple[str, ...] = ()
    l2: str = ""
    """Second-level cache before each timed call, empty where it is not known."""

    @property
    def log_ratio(self) -> float:
        """ln B - ln A: above 0, B is slower."""
        return math.log(self.after_ms) - math.log(self.before_ms)

    @property
    def change(self) -> float:
        """B against A as a fraction: 0.02 is 2 % slower."""
        return math.expm1(self.log_ratio)


@dataclass(frozen=True, kw_only=True, slots=True)
class Excluded:
    """A row that both sides measured and that is not compared."""

    row: Row
    reason: Exclusion
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Canary:
    """How the Torch baseline, which the change under test cannot reach, moved between the sides."""

    rows: int
    log_ratio: float

    @property
    def drift(self) -> float:
        """B against A as a fraction."""
        return math.expm1(self.log_ratio)

    @property
    def beyond(self) -> bool:
        """Whether the card itself seems to have changed."""
        return abs(self.drift) > DRIFT_BOUND


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One operator on two runs."""

    op: str
    timer: str
    """The timer of the aggregate; rows with another one are compared and do not count."""
    rows: tuple[RowPair, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    lost: tuple[Lost, ...] = ()
    canary: Canary | None = None
    baseline_independent: bool = True
    measured_before: int = 0
    measured_after: int = 0

    @property
    def matched(self) -> int:
        """Rows that both sides measured."""
        return len(self.rows) + len(self.excluded)

    @property
    def expected(self) -> int:
        """Rows that either side measured or should have."""
        return self.matched + len(self.lost)

    @property
    def complete(self) -> bool:
        """Whether both sides measured every row: a mean over unequal sets is no comparison."""
        return not self.lost

    @property
    def counted(self) -> tuple[RowPair, ...]:
        """Rows of the aggregate."""
        return tuple(pair for pair in self.rows if pair.counted)

    @property
    def change(self) -> float | None:
        """Geometric mean of B against A as a fraction; None where the operator is incomplete or nothing counts."""
        counted = self.counted
        if not self.complete or not counted:
            return None
        return math.expm1(_mean(pair.log_ratio for pair in counted))

    @property
    def largest_change(self) -> float | None:
        """Largest change of a counted row, without its sign; None as `change`."""
        return None if self.change is None else max(abs(pair.change) for pair in self.counted)

    def count(self, reason: Exclusion) -> int:
        """How many rows were left out for this reason."""
        return sum(item.reason is reason for item in self.excluded)

    @property
    def code(self) -> ExitCode:
        """The exit code that this operator alone would give a comparison."""
        if not self.measured_before or not self.measured_after:
            return ExitCode.NOTHING_MEASURED
        if not self.rows:
            invalid = self.matched and self.count(Exclusion.INVALID_LATENCY) == self.matched
            return ExitCode.NOTHING_MEASURED if invalid else ExitCode.NOT_COMPARABLE
        # A time that cannot be is a row that was not measured, however the cell ended.
        lost = self.lost or self.count(Exclusion.INVALID_LATENCY)
        return ExitCode.PARTIAL if lost else ExitCode.OK

    @property
    def marker(self) -> str:
        """The word for an operator of which nothing can be compared."""
        if self.rows:
            return ""
        if not self.measured_before or not self.measured_after:
            return "NOTHING_MEASURED"
        return max(Exclusion, key=self.count).value if self.excluded else "ZERO_MATCHED"


def compare(a: RunRows, b: RunRows, *, op: str) -> Comparison:
    """Compare the rows of two runs, matched by name; their order does not matter."""
    measured = (a.measured, b.measured)
    before, after = by_name(measured[0]), by_name(measured[1])
    timer = a.timer or b.timer or _likeliest_timer(a, b)
    rows: list[RowPair] = []
    excluded: list[Excluded] = []
    shared = [name for name in before if name in after]
    for name in shared:
        found = _compared(a, b, before[name], after[name], timer)
        if isinstance(found, RowPair):
            rows.append(found)
        else:
            excluded.append(found)
    independent = NOT_INDEPENDENT not in a.markers | b.markers
    return Comparison(
        op=op,
        timer=timer,
        rows=tuple(rows),
        excluded=tuple(excluded),
        lost=() if before.keys() == after.keys() and a.whole and b.whole else tuple(lost_rows(a, b)),
        canary=_canary([(before[name], after[name]) for name in shared]) if independent else None,
        baseline_independent=independent
        and all(row.get("baseline_independent") is not False for side in measured for row in side),
        measured_before=len(before),
        measured_after=len(after),
    )


def latency(value: object) -> float | None:
    """A time in milliseconds, None where the value cannot be one: missing, 0, negative, NaN, infinite, a word."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high = _PLAUSIBLE_MS
    # Written so that NaN fails it.
    return float(value) if low <= value <= high else None


def _likeliest_timer(a: RunRows, b: RunRows) -> str:
    """The timer of runs whose identity is gone: graphs are tried first wherever they are used at all."""
    used = {str(row.get("timer")) for row in (*a.measured, *b.measured)}
    return Timer.CUDA_GRAPH.value if Timer.CUDA_GRAPH.value in used else Timer.DIRECT.value


def _compared(
    a: RunRows, b: RunRows, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], timer: str
) -> RowPair | Excluded:
    """A row's times, or why it is not compared: the first reason that applies."""
    left, right = before[0], after[0]
    times = (latency(left.get("latency_ms")), latency(right.get("latency_ms")))
    found: tuple[Exclusion, str]
    if len(before) > 1 or len(after) > 1:
        found = Exclusion.DUPLICATE_ROW, f"{len(before)} times on A, {len(after)} times on B"
    elif times[0] is None or times[1] is None:
        found = Exclusion.INVALID_LATENCY, _unlike(*(_invalid(row) for row in (left, right)))
    elif left.get("timer") != right.get("timer"):
        why = _unlike(_why_direct(left), _why_direct(right))
        found = Exclusion.TIMER_MISMATCH, _sides(left.get("timer"), right.get("timer")) + (f"; {why}" if why else "")
    elif left.get("l2", a.l2) != right.get("l2", b.l2):
        found = Exclusion.L2_MISMATCH, _sides(left.get("l2", a.l2), right.get("l2", b.l2))
    elif left.get("replay_fallback") or right.get("replay_fallback"):
        found = Exclusion.REPLAY_FALLBACK, _unlike(left.get("replay_fallback"), right.get("replay_fallback"))
    elif left.get("config") != right.get("config"):
        # Where one side says nothing, no tuner was asked there: it ran on a config that nobody saw.
        found = Exclusion.CONFIG_MISMATCH, _sides(*(row.get("config") or "unknown" for row in (left, right)))
    else:
        used = str(left.get("timer"))
        said = dict.fromkeys((*(left.get("markers") or ()), *(right.get("markers") or ())))
        return RowPair(
            row=described(left), timer=used, before_ms=times[0], after_ms=times[1], counted=used == timer,
            markers=(*(() if used == timer else (used,)), *map(str, said)), l2=str(left.get("l2", a.l2) or ""),
        )  # fmt: skip
    return Excluded(row=described(left), reason=found[0], note=found[1])


def _sides(before: object, after: object) -> str:
    return f"{before} on A, {after} on B"


def _unlike(before: object, after: object) -> str:
    """What either side says, with its label; empty where neither says anything."""
    return ", ".join(f"{text} on {label}" for label, text in (("A", before), ("B", after)) if text)


def _invalid(row: Mapping[str, Any]) -> str:
    value = row.get("latency_ms")
    return "" if latency(value) is not None else "no latency" if value is None else f"latency {value} ms"


def _why_direct(row: Mapping[str, Any]) -> str:
    fallback = row.get("fallback")
    return f"{fallback.get('phase')}: {fallback.get('reason')}" if isinstance(fallback, Mapping) else ""


def _mean(values: Iterable[float]) -> float:
    """The mean, the same in any order of the values."""
    listed = list(values)
    return math.fsum(listed) / len(listed)


def _canary(pairs: Sequence[tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]]) -> Canary | None:
    """Drift of the baseline, over rows in which both sides timed it alike."""
    ratios = []
    for before, after in pairs:
        times = [latency(side[0].get("baseline_ms")) for side in (before, after)]
        if times[0] is None or times[1] is None:
            continue
        alike = all(before[0].get(key) == after[0].get(key) for key in ("baseline_timer", "l2"))
        own = all(side[0].get("baseline_independent", True) is True and len(side) == 1 for side in (before, after))
        if alike and own:
            ratios.append(math.log(times[1]) - math.log(times[0]))
    return Canary(rows=len(ratios), log_ratio=_mean(ratios)) if ratios else None
