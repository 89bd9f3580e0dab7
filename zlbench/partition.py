"""Which operator is measured on which card: values in, a plan out, and the same plan for the same values.

Longest processing time first. An operator that alone is more than a card's fair share is cut by rows into shards, where
that pays although each shard starts up anew. Both sides of a row stay on one card; a row is never cut.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from zlbench.errors import UsageError
from zlbench.partition_plan import Bound, BoundBy, Lane, Piece, Plan, RowCost, Work

_MIN_GAIN = 0.01
"""A shard costs more than its start-up, its kernels are compiled anew: less of the critical path is not worth one."""
_FINE = 0.5
"""Shards below this part of a card's fair share are not cut further: cards are balanced well enough with them."""


def make_plan(work: Iterable[Work], *, cards: Sequence[str], rounds: int, split: bool = True) -> Plan:
    """Spread the work; a pair is one round, so N rounds take N times its seconds.

    Args:
        split: whether operators may be cut by rows.

    Raises:
        UsageError: no card, a card or an operator that is named twice, or no round.
    """
    jobs, frame = _frame(work, cards, rounds, split=split)
    found = _best(jobs, len(cards))
    return replace(frame, lanes=_lanes(jobs, found, cards))


def hash_plan(work: Iterable[Work], *, cards: Sequence[str], rounds: int) -> Plan:
    """Spread the work by its names alone, as one does without times; to set beside the plan that knows them."""
    jobs, frame = _frame(work, cards, rounds, split=False)
    spread = _Spread(len(cards))
    for number, job in enumerate(jobs):
        spread.put(_Part(job=number, cost=job.seconds), zlib.crc32(job.work.directory.encode()) % len(cards), job)
    return replace(frame, lanes=_lanes(jobs, spread, cards))


@dataclass(kw_only=True)
class _Job:
    """A work with its seconds over all rounds."""

    work: Work
    seconds: float
    rows: tuple[RowCost, ...] = ()
    """Rows by which it may be cut; none where it stays whole."""
    _cuts: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)

    @cached_property
    def start_up(self) -> float:
        """What it takes besides its rows: process, imports, end; each shard pays it."""
        return max(0.0, self.seconds - math.fsum(row.seconds for row in self.rows))

    def cost(self, rows: Iterable[int]) -> float:
        """Seconds of these rows on a card that has started up for the operator."""
        return math.fsum(self.rows[row].seconds for row in rows)

    def cut(self, shards: int) -> list[tuple[int, ...]]:
        """The rows in so many shards, longest first."""
        if shards not in self._cuts:
            heap = [(0.0, shard) for shard in range(shards)]
            found: list[list[int]] = [[] for _ in range(shards)]
            for row in sorted(range(len(self.rows)), key=lambda row: (-self.rows[row].seconds, row)):
                load, shard = heap[0]
                found[shard].append(row)
                heapq.heapreplace(heap, (load + self.rows[row].seconds, shard))
            self._cuts[shards] = [tuple(sorted(rows)) for rows in found if rows]
        return self._cuts[shards]

    def largest(self, shards: int) -> float:
        """Seconds of the largest of so many shards."""
        if shards == 1:
            return self.seconds
        return self.start_up + max(self.cost(rows) for rows in self.cut(shards))

    def finer(self, shards: int, cards: int) -> int | None:
        """The next number of shards that makes the largest smaller; None where there is none."""
        now = self.largest(shards)
        more = range(shards + 1, min(cards, len(self.rows)) + 1)
        return next((number for number in more if self.largest(number) < now), None)

    def floor(self, cards: int) -> float:
        """What it takes at the least on its busiest card."""
        if len(self.rows) < 2:
            return self.seconds
        average = math.fsum(row.seconds for row in self.rows) / min(cards, len(self.rows))
        return self.start_up + max(average, *(row.seconds for row in self.rows))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """A job or a shard of it, not placed yet."""

    job: int
    cost: float
    rows: tuple[int, ...] | None = None


class _Spread:
    """Cards with what was put on them so far. Shards of one operator on one card are one: it starts up once there."""

    def __init__(self, cards: int) -> None:
        self.loads = [0.0] * cards
        self.held: list[dict[int, list[int] | None]] = [{} for _ in range(cards)]
        """For each card the jobs in the order of their coming, with the rows of shards."""
        self._least = [(0.0, card) for card in range(cards)]
        self._of: dict[int, list[int]] = {}

    @property
    def critical(self) -> float:
        return max(self.loads)

    def choose(self, part: _Part, job: _Job) -> int:
        """The card on which the part ends first."""
        while self._least[0][0] != self.loads[self._least[0][1]]:
            heapq.heappop(self._least)
        load, card = self._least[0]
        begun = [(self.loads[other] - job.start_up, other) for other in self._of.get(part.job, ())]
        return min([*begun, (load, card)])[1]

    def put(self, part: _Part, card: int, job: _Job) -> None:
        """Put it there."""
        held = self.held[card].get(part.job)
        self.loads[card] += part.cost - (job.start_up if held is not None else 0.0)
        heapq.heappush(self._least, (self.loads[card], card))
        self._of.setdefault(part.job, []).append(card)
        self.held[card][part.job] = None if part.rows is None else [*(held or ()), *part.rows]


