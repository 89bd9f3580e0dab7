"""Rows of repeated rounds lie elsewhere in each round, and in the same place on both sides of one."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from zlbench_plugins.placement import Placement


class Torch:
    """As much of Torch's allocator as is asked for, noting every call."""

    uint8 = "uint8"

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.cuda = SimpleNamespace(empty_cache=lambda: self.calls.append("empty_cache"))

    def empty(self, size: int, *, dtype: str, device: str) -> object:
        assert (dtype, device) == (self.uint8, "cuda")
        self.calls.append(size)
        return object()


def places(monkeypatch: pytest.MonkeyPatch, number: int, rows: int = 4, backend: str = "cuda") -> list[Any]:
    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    context: Any = SimpleNamespace(spec=SimpleNamespace(placement=number, backend=backend))
    placement = Placement(context)
    for row in range(rows):
        placement.renew(row)
    return torch.calls


def test_both_sides_of_a_round_get_one_place_and_rounds_and_rows_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    first, again, second = (places(monkeypatch, number) for number in (1, 1, 2))
    assert first == again
    assert first != second
    assert first[::3] == ["empty_cache"] * 4
    pairs = list(zip(first[1::3], first[2::3], strict=True))
    assert len(set(pairs)) == 4
    assert all(size % 512 == 0 and size > 0 for pair in pairs for size in pair)
    assert all(small < 1 << 20 and large < 1 << 25 for small, large in pairs)


@pytest.mark.parametrize(("number", "backend"), [(0, "cuda"), (3, "compile")])
def test_where_no_place_is_asked_for_or_there_is_no_device_nothing_moves(
    monkeypatch: pytest.MonkeyPatch, number: int, backend: str
) -> None:
    assert places(monkeypatch, number, backend=backend) == []
