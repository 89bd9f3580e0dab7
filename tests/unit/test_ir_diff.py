"""What a reader sees of a change: operation counts, and the lines that really differ."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from zlbench.ir.diff import unified_diff
from zlbench.ir.histogram import cvt_count, histogram, histogram_diff
from zlbench.ir.normalise import normalise

DATA = Path(__file__).parent / "data" / "ttgir"


def recorded(name: str) -> str:
    return (DATA / f"{name}.ttgir").read_text()


def test_histogram_counts_every_operation_once_in_raw_and_normalised_text() -> None:
    text = recorded("search-3.6.0")
    counts = histogram(text)
    assert counts["tt.reduce"] == text.count('"tt.reduce"(')
    assert counts["tt.scan"] == 1
    assert counts["scf.while"] == counts["scf.condition"] == 1
    assert counts["tt.func"] == 1
    assert counts["cf.cond_br"] == 1
    assert "ttg.num" not in counts
    assert histogram(normalise(text)) == counts
    assert cvt_count(text) == counts["ttg.convert_layout"] == text.count("ttg.convert_layout")


def test_histogram_of_forms() -> None:
    text = """module attributes {"ttg.num-ctas" = 1 : i32} {
  tt.func @f(%a: i32) {
    %r, %t = ttng.tmem_alloc : () -> (i32, i32)
    %x:2 = "tt.reduce"(%a) ({
    }) : (i32) -> (i32, i32)
    gpu.barrier
    ttg.local_dealloc %a {note = "ttg.convert_layout"} : i32
  }
}
"""
    assert histogram(text) == {
        "gpu.barrier": 1,
        "tt.func": 1,
        "tt.reduce": 1,
        "ttg.local_dealloc": 1,
        "ttng.tmem_alloc": 1,
    }
    assert cvt_count(text) == 0


def test_histogram_diff_puts_conversions_first() -> None:
    a = {"ttg.convert_layout": 9, "tt.load": 2, "arith.addi": 1}
    b = {"ttg.convert_layout": 8, "tt.load": 12, "arith.addi": 1}
    assert histogram_diff(a, b) == [("ttg.convert_layout", 9, 8), ("tt.load", 2, 12)]


def test_equal_programs_have_no_diff() -> None:
    assert unified_diff(recorded("matmul-3.6.0"), recorded("matmul-3.6.0-otherpath")) == ""


def test_one_operation_more_is_one_line_more() -> None:
    text = unified_diff(recorded("matmul-3.6.0"), recorded("matmul-3.9.0"), name_a="A mm", name_b="B mm")
    lines = text.splitlines()
    assert lines[:2] == ["--- A mm", "+++ B mm"]
    assert "    ttng.fence_async_shared  0 -> 1" in lines
    assert "    ttg.convert_layout 1 on both sides" in lines
    assert [line for line in lines[2:] if line.startswith("+")] == ["+      ttng.fence_async_shared {bCluster = false}"]
    assert [line for line in lines[2:] if line.startswith("-")] == []


def test_a_new_value_does_not_renumber_the_rest() -> None:
    a = normalise(recorded("softmax-3.6.0"))
    lines = a.splitlines()
    at = next(index for index, line in enumerate(lines) if "tt.get_program_id x" in line)
    lines.insert(at + 1, "    %new = tt.get_program_id y : i32")
    text = unified_diff(a, "\n".join(lines) + "\n", context=0)
    changed = [line for line in text.splitlines()[2:] if line[0] in "+-"]
    assert changed == ["+    %n0 = tt.get_program_id y : i32"]


def test_a_swapped_operand_is_seen() -> None:
    a = normalise(recorded("softmax-3.6.0"))
    b = re.sub(r"arith\.subf (%\d+), (%\d+)", r"arith.subf \2, \1", a)
    assert a != b
    changed = [line for line in unified_diff(a, b).splitlines()[2:] if line[0] in "+-"]
    assert len(changed) == 2


@given(st.sampled_from(["softmax", "matmul", "search"]), st.data())
def test_whatever_differs_shows(kernel: str, data: st.DataObject) -> None:
    a = normalise(recorded(f"{kernel}-3.6.0-nolines"))
    lines = a.splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    kind = data.draw(st.sampled_from(["drop", "double", "swap"]))
    if kind == "drop":
        del lines[at]
    elif kind == "double":
        lines.insert(at, lines[at])
    else:
        lines[at : at + 2] = reversed(lines[at : at + 2])
    b = "\n".join(lines) + "\n"
    text = unified_diff(a, b)
    assert (text == "") == (normalise(b) == a)
