"""Names of variant files and row folders."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.ir.naming import VariantParams, legend, row_dirname, short_names, variant_stems


def variant(**values: object) -> VariantParams:
    """A variant whose upper-case keywords are constexprs."""
    constexprs = {name: value for name, value in values.items() if name.isupper()}
    rest = {name: value for name, value in values.items() if not name.isupper()}
    return VariantParams(constexprs=constexprs, **rest)  # type: ignore[arg-type]


def test_only_differing_parameters_as_initials_and_always_warps_and_stages() -> None:
    group = [
        variant(BLOCK_SIZE_M=128, BLOCK_SIZE_N=64, GROUP=8),
        variant(BLOCK_SIZE_M=64, BLOCK_SIZE_N=64, GROUP=4, num_warps=8, num_stages=1),
    ]
    assert variant_stems(group) == ["BSM128_GROUP8_w4s3", "BSM64_GROUP4_w8s1"]
    assert variant_stems(group[:1]) == ["w4s3"]


def test_clusters_and_register_limits_show_where_they_differ() -> None:
    group = [variant(), variant(num_ctas=2), variant(maxnreg=64)]
    assert variant_stems(group) == ["w4s3c1rany", "w4s3c2rany", "w4s3c1r64"]


def test_colliding_initials_are_told_apart() -> None:
    group = [variant(BLOCK_M=1, BIG_MASK=True, BLOCK_N=2), variant(BLOCK_M=2, BIG_MASK=False, BLOCK_N=4)]
    assert short_names(group) == {"BIG_MASK": "BIMA", "BLOCK_M": "BLM", "BLOCK_N": "BN"}
    assert variant_stems(group) == ["BIMA1_BLM1_BN2_w4s3", "BIMA0_BLM2_BN4_w4s3"]


def test_a_short_name_that_ends_in_a_digit_does_not_run_into_its_value() -> None:
    assert variant_stems([variant(K1=6), variant(K1=16)]) == ["K1=6_w4s3", "K1=16_w4s3"]


def test_tie_breakers_come_in_order_and_only_where_needed() -> None:
    fp16, bf16 = {"x": "*fp16", "y": "*fp16"}, {"x": "*bf16", "y": "*bf16"}
    group = [
        variant(signature=fp16, specialisation={"M": "div16"}),
        variant(signature=fp16, specialisation={}),
        variant(signature=bf16, specialisation={"M": "div16"}),
        variant(signature=fp16, num_warps=8),
    ]
    assert variant_stems(group) == ["w4s3__fp16__Mdiv16", "w4s3__fp16", "w4s3__bf16", "w8s3"]


def test_types_are_all_named_where_one_is_not_enough() -> None:
    group = [variant(signature={"x": x, "y": y}) for x, y in [("*fp16", "*fp16"), ("*fp16", "i32"), ("*bf16", "i32")]]
    assert variant_stems(group) == ["w4s3__fp16,fp16", "w4s3__fp16,i32", "w4s3__bf16,i32"]


def test_the_last_tie_breaker_is_a_digest_of_all_parameters() -> None:
    group = [variant(NAME="a/b"), variant(NAME="a:b")]
    stems = variant_stems(group)
    assert [stem[:-8] for stem in stems] == ["NAMEa-b_w4s3__"] * 2
    assert [stem[-8:] for stem in stems] == [member.digest()[:8] for member in group]


def test_options_count_like_parameters() -> None:
    group = [variant(options={"fp_fusion": flag, "arch": "sm90"}) for flag in (True, False)]
    assert variant_stems(group) == ["ff1_w4s3", "ff0_w4s3"]


def test_equal_parameters_give_equal_names_on_both_sides() -> None:
    a = VariantParams(constexprs={"M": 1, "N": 2}, signature={"x": "*fp16", "n": "i32"})
    b = VariantParams(constexprs={"N": 2, "M": 1}, signature={"n": "i32", "x": "*fp16"})
    other = VariantParams(constexprs={"N": 4, "M": 1})
    assert a.digest() == b.digest() != other.digest()
    assert variant_stems([a, other]) == variant_stems([b, other])
    assert variant_stems([a, other]) == list(reversed(variant_stems([other, b])))


def test_addresses_do_not_count() -> None:
    class Opaque:
        pass

    assert variant(FN=Opaque()).digest() == variant(FN=Opaque()).digest()


def test_equal_variants_still_get_a_file_each() -> None:
    assert variant_stems([variant(), variant()]) == [
        f"w4s3__{variant().digest()[:8]}",
        f"w4s3__{variant().digest()[:8]}_2",
    ]


values = st.one_of(
    st.integers(-5, 5),
    st.booleans(),
    st.none(),
    st.text(max_size=6),
    st.sampled_from(["../..", "a/b", "A", "a"]),
)
keys = st.sampled_from(["BLOCK_M", "BLOCK_N", "block_m", "B_M", "K", "K1", "../x", "a.b", "a_b", "é", "BLOCK_SIZE_M"])
types = st.dictionaries(st.sampled_from(["x", "y", "n"]), st.sampled_from(["*fp16", "*bf16", "i32", "i64"]))
variants = st.builds(
    VariantParams,
    constexprs=st.dictionaries(keys, values, max_size=5),
    num_warps=st.sampled_from([4, 8]),
    signature=types,
    specialisation=st.dictionaries(st.sampled_from(["x", "n"]), st.sampled_from(["div16", "eq1", ""])),
    options=st.dictionaries(keys, values, max_size=2),
)


@given(st.lists(variants, max_size=8))
def test_names_are_safe_unique_short_and_independent_of_order(group: list[VariantParams]) -> None:
    stems = variant_stems(group)
    assert len({stem.lower() for stem in stems}) == len(group)
    for stem in stems:
        assert re.fullmatch(r"[A-Za-z0-9_.,=+\-]{1,140}", stem)
        assert not stem.startswith((".", "/"))
        assert ".." not in stem
    distinct = list({member.digest(): member for member in group}.values())
    by_name = dict(zip(variant_stems(distinct), (member.digest() for member in distinct), strict=True))
    turned = distinct[::-1]
    assert by_name == dict(zip(variant_stems(turned), (member.digest() for member in turned), strict=True))


@given(st.lists(variants, min_size=1, max_size=5))
def test_the_legend_explains_every_name_and_every_short_form(group: list[VariantParams]) -> None:
    text = legend({"row/kernel": group})
    assert "## row/kernel" in text
    for stem in variant_stems(group):
        assert f"`{stem}`" in text


def test_legend() -> None:
    group = [
        variant(BLOCK_SIZE_M=m, EVEN=True, signature={"x": "*fp16", "n": "i32"}, specialisation={"n": "div16"})
        for m in (64, 128)
    ]
    lines = legend({"4096x4096/mm": group}).splitlines()
    assert "- `BSM` = `BLOCK_SIZE_M`" in lines
    assert "- in all: `EVEN=True`" in lines
    assert (
        "- `BSM64_w4s3`: BLOCK_SIZE_M=64, EVEN=True, num_warps=4, num_stages=3, num_ctas=1, n: i32 div16, x: *fp16"
        in lines
    )


@pytest.mark.parametrize("label", ["../../etc/passwd", "", ".", "..", "/", "a\x00b", "x" * 5000, "\ud800", "CON\n"])
def test_no_label_leaves_its_folder(label: str) -> None:
    name = row_dirname(label)
    assert re.fullmatch(r"[A-Za-z0-9_.,=+\-]{1,120}", name)
    assert name not in {".", ".."}


def test_row_names_are_readable() -> None:
    assert row_dirname("fp16_64x64") == "fp16_64x64"
    assert row_dirname("[4096, 4096]").startswith("4096,4096-")


@given(st.lists(st.text(alphabet='ab/[](), ._-"', max_size=6), unique=True))
def test_distinct_rows_have_distinct_folders(labels: list[str]) -> None:
    assert len({row_dirname(label) for label in labels}) == len(labels)
