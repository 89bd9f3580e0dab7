"""Lines as triton 3.6.0 and 3.9.0 printed them for one kernel with cache modifiers and eviction policies."""

from __future__ import annotations

import pytest

from zlbench.ir.normalise import normalise

T = "tensor<128x!tt.ptr<f32>, #blocked>"
SAME = [
    (
        f"%a = tt.load %p, %m, %c cacheModifier = cg : {T}",
        f"%a = tt.load %p, %m, %c {{cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>}} : {T}",
    ),
    (
        f"%b = tt.load %q evictionPolicy = evict_first : {T}",
        f"%b = tt.load %q {{cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_first>}} : {T}",
    ),
    (
        f"%b = tt.load %q cacheModifier = ca evictionPolicy = evict_last {{isVolatile = true}} : {T}",
        f"%b = tt.load %q {{cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_last>, "
        f"isVolatile = true}} : {T}",
    ),
    (
        "%a = amdg.buffer_load %p[%o], %m cacheModifier = cg : tensor<128xf32, #blocked>",
        "%a = amdg.buffer_load %p[%o], %m {cachePolicy = #tt.cache_policy<cache_modifier = cg, "
        "eviction_policy = evict_normal>} : !tt.ptr<f32> -> tensor<128xf32, #blocked>",
    ),
    (
        "amdg.buffer_store %v, %q[%o] cacheModifier = cs : tensor<128xf32, #blocked>",
        "amdg.buffer_store %v, %q[%o] {cachePolicy = #tt.cache_policy<cache_modifier = cs, "
        "eviction_policy = evict_normal>} : !tt.ptr<f32> -> tensor<128xf32, #blocked>",
    ),
]


def module(line: str) -> str:
    return f"module {{\n  tt.func public @k() {{\n    {line}\n    tt.return\n  }}\n}}\n"


@pytest.mark.parametrize(("older", "newer"), SAME)
def test_two_spellings_of_one_operation_are_equal(older: str, newer: str) -> None:
    assert normalise(module(older)) == normalise(module(newer))


@pytest.mark.parametrize(("older", "newer"), SAME)
def test_the_unified_text_is_stable(older: str, newer: str) -> None:
    once = normalise(module(newer))
    assert normalise(once) == once


@pytest.mark.parametrize("other", ["evict_last", "evict_normal"])
def test_another_policy_is_a_change(other: str) -> None:
    older, newer = SAME[1]
    assert normalise(module(older)) != normalise(module(newer.replace("evict_first", other)))


def test_a_policy_that_only_one_compiler_keeps_is_a_change() -> None:
    kept = "%b = amdg.buffer_load %q[%o] {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_first>} "
    assert normalise(module(kept + ": !tt.ptr<f32> -> tensor<128xf32, #blocked>")) != normalise(
        module("%b = amdg.buffer_load %q[%o] : tensor<128xf32, #blocked>")
    )
