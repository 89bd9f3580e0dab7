"""The identity of inputs: what prints alike may differ, and what is equal has one name in every process."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zlbench_plugins.inputs import describe, digest, dtype_name, identity, label


class Tensor:
    """As much of a tensor as is looked at."""

    def __init__(self, *shape: int, stride: tuple[int, ...] | None = None, dtype: str = "torch.float16") -> None:
        self.shape, self.dtype = shape, dtype
        steps = [1]
        for size in reversed(shape[1:]):
            steps.append(steps[-1] * max(1, size))
        self._stride = stride if stride is not None else tuple(reversed(steps))[-len(shape) or 1 :]

    def stride(self) -> tuple[int, ...]:
        return self._stride if self.shape else ()


def named(*args: Any, **kwargs: Any) -> tuple[str, str]:
    found = identity(args, kwargs)
    return label(found), digest(found)


def test_a_transposed_tensor_is_another_input() -> None:
    plain, transposed = named(Tensor(64, 32)), named(Tensor(64, 32, stride=(1, 64)))
    assert plain[0] == "64x32"
    assert plain[0] != transposed[0]
    assert plain[1] != transposed[1]


class Descriptor:
    """Has no text of its own, so that Python says where it lies."""


def test_where_an_object_lies_is_no_part_of_its_name() -> None:
    first, second = Descriptor(), Descriptor()
    assert str(first) != str(second)
    assert named(Tensor(64), first) == named(Tensor(64), second)
    assert named(Tensor(64), first, [first]) == named(Tensor(64), second, [second])
    assert "Descriptor" in str(describe(first))
    assert "0x" not in str(describe(functools.partial(named, first)))
    assert named(first) != named(functools.partial(named))


def test_equal_inputs_have_one_name() -> None:
    assert named(Tensor(64, 32), 5, dim=-1) == named(Tensor(64, 32), 5, dim=-1)
    assert digest(identity((), {"a": 1, "b": 2})) == digest(identity((), {"b": 2, "a": 1}))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (((Tensor(64),), {}), ((Tensor(64, dtype="torch.float32"),), {})),
        (((Tensor(64), 1), {}), ((Tensor(64), True), {})),
        (((Tensor(64), 1), {}), ((Tensor(64), "1"), {})),
        (((Tensor(64), None), {}), ((Tensor(64),), {})),
        (((Tensor(64), 1), {}), ((Tensor(64),), {"dim": 1})),
        ((([Tensor(64), Tensor(32)],), {}), ((Tensor(64), Tensor(32)), {})),
    ],
)
def test_what_differs_in_anything_has_another_digest(a: Any, b: Any) -> None:
    assert digest(identity(*a)) != digest(identity(*b))


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, "no-args"),
        ((Tensor(),), {}, "scalar"),
        ((Tensor(16, 1024, 256), 256), {}, "16x1024x256 256"),
        ((Tensor(64),), {"dim": -1, "out": None}, "64 dim=-1"),
        (([Tensor(8), Tensor(4)],), {}, "8x4"),
        ((Tensor(0, 4),), {}, "0x4"),
        ((Tensor(8), {"mode": "mean"}), {}, "8 mode=mean"),
        ((Tensor(64, 64), Tensor(64, 64), Tensor(64)), {}, "64x64 64"),
        ((Tensor(64), 1, 1, 1), {}, "64 1 1 1"),
    ],
)
def test_what_a_person_reads(args: Any, kwargs: Any, text: str) -> None:
    assert named(*args, **kwargs)[0] == text


def test_arguments_of_other_kinds_are_described_without_addresses() -> None:
    assert describe(test_what_a_person_reads) == "test_what_a_person_reads"
    assert describe({1: (None, 1.5)}) == {"1": [None, 1.5]}
    assert dtype_name("torch.bfloat16") == dtype_name("bfloat16") == "bfloat16"


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))


@given(st.lists(values, max_size=3))
def test_any_arguments_have_a_name_and_a_stable_identity(args: list[Any]) -> None:
    found = identity(args, {})
    assert label(found)
    assert digest(found) == digest(identity(args, {}))
    assert found["args"] == [describe(arg) for arg in args]
