"""P6 MIXED-TIMER: a row that one side alone timed by graph is left out, whatever the run as a whole says."""

from __future__ import annotations

import json

import pytest
from fakes.run_dirs import direct, row, write_run
from fakes.suites import Ended, ToyProject

NAMES = ("r1", "r2", "r3", "r4")


def graphs(factor: float = 1.0) -> list[dict]:
    return [row(name, 0.010 * number * factor) for number, name in enumerate(NAMES, 1)]


def with_direct(rows: list[dict], factor: float) -> list[dict]:
    """The third row could not be captured: its time holds launch overhead."""
    return [direct("r3", item["latency_ms"] * factor) if item["row"] == "r3" else item for item in rows]


def compare(project: ToyProject, a: list[dict], b: list[dict], *words: str) -> Ended:
    write_run(project.root / "a", a)
    write_run(project.root / "b", b, side="B")
    ended = project.run("compare", "a", "b", *words)
    assert "Traceback" not in ended.text
    return ended


def test_a_fallback_on_one_side_is_excluded_and_said(project: ToyProject) -> None:
    ended = compare(project, graphs(), with_direct(graphs(1.02), 6.1))
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert any("3 of 4 rows compared" in line and "1 TIMER_MISMATCH" in line for line in lines[:4])
    (said,) = [line for line in lines if line.startswith("TIMER_MISMATCH row=r3 ")]
    assert "cuda_graph on A, direct on B" in said
    assert "capture" in " ".join(lines[lines.index(said) :][:2])
    (operator,) = [line.split() for line in lines if line.startswith("toy ") and " of 4 " in line]
    assert operator[:6] == ["toy", "3", "of", "4", "+2.0", "%"]
    assert "over 3 of 4 rows" in " ".join(operator)
    # Its ratio (6.1 × 1.02 = +522 %) is nowhere, and nothing is called faster or slower.
    assert not any(text in ended.text for text in ("510", "522", "83.6 %"))
    assert max(len(line) for line in lines) <= 100


def test_the_same_the_other_way_round(project: ToyProject) -> None:
    ended = compare(project, with_direct(graphs(), 6.1), graphs(1.02), "--json")
    (found,) = json.loads(ended.out)["operators"]
    assert [item["row"] for item in found["rows"]] == ["r1", "r2", "r4"]
    assert [(item["row"], item["reason"]) for item in found["excluded"]] == [("r3", "TIMER_MISMATCH")]
    assert found["geomean_change"] == pytest.approx(0.02)
    assert (found["geomean_rows"], found["complete"], ended.code) == (3, True, 0)


def test_a_fallback_on_both_sides_is_compared_and_kept_out_of_the_aggregate(project: ToyProject) -> None:
    a, b = with_direct(graphs(), 6.1), with_direct(graphs(1.02), 7.5)
    ended = compare(project, a, b)
    assert ended.code == 0
    (shown,) = [line.split() for line in ended.out.splitlines() if "3x64" in line]
    assert shown[-1] == "direct"
    assert "TIMER_MISMATCH" not in ended.out
    assert "4 of 4 rows compared" in ended.out
    assert "direct on both sides 1 (not in the aggregate)" in ended.out
    (operator,) = [line for line in ended.out.splitlines() if line.startswith("toy ") and " of 4 " in line]
    assert "+2.0 %" in operator
    assert "over 3 of 4 rows (cuda_graph)" in operator


def test_all_rows_direct_on_both_sides_give_no_aggregate(project: ToyProject) -> None:
    sides = [[direct(name, 0.010 * factor) for name in NAMES] for factor in (1.0, 1.02)]
    ended = compare(project, *sides, "--json")
    (found,) = json.loads(ended.out)["operators"]
    assert (found["geomean_change"], found["geomean_rows"], len(found["rows"])) == (None, 0, 4)
    assert {tuple(item["markers"]) for item in found["rows"]} == {("direct",)}


def test_every_row_excluded_is_no_all_clear(project: ToyProject) -> None:
    ended = compare(project, graphs(), [direct(name, 0.050) for name in NAMES])
    assert ended.code == 4
    assert "TIMER_MISMATCH op=toy none of 4 matched rows can be compared" in ended.out
    assert ended.out.count("TIMER_MISMATCH row=") == 4
