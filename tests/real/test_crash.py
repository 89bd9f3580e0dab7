"""`kill -9` of the measured process in the middle of an operator costs that operator's open rows and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from driving import TOUCHED, Zlbench, read_json, read_lines, read_table

pytestmark = pytest.mark.triton

WORDS = ("mm", "softmax", "--dtypes", "float16")
SHAPES_OF_MM = 3


def wait_for_second_row(out: Path, op: str, process: subprocess.Popen[str], limit_s: float = 120.0) -> Path:
    """The directory of side A once its first row is on the disk and its second has begun."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        assert process.poll() is None, "the screen ended before its second row"
        for cell in out.glob(f"screen_*/{op}/A"):
            rows = len(read_lines(cell / "rows.jsonl"))
            started = sum(event["event"] == "started" for event in read_lines(cell / "events.jsonl"))
            if rows >= 1 and started > rows:
                return cell
        time.sleep(0.005)
    raise AssertionError("no second row began")


def process_of(cell: Path) -> int:
    """The measured process: the one that works in the cell's directory."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == cell:
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError(f"no process works in {cell}")


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


@pytest.mark.parametrize("victim", ["cell", "worker"])
def test_what_was_measured_stays_and_the_rest_goes_on(zl: Zlbench, tmp_path: Path, victim: str) -> None:
    zlbench = Zlbench(home=zl.home, out=tmp_path)
    # A worker that dies with one cell in it tells which cell did it; with several, they are tried again one by one.
    jobs = ("--jobs", "1") if victim == "worker" else ()
    with zlbench.start("screen", *WORDS, *jobs) as process:
        cell = wait_for_second_row(tmp_path, "mm", process)
        pid = process_of(cell)
        os.kill(pid if victim == "cell" else parent_of(pid), signal.SIGKILL)
        out, err = process.communicate()
    root = cell.parents[1]
    assert process.returncode == 6, out + err
    assert err.rstrip().endswith("exit 6 (partial)")
    assert "Traceback" not in out + err

    rows = read_lines(cell / "rows.jsonl")
    assert 1 <= len(rows) < SHAPES_OF_MM
    assert all(row["status"] == "SUCCESS" for row in rows)
    result = read_json(cell / "result.json")
    assert result["state"] == "CRASH"
    assert result["rows_ok"] == len(rows)
    assert result["rows_failed"] == 0
    assert result["rows_not_measured"] == SHAPES_OF_MM - len(rows)
    # The IR of the finished rows is there, laid out like that of any other cell.
    assert list((cell / "ttgir").rglob("*.ttgir"))

    table = read_table(root)
    assert table["softmax"]["verdict"] in ("NO_IR_DIFF", "IR_CHANGED")
    assert (table["mm"]["verdict"], table["mm"]["state_before"]) == ("INCOMPLETE", "CRASH")
    assert (table["mm"]["rows_matched"], table["mm"]["rows_expected"]) == (str(len(rows)), str(SHAPES_OF_MM))
    status = read_json(root / "status.json")
    assert status["exit_code"] == 6
    assert status["sides"]["A"]["state"] == "CRASH"
    if victim == "cell":
        assert result["signal"] == signal.SIGKILL
        _resume(zlbench, root)


def _resume(zlbench: Zlbench, root: Path) -> None:
    """Going on measures what is missing and nothing else."""
    others = [root / name / "result.json" for name in ("mm/B", "softmax/A", "softmax/B")]
    before = [path.stat().st_mtime_ns for path in others]
    done = zlbench.fine("screen", *WORDS, "--resume", str(root))
    assert [path.stat().st_mtime_ns for path in others] == before
    assert done.err.count("kept") == len(others)
    table = read_table(root)
    assert table["mm"]["verdict"] == ("IR_CHANGED" if TOUCHED == "mm" else "NO_IR_DIFF")
    assert table["mm"]["rows_before"] == table["mm"]["rows_matched"] == str(SHAPES_OF_MM)
    assert len(read_lines(root / "mm" / "A" / "rows.jsonl")) == SHAPES_OF_MM
    assert read_json(root / "status.json")["exit_code"] == 0
