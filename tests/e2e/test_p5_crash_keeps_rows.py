"""P5 CRASH-KEEPS-ROWS: what was measured before a crash, a hang or a failed input is on the disk and stays."""

from __future__ import annotations

import json
import os
from itertools import groupby
from pathlib import Path

import pytest
from fakes.suites import LATENCIES, PATHS, ToyProject, data, lines, make_table_backend

AT_S3 = {"compiler": "y", "op": "toy", "dtype": "float16", "shape": 3}


@pytest.fixture
def timed(project: ToyProject) -> dict[str, str]:
    """The environment in which the backend `table` is known, which times by the suite's own get_latency."""
    backend = make_table_backend(project.root / "backend")
    return {"PYTHONPATH": os.pathsep.join([*PATHS, str(backend)])}


def screen(project: ToyProject, env: dict[str, str], *words: str):
    ended = project.run("screen", "toy", "other", "--backend", "table", "--allow-caliber-mismatch", *words, env=env)
    assert "Traceback" not in ended.text
    return ended, {item["op"]: item for item in data(project.screen / "screen.json")["operators"]}


def assert_kept(project: ToyProject, count: int) -> list[dict]:
    """The first rows of side B have latency, config and IR on the disk."""
    cell = project.screen / "toy" / "B"
    rows = lines(cell / "rows.jsonl")
    assert [(row["dtype"], row["shape"], row["status"]) for row in rows[:count]] == [
        ("float16", [number + 1, 64], "SUCCESS") for number in range(count)
    ]
    assert [row["latency_ms"] for row in rows[:count]] == LATENCIES["float16"][:count]
    kernels = {record["kernel"]: record for record in lines(cell / "kernels.jsonl")}
    for row in rows[:count]:
        (use,) = row["kernels"]
        assert kernels[use["kernel"]]["num_warps"] == 4
        texts = [path.read_text() for path in (cell / "ttgir").glob(f"{row['shape'][0]}x64*/toy_kernel/*.ttgir")]
        assert any("arith.muli" in text and "f16" in text for text in texts)
    return rows


def assert_stopped_at_s3(project: ToyProject, state: str) -> None:
    """Two rows, the third with its reason, the other seven not measured, none failed."""
    assert len(assert_kept(project, 2)) == 2
    missing = lines(project.screen / "toy" / "B" / "not_measured.jsonl")
    assert [(row["dtype"], row["shape"][0]) for row in missing] == [
        *(("float16", number) for number in (3, 4, 5)),
        *(("float32", number) for number in (1, 2, 3, 4, 5)),
    ]
    assert [row["status"] for row in missing] == [state, *["NOT_MEASURED"] * 7]
    result = data(project.screen / "toy" / "B" / "result.json")
    assert (result["rows_ok"], result["rows_failed"], result["rows_not_measured"]) == (2, 0, 8)
    assert result["state"] == state


def assert_no_headline(operator: dict, text: str, matched: int) -> None:
    assert operator["verdict"] == "INCOMPLETE"
    assert (operator["rows_matched"], operator["rows_expected"]) == (matched, 10)
    assert f"only {matched} of 10 rows exist on both sides" in text
    (shown,) = [line.split() for line in text.splitlines() if line.startswith("toy ")]
    assert set(shown[3:-2]) == {"-"}  # no number, and no next step that builds on a verdict
    assert shown[-2:] == ["see", "run.log"]


def assert_compared(project: ToyProject, env: dict[str, str], matched: int, reasons: list[str]) -> None:
    """Side A is full: its latencies against what side B kept give no headline, and every lost row has its reason."""
    pair = project.screen / "toy"
    words = ("compare", str(pair / "A"), str(pair / "B"), "--allow-caliber-mismatch")
    ended = project.run(*words, env=env)
    assert ended.code == 6
    assert f"{matched} of 10 rows compared" in ended.out
    assert f"incomplete: {matched} of 10 rows matched, no geomean" in ended.out
    (found,) = json.loads(project.run(*words, "--json", env=env).out)["operators"]
    assert (found["rows_matched"], found["rows_expected"], found["geomean_change"]) == (matched, 10, None)
    assert [(item["sides"], item["reason_b"]) for item in found["lost"]] == [("B", reason) for reason in reasons]


