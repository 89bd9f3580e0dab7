"""JUnit XML: a suite an operator, a case a row, counts that add up, and any text in it whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from fakes.every_verdict import compiled, judged, nothing
from fakes.measured import EVIL, op, row
from hypothesis import example, given
from hypothesis import strategies as st

from zlbench.report.exports.junit import to_junit
from zlbench.report.model import Header, Measured
from zlbench.report.summary import Summary, summarise
from zlbench.rounds.names import Metric

COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def parsed(summary: Summary, failures: Mapping[tuple[str, str], str] | None = None) -> ET.Element:
    """The tree, held against what readers of JUnit take for granted."""
    root = ET.fromstring(to_junit(summary, failures=failures).encode())
    assert root.tag == "testsuites"
    assert {suite.tag for suite in root} <= {"testsuite"}
    for suite in root:
        order = [child.tag for child in suite]
        assert order == sorted(order, key=["properties", "testcase", "system-out"].index)
        cases = suite.findall("testcase")
        assert all(case.get("classname") == suite.get("name") and case.get("name") for case in cases)
        assert all(len(case) <= 1 for case in cases)
        assert len({case.get("name") for case in cases}) == len(cases)
        assert int(suite.get("tests", "")) == len(cases)
        for count, tag in COUNTS.items():
            assert int(suite.get(count, "")) == sum(case.find(tag) is not None for case in cases)
    for count in ("tests", *COUNTS):
        assert int(root.get(count, "")) == sum(int(suite.get(count, "")) for suite in root)
    return root


def cases(root: ET.Element, operator: str) -> dict[str, tuple[str, str]]:
    """Each case of an operator, with what became of it and the message."""
    found = {}
    for case in root.iter("testcase"):
        if case.get("classname") == operator:
            (what,) = [*case] or [None]
            found[case.get("name", "")] = ("passed", "") if what is None else (what.tag, what.get("message", ""))
    return found


def test_a_row_is_a_case_and_a_slower_one_passes_without_a_gate() -> None:
    root = parsed(judged())
    assert [suite.get("name") for suite in root][:5] == ["mm", "topk", "gelu", "sort", EVIL]
    assert cases(root, "mm") == {
        "float16 4096x4096": ("skipped", "invalid: FEW_PAIRS"),
        "float16 1024x1024": ("passed", ""),
    }
    assert root.get("failures") == "0"


def test_what_the_gate_found_is_a_failure() -> None:
    found = {("mm", "float16|1024x1024"): "slower by 4.0 % > 2 %", ("topk", ""): "geomean slower by 3 %"}
    root = parsed(judged(), found)
    assert cases(root, "mm")["float16 1024x1024"] == ("failure", "slower by 4.0 % > 2 %")
    assert cases(root, "topk")["the operator as a whole"] == ("failure", "geomean slower by 3 %")
    assert root.get("failures") == "2"


def test_what_is_excluded_lost_or_failed_is_said_with_its_reason() -> None:
    root = parsed(judged())
    note = "not comparable: TIMER_MISMATCH (cuda_graph on A, direct on B)"
    assert cases(root, "sort")["int64 1024x1024"] == ("skipped", note)
    assert cases(root, "gelu")["lost row float16 512x512: OOM on B"] == (
        "skipped",
        "lost row: float16 512x512: OOM on B",
    )
    compile_rounds = parsed(compiled())
    assert cases(compile_rounds, "fft") == {
        "cell of round 2 B: CELL_TIMEOUT": ("error", "round 2 B: CELL_TIMEOUT"),
        "fft_row_kernel w4s3": ("skipped", "invalid: FEW_PAIRS"),
        "fft_row_kernel w8s3": ("skipped", "lost: LOST (no value on B)"),
    }
    assert "invalid pair, round 4: PAIR_THROTTLED" in (compile_rounds.findtext(".//system-out") or "")


def test_both_sides_are_properties() -> None:
    (suite, *_) = parsed(judged())
    found = {item.get("name"): item.get("value") for item in suite.iter("property")}
    assert found["A.native_sha256"] == "1f3c" * 16
    assert found["B.native_sha256"] == "9ab2" * 16
    assert found["A.card_uuid"] == "GPU-5d1e0000-0000-0000-0000-000000000000"
    assert (found["kind"], found["ir_verdict"]) == ("subject", "IR_CHANGED")


def test_nothing_to_measure_is_a_document_without_cases() -> None:
    root = parsed(nothing())
    assert (len(root), root.get("tests")) == (0, "0")


def test_rows_and_operators_that_look_alike_are_told_apart() -> None:
    twins = tuple(replace(row("8x8", ms=1.0), name=name) for name in ("plain", "transposed"))
    ops = (op("mm", *twins), replace(op("mm", row("8x8", ms=1.0)), directory="mm-2"))
    root = parsed(summarise(Measured(header=Header(title="x", metric=Metric.LATENCY), ops=ops)))
    assert [suite.get("name") for suite in root] == ["mm [mm]", "mm [mm-2]"]
    assert set(cases(root, "mm [mm]")) == {"float16 8x8 [plain]", "float16 8x8 [transposed]"}


@given(st.text(min_size=1))
@example("\x00\x08\x1b[31m")
@example("\ud800\udfff")
@example("\ufffe\uffff\x85\u2028")
@example("]]><!--&#0;\r\n\t'\"")
def test_any_text_gives_a_document(text: str) -> None:
    named = replace(row("8x8", ms=1.0), label=text)
    measured = Measured(
        header=Header(title=text, metric=Metric.LATENCY, a=text, b=text), sides={"A": {"driver": text}, "B": {}},
        ops=(op(text, named, failed=(text,), notes=(text,), lost=(text,), markers=((text, text),)),),
    )  # fmt: skip
    root = parsed(summarise(measured), {(text, ""): text})
    (suite,) = root
    clean = text if all(character in "\t\n" or character.isprintable() for character in text) else None
    assert clean is None or suite.get("name") == clean


@pytest.mark.parametrize(("character", "shown"), [("\x1b", "\\x1b"), ("\udc80", "\\udc80"), ("\ufffe", "\\ufffe")])
def test_what_xml_cannot_hold_is_shown(character: str, shown: str) -> None:
    measured = Measured(header=Header(title=character, metric=None))
    assert parsed(summarise(measured)).get("name") == shown


def test_equal_input_gives_equal_bytes() -> None:
    assert to_junit(judged()) == to_junit(judged())
