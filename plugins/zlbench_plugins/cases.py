"""Input cases of a benchmark, one shape at a time, so that a shape whose inputs cannot be built costs one row.

A suite's `get_input_iter` is a generator over `self.shapes`: when building one input raises, the generator is dead
and with it every shape behind. The list of shapes is therefore handed out through a list that knows how far it was
read, and the generator is started again behind the shape that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zlbench_plugins.seed import seed_all


class TrackedShapes(list[Any]):
    """A list of shapes that notes which one was handed out last."""

    def __init__(self, shapes: Any) -> None:
        super().__init__(shapes)
        self.position: int | None = None

    def __iter__(self) -> Iterator[Any]:
        for index, shape in enumerate(list.__iter__(self)):
            self.position = index
            yield shape


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One input, or the error that building it raised."""

    shape: Any
    index: int
    """Place of the shape in the benchmark's list; -1 where the benchmark does not read its list."""
    value: Any = None
    error: Exception | None = None


def cases(bench: Any, dtype: Any, seed: int) -> Iterator[Case]:
    """Yield every input case of `bench` for `dtype`; `bench.shapes` is restored at the end."""
    shapes = list(bench.shapes or ())
    offset = count = 0
    try:
        while True:
            tracked = TrackedShapes(shapes[offset:])
            bench.shapes = tracked
            stopped = False
            for case in _until_error(bench, dtype, tracked, offset, seed + count):
                count += 1
                yield case
                stopped = case.error is not None
            if not stopped or tracked.position is None or offset + tracked.position + 1 >= len(shapes):
                return
            offset += tracked.position + 1
    finally:
        bench.shapes = shapes


def _until_error(bench: Any, dtype: Any, tracked: TrackedShapes, offset: int, seed: int) -> Iterator[Case]:
    inputs = bench.get_input_iter(dtype)
    while True:
        seed_all(seed)
        seed += 1
        try:
            value = next(inputs)
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001 - whatever a suite raises while building inputs costs this row
            yield Case(shape=_shape(tracked), index=_index(tracked, offset), error=error)
            return
        yield Case(shape=_shape(tracked), index=_index(tracked, offset), value=value)


def _shape(tracked: TrackedShapes) -> Any:
    return None if tracked.position is None else list.__getitem__(tracked, tracked.position)


def _index(tracked: TrackedShapes, offset: int) -> int:
    return -1 if tracked.position is None else offset + tracked.position