def test_a_crash(project: ToyProject, timed: dict[str, str]) -> None:
    project.trouble({**AT_S3, "at": "call", "do": "segv"})
    ended, operators = screen(project, timed, "--jobs", "4")
    assert_stopped_at_s3(project, "CRASH")
    # Where something is timed, one process at a time, whatever was asked for.
    pids = [pid for pid, _ in groupby(line["pid"] for line in project.journal())]
    assert len(pids) == len(set(pids)) == 4
    assert data(project.screen / "toy" / "B" / "result.json")["signal"] == 11
    assert "CRASH (signal 11 in row float16 shape [3, 64])" in ended.out
    assert_no_headline(operators["toy"], ended.out, 2)
    assert operators["other"]["rows_matched"] == 10
    assert ended.code == 6
    assert_compared(project, timed, 2, ["CRASH", *["NOT_MEASURED"] * 7])


def test_a_hang_with_a_grandchild(project: ToyProject, timed: dict[str, str]) -> None:
    witness = {"compiler": "y", "op": "other", "dtype": "float16", "shape": 1, "at": "inputs", "do": "witness"}
    project.trouble({**AT_S3, "at": "call", "do": "hang"}, witness)
    ended, operators = screen(project, timed, "--cell-timeout", "3")
    assert_stopped_at_s3(project, "CELL_TIMEOUT")
    assert (project.suite / "witness").read_text() == "none"
    assert_no_headline(operators["toy"], ended.out, 2)
    assert operators["other"]["rows_matched"] == 10
    assert ended.code == 6
    assert_compared(project, timed, 2, ["CELL_TIMEOUT", *["NOT_MEASURED"] * 7])


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("do", ["leave_forked", "hang_with_forked"])
def test_forked_grandchildren_end_with_their_cell(project: ToyProject, do: str, jobs: int) -> None:
    """They were never exec'd: nothing in them tells whose they are but their ancestry."""
    witness = {"compiler": "y", "op": "third", "dtype": "float16", "shape": 1, "at": "inputs", "do": "witness"}
    project.trouble({**AT_S3, "at": "call", "do": do}, witness)
    limit = ("--cell-timeout", "3") if do == "hang_with_forked" else ()
    ended = project.run("screen", "toy", "other", "third", "--jobs", str(jobs), *limit)
    pids = (project.suite / "grandchildren").read_text().split()
    assert len(pids) == 3
    assert [pid for pid in pids if Path("/proc", pid).exists()] == []
    if jobs == 1:
        assert (project.suite / "witness").read_text() == "none"
    assert ended.code == (6 if do == "hang_with_forked" else 0)


def test_memory_runs_out_while_inputs_are_built(project: ToyProject, timed: dict[str, str]) -> None:
    project.trouble({**AT_S3, "at": "inputs", "do": "out_of_memory"})
    ended, operators = screen(project, timed)
    rows = assert_kept(project, 2)
    assert len(rows) == 10
    (failed,) = [row for row in rows if row["status"] != "SUCCESS"]
    assert (failed["failure"], failed["phase"], failed["shape"]) == ("OOM", "inputs", [3, 64])
    assert rows.index(failed) == 2
    assert lines(project.screen / "toy" / "B" / "not_measured.jsonl") == []
    assert_no_headline(operators["toy"], ended.out, 9)
    assert "OOM" in operators["toy"]["reason"]
    assert ended.code == 6
    assert_compared(project, timed, 9, ["OOM"])


def test_the_same_without_a_device(project: ToyProject) -> None:
    """Compiled only: no latency, the same rows."""
    project.trouble({**AT_S3, "at": "call", "do": "segv"})
    ended = project.run("screen", "toy")
    rows = lines(project.screen / "toy" / "B" / "rows.jsonl")
    assert [row["latency_ms"] for row in rows] == [None, None]
    (operator,) = data(project.screen / "screen.json")["operators"]
    assert (operator["rows_matched"], operator["rows_expected"]) == (2, 10)
    assert ended.code == 6


def test_run_ends_with_the_code_of_its_one_operator(project: ToyProject, timed: dict[str, str]) -> None:
    project.trouble({**AT_S3, "at": "call", "do": "segv"})
    ended = project.run("run", "toy", "--build", "y", "--backend", "table", env=timed)
    assert ended.code == 6
    assert "CRASH: signal 11 in row float16 shape [3, 64]" in ended.out
    assert "8 rows not measured" in ended.out
