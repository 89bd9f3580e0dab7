"""A report from rounds on the disk: what counts, what is left out and said, and how it reads."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest
from fakes.report_roots import write_pair, write_pairs_tsv, write_plan
from fakes.run_dirs import row, write_run

from zlbench.cells import CellState
from zlbench.report.exports.rows_csv import COLUMNS, to_csv
from zlbench.report.model import Header, Measured, OpReadings, Reading, RowReadings
from zlbench.report.prose.markdown import to_markdown
from zlbench.report.prose.text import to_text
from zlbench.report.reading.read import header_of, planned_rounds, read_rounds
from zlbench.report.summary import NO_CLAIM, Summary, row_summary, summarise
from zlbench.rounds.names import Metric


def readings(*pairs: tuple[float, float]) -> tuple[Reading, ...]:
    return tuple(Reading(round=number, before=a, after=b) for number, (a, b) in enumerate(pairs, start=1))


def one_row(*pairs: tuple[float, float], label: str = "64x64", unit: str = "ms") -> RowReadings:
    return RowReadings(name=label, dtype="float16", label=label, unit=unit, readings=readings(*pairs))


def summary_of(*ops: OpReadings, **more: str) -> Summary:
    header = Header(title="report of x", metric=Metric.LATENCY, a="triton 3.6.0", b="triton 3.9.0", axis="build")
    return summarise(Measured(header=header, ops=ops, planned="6 rounds", **more))


def summary_on_disk(root: Path) -> Summary:
    read = read_rounds(root, None)
    header = header_of(read, title="report of x", warnings=(), screen=())
    return summarise(Measured(header=header, ops=read.ops, planned=planned_rounds(read.plan)))


def test_a_row_is_summed_up_by_logarithms() -> None:
    found = row_summary(one_row((1.0, 2.0), (1.0, 0.5), (2.0, 4.0), (4.0, 4.0)), 4)
    assert found.mean == pytest.approx(math.exp(math.log(2) / 4) - 1)
    assert found.median == pytest.approx(math.exp(math.log(2) / 2) - 1)
    assert (found.low, found.high) == (pytest.approx(-0.5), pytest.approx(1.0))
    assert (found.n, found.rounds, found.same_sign) == (4, 4, 2)
    assert (found.median_a, found.median_b) == (1.5, 3.0)
    assert found.noise_a == pytest.approx(0.66364, rel=1e-4)


def test_one_round_has_no_noise_and_none_has_nothing() -> None:
    one = row_summary(one_row((1.0, 1.1)), 1)
    assert (one.noise_a, one.noise_b, one.n) == (None, None, 1)
    none = row_summary(one_row(), 6)
    assert (none.mean, none.n) == (None, 0)


def test_the_round_is_the_unit_of_an_operator() -> None:
    """Rounds in which a row is missing would be means over other rows."""
    long = one_row((1.0, 2.0), (1.0, 2.0), (1.0, 8.0), label="1x1")
    short = one_row((1.0, 1.0), (1.0, 4.0), label="2x2")
    (op,) = summary_of(OpReadings(op="mm", directory="mm", rows=(long, short), rounds=(1, 2, 3))).subjects
    assert op.rounds == 2
    assert op.change == pytest.approx(math.exp((math.log(2) / 2 + math.log(8) / 2) / 2) - 1)
    assert (op.low, op.high) == (pytest.approx(math.sqrt(2) - 1), pytest.approx(math.sqrt(8) - 1))


def test_an_operator_with_a_failed_round_has_no_sum_and_keeps_its_rows() -> None:
    op = OpReadings(op="mm", directory="mm", rows=(one_row((1.0, 2.0)),), rounds=(1,), failed=("round 2 B: CRASH",))
    (found,) = summary_of(op).subjects
    assert found.change is None
    assert found.rows[0].mean == pytest.approx(1.0)
    assert "mm  no mean: a round failed: round 2 B: CRASH" in "\n".join(to_text(summary_of(op)))


def test_rounds_of_several_lanes_are_read(tmp_path: Path) -> None:
    write_plan(tmp_path, {"0": [("toy", "subject")], "1": [("other", "control")]}, rounds=2)
    for number in (1, 2):
        write_pair(tmp_path / "0" / "toy", number, {"r1": (1.0, 1.1), "r2": (2.0, 2.0)})
        write_pair(tmp_path / "1" / "other", number, {"r1": (1.0, 1.0)}, op="other")
    found = summary_on_disk(tmp_path)
    (toy,), (other,) = found.subjects, found.controls
    assert [row.n for row in toy.rows] == [2, 2]
    assert toy.change == pytest.approx(math.sqrt(1.1) - 1)
    assert other.change == 0.0
    assert "controls: 1 operator (other)" in "\n".join(to_text(found))


def test_shards_of_an_operator_are_one(tmp_path: Path) -> None:
    write_plan(tmp_path, {"0": [("toy", "subject")], "1": [("toy", "subject")]}, rounds=1)
    write_pair(tmp_path / "0" / "toy", 1, {"r1": (1.0, 1.1)})
    write_pair(tmp_path / "1" / "toy", 1, {"r2": (1.0, 1.1)})
    (toy,) = summary_on_disk(tmp_path).subjects
    assert [row.row.name for row in toy.rows] == ["r1", "r2"]


def test_invalid_pairs_failed_cells_and_lost_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    write_plan(tmp_path, {"0": [("toy", "subject")]}, rounds=5)
    toy = tmp_path / "toy"
    write_pair(toy, 1, {"r1": (1.0, 1.1), "r2": (1.0, None)})
    write_pair(toy, 2, {"r1": (1.0, 9.0), "r2": (1.0, 1.0)})
    write_pair(toy, 3, {"r1": (1.0, 1.1), "r2": (1.0, 1.0)})
    write_run(toy / "r4_A", [row("r1", 1.0)], autotune_mode="replay")
    write_run(toy / "r4_B", [], side="B", state=CellState.CRASH)
    write_run(toy / "r5_A", [row("r1", 7.0)], autotune_mode="replay")
    write_run(toy / "r2_B.invalid1", [row("r1", 50.0)], side="B")
    write_pairs_tsv(tmp_path, ("toy", 1, 1, "", 1), ("toy", 2, 0, "PAIR_THROTTLED", 3), ("toy", 3, 1, "", 2))
    (tmp_path / "status.tsv").write_text(
        "round\top\tside\tswitch\trc\telapsed_s\tsuccess\tfailed\treplay_fallback\tno_cudagraph\tcapture_poisoned\n"
        "1\ttoy\tA\t-\t0\t1.0\t2\t0\t2\t1\t0\n1\ttoy\tB\t-\t0\t1.0"
    )
    found = summary_on_disk(tmp_path)
    (op,) = found.subjects
    assert op.op.rounds == (1, 3)
    assert [row.n for row in op.rows] == [2, 1]
    assert op.rows[0].high == pytest.approx(0.1)
    counts = found.counts
    assert (counts.lost, counts.invalid, counts.rerun, counts.failed) == (1, 1, 3, 1)
    assert (counts.replay_fallback, counts.no_cudagraph, counts.poisoned) == (2, 1, 0)
    text = "\n".join(to_text(found))
    assert "lost rows 1 · replay fallbacks 2 · graph fallbacks 1" in text
    assert "toy: invalid pair, round 2: PAIR_THROTTLED" in text
    assert "toy: round 4 B: CRASH" in text


def test_sides_that_answer_different_questions_are_found(tmp_path: Path) -> None:
    write_plan(tmp_path, {"0": [("toy", "subject")]}, rounds=1)
    write_run(tmp_path / "toy" / "r1_A", [row("r1", 1.0)], l2="warm")
    write_run(tmp_path / "toy" / "r1_B", [row("r1", 1.0)], side="B", l2="flushed")
    (complaint,) = read_rounds(tmp_path, None).complaints
    assert str(complaint) == "[caliber] toy: l2: before=warm after=flushed"


def test_a_row_with_another_timer_is_left_out_with_its_word(tmp_path: Path) -> None:
    write_plan(tmp_path, {"0": [("toy", "subject")]}, rounds=1)
    write_run(tmp_path / "toy" / "r1_A", [row("r1", 1.0), row("r2", 1.0)])
    write_run(tmp_path / "toy" / "r1_B", [row("r1", 1.0, timer="direct"), row("r2", 1.0)], side="B")
    found = summary_on_disk(tmp_path)
    assert "TIMER_MISMATCH" in "\n".join(to_text(found))
    assert "TIMER_MISMATCH" in to_markdown(found)


def test_kernels_of_compile_rounds(tmp_path: Path) -> None:
    write_plan(tmp_path, {"0": [("toy", "subject")]}, rounds=2, metric="compile_ms")
    for number in (1, 2):
        for side, value in (("A", 2_000_000), ("B", 3_000_000)):
            rows = [
                row("k1", None, dtype="-", timer="compile", metric="instructions", value=value, label="_kernel"),
                row("k2", None, dtype="-", timer="compile", metric="instructions", value=None, status="FAILED"),
            ]
            write_run(tmp_path / "toy" / f"r{number}_{side}", rows, side=side, timer="compile")
    found = summary_on_disk(tmp_path)
    (op,) = found.subjects
    assert op.rows[0].mean == pytest.approx(0.5)
    text = "\n".join(to_text(found))
    assert "instructions of compiling a kernel" in text
    assert "2 M" in text
    assert "3 M" in text


def test_nothing_measured_is_said_with_its_reason() -> None:
    found = summary_of(reason="no rounds were measured: nothing changed")
    assert not found.measured
    for text in ("\n".join(to_text(found)), to_markdown(found)):
        assert "no rounds were measured: nothing changed" in text
        assert NO_CLAIM not in text


def test_every_row_has_a_line_with_every_column() -> None:
    op = OpReadings(
        op="mm", directory="mm", rows=(one_row((1.0, 1.5), (1.0, 1.5)), one_row(label="2x2")), rounds=(1, 2)
    )
    lines = list(csv.DictReader(io.StringIO(to_csv(summary_of(op)))))
    assert tuple(lines[0]) == COLUMNS
    assert (lines[0]["n"], lines[0]["mean_pct"], lines[0]["kind"]) == ("2", "50", "subject")
    assert (lines[1]["n"], lines[1]["mean_pct"]) == ("0", "")


def test_planned_rounds_in_words() -> None:
    assert planned_rounds({"rounds": {"fixed": 6}}) == "6 rounds"
    assert planned_rounds({"rounds": {"looks": [4, 8, 16]}}) == "up to 16 rounds"
    assert planned_rounds(json.loads("{}")) == "an unknown number of rounds"
