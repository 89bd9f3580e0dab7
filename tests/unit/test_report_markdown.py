"""report.md: below the size of a comment whatever there is, GitHub makes nothing of data, nothing is dropped unsaid."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fakes import by_hand as hand
from fakes.measured import EVIL, campaign, identity, kernel
from hypothesis import given
from hypothesis import strategies as st

from zlbench.inference.types import Calibration, Verdict
from zlbench.report.model import LeftOut, Measured
from zlbench.report.prose.markdown import LIMIT, to_markdown
from zlbench.report.prose.markup import code, escaped
from zlbench.report.summary import Summary, summarise
from zlbench.rounds.names import Metric

WORST = "<script>@octocat #1 GH-2 https://x.y/z www.x.y $a$ :tada: | `c` *b* _i_ [l](u) ~s~ &lt; \\ <!-- {x}"


def section(text: str, title: str) -> str:
    """What stands below a heading, folded or not."""
    found = re.search(
        rf"^(?:## |<details><summary>){re.escape(title)}.*?(?=^## |^<details>|\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert found is not None, f"no {title} in {text}"
    return found[0]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def table_of(text: str) -> list[list[str]]:
    """The lines of the one table of a section, head first."""
    lines = [cells(line) for line in text.splitlines() if line.startswith("| ")]
    return [lines[0], *lines[2:]]


def one(*rows: Any, **more: Any) -> Summary:
    return hand.summary(hand.op("mm", *rows, verdict=Verdict.NO_DIFFERENCE), controls=hand.controls(), **more)


def many(ops: int, rows: int, verdict: Verdict = Verdict.NO_DIFFERENCE, label: str = "") -> Summary:
    return hand.summary(
        *(hand.op(f"op{number}", *(hand.row(f"{size}x{size} {label}", verdict, size % 9) for size in range(rows)),
                  verdict=verdict, lost=(f"x{number}: OOM",), kernels=(kernel(f"kernel{number}"),))
          for number in range(ops)),
        controls=hand.controls(),
    )  # fmt: skip


# What it says.


def test_verdicts_come_first_then_the_largest_changes_both_ways() -> None:
    text = to_markdown(summarise(campaign()))
    assert (
        text.index("## Verdicts") < text.index("## Slower (2)") < text.index("## Faster") < text.index("## Operators")
    )
    assert table_of(section(text, "Verdicts"))[1:4] == [
        ["slower", "2", "2"], ["faster", "1", "0"], ["inconclusive", "1", "0"],
    ]  # fmt: skip
    slower = table_of(section(text, "Slower"))
    assert [line[0] for line in slower[1:]] == [escaped(EVIL), "mm"]
    assert slower[2][1:4] == ["float16 1024x1024", "5.20 µs", "5.41 µs"]
    assert slower[2][4].startswith("+4.")
    assert (slower[2][6], slower[2][7], slower[2][9]) == ("6", "6/6", "**slower**")


def test_largest_changes_are_sorted_by_size() -> None:
    rows = [hand.row(f"{k}x1", Verdict.SLOWER if k % 2 else Verdict.FASTER, k if k % 2 else -k) for k in range(1, 9)]
    text = to_markdown(one(*rows))
    assert [line[4] for line in table_of(section(text, "Slower"))[1:]] == ["+7.00", "+5.00", "+3.00", "+1.00"]
    assert [line[4] for line in table_of(section(text, "Faster"))[1:]] == ["−8.00", "−6.00", "−4.00", "−2.00"]


def test_a_row_has_its_verdict_as_the_statistics_word_it_and_its_flags() -> None:
    said = "inconclusive (MDE 3.1 %, needs about 40 rounds)"
    row = hand.row("64x64", Verdict.INCONCLUSIVE, mde=0.03, what=said, flags=("order-effect", "uncalibrated"))
    assert table_of(section(to_markdown(one(row)), "Other rows"))[1][-1] == f"{said} · order-effect"


def test_operators_have_means_or_why_they_have_none() -> None:
    found = hand.summary(
        hand.op("mm", hand.row("1x1", Verdict.SLOWER, 2), verdict=Verdict.SLOWER, percent=1.8),
        hand.op("gelu", hand.row("1x1", Verdict.NO_DIFFERENCE), why_not="a round failed: round 2 B: CRASH"),
        controls=hand.controls(),
    )
    text = to_markdown(found)
    assert table_of(section(text, "Operators"))[1:] == [
        ["mm", "1", "6", "+1.80", "+1.30…+2.30", "**slower**"],
        ["gelu", "1", "6", "-", "-", "no mean: a round failed: round 2 B: CRASH"],
    ]
    assert "campaign: −0.40 % (−1.00…+0.20), geometric mean over 2 operators" in text


def test_excluded_and_lost_rows_are_listed_with_their_causes() -> None:
    left_out = (LeftOut(round=1, reason="TIMER_MISMATCH", note="cuda_graph on A, direct on B"),)
    found = hand.summary(
        hand.op("mm", hand.row("1x1", Verdict.NO_DIFFERENCE), hand.row("8x8", n=0, readings={"left_out": left_out}),
                lost=("float16 9x9: OOM on B",), invalid=("round 3: PAIR_THROTTLED",), failed=("round 4 B: CRASH",)),
        controls=hand.controls(),
    )  # fmt: skip
    listed = section(to_markdown(found), "Excluded, lost and disturbed").splitlines()
    assert listed[2:6] == [
        "- mm: float16 8x8: not comparable: TIMER_MISMATCH (cuda_graph on A, direct on B)", "- mm: round 4 B: CRASH",
        "- mm: invalid pair, round 3: PAIR_THROTTLED", "- mm: lost row float16 9x9: OOM on B",
    ]  # fmt: skip


def test_exact_costs_that_changed_are_there_and_equal_ones_not() -> None:
    found = hand.summary(
        hand.op("mm", hand.row("1x1", Verdict.NO_DIFFERENCE), kernels=(kernel("one"), kernel("two", changed=False))),
        controls=hand.controls(),
    )
    exact = section(to_markdown(found), "Exact costs of kernels that differ")
    assert table_of(exact)[1:] == [
        ["mm", "`one w4s3`", "38 → 36", "=", "8192 → 4096", "410 → 390", "changed", "changed",
         "`ttg.convert_layout` 9 → 6, `ttg.local_load` 4 → 2"],
    ]  # fmt: skip
    assert "1 of 1 operators differ" in exact


def test_controls_and_what_weakens_the_numbers() -> None:
    text = to_markdown(one(hand.row("1x1", Verdict.SLOWER, 2)))
    assert "controls: +0.02 % ± 0.05" in section(text, "Controls")
    assert [line[0] for line in table_of(section(text, "Controls"))[1:]] == [*hand.CALIBRATED.operators]
    biased = Calibration(used=True, bias=0.004, error=0.001, operators={"bmm": 0.004})
    top = to_markdown(one(hand.row("1x1", Verdict.SLOWER, 2), calibration=biased)).partition("## Verdicts")[0]
    assert "**BIAS: equal code is +0.40 % ± 0.10 apart." in top
    bare = hand.summary(hand.op("mm", hand.row("1x1", Verdict.SLOWER, 2)), calibration=Calibration(used=False))
    assert "**UNCALIBRATED: no control has a reading, 4 are needed." in to_markdown(bare).partition("## Verdicts")[0]
    assert "No controls were measured" in section(to_markdown(bare), "Controls")


def test_identities_of_both_sides_in_short() -> None:
    source = Measured(header=hand.summary().header, sides={side: identity(side) for side in "AB"})
    lines = table_of(section(to_markdown(one(hand.row("1x1", Verdict.SLOWER, 2), source=source)), "Identities"))
    assert ["compiler native\\_sha256".replace("\\", ""), "`1f3c1f3c1f3c`", "`9ab29ab29ab2`"] in lines
    assert ["switch TOY_FOLD", "`unset`", "`1`"] in lines
    assert not [line for line in lines if line[0] == "compiler commit"]


def test_what_is_claimed_and_what_is_not() -> None:
    claims = section(to_markdown(one(hand.row("1x1", Verdict.SLOWER, 2))), "What is claimed")
    assert "No difference: the whole interval lies within ±1 %" in claims
    assert "in no mean, and nothing is said of them" in claims
    compiled = one(hand.row("1x1", Verdict.SLOWER, 2, unit="instructions"), metric=Metric.COMPILE)
    text = to_markdown(compiled)
    assert "What compiling takes says nothing of how kernels run." in text
    assert "## Takes longer" in text
    assert "**takes longer**" in text
    assert "## Slower" not in text


def test_thresholds_and_notes_are_said() -> None:
    source = Measured(header=hand.summary().header, notes=("a note",), commands=("zlbench ab_repeat --root x",))
    found = one(hand.row("1x1", Verdict.SLOWER, 2), source=source, findings=("--fail-on slower>2%: nothing beyond it",))
    text = to_markdown(found)
    assert r"- \--fail-on slower\>2%: nothing beyond it" in section(text, "Thresholds")
    assert "\na note\n" in text.partition("## Thresholds")[0]
    assert "\n\n```sh\nzlbench ab_repeat --root x\n```\n" in section(text, "Commands")


def test_nothing_measured_has_its_reason_and_claims_nothing() -> None:
    text = to_markdown(hand.summary(reason="no rounds were measured: nothing changed"))
    assert "- no rounds were measured: nothing changed" in text
    assert "What is claimed" not in text
    assert "Verdicts" not in text


# How large it is.


@pytest.mark.parametrize("verdict", [Verdict.SLOWER, Verdict.NO_DIFFERENCE])
def test_twenty_thousand_rows_are_below_the_limit_and_what_is_dropped_is_counted(verdict: Verdict) -> None:
    text = to_markdown(many(1000, 20, verdict))
    assert 20_000 < len(text.encode()) < LIMIT == 60_000
    titles = {Verdict.SLOWER: ["Slower (20)", "Slower: further rows"], Verdict.NO_DIFFERENCE: ["Other rows"]}[verdict]
    shown = sum(len(table_of(section(text, title))) - 1 for title in titles)
    (more,) = re.findall(r"…and ([\d,]+) more rows: report.html and rows.csv have all", text)
    assert shown + int(more.replace(",", "")) == 20_000
    operators = section(text, "Operators (1,000)")
    (more,) = re.findall(r"…and ([\d,]+) more operators", operators)
    assert len(table_of(operators)) - 1 + int(more) == 1000
    lost = section(text, "Excluded, lost and disturbed (1,000)")
    (more,) = re.findall(r"…and ([\d,]+) more lines", lost)
    assert lost.count("\n- ") + int(more) == 1000
    kernels = section(text, "Exact costs of kernels that differ (1,000)")
    (more,) = re.findall(r"…and ([\d,]+) more kernels", kernels)
    assert len(table_of(kernels)) - 1 + int(more) == 1000
    for kept in ("## Verdicts", "Controls", "## What is claimed", "slower or faster: false discovery rate"):
        assert kept in text
    assert text.count("<details>") == text.count("</details>")


@given(name=st.text(min_size=1, max_size=2000), label=st.text(max_size=2000), count=st.integers(1, 40))
def test_no_data_makes_it_too_large(name: str, label: str, count: int) -> None:
    rows = [hand.row(label * count, Verdict.SLOWER, 3, flags=(name,)) for _ in range(count)]
    found = hand.summary(
        *(hand.op(name * count, *rows, verdict=Verdict.SLOWER, why_not=label, failed=(name,) * count,
                  lost=(label,) * count) for _ in range(count)),
        header={"title": name, "a": label * 99, "b": name * 99, "conditions": (name,) * 50, "warnings": (label,) * 50,
                "screen": (name,) * 50}, findings=(name,) * 50, controls=hand.controls(),
    )  # fmt: skip
    assert len(to_markdown(found).encode("utf-8", "replace")) <= LIMIT


# What GitHub makes of data: nothing.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a|b\n`c`", "a\\|b \\`c\\`", id="table and code"),
        pytest.param("<script>", "\\<script\\>", id="HTML"),
        pytest.param("&lt;", "\\&lt;", id="entity"),
        pytest.param("@octocat", "@&#8203;octocat", id="mention"),
        pytest.param("x@y.z", "x@&#8203;y.z", id="mail"),
        pytest.param("owner/repo#12", "owner/repo\\#&#8203;12", id="reference"),
        pytest.param("# x", "\\# x", id="heading"),
        pytest.param("GH-12 gh-3", "GH-&#8203;12 gh-&#8203;3", id="older reference"),
        pytest.param("https://x.y", "https:&#8203;//x.y", id="link"),
        pytest.param("www.x.y", "www&#8203;.x.y", id="bare link"),
        pytest.param(":tada: a:b", ":&#8203;tada: a:b", id="emoji"),
        pytest.param("$x$", "<span>$</span>x<span>$</span>", id="formula"),
        pytest.param("a_b_c _d_", "a_b_c \\_d\\_", id="an underscore in a word"),
        pytest.param("- x", "\\- x", id="list"),
        pytest.param("1. x", "1\\. x", id="numbered list"),
        pytest.param("--- ", "\\---", id="rule"),
        pytest.param("-", "-", id="nothing to say"),
        pytest.param("a\x1b[31mb\u202e", "a�\\[31mb�", id="control"),
    ],
)
def test_text_stays_text(text: str, said: str) -> None:
    assert escaped(text) == said


@given(st.text(max_size=400))
def test_nothing_of_data_is_left_to_github(text: str) -> None:
    found = escaped(text)
    ours = found.replace("<span>$</span>", "")
    assert not re.search(r"(?<!\\)(?:\\\\)*[<>|`*\[\]{}~]", ours)
    assert not re.search(r"@(?!&#8203;)|#(?=\d)(?!8203;)|://|www\.|\$", ours, re.IGNORECASE)
    assert "\n" not in found


def test_a_name_in_code_is_code_unless_it_could_end_it() -> None:
    assert code("tt.load|x") == "`tt.load\\|x`"
    assert code("a`b") == "a\\`b"
    assert code("<script>") == "\\<script\\>"


def test_an_operator_of_any_name_is_text_everywhere() -> None:
    left_out = (LeftOut(round=1, reason=WORST, note=WORST),)
    rows = (hand.row(WORST, Verdict.SLOWER, 2, flags=(WORST,)), hand.row(WORST, Verdict.INCONCLUSIVE, what=WORST),
            hand.row(WORST, n=0, readings={"left_out": left_out}))  # fmt: skip
    found = hand.summary(
        hand.op(WORST, *rows, verdict=Verdict.SLOWER, lost=(WORST,), failed=(WORST,), notes=(WORST,),
                kernels=(kernel(WORST),)),
        hand.op("x", why_not=WORST), controls=(hand.op(WORST, control=True, why_not=WORST),),
        header={"title": WORST, "a": WORST, "b": WORST, "axis": WORST, "conditions": (WORST,), "warnings": (WORST,),
                "screen": (WORST,)},
        source=Measured(header=hand.summary().header, notes=(WORST,), commands=(WORST,),
                        sides={"A": {"build": {"name": WORST}, "switches": {WORST: WORST}, "suite": WORST}}),
        findings=(WORST,), progress=WORST,
    )  # fmt: skip
    text = to_markdown(found)
    assert text.count("octocat") > 20
    bare = re.sub(r"^(`{3,})sh\n.*?\n\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    bare = bare.replace("<span>$</span>", "").replace("&#8203;", "\0")
    bare = re.sub(r"</?(?:details|summary)>", "", bare)
    assert not re.search(r"(?<!\\)[<>]", bare)
    assert not re.search(r"@(?!\0)|#(?=\d)|://|www\.|:tada:", bare)
    for line in text.splitlines():
        if line.startswith("| "):
            assert len(cells(line)) in (3, 6, 9, 10)


def test_equal_input_gives_equal_bytes() -> None:
    assert to_markdown(summarise(campaign())) == to_markdown(summarise(campaign()))


def test_a_unit_that_rows_invent_is_text() -> None:
    compiled = one(hand.row("1x1", Verdict.SLOWER, 2, unit="<img src=x> | @octocat"), metric=Metric.COMPILE)
    text = to_markdown(compiled)
    assert re.findall(r"(?<!\\)<img", text) == []
    assert "@octocat" not in text  # broken up, so that nobody is called
