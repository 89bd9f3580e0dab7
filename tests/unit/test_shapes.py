"""Shapes given by people: every fault has a place, none ends in the suite's default shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import UsageError
from zlbench.shapes import load_shape_file, parse_inline, shape_text, shapes_hash

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = ("softmax", "topk", "mm", "UnaryReductionBenchmark")


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "shapes.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_shape_file_keeps_nesting_and_places(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "softmax:\n  shapes:\n    - [1024, 1024]\n    - [[16, 1024, 256], 256]\n  shape_desc: M, N\n"
        "UnaryReductionBenchmark:\n  shapes: [[64], [8, 1.5], [4, -1]]\n",
    )
    sets = load_shape_file(path, known=KNOWN)
    assert sets["softmax"].shapes == ((1024, 1024), ((16, 1024, 256), 256))
    assert sets["UnaryReductionBenchmark"].shapes == ((64,), (8, 1.5), (4, -1))
    assert sets["UnaryReductionBenchmark"].where == f"{path}:6"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("sofmax:\n  shapes: [[1, 2]]\n", ":1", "Nearest: softmax"),
        ("softmax:\n  shape: [[1, 2]]\n", ":2", "Nearest: shapes"),
        ("softmax:\n  shapes: []\n", ":2", "empty"),
        ("softmax:\n  shapes:\n    - []\n", ":3", "empty"),
        ("softmax:\n  shapes:\n    - 1024\n", ":3", "wanted a list"),
        ("softmax:\n  shapes:\n    - [1, big]\n", ":3", "'big'"),
        ("softmax:\n  shapes:\n    - [1, yes]\n", ":3", "'yes'"),
        ("softmax:\n  shapes:\n    - [1, .inf]\n", ":3", "'.inf'"),
        ("softmax:\n  shapes:\n    - [1, nul]\n", ":3", "not a number"),
        ("softmax:\n  shapes:\n    - [1, '2']\n", ":3", "not a number"),
        ("softmax:\n  shapes:\n    - [1, {a: 2}]\n", ":3", "not a number"),
        ("softmax:\n  shapes: 3\n", ":2", "not a list"),
        ("softmax: [[1, 2]]\n", ":1", "no shapes: list"),
        ("softmax:\n", ":1", "no shapes: list"),
        ("softmax:\n  shape_desc: M\n", ":2", "no shapes: list"),
        ("softmax:\n  shapes: [[1]]\nsoftmax:\n  shapes: [[2]]\n", ":3", "twice"),
        ("- 1\n", ":1", "no operators"),
        ("", "", "no operators"),
        ("softmax:\n  shapes: [[1, 2]\n", ":3:1", ""),
        ("softmax:\n\tshapes: 1\n", ":2:1", "character"),
        ("? [a]\n: 1\n", ":1", "wanted a name"),
        ("a: &x [1]\nb: *y\n", ":2:4", "alias"),
        ("a: 1\n---\nb: 2\n", ":2:1", "document"),
    ],
)
def test_a_faulty_shape_file_is_refused_with_its_place(tmp_path: Path, text: str, place: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_shape_file(path, known=KNOWN)
    assert caught.value.message.startswith(f"{path}{place}")
    assert said.lower() in caught.value.message.lower()


def test_an_alias_bomb_and_a_deep_nest_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(UsageError):
        load_shape_file(write(tmp_path, "\n".join(lines)))
    bomb = "softmax:\n  shapes:\n  - &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    bomb += "".join(f"  - &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 10)}]\n" for i in range(7))
    with pytest.raises(UsageError, match="more than 100000"):
        load_shape_file(write(tmp_path, bomb))
    with pytest.raises(UsageError):
        load_shape_file(write(tmp_path, "softmax:\n  shapes: " + "[" * 20000))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_shape_file(tmp_path / "gone.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UsageError, match="UTF-8"):
        load_shape_file(tmp_path / "bytes.yaml")


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("1024x1024;64x512", ((1024, 1024), (64, 512))),
        ("1024", ((1024,),)),
        (" 2 x 3 ; 4*5 ;", ((2, 3), (4, 5))),
        ("[1024, 1024]", ((1024, 1024),)),
        ("[[16,1024,256],256]", (((16, 1024, 256), 256),)),
        ("[[1024,1024],[64,512]]", ((1024, 1024), (64, 512))),
        ("64x64;[[16,1024,256],256]", ((64, 64), ((16, 1024, 256), 256))),
        ("64x64;[[16,16],[4,4]]", ((64, 64), ((16, 16), (4, 4)))),
        ("softmax: {shapes: [[1, 2]]}", ((1, 2),)),
        ("[16, 3, 3, same, 1]", ((16, 3, 3, "same", 1),)),
        ("[[1, 2], true, null, 0.5]", (((1, 2), True, None, 0.5),)),
    ],
)
def test_inline_shapes(text: str, shapes: object) -> None:
    assert parse_inline(text, "softmax") == shapes


@pytest.mark.parametrize(
    "text", ["", ";", "axb", "1x", "[", "[]", "[1, a]", "sofmax: {shapes: [[1]]}", "1,2", "-1x2", "{}"]
)
def test_inline_shapes_that_cannot_be_meant(text: str) -> None:
    with pytest.raises(UsageError):
        parse_inline(text, "softmax")


@given(st.text(max_size=60))
def test_no_text_makes_the_parser_stumble(text: str) -> None:
    try:
        shapes = parse_inline(text, "softmax")
    except UsageError:
        return
    assert shapes


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=1).map(tuple), min_size=1).map(tuple))
def test_inline_text_reads_back(shapes: tuple[tuple[int, ...], ...]) -> None:
    assert parse_inline(";".join(shape_text(shape) for shape in shapes), "softmax") == shapes


def test_the_hash_depends_on_shapes_and_keys_alone() -> None:
    one = {"mm": ((1, 2),), "topk": (((3,), 4),)}
    assert shapes_hash(one) == shapes_hash(dict(reversed(one.items())))
    assert len({shapes_hash(one), shapes_hash({"mm": ((2, 1),)}), shapes_hash({"mm": ((1,), (2,))})}) == 3
