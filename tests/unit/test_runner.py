"""How the end of a cell is named, from what its process left, and what the time left is estimated from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zlbench import store
from zlbench.cells import CellOutcome, CellSpec, CellState
from zlbench.engine.local import CellEnd
from zlbench.errors import DISK_FULL_EXIT, PreflightError
from zlbench.layout import CellRecords
from zlbench.measure.runner import Clock, classify, clear, finished_outcome

ROW = {"op": "mm", "dtype": "float16", "shape": [64, 64], "shape_index": 0}
GOOD, BAD = {**ROW, "status": "SUCCESS"}, {**ROW, "status": "FAILED", "error": "RuntimeError: broken"}
STARTED = {"event": "started", **ROW}


def end(returncode: int, out_dir: Path = Path("/nowhere"), **more: Any) -> CellEnd:
    spec = CellSpec(
        cell="mm/A", op="mm", side="A", node="n", suite_root="/s", package="p", out_dir=str(out_dir),
        backend="compile", timer="compile",
    )  # fmt: skip
    return CellEnd(spec=spec, returncode=returncode, elapsed_s=9.4, **more)


def records(*rows: dict[str, Any], events: list[dict[str, Any]] | None = None) -> CellRecords:
    return CellRecords(rows=rows, kernels=[], events=events or [])


@pytest.mark.parametrize(
    ("how", "left", "state", "detail"),
    [
        (end(0), records(GOOD), CellState.OK, ""),
        (end(1), records(GOOD, BAD), CellState.OP_FAILED, "RuntimeError: broken"),
        (end(1), records(GOOD, events=[{"event": "failed", "text": "a fixture"}]), CellState.OP_FAILED, "a fixture"),
        (end(1), records(), CellState.OP_FAILED, "the benchmark failed"),
        (end(0), records(), CellState.NOTHING_MEASURED, "no row was measured"),
        (end(5), records(), CellState.NOTHING_MEASURED, "no row was measured"),
        (end(0), records(events=[{"event": "skipped", "reason": "no card"}]), CellState.SKIPPED, "no card"),
        (end(2), records(events=[{"event": "not_collected", "text": "ImportError: x"}]), CellState.OP_FAILED,
         "ImportError: x"),
        (end(4), records(), CellState.USAGE, "pytest refused (exit 4): see run.log"),
        (end(3), records(GOOD), CellState.CRASH, "status 3"),
        (end(5), records(GOOD), CellState.CRASH, "status 5"),
        (end(-11), records(GOOD, events=[STARTED, STARTED]), CellState.CRASH,
         "signal 11 in row float16 shape [64, 64]"),
        (end(-11), records(GOOD, events=[STARTED]), CellState.CRASH, "signal 11"),
        (end(0, worker_died=True), records(GOOD), CellState.CRASH, "status 0"),
        (end(-15, timed_out=True), records(events=[STARTED]), CellState.TIMEOUT,
         "ended after 9 s in row float16 shape [64, 64]"),
        (end(0, timed_out=True), records(GOOD), CellState.TIMEOUT, "ended after 9 s"),
        (end(DISK_FULL_EXIT), records(events=[STARTED]), CellState.DISK_FULL,
         "no space left in row float16 shape [64, 64]"),
        (end(DISK_FULL_EXIT), records(GOOD), CellState.DISK_FULL, "no space left"),
    ],
)  # fmt: skip
def test_how_a_cell_ended(how: CellEnd, left: CellRecords, state: CellState, detail: str) -> None:
    assert classify(how, left) == (state, detail)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("usage: pytest\n__main__.py: error: unrecognized arguments: --x\n", "unrecognized arguments: --x"),
        ("ERROR: file or directory not found: a\n", "file or directory not found: a"),
        ("noise \xff\n", "see run.log"),
        ("", "see run.log"),
        ("ERROR: " + "x" * 400, "x" * 300),
    ],
)
def test_a_refusal_of_pytest_is_quoted(tmp_path: Path, log: str, said: str) -> None:
    (tmp_path / "run.log").write_text(log, encoding="latin-1")
    assert classify(end(4, tmp_path), records()) == (CellState.USAGE, f"pytest refused (exit 4): {said}")


@pytest.mark.parametrize("state", list(CellState))
def test_only_finished_cells_are_not_run_again(tmp_path: Path, state: CellState) -> None:
    outcome = CellOutcome(state=state, returncode=0)
    store.write_json(tmp_path / store.RESULT, outcome.to_json())
    known = finished_outcome(tmp_path)
    assert known == (outcome if state in (CellState.OK, CellState.SKIPPED, CellState.OP_FAILED) else None)


def test_a_cell_without_a_result_is_not_finished(tmp_path: Path) -> None:
    assert finished_outcome(tmp_path / "absent") is None
    (tmp_path / store.RESULT).write_text('{"state": "O')
    assert finished_outcome(tmp_path) is None


def test_leftovers_of_an_earlier_try_are_gone(tmp_path: Path) -> None:
    cell = tmp_path / "mm" / "A"
    clear(cell)
    (cell / "ttgir").mkdir()
    (cell / "rows.jsonl").write_text("{}\n")
    clear(cell)
    assert list(cell.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(PreflightError, match="cannot be written"):
        clear(tmp_path / "file" / "A")


def test_the_time_left_comes_from_cells_that_were_measured() -> None:
    now = iter([100.0, 130.0])
    clock = Clock(10, 2, now=lambda: next(now))
    assert clock.left_s is None
    clock.note(None)
    assert (clock.done, clock.left_s) == (1, None)
    clock.note(6.0)
    clock.note(2.0)
    assert clock.left_s == 7 * 4.0 / 2
    assert clock.took_s == 30.0
    for _ in range(7):
        clock.note(4.0)
    assert (clock.done, clock.left_s) == (10, 0.0)


def test_no_jobs_are_one_job() -> None:
    clock = Clock(2, 0, now=lambda: 0.0)
    clock.note(5.0)
    assert clock.left_s == 5.0


def test_a_signal_is_a_negative_status() -> None:
    assert (end(-9).signal, end(9).signal, replace(end(0), returncode=-6).signal) == (9, None, 6)
