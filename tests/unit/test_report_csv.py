"""rows.csv: old columns stay where they are, new ones hold what the statistics say, text of any kind stays a cell."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

from fakes.every_verdict import compiled, judged, nothing
from fakes.measured import EVIL, campaign, op, row
from hypothesis import given
from hypothesis import strategies as st

from zlbench.report.exports.rows_csv import COLUMNS, to_csv
from zlbench.report.model import Header, Measured
from zlbench.report.summary import Summary, summarise
from zlbench.rounds.names import Metric

OLD = [
    "op", "directory", "kind", "dtype", "row", "label", "unit", "n", "rounds", "median_a", "median_b", "mean_pct",
    "median_pct", "min_pct", "max_pct", "same_sign", "noise_a_pct", "noise_b_pct", "left_out",
]  # fmt: skip


def lines(summary: Summary) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(summary))))


def test_columns_that_scripts_know_by_position_stay_in_place() -> None:
    assert list(COLUMNS[: len(OLD)]) == OLD
    assert len(set(COLUMNS)) == len(COLUMNS)
    assert next(csv.reader(io.StringIO(to_csv(nothing())))) == list(COLUMNS)


def test_a_line_holds_every_figure_of_a_verdict() -> None:
    found = next(line for line in lines(judged()) if line["op"] == "mm" and line["label"] == "1024x1024")
    expected = {
        "verdict": "slower", "why": "", "what": "slower", "estimate_pct": "2.02013", "low_pct": "1.00502",
        "high_pct": "3.56197", "p": "0.001", "q": "0.004", "mde_pct": "1.20723", "rounds_needed": "", "sd_pct": "0.5",
        "moderated_sd_pct": "0.6", "order_slope_pct": "0.150113", "order_p": "0.6", "floor_pct": "0.702456",
        "flags": "order-effect mean≠median", "timer": "cuda_graph", "l2": "warm", "counted": "1",
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert list(found) == list(COLUMNS)


def test_what_is_not_known_is_empty() -> None:
    summary = summarise(campaign())
    first = summary.subjects[0]
    unjudged = replace(summary, subjects=(replace(first, rows=tuple(replace(r, result=None) for r in first.rows)),))
    found = lines(unjudged)[0]
    start, end = COLUMNS.index("verdict"), COLUMNS.index("timer")
    assert [found[name] for name in COLUMNS[start:end]] == [""] * (end - start)
    assert found["timer"] == "cuda_graph"
    endless = [line for line in lines(judged()) if line["verdict"] == "inconclusive"]
    assert {(line["mde_pct"], line["rounds_needed"]) for line in endless} == {("", "40")}


def test_a_row_without_a_reading_says_why() -> None:
    (found,) = [line for line in lines(judged()) if line["row"] == "sort|direct"]
    assert (found["n"], found["median_a"], found["left_out"]) == ("0", "", "TIMER_MISMATCH")
    assert [line["unit"] for line in lines(compiled())] == ["instructions", "instructions"]


@given(st.text(st.characters(blacklist_categories=["Cs"]).filter(lambda c: c not in "\r\x00"), min_size=1))
def test_any_name_stays_one_cell(name: str) -> None:
    header = Header(title="x", metric=Metric.LATENCY)
    measured = Measured(header=header, ops=(op(name, row(name, ms=1.0)),))
    (found,) = lines(summarise(measured))
    assert (found["op"], found["label"]) == (name, name)


def test_equal_input_gives_equal_bytes() -> None:
    assert to_csv(judged()) == to_csv(judged())
    assert EVIL in {line["op"] for line in lines(judged())}


def test_every_column_is_described() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "files.md"
    text = page.read_text(encoding="utf-8").partition("## A report:")[2].partition("\n## ")[0]
    assert [name for name in COLUMNS if f"`{name}`" not in text] == []
