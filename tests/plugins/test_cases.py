"""Input cases: a shape whose inputs cannot be built costs its own row, and shifts nobody else's inputs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from zlbench_plugins.cases import Case, cases

SEED = 20240229


class Bench:
    """A benchmark whose generator dies at some shapes, as upstream's do.

    Args:
        inputs: how many inputs each shape gives.
        failing: place of a shape → at which of its inputs building fails.
    """

    def __init__(self, count: int, failing: dict[int, int], inputs: int = 1) -> None:
        self.shapes: list[Any] = [(number,) for number in range(count)]
        self.failing, self.inputs = failing, inputs

    def get_input_iter(self, dtype: str) -> Iterator[tuple[int, float]]:
        for shape in self.shapes:
            for number in range(self.inputs):
                drawn = random.random()
                if self.failing.get(shape[0]) == number:
                    raise MemoryError(dtype)
                yield shape[0], drawn


def run(bench: Any) -> list[Case]:
    return list(cases(bench, "float16", SEED))


def values(found: list[Case]) -> dict[int, list[float]]:
    drawn: dict[int, list[float]] = {}
    for case in found:
        if case.error is None:
            drawn.setdefault(case.index, []).append(case.value[1])
    return drawn


@given(st.integers(0, 6), st.sets(st.integers(0, 5)))
def test_every_shape_that_can_be_built_gives_its_case_with_its_own_seed(count: int, places: set[int]) -> None:
    failing = {place: 0 for place in places if place < count}
    bench = Bench(count, failing)
    given_shapes = bench.shapes
    found = run(bench)
    assert [case.index for case in found] == list(range(count))
    assert [case.shape for case in found] == given_shapes
    assert [case.index for case in found if case.error is not None] == sorted(failing)
    everything = values(run(Bench(count, {})))
    assert values(found) == {place: drawn for place, drawn in everything.items() if place not in failing}
    assert bench.shapes == given_shapes
    assert type(bench.shapes) is list


@given(st.integers(1, 4), st.integers(1, 3), st.dictionaries(st.integers(0, 3), st.integers(0, 2)))
def test_a_shape_with_several_inputs_keeps_those_before_its_failure(
    count: int, inputs: int, failing: dict[int, int]
) -> None:
    failing = {place: at for place, at in failing.items() if place < count and at < inputs}
    everything = values(run(Bench(count, {}, inputs)))
    kept = {place: drawn[: failing.get(place, inputs)] for place, drawn in everything.items()}
    assert values(run(Bench(count, failing, inputs))) == {place: drawn for place, drawn in kept.items() if drawn}


def test_two_shapes_and_two_inputs_of_one_shape_are_seeded_apart() -> None:
    drawn = [value for group in values(run(Bench(3, {}, inputs=2))).values() for value in group]
    assert len(set(drawn)) == 6


def test_work_between_two_inputs_moves_no_seed() -> None:
    undisturbed = values(run(Bench(3, {})))
    disturbed = {}
    for case in cases(Bench(3, {}), "float16", SEED):
        disturbed[case.index] = [case.value[1]]
        random.seed(case.index)
        random.random()
    assert disturbed == undisturbed


def test_inputs_that_follow_no_shape_have_no_place() -> None:
    class HardCoded(Bench):
        def get_input_iter(self, dtype: str) -> Iterator[Any]:
            yield from ((number, random.random()) for number in (7, 8))

    found = run(HardCoded(3, {}))
    assert [(case.index, case.shape, case.value[0]) for case in found] == [(-1, None, 7), (-1, None, 8)]
    assert len(set(values(found)[-1])) == 2


def test_a_benchmark_that_fails_before_its_first_shape_fails_once() -> None:
    class Broken(Bench):
        def get_input_iter(self, dtype: str) -> Iterator[Any]:
            raise RuntimeError("no device")
            yield

    (case,) = run(Broken(3, {}))
    assert (case.index, str(case.error)) == (-1, "no device")


def test_a_benchmark_without_shapes_has_no_cases() -> None:
    bench = Bench(0, {})
    assert run(bench) == []
    bench.shapes = None  # as a class that never had any
    assert run(bench) == []


def test_the_list_of_shapes_is_given_back_to_whoever_stops_early() -> None:
    bench = Bench(3, {})
    before = bench.shapes
    rows = cases(bench, "float16", SEED)
    next(rows)
    assert bench.shapes == before
    rows.close()
    assert type(bench.shapes) is list


class TwoLoops(Bench):
    """As upstream's at the comprehensive level: every shape once plain, then every shape once transposed."""

    def get_input_iter(self, dtype: str) -> Iterator[tuple[int, float]]:
        for turn in (0, 1):
            for shape in self.shapes:
                if self.failing.get(shape[0]) == turn:
                    raise MemoryError(dtype)
                yield shape[0] + 10 * turn, random.random()


@given(st.integers(1, 4), st.dictionaries(st.integers(0, 3), st.integers(0, 1)))
def test_a_second_loop_over_the_shapes_is_neither_lost_nor_run_twice(count: int, failing: dict[int, int]) -> None:
    failing = {place: turn for place, turn in failing.items() if place < count}
    found = run(TwoLoops(count, failing))
    places = [case.value[0] if case.error is None else case.index + 10 * failing[case.index] for case in found]
    assert places == [*range(count), *range(10, 10 + count)]


def test_inputs_behind_the_last_shape_that_cannot_be_built_end_it() -> None:
    class Behind(Bench):
        def get_input_iter(self, dtype: str) -> Iterator[Any]:
            yield from super().get_input_iter(dtype)
            raise RuntimeError("no memory")

    found = run(Behind(2, {}))
    assert [case.index for case in found if case.error is None] == [0, 1]
    assert 1 <= len([case for case in found if case.error is not None]) <= 2
