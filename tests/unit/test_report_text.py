"""What a terminal shows: first what must be seen, the verdict in words, never a line that is too long."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import by_hand as hand
from fakes.measured import EVIL, campaign
from hypothesis import given
from hypothesis import strategies as st

from zlbench.colour import painted
from zlbench.inference.types import Calibration, Verdict, Why
from zlbench.report.model import CellSighting, LeftOut, Measured
from zlbench.report.prose.text import WIDTH, to_text
from zlbench.report.summary import Counts, Summary, summarise
from zlbench.rounds.names import Metric

FALLEN_BACK = tuple(
    LeftOut(round=number, reason="TIMER_MISMATCH", note="cuda_graph on A, direct on B") for number in range(1, 7)
)


def text_of(summary: Summary) -> str:
    """The report with single blanks, so that no test depends on where a line ends."""
    return " ".join(" ".join(to_text(summary)).split())


def one(*rows: object, **more: object) -> Summary:
    """A campaign of one operator."""
    return hand.summary(hand.op("mm", *rows, verdict=Verdict.NO_DIFFERENCE), controls=hand.controls(), **more)  # type: ignore[arg-type]


def line_of(summary: Summary, label: str) -> list[str]:
    """The cells of a row."""
    (found,) = [line for line in to_text(summary) if line.startswith(f"  {label} ")]
    return re.split(r"\s{2,}", found.strip())


@pytest.mark.parametrize(
    ("verdict", "percent", "more", "change", "said"),
    [
        pytest.param(Verdict.SLOWER, 4.1, {}, "+4.10", "slower", id="slower"),
        pytest.param(Verdict.FASTER, -2.9, {}, "−2.90", "faster", id="faster"),
        pytest.param(Verdict.NO_DIFFERENCE, 0.2, {}, "~", "no difference (±1 %)", id="no difference"),
        pytest.param(Verdict.NOT_DETECTABLE, 0.2, {"mde": hand.ln(1.8)}, "~", "undetected, MDE 1.8 %", id="undetected"),
        pytest.param(Verdict.INCONCLUSIVE, 2, {"mde": hand.ln(3.1)}, "~", "inconclusive, MDE 3.1 %", id="inconclusive"),
        pytest.param(Verdict.INCONCLUSIVE, 2, {"mde": 1e9}, "~", "inconclusive, MDE over 1000 %", id="no limit"),
        pytest.param(Verdict.INVALID, 2, {"why": Why.FEW_PAIRS}, "(+2.00)", "invalid: few pairs", id="few pairs"),
        pytest.param(Verdict.INVALID, 2, {"why": Why.ORDER_CONFOUNDED}, "-", "invalid: order", id="order"),
    ],
)
def test_a_row_is_said_with_its_figure(
    verdict: Verdict, percent: float, more: dict[str, object], change: str, said: str
) -> None:
    cells = line_of(one(hand.row("64x64", verdict, percent, **more)), "64x64")
    assert cells[:3] == ["64x64", "16.4 µs", {4.1: "17.1 µs", -2.9: "15.9 µs"}.get(percent, cells[2])]
    assert (cells[3], cells[-1]) == (change, said)
    assert cells[5:7] == ["0.30/0.20", "6/6"]


def test_an_interval_and_a_large_change_are_in_percent() -> None:
    found = hand.row("64x64", Verdict.SLOWER, 510.0, low=hand.ln(500), high=hand.ln(520.4))
    assert line_of(one(found), "64x64")[3:5] == ["+510", "+500…+520"]


@pytest.mark.parametrize(
    ("unit", "value", "said"),
    [
        pytest.param("ms", 0.0012, "1.20 µs", id="microseconds"),
        pytest.param("ms", 12.345, "12.35 ms", id="milliseconds"),
        pytest.param("cpu_ms", 4200.0, "4.200 s", id="seconds"),
        pytest.param("instructions", 2_345_000.0, "2.345 M", id="millions"),
        pytest.param("instructions", 950.0, "950", id="few"),
    ],
)
def test_units_are_scaled(unit: str, value: float, said: str) -> None:
    assert line_of(one(hand.row("64x64", Verdict.NO_DIFFERENCE, ms=value, unit=unit)), "64x64")[1] == said


def test_what_compiling_takes_is_longer_and_never_slower() -> None:
    rows = (
        hand.row("a", Verdict.SLOWER, 4, unit="instructions", ms=1e6, dtype="-"),
        hand.row("b", Verdict.FASTER, -4, unit="instructions", ms=1e6, dtype="-"),
    )
    found = hand.summary(hand.op("mm", *rows, verdict=Verdict.SLOWER), metric=Metric.COMPILE)
    text = text_of(found)
    assert line_of(found, "a")[-1] == "takes longer"
    assert line_of(found, "b")[-1] == "is shorter"
    assert "rows: 1 takes longer · 1 is shorter" in text
    assert "+ takes longer, − is shorter (B against A)" in text
    assert "instructions of compiling a kernel" in text
    assert "slower" not in text


def test_what_must_be_seen_first_comes_first_and_the_rest_as_planned() -> None:
    ops = [
        hand.op("calm", hand.row("c", Verdict.NO_DIFFERENCE), verdict=Verdict.NO_DIFFERENCE),
        hand.op("lost", hand.row("x", n=0), why_not="no row has a reading"),
        hand.op("unclear", hand.row("u", Verdict.INCONCLUSIVE, mde=0.1), verdict=Verdict.INCONCLUSIVE),
        hand.op("quick", hand.row("q", Verdict.FASTER, -9), verdict=Verdict.FASTER, percent=-9),
        hand.op("calm2", hand.row("d", Verdict.NO_DIFFERENCE), verdict=Verdict.NO_DIFFERENCE),
        hand.op(
            "mixed", hand.row("m", Verdict.NO_DIFFERENCE), hand.row("n", Verdict.SLOWER, 2),
            hand.row("o", Verdict.SLOWER, 3), verdict=Verdict.NO_DIFFERENCE,
        ),
    ]  # fmt: skip
    lines = to_text(hand.summary(*ops, controls=hand.controls()))
    start = next(index for index, line in enumerate(lines) if line.startswith("row "))
    names = [line.split()[0] for line in lines[start + 1 : lines.index("", start)]]
    assert names == ["mixed", "o", "n", "m", "quick", "q", "unclear", "u", "calm", "c", "calm2", "d", "lost", "x"]


def test_excluded_rows_are_said_one_by_one_with_their_reason() -> None:
    excluded = hand.row("1024x1024", n=0, readings={"left_out": FALLEN_BACK})
    lost = hand.row("8x8", n=0, readings={"left_out": (LeftOut(round=1, reason="OOM", lost=True),)})
    in_part = hand.row("2x2", Verdict.NO_DIFFERENCE, n=4, readings={"left_out": FALLEN_BACK[:2]})
    rows = (hand.row("64x64", Verdict.NO_DIFFERENCE), excluded, lost, in_part, hand.row("4x4", n=0))
    op = hand.op("mm", *rows, lost=("float16 8x8: OOM on B",), missing=2, markers=(("RETRIED", "twice"),))
    found = hand.summary(op, hand.op("fft", nothing="ZERO_MATCHED", nothing_note="other shapes"))
    lines = to_text(found)
    assert "  1024x1024  not comparable: TIMER_MISMATCH (cuda_graph on A, direct on B)" in lines
    assert [line for line in lines if "8x8" in line] == ["  mm: lost row float16 8x8: OOM on B"]
    assert {"  mm: 2 rounds of the plan not finished", "  mm: RETRIED twice", "  fft: ZERO_MATCHED: other shapes"} <= {
        *lines
    }
    assert "  4x4  not measured: no valid round has it on both sides" in lines
    assert "mm: float16 2x2: left out in 2 rounds: TIMER_MISMATCH (cuda_graph on A, direct on B)" in text_of(found)
    assert "rows: 2 no difference · 1 not comparable · 1 lost · 1 not measured" in text_of(found)


def test_a_row_that_counts_in_no_mean_is_marked() -> None:
    direct = hand.row("64x64", Verdict.NO_DIFFERENCE, readings={"counted": False})
    assert "  64x64 [cuda_graph]" in "\n".join(to_text(one(direct)))


def test_counts_come_before_any_number_with_the_causes_of_disturbed_pairs() -> None:
    cells = tuple(
        CellSighting(lane="0", op=op, round=1, side=side, start=0, end=1, invalid=cause)
        for op, cause in (("mm", "throttle"), ("topk", "foreign"), ("sort", "throttle"), ("gelu", ""))
        for side in "AB"
    )
    counts = Counts(
        rows=9, compared=6, excluded=1, lost=2, replay_fallback=3, no_cudagraph=4, invalid=1, rerun=5, failed=6
    )
    source = Measured(header=hand.summary().header, cells=cells)
    lines = to_text(one(hand.row("64x64", Verdict.SLOWER, 2), counts=counts, source=source))
    top = " ".join(" ".join(lines[: next(i for i, line in enumerate(lines) if line.startswith("row "))]).split())
    assert "rows compared 6 of 9 · excluded 1 · lost rows 2 · replay fallbacks 3 · graph fallbacks 4" in top
    assert "invalid pairs 1 · re-run 5 · failed cells 6" in top
    assert "disturbed pairs by cause: throttle 2, foreign 1" in top
    assert "rows: 1 slower" in top
    assert "+ is slower, − is faster (B against A)" in top
    assert "4 controls" in top


def test_means_with_intervals_come_last() -> None:
    found = hand.summary(
        hand.op("mm", hand.row("64x64", Verdict.SLOWER, 2), verdict=Verdict.SLOWER, percent=1.8),
        hand.op("gelu", hand.row("8x8", Verdict.NO_DIFFERENCE), why_not="a round failed: round 2 B: CRASH"),
        controls=hand.controls(),
    )
    lines = to_text(found)
    start = next(index for index, line in enumerate(lines) if line.startswith("geometric mean"))
    assert re.split(r"\s{2,}", lines[start + 1]) == ["mm", "1", "6", "+1.80", "+1.30…+2.30", "slower"]
    assert lines[start + 2] == "gelu  no mean: a round failed: round 2 B: CRASH"
    assert lines[start + 3] == "campaign: −0.40 % (−1.00…+0.20), geometric mean over 2 operators"
    assert start > max(index for index, line in enumerate(lines) if line.startswith("  64x64"))


def test_controls_say_what_equal_code_shows() -> None:
    assert (
        "controls: +0.02 % ± 0.05 (softmax +0.01, layer_norm +0.03, bmm 0.00, cumsum +0.04): mean of equal code"
        in text_of(one(hand.row("64x64", Verdict.NO_DIFFERENCE)))
    )


def test_bias_of_equal_code_is_said_at_the_top() -> None:
    calibration = Calibration(used=True, bias=0.004, error=0.001, operators=hand.CALIBRATED.operators)
    lines = to_text(one(hand.row("64x64", Verdict.SLOWER, 2), calibration=calibration))
    (place,) = [index for index, line in enumerate(lines) if "BIAS: equal code is +0.40 % ± 0.10 apart" in line]
    assert place < next(index for index, line in enumerate(lines) if line.startswith("row "))
    assert "BIAS" not in text_of(one(hand.row("64x64", Verdict.SLOWER, 2)))


def test_too_few_controls_are_said_at_the_top_with_what_follows() -> None:
    two = Calibration(used=False, operators={"softmax": 0.0, "bmm": 0.001})
    found = hand.summary(
        hand.op("mm", hand.row("64x64", Verdict.SLOWER, 2, flags=("uncalibrated",)), verdict=Verdict.SLOWER),
        controls=hand.controls()[:2], calibration=two,
    )  # fmt: skip
    text = text_of(found)
    assert "UNCALIBRATED: 2 controls, 4 are needed. What differs between the sides besides the change is not" in text
    assert text.index("UNCALIBRATED") < text.index("64x64")
    assert "uncalibrated: 1 row" not in text
    none = hand.summary(*found.subjects, calibration=Calibration(used=False))
    assert "UNCALIBRATED: no control has a reading, 4 are needed" in text_of(none)
    assert "controls: none" in text_of(none)
    told = "UNCALIBRATED controls=0: the screen has none"
    planned = replace(none, source=Measured(header=none.header, notes=(told, "another note")))
    assert text_of(planned).count("UNCALIBRATED") == 1
    assert told in text_of(planned)
    assert " another note " in text_of(planned)


def test_flags_name_their_rows_and_inconclusive_ones_what_they_need() -> None:
    rows = [hand.row(f"{k}x1", Verdict.INCONCLUSIVE, mde=0.03, flags=("order-effect",), rounds_needed=40 * k)
            for k in range(1, 6)]  # fmt: skip
    text = text_of(one(*rows))
    assert "order-effect: 5 rows (mm float16 1x1, mm float16 2x1, mm float16 3x1, …)" in text
    assert "inconclusive: 5 rows would need about 40 to 200 rounds" in text


def test_exact_costs_have_a_line() -> None:
    text = text_of(summarise(campaign()))
    assert (
        "exact costs: 5 of 9 operators differ · registers 342 → 332 · spills = · shared (bytes) 73728 → 53248" in text
    )


def test_what_was_not_measured_has_a_reason() -> None:
    nothing = hand.summary(reason="no rounds were measured: nothing changed")
    assert to_text(nothing)[-1] == "no rounds were measured: nothing changed"
    assert "campaign" not in text_of(nothing)
    bare = hand.without_statistics(one(hand.row("64x64", Verdict.SLOWER, 2)))
    text = text_of(bare)
    assert bare.claim in text
    assert "slower" not in text.replace(bare.claim, "").replace("+ is slower, − is faster", "")


def test_colour_is_never_the_only_sign() -> None:
    found = summarise(campaign())
    plain = to_text(found)
    coloured = to_text(found, colour=painted)
    assert coloured != plain
    assert [re.sub("\x1b\\[\\d*m", "", line) for line in coloured] == plain


def test_a_long_report_shows_what_must_be_seen_and_where_the_rest_is() -> None:
    ops = [
        hand.op(f"op{number}", *(hand.row(f"{size}x{size}", Verdict.NO_DIFFERENCE) for size in range(1, 21)),
                verdict=Verdict.NO_DIFFERENCE)
        for number in range(1000)
    ]  # fmt: skip
    ops[777] = hand.op("late", hand.row("7x7", Verdict.SLOWER, 3), verdict=Verdict.SLOWER, percent=3)
    lines = to_text(hand.summary(*ops, controls=hand.controls()))
    assert len(lines) < 150
    assert lines.index("late fp16") < 15
    text = " ".join(" ".join(lines).split())
    assert "and 19,921 more rows (19,921 no difference): report.html and rows.csv have all" in text
    assert "and 970 more operators: report.html and report.json have all" in text


def test_many_changes_one_way_hide_none_the_other_way() -> None:
    rows = [hand.row(f"{k}x1", Verdict.SLOWER, 5) for k in range(100)] + [hand.row("f", Verdict.FASTER, -1)]
    lines = to_text(one(*rows))
    assert any(line.startswith("  f ") for line in lines)
    assert "and 41 more rows (41 slower): report.html and rows.csv have all" in lines


def test_names_of_any_length_keep_the_table_whole() -> None:
    label = "[[1024, 1024, 1024], [4096, 4096], [17]] causal=True scale=0.125 and more of it"
    name = "scaled_dot_product_attention_" * 9
    rows = (hand.row(label, Verdict.INCONCLUSIVE, mde=0.2, ms=123.456), hand.row("1x1", Verdict.NO_DIFFERENCE))
    found = hand.summary(hand.op(name, *rows, verdict=Verdict.INVALID, lost=(f"float16 {label}: OOM",)),
                         hand.op(name + "x", why_not=f"a round failed: {label}"), controls=hand.controls())  # fmt: skip
    lines = to_text(found)
    assert max(map(len, lines)) <= WIDTH
    (start,) = [line.index("verdict") for line in lines if line.startswith("row ")]
    assert [line[start:] for line in lines if "123.46 ms" in line] == ["inconclusive, MDE 22 %"]
    assert any(line.startswith("  [[1024,") and "…" in line[:20] for line in lines)


def test_what_all_rows_share_stands_beside_the_operator() -> None:
    rows = [hand.row(f"{size}x64 k=5 dim={size}", Verdict.NO_DIFFERENCE) for size in (1, 2)]
    lines = to_text(one(*rows))
    assert "mm fp16 k=5" in lines
    assert any(line.startswith("  1x64 dim=1 ") for line in lines)


def test_data_moves_no_cursor_and_gives_no_command() -> None:
    found = hand.summary(
        hand.op("::error::x", hand.row("a\x1b[2Jb\u202ec", Verdict.SLOWER, 2), verdict=Verdict.SLOWER,
                notes=("##[add-mask]x", "::stop-commands::t")),
        header={"a": "a\r\n::set-output name=x::y", "conditions": ("\x07", "##[group]")},
    )  # fmt: skip
    lines = to_text(found)
    assert not [line for line in lines if re.match(r"\s*::", line) or "##[" in line]
    assert all(char.isprintable() for line in lines for char in line)
    assert EVIL in "\n".join(to_text(summarise(campaign())))


any_text = st.text(max_size=300)


@given(name=any_text, label=any_text, note=any_text, width=st.integers(min_value=80, max_value=160))
def test_no_line_is_too_long_whatever_is_in_the_data(name: str, label: str, note: str, width: int) -> None:
    found = hand.summary(
        hand.op(name, hand.row(label, Verdict.SLOWER, 1e6, flags=(note,)), hand.row(note, n=0),
                verdict=Verdict.SLOWER, notes=(note,)),
        hand.op(label, why_not=note, failed=(note,)), header={"a": name, "b": label, "axis": note, "warnings": (note,)},
    )  # fmt: skip
    lines = to_text(found, width)
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if re.match(r"\s*::", line)]


def test_equal_input_gives_equal_text() -> None:
    ops = [
        hand.op(
            f"op{k}", hand.row("1x1", random.Random(k).choice([*Verdict]), k, mde=0.1), verdict=Verdict.NO_DIFFERENCE
        )
        for k in range(20)
    ]
    found = hand.summary(*ops, controls=hand.controls())
    assert to_text(found) == to_text(found)


def without_numbers(line: str) -> str:
    return " ".join(re.sub(r"[+−]?\d+(?:\.\d+)?", "0", line).split())


def test_the_page_on_reading_a_report_shows_one() -> None:
    """Without the operator that is there to be escaped. Its numbers are invented, so that they need not be today's."""
    measured = campaign()
    calm = replace(measured, ops=tuple(op for op in measured.ops if op.op != EVIL))
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "read-a-report.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    assert [*map(without_numbers, shown.splitlines())] == [*map(without_numbers, to_text(summarise(calm)))]
