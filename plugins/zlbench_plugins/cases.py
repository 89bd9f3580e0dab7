"""Input cases of a benchmark, one shape at a time, so that a shape whose inputs cannot be built costs one row.

A suite's `get_input_iter` is a generator over `self.shapes`: when building one input raises, the generator is dead
and with it every shape behind. The list of shapes is therefore handed out through a list that knows how far it was
read, and the generator is started again behind the shape that failed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zlbench_plugins.seed import seed_all
from zlbench_plugins.shape_adapters import recorded


class TrackedShapes(list[Any]):
    """A list of shapes that notes which one was handed out last, and seeds by it.

    The inputs of a shape depend on its place in the benchmark's list and on nothing that came before: a shape that
    failed half-way on one side leaves those behind it with equal inputs on both.

    Args:
        loop: which of the benchmark's loops over the list goes on where one stopped; those before it are empty.
        start: place at which that loop goes on.
    """

    def __init__(self, shapes: Any, *, loop: int, start: int, seed: int) -> None:
        super().__init__(shapes)
        self.position: int | None = None
        self.loop = 0
        self._from = (loop, start)
        self._base = seed
        self._taken = 0

    def __iter__(self) -> Iterator[Any]:
        loop, start = self._from
        self.loop += 1
        if self.loop < loop:
            return
        for index, shape in enumerate(list.__iter__(self)):
            if self.loop == loop and index < start:
                continue
            self.position = index
            self._taken = 0
            self.seed()
            yield shape

    def seed(self) -> None:
        """Seed for the next input: by the shape it belongs to, and by its number among that shape's inputs."""
        place = 0 if self.position is None else self.position + 1
        seed_all(self._base + _INPUTS_OF_A_SHAPE * place + self._taken)
        self._taken += 1


_INPUTS_OF_A_SHAPE = 1000
"""More inputs than any benchmark makes of one shape."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One input, or the error that building it raised."""

    shape: Any
    index: int
    """Place of the shape in the benchmark's list; -1 where the benchmark does not read its list."""
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Begin:
    """Where to go on behind rows that an earlier process of the cell has measured."""

    loop: int = 1
    shape: int = 0
    known: int = 0
    """Inputs from there on that belong to rows that are known; they are built, since those behind come after them."""


def begin_behind(rows: Sequence[Mapping[str, Any]]) -> Begin:
    """Go on behind the last of a table's rows, without building the inputs of earlier shapes again.

    A shape whose inputs cost the card must not be built a second time.
    """
    loop, last = 1, -1
    for row in rows:
        index = row.get("shape_index")
        if not isinstance(index, int) or index < 0:
            return Begin(known=len(rows))  # inputs of its own, which are known by their number alone
        loop, last = loop + (index < last), index
    if not rows:
        return Begin()
    if rows[-1].get("phase") == "inputs":
        return Begin(loop=loop, shape=last + 1)
    backwards = (row["shape_index"] for row in reversed(rows))
    return Begin(
        loop=loop, shape=last, known=sum(1 for _ in itertools.takewhile(lambda index: index == last, backwards))
    )


def cases(
    bench: Any, dtype: Any, seed: int, begin: Begin | None = None, *, before: Callable[[], None] = lambda: None
) -> Iterator[Case]:
    """Yield every input case of `bench` for `dtype` from `begin` on; `bench.shapes` is restored at the end.

    Args:
        before: called before each input is built, when that of the row before is gone.
    """
    shapes = list(bench.shapes or ())
    place = (1, 0) if begin is None else (begin.loop, begin.shape)
    try:
        while True:
            tracked = TrackedShapes(shapes, loop=place[0], start=place[1], seed=seed)
            bench.shapes = tracked
            stopped = False
            for case in _until_error(bench, dtype, tracked, before):
                yield case
                stopped = case.error is not None
            behind = (tracked.loop, (tracked.position or 0) + 1)
            if not stopped or tracked.position is None or behind == place:
                return
            place = behind
    finally:
        bench.shapes = shapes


def _until_error(bench: Any, dtype: Any, tracked: TrackedShapes, before: Callable[[], None]) -> Iterator[Case]:
    inputs = bench.get_input_iter(dtype)
    while True:
        tracked.seed()
        value = None  # the row before may fill the card
        try:
            before()
            value = next(inputs)
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001 - whatever a suite raises while building inputs costs this row
            yield Case(shape=_shape(tracked), index=_index(tracked), error=error)
            return
        yield Case(shape=_shape(tracked), index=_index(tracked), value=value)


def _shape(tracked: TrackedShapes) -> Any:
    return None if tracked.position is None else recorded(list.__getitem__(tracked, tracked.position))


def _index(tracked: TrackedShapes) -> int:
    return -1 if tracked.position is None else tracked.position
