"""Attributes that an axis declares as its own disappear without a trace; any other attribute is a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.ir.normalise import fingerprint_text, normalise
from zlbench.ir.stamps import KNOWN_STAMPS

DATA = Path(__file__).parent / "data" / "ttgir"
SOFTMAX = (DATA / "softmax-3.6.0-nolines.ttgir").read_text()
STAMPS = ("ttg.rlc-*",)

scalars = st.one_of(
    st.integers(-(2**40), 2**40).map(lambda value: f"{value} : i64"),
    st.integers(0, 9).map(lambda value: f"{value} : i32"),
    st.sampled_from(
        ["true", "false", "unit", "1.000000e+00 : f32", "@kernel::@inner", "i32", "tensor<4x!tt.ptr<f16>>"]
    ),
    st.text(alphabet='ab,{}[]()<>=:# ->%/"\\', max_size=12).map(
        lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    ),
    st.sampled_from(
        [
            "affine_map<(d0, d1) -> (d1 * 2, d0)>",
            "affine_set<(d0) : (d0 - 1 >= 0, d0 <= 4)>",
            "array<i32: 1, 2>",
            "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>",
            "#ttg.blocked<{sizePerThread = [1, 8], order = [1, 0]}>",
        ]
    ),
)
names = st.sampled_from(["a", "z-1", "ttg.x", "ttg.rlc-inner"])
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(names, inner), max_size=3).map(
            lambda items: "{" + ", ".join(f'"{name}" = {value}' for name, value in items) + "}"
        ),
    ),
    max_leaves=6,
)
entries = st.tuples(st.sampled_from(['"ttg.rlc-budget"', "ttg.rlc-budget", '"ttg.rlc-a.b"']), st.none() | values).map(
    lambda pair: pair[0] if pair[1] is None else f"{pair[0]} = {pair[1]}"
)


def with_module_attribute(text: str, entry: str, position: int) -> str:
    head, rest = text.split("module attributes {", 1)
    body, tail = rest.split("} {\n", 1)
    items = body.split(", ")
    items.insert(position % (len(items) + 1), entry)
    return f"{head}module attributes {{{', '.join(items)}}} {{\n{tail}"


@given(entries, st.integers(0, 9))
def test_a_declared_stamp_on_the_module_leaves_no_trace(entry: str, position: int) -> None:
    stamped = with_module_attribute(SOFTMAX, entry, position)
    assert normalise(stamped, STAMPS) == normalise(SOFTMAX, STAMPS)


@given(entries)
def test_a_declared_stamp_on_operations_leaves_no_trace(entry: str) -> None:
    places = [
        ("{end = 1024 : i32, start = 0 : i32}", f"{{end = 1024 : i32, {entry}, start = 0 : i32}}"),
        ("<{axis = 0 : i32}>", f"<{{axis = 0 : i32, {entry}}}>"),
        ("<{axis = 0 : i32}>", f"<{{{entry}, axis = 0 : i32}}>"),
        (" = tt.get_program_id x : i32", f" = tt.get_program_id x {{{entry}}} : i32"),
        ("attributes {noinline = false}", f"attributes {{noinline = false, {entry}}}"),
        ("{tt.divisibility = 16 : i32}", f"{{tt.divisibility = 16 : i32, {entry}}}"),
        ("    }) : (", f"    }}) {{{entry}}} : ("),
    ]
    for before, after in places:
        stamped = SOFTMAX.replace(before, after)
        assert stamped != SOFTMAX
        assert normalise(stamped, STAMPS) == normalise(SOFTMAX, STAMPS)


@given(entries, st.integers(0, 9))
def test_an_undeclared_attribute_is_a_change(entry: str, position: int) -> None:
    stamped = with_module_attribute(SOFTMAX, entry, position)
    assert fingerprint_text(stamped) != fingerprint_text(SOFTMAX)
    assert fingerprint_text(stamped, ["ttg.rlc", "rlc-*", "ttg.rl"]) != fingerprint_text(SOFTMAX)


def test_the_last_attribute_takes_its_dictionary_with_it() -> None:
    stamped = 'module attributes {"ttg.rlc-a" = 1 : i32} {\n  tt.f <{ttg.rlc-b}> {ttg.rlc-c = {}} : i32\n}\n'
    assert normalise(stamped, STAMPS) == "module {\n  tt.f : i32\n}\n"


def test_a_dictionary_that_is_a_value_stays() -> None:
    stamped = "module {\n  tt.f {arg_attrs = [{ttg.rlc-b = 1}, {}], x = {ttg.rlc-c}} : i32\n}\n"
    assert normalise(stamped, STAMPS) == "module {\n  tt.f {arg_attrs = [{}, {}], x = {}} : i32\n}\n"


def test_the_alias_of_a_stamped_map_goes_and_the_others_keep_their_numbers() -> None:
    plain = "#map = affine_map<(d0) -> (d0)>\nmodule {\n  tt.f {m = #map} : i32\n}\n"
    stamped = (
        "#inner = #ttg.blocked<{order = [0]}>\n#map = affine_map<(d0) -> (d0 * 2)>\n"
        "#map1 = affine_map<(d0) -> (d0)>\n"
        'module attributes {"ttg.rlc-m" = [#map, #ttg.slice<{parent = #inner}>]} {\n  tt.f {m = #map1} : i32\n}\n'
    )
    assert normalise(stamped, STAMPS) == normalise(plain, STAMPS)


def test_an_alias_that_the_program_uses_too_stays() -> None:
    plain = "#map = affine_map<(d0) -> (d0)>\nmodule {\n  tt.f {m = #map} : i32\n}\n"
    stamped = plain.replace("module {", 'module attributes {"ttg.rlc-m" = #map} {')
    assert normalise(stamped, STAMPS) == normalise(plain)


@pytest.mark.parametrize("stamp", KNOWN_STAMPS, ids=lambda stamp: stamp.name)
def test_a_neutral_stamp_of_a_release_counts_only_with_another_value(stamp: object) -> None:
    name, value = stamp.name, stamp.value  # type: ignore[attr-defined]
    neutral = f'module attributes {{"{name}" = {value}}} {{\n  tt.func @f() {{\n  }}\n}}\n'
    assert normalise(neutral) == "module {\n  tt.func @f() {\n  }\n}\n"
    assert name in normalise(neutral.replace(value, "7 : i32"))
    assert name in normalise(neutral.replace(f" = {value}", ""))


def test_a_limit_on_registers_is_a_change() -> None:
    limited = with_module_attribute(SOFTMAX, '"ttg.maxnreg" = 32 : i32', 0)
    assert fingerprint_text(limited) != fingerprint_text(SOFTMAX)


def test_parameters_of_a_layout_are_not_attributes() -> None:
    assert normalise(SOFTMAX, ["order", "sizePerThread"]) == normalise(SOFTMAX)


@pytest.mark.parametrize("pattern", ["*", "ttg.[nt]*", '"ttg.num-warps"', ""])
def test_patterns_of_every_kind(pattern: str) -> None:
    gone = pattern != ""
    assert ("ttg.num-warps" not in normalise(SOFTMAX, [pattern])) is gone
