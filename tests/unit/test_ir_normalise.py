"""Normalised TTGIR: equal for equal programs however they are spelt, different for different ones."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.ir.errors import IrError
from zlbench.ir.normalise import fingerprint_text, normalise

DATA = Path(__file__).parent / "data" / "ttgir"
NAME = re.compile(r"%([A-Za-z0-9_$.\-]+)")


def recorded(name: str) -> str:
    return (DATA / f"{name}.ttgir").read_text()


@pytest.mark.parametrize("kernel", ["softmax", "matmul", "search"])
@pytest.mark.parametrize("spelling", ["nolines", "otherpath"])
def test_one_program_compiled_with_other_paths_or_without_line_info_is_equal(kernel: str, spelling: str) -> None:
    one, other = recorded(f"{kernel}-3.6.0"), recorded(f"{kernel}-3.6.0-{spelling}")
    assert one != other
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize("kernel", ["softmax", "matmul"])
def test_line_info_of_another_release_makes_no_difference_either(kernel: str) -> None:
    assert normalise(recorded(f"{kernel}-3.9.0")) == normalise(recorded(f"{kernel}-3.9.0-nolines"))


def test_two_releases_agree_on_softmax_but_for_a_neutral_stamp() -> None:
    old, new = recorded("softmax-3.6.0"), recorded("softmax-3.9.0")
    assert '"ttng.two-ctas" = false' in new
    assert fingerprint_text(old) == fingerprint_text(new)


def test_two_releases_differ_on_a_matmul_by_one_fence() -> None:
    old, new = (normalise(recorded(f"matmul-{version}")).splitlines() for version in ("3.6.0", "3.9.0"))
    assert [line for line in new if line not in set(old)] == ["      ttng.fence_async_shared {bCluster = false}"]


def test_strings_that_look_like_ir_are_kept() -> None:
    text = normalise(recorded("search-3.6.0"))
    assert r'"mov.b32 $0, $1; // loc(\22a\22) %v1"' in text
    assert r'"bad \22quoted\22 loc( value %3"' in text
    assert "#loc" not in text


@pytest.mark.parametrize(
    "location",
    [
        "#loc",
        "#loc12",
        "unknown",
        '"x"(#loc3)',
        '"/a b/(c) \\" loc(/k.py":3:4',
        "callsite(#loc1 at #loc2)",
        'callsite("f"("/p (1).py":1:2) at callsite(#loc1 at "/q\\\\".py":3:4))',
        'fused<"pass">["/k.py":1:2, #loc3]',
    ],
)
def test_every_form_of_location_goes(location: str) -> None:
    plain = "module {\n  tt.func @f(%a: i32) {\n    %b = arith.addi %a, %a : i32\n    tt.return\n  }\n}\n"
    located = plain.replace("%a: i32", f"%a: i32 loc({location})").replace(", %a : i32", f", %a : i32 loc({location})")
    located = f"#loc = loc({location})\n{located[:-1]} loc({location})\n#loc3 = loc({location})\n"
    assert normalise(located) == normalise(plain)


def test_a_name_used_again_after_its_region_closed_is_another_value() -> None:
    def body(second: str) -> str:
        return f"""module {{
  tt.func @f(%x: i32) {{
    %0 = "tt.reduce"(%x) ({{
    ^bb0(%a: i32, %b: i32):
      %s = arith.addi %a, %b : i32
      tt.reduce.return %s : i32
    }}) : (i32) -> i32
    %1 = "tt.reduce"(%0) ({{
    ^bb0(%{second}a: i32, %{second}b: i32):
      %{second}s = arith.addi %{second}a, %{second}b : i32
      tt.reduce.return %{second}s : i32
    }}) : (i32) -> i32
    tt.return
  }}
}}
"""

    assert normalise(body("")) == normalise(body("other_"))
    swapped = body("").replace("addi %a, %b", "addi %b, %a", 1)
    assert normalise(swapped) != normalise(body(""))


def test_result_lists_iter_args_labels_and_uses_before_definition() -> None:
    text = """module {
  tt.func @f(%p: i32, %q: i32) {
    %result, %token:2 = ttng.tmem_alloc : () -> (i32, i32, i32)
    %r:2 = scf.for %i = %p to %q step %p iter_args(%acc = %result, %t = %token#1) -> (i32, i32)  : i32 {
      scf.yield %acc, %t : i32, i32
    }
    cf.br ^bb2
  ^bb1:  // pred: ^bb2
    tt.store %late, %r#0 : i32
    tt.return
  ^bb2:  // 2 preds: ^bb0, ^bb1
    %late = arith.addi %p, %q : i32
    cf.br ^bb1
  }
}
"""
    assert (
        normalise(text)
        == """module {
  tt.func @f(%0: i32, %1: i32) {
    %2, %3:2 = ttng.tmem_alloc : () -> (i32, i32, i32)
    %4:2 = scf.for %5 = %0 to %1 step %0 iter_args(%6 = %2, %7 = %3#1) -> (i32, i32)  : i32 {
      scf.yield %6, %7 : i32, i32
    }
    cf.br ^bb2
  ^bb1:
    tt.store %8, %4#0 : i32
    tt.return
  ^bb2:
    %8 = arith.addi %0, %1 : i32
    cf.br ^bb1
  }
}
"""
    )


def test_names_of_one_function_mean_nothing_in_the_next() -> None:
    text = """module {
  tt.func @f(%a: i32) {
    tt.return %a : i32
  }
  tt.func @g(%NAME: i32) {
    tt.return %NAME : i32
  }
}
"""
    assert normalise(text.replace("NAME", "a")) == normalise(text.replace("NAME", "zz"))


@pytest.mark.parametrize("text", ["", " \n\n", "module {\n  %a = tt.f loc(callsite(", "module \x00{}"])
def test_what_is_not_ir_is_refused(text: str) -> None:
    with pytest.raises(IrError):
        normalise(text)


texts = st.sampled_from([recorded(f"{kernel}-3.6.0-nolines") for kernel in ("softmax", "matmul", "search")])


@given(texts, st.randoms(use_true_random=False), st.sampled_from(["{}", "v{}", "v$.-_{}", "arg{}_x", "{}.0"]))
def test_renaming_every_value_changes_nothing(text: str, random: object, form: str) -> None:
    strings = {string for string in re.findall(r'"(?:[^"\\]|\\.)*"', text) if "%" in string}
    names = sorted(
        {name for line in text.splitlines() if not any(s in line for s in strings) for name in NAME.findall(line)}
    )
    numbers = list(range(len(names)))
    random.shuffle(numbers)  # type: ignore[attr-defined]
    table = {name: form.format(number) for name, number in zip(names, numbers, strict=True)}
    renamed = re.sub(
        r'"(?:[^"\\]|\\.)*"|%([A-Za-z0-9_$.\-]+)',
        lambda match: f"%{table[match[1]]}" if match[1] else match[0],
        text,
    )
    assert normalise(renamed) == normalise(text)


@given(texts)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(texts, st.data())
def test_every_number_and_every_operation_counts(text: str, data: st.DataObject) -> None:
    text = normalise(text)
    tokens = [*re.finditer(r"(?<![%\w#^.\-$])\d+|\b(?:arith|tt|ttg|ttng|scf|math)\.\w+", text)]
    token = data.draw(st.sampled_from(tokens))
    other = f"{token[0]}7" if token[0].isdigit() else f"{token[0]}x"
    assert normalise(text[: token.start()] + other + text[token.end() :]) != text


@given(texts, st.data())
def test_every_operand_counts(text: str, data: st.DataObject) -> None:
    text = normalise(text)
    defined: set[str] = set()
    uses = []
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|%(\d+)( = |: |:\d+ = )?', text):
        if match[1] and match[2]:
            defined.add(match[1])
        elif match[1] and len(defined) > 1:
            uses.append((match, sorted(defined - {match[1]})))
    match, others = data.draw(st.sampled_from(uses))
    changed = f"{text[: match.start()]}%{data.draw(st.sampled_from(others))}{text[match.start() + 1 + len(match[1]) :]}"
    assert normalise(changed) != text


@given(st.text(max_size=200) | st.text(alphabet='%abc:= ,(){}"\\#loc\n', max_size=200))
def test_any_text_is_normalised_or_refused(text: str) -> None:
    try:
        once = normalise(text)
    except IrError:
        return
    assert once.endswith("\n")


def test_values_beyond_the_prepared_numbers() -> None:
    lines = [f"    %v{number} = tt.f : i32" for number in range(5000)]
    text = "module {\n  tt.func @f() {\n" + "\n".join(lines) + "\n  }\n}\n"
    numbers = count()
    assert normalise(text) == re.sub(r"%v\d+", lambda _: f"%{next(numbers)}", text)
