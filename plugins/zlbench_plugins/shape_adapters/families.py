"""What no general rule finds out about single benchmark classes of the suites, by class name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

NOT_BY_SHAPE = {
    "AmpUpdateScaleBenchmark": "its inputs are three states of a scalar",
}
"""Classes whose inputs no shape describes, with the reason."""

BY_PLACE = {
    "AdaptiveAvgPool3DBackwardBenchmark": "output_sizes",
}
"""Classes that read a second list beside `shapes`, place by place: its name."""

SAME_LOOP = {
    "ParallelBenchmarkMixin": "it is the suite's own loop but for --parallel, which is refused while measuring",
}
"""Classes whose own `run()` may be replaced by the row loop, with the reason."""


class _ByPlace(list[Any]):
    """A second list that gives the value at the place of the shape in progress, again from its start when it ends."""

    def __init__(self, values: Any, bench: Any) -> None:
        super().__init__(values)
        self._bench = bench

    def __iter__(self) -> Iterator[Any]:
        for place in itertools.count():
            # Where shapes are handed out one by one, the one in progress is the place; a plain list is counted.
            at = getattr(self._bench.shapes, "position", place)
            yield self[(place if at is None else at) % len(self)]


def follow_by_place(bench: Any) -> None:
    """Let the second list of a class go along with its shapes, however many they are and wherever they start."""
    for cls in type(bench).__mro__:
        name = BY_PLACE.get(cls.__name__)
        values = getattr(bench, name, None) if name else None
        if name and values and not isinstance(values, _ByPlace):
            setattr(bench, name, _ByPlace(values, bench))


def not_by_shape(bench: Any) -> str:
    """Why no shape can be given to a benchmark; empty where nothing of the kind is known."""
    return next((NOT_BY_SHAPE[cls.__name__] for cls in type(bench).__mro__ if cls.__name__ in NOT_BY_SHAPE), "")
