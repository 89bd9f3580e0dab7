"""--fail-on: how it is written, what it finds, what it could not have found, and what GitHub is told."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from fakes import by_hand as hand
from fakes.measured import kernel
from hypothesis import given
from hypothesis import strategies as st

from zlbench.errors import UsageError
from zlbench.inference.types import Verdict, Why
from zlbench.report.gate import Gate, Regression, Watched, blind, failures, lines, parse_gate, regressions
from zlbench.report.model import KernelCosts, KernelPair, LeftOut
from zlbench.report.prose import github
from zlbench.report.summary import Summary
from zlbench.rounds.names import Metric


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        pytest.param("slower>2%", Gate(what=Watched.SLOWER, most=0.02), id="percent"),
        pytest.param(" Slower > 2.5 % ", Gate(what=Watched.SLOWER, most=0.025), id="blanks and case"),
        pytest.param("slower>.5%", Gate(what=Watched.SLOWER, most=0.005), id="below one"),
        pytest.param("slower", Gate(what=Watched.SLOWER), id="any"),
        pytest.param("faster>5%", Gate(what=Watched.FASTER, most=0.05), id="faster"),
        pytest.param("spills>0", Gate(what=Watched.SPILLS, relative=False), id="number"),
        pytest.param("shared>1024", Gate(what=Watched.SHARED, most=1024, relative=False), id="bytes"),
        pytest.param("registers>10%", Gate(what=Watched.REGISTERS, most=0.1), id="exact in percent"),
        pytest.param("instructions", Gate(what=Watched.INSTRUCTIONS), id="exact, any"),
    ],
)
def test_a_threshold_is_read(text: str, gate: Gate) -> None:
    found = parse_gate(text)
    assert (found.what, found.relative) == (gate.what, gate.relative)
    assert found.most == pytest.approx(gate.most)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "'' is no threshold", id="nothing"),
        pytest.param("slower>", "'slower>' is no threshold", id="no number"),
        pytest.param("slower>=2%", "'slower>=2%' is no threshold", id="not less"),
        pytest.param("slower<2%", "is no threshold", id="less"),
        pytest.param("slower>-2%", "is no threshold", id="negative"),
        pytest.param("slower>nan%", "is no threshold", id="not a number"),
        pytest.param("2%", "is no threshold", id="no metric"),
        pytest.param("slower>2", "how much slower is said in percent: slower>2%", id="no unit"),
        pytest.param("slowr>2%", "no metric named slowr. Nearest: slower", id="misspelt"),
        pytest.param("slower>2% spills>0", "is no threshold", id="two"),
    ],
)
def test_what_is_none_is_refused_with_the_grammar_and_an_example(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gate(text)
    assert said in str(caught.value)
    assert str(caught.value).startswith("--fail-on: ")
    assert "such as slower>2%" in str(caught.value)


@given(
    what=st.sampled_from(Watched), number=st.integers(min_value=0, max_value=100_000), digits=st.integers(0, 99),
    percent=st.booleans(),
)  # fmt: skip
def test_a_threshold_is_written_as_it_is_read(what: Watched, number: int, digits: int, percent: bool) -> None:
    gate = parse_gate(f"{what.value}>{number}.{digits:02d}{'%' if percent or what.timed else ''}")
    again = parse_gate(str(gate))
    assert (again.what, again.relative) == (gate.what, gate.relative)
    assert again.most == pytest.approx(gate.most, rel=1e-5)


@given(st.text(max_size=40))
def test_any_text_is_a_threshold_or_a_usage_error(text: str) -> None:
    try:
        gate = parse_gate(text)
    except UsageError:
        return
    assert text.strip().lower().startswith(gate.what.value)
    assert math.isfinite(gate.most)


def campaign(**more: Any) -> Summary:
    """Two operators: one with a row slower by 4.1 %, one faster by 2.9 % as a whole."""
    return hand.summary(
        hand.op("topk", hand.row("64x1024", Verdict.SLOWER, 4.1), hand.row("1x1", Verdict.SLOWER, 1.1),
                hand.row("2x2", Verdict.NO_DIFFERENCE, 0.1), verdict=Verdict.NO_DIFFERENCE, percent=0.5),
        hand.op("mm", hand.row("4096x4096", Verdict.FASTER, -6), verdict=Verdict.FASTER, percent=-6),
        hand.op("all", hand.row("8x8", Verdict.SLOWER, 9), verdict=Verdict.SLOWER, percent=9),
        controls=(hand.op("softmax", hand.row("1x1", Verdict.SLOWER, 9), verdict=Verdict.SLOWER, percent=9,
                          control=True),), **more,
    )  # fmt: skip


def names(summary: Summary, *gates: str) -> list[str]:
    return [found.name for found in regressions(summary, [parse_gate(gate) for gate in gates])]


def test_rows_and_operators_beyond_a_threshold_are_found_the_largest_first() -> None:
    assert names(campaign(), "slower>2%") == ["all", "all float16 8x8", "topk float16 64x1024"]
    assert names(campaign(), "slower") == ["all", "all float16 8x8", "topk float16 64x1024", "topk float16 1x1"]
    assert names(campaign(), "slower>9.5%") == []
    assert names(campaign(), "faster>5%") == ["mm", "mm float16 4096x4096"]
    assert names(campaign(), "faster>7%") == []


@pytest.mark.parametrize(("what", "percent"), [(Watched.SLOWER, 4.1), (Watched.FASTER, -6)])
def test_what_is_just_at_the_threshold_is_not_beyond_it(what: Watched, percent: float) -> None:
    verdict = Verdict.SLOWER if what is Watched.SLOWER else Verdict.FASTER
    found = hand.summary(hand.op("mm", hand.row("1x1", verdict, percent), verdict=verdict, percent=percent))
    (row,) = found.subjects[0].rows
    assert row.result is not None
    assert row.result.estimate is not None
    most = abs(math.expm1(row.result.estimate))
    assert regressions(found, [Gate(what=what, most=most)]) == ()
    assert len(regressions(found, [Gate(what=what, most=math.nextafter(most, 0.0))])) == 2


def test_gates_are_judged_one_by_one_and_once() -> None:
    assert names(campaign(), "faster>5%", "slower>5%", "slower>5%") == [
        "mm", "mm float16 4096x4096", "all", "all float16 8x8",
    ]  # fmt: skip
    assert names(campaign()) == []


def test_an_estimate_without_the_verdict_is_no_finding() -> None:
    found = hand.summary(
        hand.op("gelu", hand.row("64x64", Verdict.INCONCLUSIVE, 8), verdict=Verdict.INCONCLUSIVE, percent=8)
    )
    assert names(found, "slower>2%") == []


def test_a_finding_has_its_figures() -> None:
    *_, row = regressions(campaign(), [parse_gate("slower>2%")])
    assert str(row) == ("topk float16 64x1024: slower, +4.10 % (+3.60…+4.60), 16.4 µs → 17.1 µs (--fail-on slower>2%)")
    assert failures([row, row]) == {
        ("topk", "float16|64x1024"): "; ".join([f"{row.text} (--fail-on slower>2%)"] * 2)
    }  # fmt: skip
    operator = regressions(campaign(), [parse_gate("slower>2%")])[0]
    assert (operator.directory, operator.row) == ("all", "")
    compiled = regressions(campaign(metric=Metric.COMPILE), [parse_gate("slower>5%")])[0]
    assert compiled.text == "takes longer, +9.00 % (+8.50…+9.50), mean over 1 row"


def costs(**values: int | None) -> KernelCosts:
    return KernelCosts(**{"registers": 32, "spills": 0, "shared": 1024, "instructions": 100, **values})


def with_kernels(*pairs: KernelPair) -> Summary:
    return hand.summary(hand.op("mm", hand.row("1x1", Verdict.NO_DIFFERENCE), kernels=pairs))


def pair(name: str, a: KernelCosts | None, b: KernelCosts | None) -> KernelPair:
    return KernelPair(id=name, name=name, a=a, b=b)


@pytest.mark.parametrize(
    ("gate", "b", "said"),
    [
        pytest.param("spills>0", {"spills": 12}, "spills 0 → 12, 2 kernels together", id="from nothing"),
        pytest.param("spills", {"spills": 1}, "spills 0 → 1, 2 kernels together", id="any"),
        pytest.param("spills>12", {"spills": 12}, None, id="not more than allowed"),
        pytest.param("spills>5%", {"spills": 1}, "spills 0 → 1, 2 kernels together", id="percent of nothing"),
        pytest.param("registers>10%", {"registers": 39}, "registers 64 → 71 (+10.9 %), 2 kernels together", id="sum"),
        pytest.param("registers>11%", {"registers": 39}, None, id="sum below"),
        pytest.param(
            "shared>0", {"shared": 2048}, "shared (bytes) 2048 → 3072 (+50.0 %), 2 kernels together", id="shared"
        ),
        pytest.param("instructions>0", {"instructions": 90}, None, id="fewer"),
    ],
)
def test_exact_costs_are_those_of_an_operators_kernels_together(gate: str, b: dict[str, int], said: str | None) -> None:
    found = regressions(with_kernels(pair("k1", costs(), costs(**b)), pair("k2", costs(), costs())), [parse_gate(gate)])
    assert [one.text for one in found] == ([] if said is None else [said])


def test_a_kernel_that_several_rows_launched_counts_once_and_an_unknown_one_is_said() -> None:
    found = with_kernels(
        pair("k1", costs(), costs(spills=2)), pair("k1", costs(), costs(spills=2)), pair("only A", costs(), None),
        pair("unknown", costs(spills=None), costs(spills=7)),
    )  # fmt: skip
    gate = parse_gate("spills>0")
    assert [one.text for one in regressions(found, [gate])] == ["spills 0 → 2, 1 kernel together"]
    assert lines(found, [gate], regressions(found, [gate])) == [
        "--fail-on spills>0: 1 operator beyond it; not looked at: 2 kernels on one side alone or of unknown cost",
        "  mm: spills 0 → 2, 1 kernel together",
    ]
    none = with_kernels()
    assert "not looked at: 1 operator without a known kernel" in lines(none, [gate], [])[0]


def test_what_a_gate_could_not_have_seen_is_counted_by_cause() -> None:
    left_out = (LeftOut(round=1, reason="TIMER_MISMATCH"),)
    lost = (LeftOut(round=1, reason="OOM", lost=True),)
    found = hand.summary(
        hand.op(
            "gelu",
            hand.row("fine", Verdict.INCONCLUSIVE, mde=hand.ln(1.9), high=hand.ln(3)),
            hand.row("ruled out", Verdict.INCONCLUSIVE, mde=hand.ln(9), high=hand.ln(1.9)),
            hand.row("blind", Verdict.INCONCLUSIVE, mde=hand.ln(2.2), high=hand.ln(3)),
            hand.row("unlimited", Verdict.INCONCLUSIVE, mde=None, high=None),
            hand.row("detectable", Verdict.NOT_DETECTABLE, mde=hand.ln(1.9), high=hand.ln(2.1)),
            hand.row("equal", Verdict.NO_DIFFERENCE),
            hand.row("slower", Verdict.SLOWER, 1.0),
            hand.row("invalid", Verdict.INVALID, why=Why.FEW_PAIRS, n=3),
            hand.row("excluded", n=0, readings={"left_out": left_out}),
            hand.row("lost", n=0, readings={"left_out": lost}),
            lost=("float16 lost: OOM", "another: OOM"),
        ),
        controls=hand.controls(),
    )
    gate = parse_gate("slower>2%")
    unseen = blind(found, gate)
    assert dict(unseen.by) == {"inconclusive": 2, "invalid": 1, "not comparable": 1, "lost": 2}
    assert (unseen.number, unseen.total) == (6, 11)
    (said,) = lines(found, [gate], ())
    assert said.startswith("--fail-on slower>2%: nothing beyond it; 6 of 11 rows could not have shown 2 % (")
    assert said.endswith("(2 inconclusive, 1 invalid, 1 not comparable, 2 lost)")
    assert dict(blind(found, parse_gate("slower>1%")).by)["no detectable difference"] == 1
    assert dict(blind(found, parse_gate("slower")).by)["inconclusive"] == 4
    assert "could not have shown a difference" in lines(found, [parse_gate("slower")], ())[0]
    assert "inconclusive" not in dict(blind(found, parse_gate("faster>2%")).by)


def test_a_gate_that_sees_everything_says_no_more_than_its_result() -> None:
    found = hand.summary(hand.op("mm", hand.row("1x1", Verdict.NO_DIFFERENCE)))
    assert lines(found, [parse_gate("slower>2%")], ()) == ["--fail-on slower>2%: nothing beyond it"]


def test_many_findings_are_shortened_and_counted() -> None:
    rows = [hand.row(f"{k}x1", Verdict.SLOWER, 5 + k) for k in range(25)]
    found = hand.summary(hand.op("mm", *rows, verdict=Verdict.SLOWER, percent=15))
    gates = [parse_gate("slower>2%")]
    said = lines(found, gates, regressions(found, gates))
    assert said[0] == "--fail-on slower>2%: 1 operator and 25 rows beyond it"
    assert len(said) == 12
    assert said[-1] == "  and 16 more: report.json and junit.xml have all"


def finding(name: str = "mm", text: str = "slower") -> Regression:
    return Regression(gate=parse_gate("slower>2%"), directory="mm", name=name, text=text)


def test_annotations_are_errors_and_a_notice_that_counts_them() -> None:
    found = regressions(campaign(), [parse_gate("slower>2%")])
    said = github.annotations(found)
    assert said[-1] == "::notice title=zlbench::3 regressions beyond --fail-on slower>2%25"
    assert said[2] == (
        "::error title=topk float16 64x1024::slower, +4.10 %25 (+3.60…+4.60), 16.4 µs → 17.1 µs (--fail-on slower>2%25)"
    )
    many = github.annotations([finding()] * 30)
    assert [line.split()[0] for line in many] == ["::error"] * 10 + ["::notice"]
    assert many[-1].endswith(
        "30 regressions beyond --fail-on slower>2%25, 20 of them not shown as errors; the report has all"
    )
    assert github.annotations([]) == []


@given(name=st.text(), text=st.text())
def test_an_annotation_is_one_line_whatever_is_in_the_data(name: str, text: str) -> None:
    for line in github.annotations([finding(name, text)]):
        assert not {"\r", "\n"} & {*line}
    title = github.annotations([finding(name, text)])[0].removeprefix("::error title=").partition("::")[0]
    assert "," not in title
    assert ":" not in title


def test_a_name_with_every_special_character_is_escaped() -> None:
    (first, _) = github.annotations([finding("a:b,c%d\r\ne", "x%y\r\nz:,")])
    assert first == "::error title=a%3Ab%2Cc%25d e::x%25y%0D%0Az:, (--fail-on slower>2%25)"


def test_only_a_runner_of_github_is_told_anything() -> None:
    assert github.in_actions({"GITHUB_ACTIONS": "true"})
    assert not github.in_actions({})
    assert not github.in_actions({"GITHUB_ACTIONS": "false"})


def test_the_page_of_a_step_is_appended_to(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    env = {"GITHUB_STEP_SUMMARY": str(page)}
    assert github.write_step_summary("one\n", env) == ""
    assert github.write_step_summary("µ\udc80\n", env) == ""
    assert page.read_text(encoding="utf-8") == "one\nµ?\n"
    assert github.write_step_summary("one\n", {}) == ""


def test_a_page_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    warning = github.write_step_summary("one\n", {"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "summary.md")})
    assert warning.startswith("GITHUB_STEP_SUMMARY: ")
    assert "cannot be written" in warning
    page = tmp_path / "summary.md"
    page.write_bytes(b"x" * (github.SUMMARY_LIMIT - 3))
    warning = github.write_step_summary("four\n", {"GITHUB_STEP_SUMMARY": str(page)})
    assert "are more than GitHub shows of a step" in warning
    assert page.stat().st_size == github.SUMMARY_LIMIT - 3


def test_kernels_of_the_fake_campaign_are_within_and_beyond() -> None:
    found = with_kernels(kernel("mm_kernel"))
    assert names(found, "registers", "spills", "shared", "instructions") == []
