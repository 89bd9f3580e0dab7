"""A pair's verdict, and what is said beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run_dirs import row, write_run

from zlbench import store
from zlbench.cells import CellOutcome, CellState
from zlbench.judge import Verdict
from zlbench.pair import grouped, judge_pair


def cell(folder: Path, *, rows: int = 1, **changed: Any) -> None:
    folder.mkdir(parents=True)
    row = '{"row": "op|float16|0", "status": "SUCCESS", "op": "op", "dtype": "float16", "kernels": []}\n'
    (folder / "rows.jsonl").write_text(row * rows)
    outcome = CellOutcome(state=CellState.OK if rows else CellState.OP_FAILED, returncode=0, rows_ok=rows, **changed)
    store.write_json(folder / store.RESULT, outcome.to_json())


def test_a_pair_without_identities_is_not_compared(tmp_path: Path) -> None:
    for side in "AB":
        cell(tmp_path / side)
    found = judge_pair(tmp_path, op="op", axis=None)
    assert found.judgement.verdict is Verdict.NOT_COMPARABLE
    assert found.notes == ("[caliber] op: run_identity.json: before=missing after=missing",)
    allowed = judge_pair(tmp_path, op="op", axis=None, allow_mismatch=True)
    assert (allowed.judgement.verdict, allowed.notes) == (Verdict.NO_TRITON, found.notes)


@pytest.mark.parametrize("without", ["A", "B", "AB"])
def test_conditions_are_not_compared_where_there_are_no_rows(tmp_path: Path, without: str) -> None:
    for side in "AB":
        cell(tmp_path / side, rows=side not in without)
    found = judge_pair(tmp_path, op="op", axis=None)
    assert (found.judgement.verdict, found.notes) == (Verdict.NO_ROWS, ())


def test_other_shapes_than_those_asked_for_are_not_compared(tmp_path: Path) -> None:
    cell(tmp_path / "A")
    cell(tmp_path / "B", markers=("SHAPES_NOT_IN_FORCE 2 rows", "PATCH_NOT_IN_FORCE Benchmark.run"))
    found = judge_pair(tmp_path, op="op", axis=None)
    assert found.judgement.reason.endswith("; SHAPES_NOT_IN_FORCE B: 2 rows")
    assert found.notes[1:] == (
        "SHAPES_NOT_IN_FORCE op=op side=B 2 rows",
        "PATCH_NOT_IN_FORCE op=op side=B Benchmark.run",
    )


def test_what_is_said_alike_of_many_operators_is_said_once() -> None:
    notes = [
        "X_Y op=a side=A,B text",
        "[caliber] a: x",
        "X_Y op=b side=A,B text",
        "X_Y op=c side=A text",
        "S op=a switch=F",
    ]
    assert grouped(notes) == ["X_Y op=a,b side=A,B text", "[caliber] a: x", "X_Y op=c side=A text", "S op=a switch=F"]


def test_a_verdict_stands_on_two_cards_and_times_do_not(tmp_path: Path) -> None:
    for side in "AB":
        write_run(tmp_path / side, [row("toy|float16|1", 0.01)], side=side)
    alike = judge_pair(tmp_path, op="toy", axis=None)
    assert alike.times is not None
    path = tmp_path / "B" / "run_identity.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"device_uuid": "GPU-other"}))
    found = judge_pair(tmp_path, op="toy", axis=None)
    assert (found.judgement.verdict, found.times) == (alike.judgement.verdict, None)
    assert found.notes[0] == "[caliber] toy: device_uuid: before=GPU-5d1e after=GPU-other"
    assert any(note.startswith("TIMES_WITHHELD op=toy ") for note in found.notes)
    assert judge_pair(tmp_path, op="toy", axis=None, allow_mismatch=True).times is not None
