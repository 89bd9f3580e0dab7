"""Benchmarks that loop over shapes of their own: the same code over other shapes, in whatever form its own have."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zlbench_plugins.cases import cases
from zlbench_plugins.shape_adapters import (
    ArityError,
    OwnShape,
    ShapeLoop,
    check,
    example,
    follow_by_place,
    form,
    item_of,
    own_shapes,
    reads_shapes,
)

MODULE_SHAPES = [[16, 16], [4, 32, 32]]
_counter = 0


@dataclasses.dataclass
class Param:
    batch: int
    topk: int = 0
    seqlen: int = 0
    pages: int | None = None
    fp8: bool = True
    inserted: int = 0
    dtype: str = "bf16"
    sink: bool = False


class Base:
    shapes: list[Any] = []
    device = "cpu"

    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        raise NotImplementedError

    def input_fn(self, shape: Any, dtype: Any, device: Any) -> Iterator[Any]:
        batch, width = shape[0], shape[-1]
        if batch == 13:
            raise MemoryError
        yield batch, width, dtype, device


class Local(Base):
    def get_input_iter(self, dtype):  # type: ignore[no-untyped-def]
        """Documented."""
        small = [(1, 4, 64)]
        large = [
            (2, 8, 128),  # with a comment
            (4, 8, 256),
        ]
        shapes = small + large
        for shape in shapes:
            yield from self.input_fn(shape, dtype, self.device)


class Constant(Base):
    PADDING = [(16, 3, "valid", 1), (32, 3, "same", 2)]

    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        for n, k, padding, groups in self.PADDING:
            yield n, k, padding, groups, dtype


class OfModule(Base):
    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        global _counter  # noqa: PLW0603 - as upstream counts its inputs
        for shape in MODULE_SHAPES:
            _counter += 1
            for pivot in (True, False):
                yield tuple(shape), pivot, type(shape)


class Labelled(Base):
    def __init__(self) -> None:
        self._cfgs = [(4, 16, 1, False, "tiny"), (4, 16, 16, True, "large")]

    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        for n, c, h, aligned, _label in self._cfgs:
            yield [n, c, h], aligned, dtype


class Products(Base):
    def get_input_iter(self, _dtype: Any) -> Iterator[Any]:
        compared = [(1, 16), (2, 32)]
        for (batch, heads), kind in itertools.product(compared, ["a", "b"]):
            yield batch, heads, kind


class Records(Base):
    @staticmethod
    def params() -> list[Param]:
        sparse = [Param(128, topk, sink=True, inserted=topk) for topk in (128, 256)]
        return [*sparse, Param(64, seqlen=512, pages=8, fp8=False)]

    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        _ = dtype
        for param in self.params():
            yield (param,)


class Kit(Base):
    kit = {
        "scalar": [{"M": 1, "N": 2, "K": 3, "kind": "s"}],
        "block": [{"M": 4, "N": 5, "K": 6, "kind": "b"}, {"M": 1, "N": 1, "K": 1, "kind": "c"}],
    }

    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        params = self.kit[dtype]
        for p in params:
            yield p["M"], p["N"], p["K"], p["kind"]


class Enumerated(Base):
    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        for place, size in enumerate([8, 16]):
            yield place, size, dtype


class Enclosing(Base):
    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        for shape in self.of(__class__):  # type: ignore[name-defined]
            yield shape, dtype

    def of(self, cls: Any) -> list[Any]:
        return [(1, cls.__name__)]


class Reads(Base):
    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        for shape in self.shapes:
            yield from self.input_fn(shape, dtype, self.device)


class HandsOn(Reads):
    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        for value in super().get_input_iter(dtype):
            yield value, "out"


class States(Base):
    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        yield 1.0, dtype
        yield 2.0, dtype


class TwoLoops(Base):
    def get_input_iter(self, dtype: Any) -> Iterator[Any]:
        for shape in [(1,)]:
            yield shape
        for shape in [(2,)]:
            yield shape


LOOPS = [Local, Constant, OfModule, Labelled, Products, Records, Enumerated, Enclosing]


def values(bench: Any, dtype: str = "float16") -> list[Any]:
    return [case.value if case.error is None else case.error for case in cases(bench, dtype, 1)]


def injected(cls: type[Any], *shapes: Any, dtype: str = "float16") -> list[Any]:
    bench = cls()
    loop = ShapeLoop.find(bench)
    assert loop is not None
    loop.install(bench)
    bench.shapes = list(shapes)
    return values(bench, dtype)


@pytest.mark.parametrize("cls", LOOPS)
def test_over_its_own_shapes_the_loop_gives_its_own_inputs_each_in_its_place(cls: type[Any]) -> None:
    bench = cls()
    own = list(bench.get_input_iter("float16"))
    loop = ShapeLoop.find(bench)
    assert loop is not None
    assert not reads_shapes(bench)
    shapes = loop.shapes(bench, ["float16", "float32"])
    assert shapes
    loop.install(bench)
    bench.shapes = shapes
    found = list(cases(bench, "float16", 1))
    assert [case.value for case in found] == own
    assert sorted({case.index for case in found}) == list(range(len(shapes)))
    assert list(cls().get_input_iter("float16")) == own  # the class itself is as it was


@pytest.mark.parametrize("cls", LOOPS)
def test_its_own_shapes_may_be_given_back_as_plain_tuples(cls: type[Any]) -> None:
    bench = cls()
    loop = ShapeLoop.find(bench)
    assert loop is not None
    shapes = loop.shapes(bench, ["float16"])
    assert shapes
    assert injected(cls, *(tuple(shape) for shape in shapes)) == list(cls().get_input_iter("float16"))


def test_given_shapes_in_each_form() -> None:
    assert injected(Local, (7, 1, 9)) == [(7, 9, "float16", "cpu")]
    assert injected(Constant, (8, 5, "same", 4)) == [(8, 5, "same", 4, "float16")]
    assert injected(OfModule, (5, 5, 5)) == [((5, 5, 5), True, list), ((5, 5, 5), False, list)]
    assert injected(Labelled, (1, 2, 3), (1, 2, 3, 1)) == [([1, 2, 3], False, "float16"), ([1, 2, 3], True, "float16")]
    assert injected(Products, (3, 48)) == [(3, 48, "a"), (3, 48, "b")]
    assert injected(Enumerated, (32,), (64,)) == [(0, 32, "float16"), (1, 64, "float16")]


def test_a_record_takes_what_is_not_given_from_its_nearest() -> None:
    # topk is given: the sparse kind, whose inserted tokens follow it.
    assert injected(Records, (32, 512)) == [(Param(32, 512, sink=True, inserted=512),)]
    # no topk but a length: the dense kind.
    assert injected(Records, (32, 0, 4096)) == [(Param(32, 0, 4096, pages=8, fp8=False),)]
    # switches and what is left open are numbers, all the way to the dtype
    assert injected(Records, (32, 1, 0, 0, 1, 3)) == [(Param(32, 1, 0, None, True, 3, sink=True),)]


def test_a_list_for_each_dtype_is_asked_for_when_it_is_looped_over() -> None:
    loop = ShapeLoop.find(Kit())
    assert loop is not None
    assert loop.shapes(Kit(), ["scalar", "block"]) is None
    assert loop.shapes(Kit(), ["block"]) == [(4, 5, 6), (1, 1, 1)]
    assert injected(Kit, (7, 8, 9), dtype="scalar") == [(7, 8, 9, "s")]
    assert injected(Kit, (4, 8, 9), dtype="block") == [(4, 8, 9, "b")]


def test_a_shape_that_fails_costs_itself() -> None:
    found = injected(Local, (1, 1, 1), (13, 1, 1), (2, 1, 1))
    assert [type(value) for value in found] == [tuple, MemoryError, tuple]


@pytest.mark.parametrize("cls", [Reads, HandsOn])
def test_a_class_that_reads_its_shapes_is_left_alone(cls: type[Any]) -> None:
    assert reads_shapes(cls())
    assert ShapeLoop.find(cls()) is None


@pytest.mark.parametrize("cls", [States, TwoLoops])
def test_what_is_not_one_loop_is_left_alone(cls: type[Any]) -> None:
    assert not reads_shapes(cls())
    assert ShapeLoop.find(cls()) is None


def test_a_class_without_source_is_believed() -> None:
    space: dict[str, Any] = {"Base": Base}
    exec("class Bare(Base):\n    def get_input_iter(self, dtype):\n        yield from ()\n", space)
    assert reads_shapes(space["Bare"]())
    assert ShapeLoop.find(space["Bare"]()) is None


@pytest.mark.parametrize(
    ("cls", "shape", "said"),
    [
        (Local, (1, 2), "wanted 3 numbers"),
        (Constant, (1, 2, "same", 4, 5), "wanted 4 numbers"),
        (Labelled, (1, 2), "wanted 3 to 5 values"),
        (Enumerated, (1, 2), "wanted one number"),
        (Records, (1,) * 7, r"wanted 1 to 6 numbers \(batch, topk, seqlen, pages, fp8, inserted\)"),
    ],
)
def test_another_number_of_values_is_refused(cls: type[Any], shape: Any, said: str) -> None:
    loop = ShapeLoop.find(cls())
    assert loop is not None
    with pytest.raises(ArityError, match=said):
        item_of(shape, loop.own(cls(), "float16"))


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.none() | st.integers(1, 9)), min_size=1, max_size=5))
def test_an_own_shape_stands_for_its_own_description(rows: list[tuple[int, bool, int | None]]) -> None:
    items = [Param(batch, fp8=fp8, pages=pages) for batch, fp8, pages in rows]
    shapes = own_shapes(items)
    assert [item_of(shape, items) for shape in shapes] == items
    assert [item_of(tuple(shape), items) for shape in shapes] == items
    assert all(isinstance(shape, OwnShape) and len(shape) == 6 for shape in shapes)


def test_a_form_that_the_suite_has_is_not_tried_and_another_one_is() -> None:
    class Unpacks(Base):
        built = 0

        def get_input_iter(self, dtype: Any) -> Iterator[Any]:
            for batch, _width in self.shapes:
                type(self).built += 1
                if batch == 0:
                    raise MemoryError("a row's own affair")
                yield batch

    bench = Unpacks()
    bench.shapes = before = [(1, 2)]
    check(bench, [(5, 6), (7, 8)], before, "float16", 1)
    assert (Unpacks.built, bench.shapes) == (0, before)
    check(bench, [((0, 1), 2)], before, "float16", 1)
    assert (Unpacks.built, bench.shapes) == (1, before)
    with pytest.raises(ArityError, match=r"\[1x2x3\] cannot be taken apart: too many values"):
        check(bench, [(1, 2, 3)], before, "float16", 1)
    assert bench.shapes == before


def test_form_and_example() -> None:
    assert form((1, 2.5, True)) == form([3, 4, 5]) != form((1, (2, 5)))
    assert form((1, "same")) != form((1, 2))
    assert example([[2, 3], (4, (5, 6)), (2, 3)], "M, N") == "2x3 or 4x(5x6) (M, N)"
    assert example([], "M, N") == "unknown"


def test_a_second_list_goes_along_by_place() -> None:
    class AdaptiveAvgPool3DBackwardBenchmark(Base):
        def __init__(self) -> None:
            self.output_sizes = [(4, 4, 4), (1, 1, 1)]

        def get_input_iter(self, dtype: Any) -> Iterator[Any]:
            for shape, size in zip(self.shapes, self.output_sizes):  # noqa: B905 - as upstream writes it
                if shape[0] == 13:
                    raise MemoryError
                yield shape, size

    bench = AdaptiveAvgPool3DBackwardBenchmark()
    follow_by_place(bench)
    follow_by_place(bench)
    bench.shapes = [(1,), (13,), (3,)]
    assert [value for value in values(bench) if isinstance(value, tuple)] == [((1,), (4, 4, 4)), ((3,), (4, 4, 4))]
    assert list(zip(bench.shapes, bench.output_sizes, strict=False)) == [
        ((1,), (4, 4, 4)), ((13,), (1, 1, 1)), ((3,), (4, 4, 4)),
    ]  # fmt: skip