def _frame(work: Iterable[Work], cards: Sequence[str], rounds: int, *, split: bool) -> tuple[list[_Job], Plan]:
    """The jobs, and the plan without its lanes."""
    items = sorted(work, key=lambda item: item.directory)
    _check(items, cards, rounds)
    known = [known for item in items if (known := _time(item.pair_s)) is not None]
    mean = math.fsum(known) / len(known) if known else 1.0
    jobs = [_job(item, mean, rounds, split=split) for item in items]
    total = math.fsum(job.seconds for job in jobs)
    floors = [(job.floor(len(cards)), job.work.directory) for job in jobs]
    floor, longest = max(floors, key=lambda item: item[0], default=(0.0, ""))
    average = total / len(cards)
    bound = (
        Bound(seconds=floor, by=BoundBy.OPERATOR, directory=longest)
        if floor > average
        else Bound(seconds=average, by=BoundBy.AVERAGE)
    )
    guessed = tuple(item.directory for item in items if _time(item.pair_s) is None)
    return jobs, Plan(
        rounds=rounds, lanes=(), bound=bound, serial_s=total, timed=bool(known) or not items, guessed=guessed
    )


def _check(items: Sequence[Work], cards: Sequence[str], rounds: int) -> None:
    if not cards:
        raise UsageError("no card is named, so nothing can be planned", hint="Name some: --devices 0,1")
    for what, names in (("card", list(cards)), ("operator", [item.directory for item in items])):
        twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
        if twice is not None:
            raise UsageError(f"{what} {twice} is named twice", hint="Name each once.")
    if rounds < 1:
        raise UsageError(f"{rounds} rounds cannot be planned", hint="One or more: --rounds 6")


def _time(value: float | None) -> float | None:
    """The value, where it is one that work can take."""
    return value if value is not None and math.isfinite(value) and value > 0 else None


def _job(item: Work, mean: float, rounds: int, *, split: bool) -> _Job:
    known = _time(item.pair_s)
    seconds = (mean if known is None else known) * rounds
    rows = item.rows if split and not item.extra and len(item.rows) > 1 and known is not None else ()
    if any(not math.isfinite(row.seconds) or row.seconds < 0 for row in rows):
        rows = ()
    of_rows = math.fsum(row.seconds for row in rows) * rounds
    # Clocks of two processes: rows cannot take longer than the cells that they ran in.
    scale = rounds * min(1.0, seconds / of_rows) if of_rows else rounds
    return _Job(work=item, seconds=seconds, rows=tuple(replace(row, seconds=row.seconds * scale) for row in rows))


def _best(jobs: Sequence[_Job], cards: int) -> _Spread:
    """Cut the largest shard finer, step by step, and keep the best plan that was met on the way."""
    shards = [1] * len(jobs)
    best = _spread(jobs, shards, cards)
    share = math.fsum(job.seconds for job in jobs) / cards
    # The largest shard of each operator that is cut, largest first; equal ones by name.
    heavy = [(-job.seconds, number) for number, job in enumerate(jobs) if job.seconds > share and job.rows]
    heapq.heapify(heavy)
    while heavy:
        largest, number = -heavy[0][0], heavy[0][1]
        wanted = best.critical * (1 - _MIN_GAIN)
        more = jobs[number].finer(shards[number], cards)
        if largest <= share * _FINE or (more is None and largest >= wanted):
            break
        if more is None:
            heapq.heappop(heavy)
            continue
        shards[number] = more
        heapq.heapreplace(heavy, (-jobs[number].largest(more), number))
        if -heavy[0][0] < wanted:  # else this shard alone takes as long
            found = _spread(jobs, shards, cards)
            best = found if found.critical < wanted else best
    return best


def _spread(jobs: Sequence[_Job], shards: Sequence[int], cards: int) -> _Spread:
    """Longest processing time first, ties by name; extras last."""
    spread = _Spread(cards)
    for part in sorted(_parts(jobs, shards), key=lambda part: (jobs[part.job].work.extra, -part.cost, part.job)):
        job = jobs[part.job]
        spread.put(part, spread.choose(part, job), job)
    return spread


def _parts(jobs: Sequence[_Job], shards: Sequence[int]) -> Iterable[_Part]:
    for number, (job, count) in enumerate(zip(jobs, shards, strict=True)):
        if count == 1:
            yield _Part(job=number, cost=job.seconds)
        else:
            for rows in job.cut(count):
                yield _Part(job=number, cost=job.start_up + job.cost(rows), rows=rows)


def _lanes(jobs: Sequence[_Job], spread: _Spread, cards: Sequence[str]) -> tuple[Lane, ...]:
    """The plan's lanes; shards are numbered in the order of the cards."""
    count = [sum(number in held for held in spread.held) for number in range(len(jobs))]
    begun = [0] * len(jobs)
    lanes = []
    for card, held in zip(cards, spread.held, strict=True):
        pieces = []
        for number, rows in held.items():
            job, work = jobs[number], jobs[number].work
            piece = Piece(op=work.op, directory=work.directory, kind=work.kind, seconds=job.seconds)
            if rows is not None and count[number] > 1:
                begun[number] += 1
                piece = replace(
                    piece, seconds=job.start_up + job.cost(rows), shard=begun[number], shards=count[number],
                    rows=tuple(job.rows[row].name for row in sorted(rows)),
                )  # fmt: skip
            pieces.append(piece)
        lanes.append(Lane(card=card, pieces=tuple(pieces)))
    return tuple(lanes)
