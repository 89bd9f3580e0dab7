"""Lines as triton 3.6.0 and 3.9.0 printed them for one kernel with cache modifiers and eviction policies."""

from __future__ import annotations

import pytest

from zlbench.ir.normalise import normalise

T = "tensor<128x!tt.ptr<f32>, #blocked>"
V = "tensor<128xf32, #blocked>"


def policy(modifier: str, eviction: str) -> str:
    return f"cachePolicy = #tt.cache_policy<cache_modifier = {modifier}, eviction_policy = {eviction}>"


CG, FIRST = policy("cg", "evict_normal"), policy("none", "evict_first")
LAST, CS = policy("ca", "evict_last"), policy("cs", "evict_normal")
SAME = [
    (f"%a = tt.load %p, %m, %c cacheModifier = cg : {T}", f"%a = tt.load %p, %m, %c {{{CG}}} : {T}"),
    (f"%b = tt.load %q evictionPolicy = evict_first : {T}", f"%b = tt.load %q {{{FIRST}}} : {T}"),
    (
        f"%b = tt.load %q cacheModifier = ca evictionPolicy = evict_last {{isVolatile = true}} : {T}",
        f"%b = tt.load %q {{{LAST}, isVolatile = true}} : {T}",
    ),
    (
        f"%a = amdg.buffer_load %p[%o], %m cacheModifier = cg : {V}",
        f"%a = amdg.buffer_load %p[%o], %m {{{CG}}} : !tt.ptr<f32> -> {V}",
    ),
    (
        f"amdg.buffer_store %v, %q[%o] cacheModifier = cs : {V}",
        f"amdg.buffer_store %v, %q[%o] {{{CS}}} : !tt.ptr<f32> -> {V}",
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
    kept = f"%b = amdg.buffer_load %q[%o] {{{FIRST}}} "
    assert normalise(module(kept + ": !tt.ptr<f32> -> tensor<128xf32, #blocked>")) != normalise(
        module("%b = amdg.buffer_load %q[%o] : tensor<128xf32, #blocked>")
    )
