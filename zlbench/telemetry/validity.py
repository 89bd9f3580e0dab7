"""May a pair of cells stand? Judged by cause, never by value: nothing in here knows a latency.

Dropping pairs for what they measured makes false differences; dropping them for what was the matter with the card does
not. What nobody observed invalidates nothing and is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from zlbench.smi import POWER_CAP
from zlbench.telemetry.read import Summary

_GRAPH_WORDS = ("BENCHMARK_DIRECT_NO_CUDAGRAPH", "BENCHMARK_CAPTURE_POISONED")
UNSEEN = "neither side was seen at work"
_ROW = re.compile(r"row=(.*?) (?:of=(\w+) |reason=)")


class Cause(str, Enum):
    """Why a pair is measured again. The names are those that `zlbench explain` knows."""

    DEVICE_LOST = "PAIR_DEVICE_LOST"
    REPLAY_FALLBACK = "PAIR_REPLAY_FALLBACK"
    GRAPH_FALLBACK = "PAIR_GRAPH_FALLBACK"
    FOREIGN_PROCESS = "PAIR_FOREIGN_PROCESS"
    THROTTLED = "PAIR_THROTTLED"
    CLOCKS_APART = "PAIR_CLOCKS_APART"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What still passes for the same card.

    Args:
        clock_pct: how far the median clocks of the two cells may be apart, percent of the higher one.
        samples: readings at work that a cell needs before its clocks say anything.
        foreign_cores: processors that others may keep busy while a host is measured; None lets all pass.
        foreign_cores_told: of so many it is told all the same.
    """

    clock_pct: float = 2.0
    samples: int = 2
    foreign_cores: float | None = 0.5
    foreign_cores_told: float = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSeen:
    """One cell of a pair: what telemetry saw, and what its own process said (`CellOutcome.marked()`)."""

    summary: Summary = field(default_factory=Summary)
    markers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Validity:
    """The judgement, with the words for people.

    Args:
        causes: why the pair is to be measured again, by weight; none: it is valid.
        details: a sentence a cause.
        notes: what people should know of a pair, valid or not.
    """

    causes: tuple[Cause, ...] = ()
    details: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the pair counts."""
        return not self.causes

    @property
    def cause(self) -> str:
        """For the column of pairs.tsv: the causes with ``+`` between them, "" for a valid pair."""
        return "+".join(cause.value for cause in self.causes)


def judge(a: CellSeen, b: CellSeen, bounds: Bounds = Bounds()) -> Validity:
    """Judge a pair; which of the two is A changes nothing but names in sentences."""
    found: list[tuple[Cause, str]] = []
    sides = (("A", a), ("B", b))
    for word, cause in (("DEVICE_LOST", Cause.DEVICE_LOST), ("AUTOTUNE_REPLAY_FALLBACK", Cause.REPLAY_FALLBACK)):
        found += [(cause, f"{side}: {text}") for side, cell in sides for text in _said(cell, word)]
    if lopsided := sorted(_direct_rows(a) ^ _direct_rows(b)):
        found.append((Cause.GRAPH_FALLBACK, f"timed without a graph on one side: {', '.join(lopsided)[:200]}"))
    for side, cell in sides:
        found += [(Cause.FOREIGN_PROCESS, f"{side}: {text}") for text in _others(cell, bounds)]
    hot = [set(cell.summary.throttle) - POWER_CAP for cell in (a, b)]
    if one_sided := sorted(hot[0] ^ hot[1]):
        found.append((Cause.THROTTLED, f"on one side: {', '.join(one_sided)}"))
    found += [(Cause.CLOCKS_APART, text) for text in _clocks_apart(a.summary, b.summary, bounds)]
    causes = tuple(dict.fromkeys(cause for cause, _ in found))
    return Validity(causes=causes, details=tuple(text for _, text in found), notes=tuple(_notes(a, b, bounds)))


def _said(cell: CellSeen, word: str) -> list[str]:
    return [text for name, text in cell.markers if name in (word, f"{word}_no_evict")]


def _direct_rows(cell: CellSeen) -> set[str]:
    """Rows whose latency fell back to direct timing; that Torch's baseline did says nothing of the row."""
    rows = set()
    for name, text in cell.markers:
        match = _ROW.match(f"{text} ")
        if name in _GRAPH_WORDS and (match is None or match[2] != "baseline"):
            rows.add(match[1] if match else text)
    return rows


def _others(cell: CellSeen, bounds: Bounds) -> list[str]:
    seen = cell.summary
    said = _said(cell, "CARD_BUSY")
    if seen.foreign_cores is not None:
        allowed = bounds.foreign_cores
        if allowed is None or seen.foreign_cores <= allowed:
            return said
        return [*said, f"others kept {seen.foreign_cores:.1f} processors busy: {_names(seen)}"]
    return [*said, _names(seen)] if seen.foreign else said


def _names(seen: Summary) -> str:
    return " ".join(map(str, seen.foreign or ()))


def _clocks_apart(a: Summary, b: Summary, bounds: Bounds) -> list[str]:
    # Processors without work lower their clocks, and a reading of a host is the mean of all.
    on_host = a.foreign_cores is not None or b.foreign_cores is not None
    if on_host or min(a.busy, b.busy) < bounds.samples:
        return []
    said = []
    for what, left, right in (
        ("clock", a.sm_clock_mhz, b.sm_clock_mhz), ("memory clock", a.mem_clock_mhz, b.mem_clock_mhz),
    ):  # fmt: skip
        if left is not None and right is not None and abs(left - right) > bounds.clock_pct / 100 * max(left, right):
            said.append(f"{what} A {left:.0f}, B {right:.0f} MHz")
    return said


def _notes(a: CellSeen, b: CellSeen, bounds: Bounds) -> Iterable[str]:
    """A power cap comes of what a kernel draws, so of the change itself at times: it is told, and clocks decide."""
    unseen = not a.summary.busy and not b.summary.busy
    if unseen:
        yield f"{UNSEEN} ({a.summary.samples} and {b.summary.samples} samples)"
    for side, cell in (("A", a), ("B", b)):
        if unseen:
            pass
        elif cell.summary.busy < bounds.samples:
            yield f"{side}: not observed, {cell.summary.samples} samples of which {cell.summary.busy} at work"
        elif cell.summary.foreign is None:
            yield f"{side}: whether others were there is not known"
        beside = cell.summary.foreign_cores
        if bounds.foreign_cores is None and beside is not None and beside > bounds.foreign_cores_told:
            yield f"{side}: others kept {beside:.1f} processors busy"
    reasons = (set(a.summary.throttle), set(b.summary.throttle))
    for reason in sorted(reasons[0] & reasons[1]):
        yield f"{reason} on both sides"
    for reason in sorted((reasons[0] ^ reasons[1]) & POWER_CAP):
        yield f"{reason} on {'A' if reason in reasons[0] else 'B'} alone"
