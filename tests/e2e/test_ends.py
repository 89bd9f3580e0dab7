"""Violent and polite ends: of an operator's process, of a worker, of the driver, of nox. Finished rows stay."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from fakes.suites import Ended, Started, ToyProject, data, lines, wait_until_gone

OTHER_AT_3 = {"compiler": "y", "op": "other", "dtype": "float16", "shape": 3, "at": "call"}


def assert_two_rows_kept(project: ToyProject) -> None:
    rows = lines(project.screen / "other" / "B" / "rows.jsonl")
    assert [row["shape"][0] for row in rows if row["status"] == "SUCCESS"] == [1, 2]


def stamps(project: ToyProject, *cells: str) -> list[int]:
    return [(project.screen / cell / "result.json").stat().st_mtime_ns for cell in cells]


def measured(project: ToyProject) -> dict[tuple[str, str], int]:
    """How many rows each operator has measured on each compiler, over all tries."""
    counts: dict[tuple[str, str], int] = {}
    for line in project.journal():
        key = line["op"], line["compiler"]
        counts[key] = counts.get(key, 0) + 1
    return counts


@pytest.mark.parametrize(("do", "detail"), [("kill_cell", "signal 9"), ("kill_worker", "signal 9")])
def test_a_killed_process_costs_its_operator_alone(project: ToyProject, do: str, detail: str) -> None:
    project.trouble({**OTHER_AT_3, "do": do})
    ended = project.run("screen", "toy", "other", "third")
    assert ended.code == 6
    assert "Traceback" not in ended.text
    assert_two_rows_kept(project)
    result = data(project.screen / "other" / "B" / "result.json")
    assert (result["state"], result["signal"], result["rows_not_measured"]) == ("CRASH", 9, 8)
    assert detail in result["detail"]
    verdicts = {item["op"]: item["verdict"] for item in data(project.screen / "screen.json")["operators"]}
    assert verdicts == {"toy": "IR_CHANGED", "other": "INCOMPLETE", "third": "IR_CHANGED"}
    # Going on runs the lost cell again, and nothing else.
    kept = ("toy/A", "toy/B", "other/A", "third/A", "third/B")
    before = stamps(project, *kept)
    project.trouble()
    again = project.run("screen", "--resume", str(project.screen))
    assert again.code == 0
    assert stamps(project, *kept) == before
    assert len(lines(project.screen / "other" / "B" / "rows.jsonl")) == 10


def test_a_killed_driver_takes_its_workers_along_and_the_rest_can_be_done_later(project: ToyProject) -> None:
    project.trouble({**OTHER_AT_3, "do": "kill_driver"})
    ended = project.run("screen", "toy", "other", "third", "--jobs", "1")
    assert ended.code == -signal.SIGKILL
    # Workers and cells are told by the kernel; what a cell had started itself is ended by the next command.
    assert wait_until_gone(str(project.root), "zlbench_plugins.worker") == []
    assert_two_rows_kept(project)
    finished = ("toy/A", "toy/B", "other/A")
    assert sorted(
        str(path.parent.relative_to(project.screen)) for path in project.screen.rglob("result.json")
    ) == sorted(finished)
    before = stamps(project, *finished)
    project.trouble()
    again = project.run("screen", "--resume", str(project.screen))
    assert again.code == 0
    assert stamps(project, *finished) == before
    assert again.err.count("kept") == 3
    tens = {(op, compiler): 10 for op in ("toy", "other", "third") for compiler in ("x", "y")}
    assert measured(project) == {**tens, ("other", "y"): 12}
    assert wait_until_gone(str(project.root)) == []


@pytest.mark.parametrize("do", ["interrupt_driver", "terminate_driver"])
def test_an_interrupt_says_once_how_to_go_on(project: ToyProject, do: str) -> None:
    project.trouble({**OTHER_AT_3, "do": do})
    ended = project.run("screen", "toy", "other", "--a", "x", "--b", "y", "--jobs", "1", "--level", "core")
    assert ended.code == 130
    assert wait_until_gone(str(project.root), patience_s=2.0) == []
    assert "Traceback" not in ended.text
    assert ended.err.count("interrupted:") == 1
    assert ended.err.rstrip().endswith("exit 130 (interrupted)")
    assert data(project.screen / "status.json")["state"] == "interrupted"
    assert data(project.screen / "status.json")["exit_code"] == 130
    assert_two_rows_kept(project)
    assert not list(project.screen.glob(".cache/*/"))  # caches are of no use to anybody
    (command,) = [line.partition("go on:")[2].split() for line in ended.err.splitlines() if "go on:" in line]
    assert command[0] == "zlbench"
    assert " ".join(command[1:]) == f"screen toy other --a x --b y --level core --jobs 1 --resume {project.screen}"
    project.trouble()
    assert project.run(*command[1:]).code == 0
    assert measured(project)[("other", "y")] == 12
    assert measured(project)[("other", "x")] == measured(project)[("toy", "y")] == 10


def test_run_says_where_its_rows_are(project: ToyProject) -> None:
    project.trouble({**OTHER_AT_3, "do": "interrupt_driver"})
    ended = project.run("run", "toy", "other", "--build", "y", "--jobs", "1")
    assert ended.code == 130
    assert "interrupted: 1 of 2 operators finished" in ended.err
    assert "Traceback" not in ended.text
    (folder,) = project.runs.glob("other_*")
    assert len(lines(folder / "rows.jsonl")) == 2
    assert not list(project.runs.glob(".work*"))


def _wait_for(path: Path, patience_s: float = 30.0) -> None:
    until = time.monotonic() + patience_s
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert path.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_nox_is_ended_from_outside(project: ToyProject, number: signal.Signals) -> None:
    project.trouble({**OTHER_AT_3, "do": "hang"})
    nox: Started = project.start_nox("-s", "screen", "--", "toy", "other", "--jobs", "1")
    _wait_for(project.suite / "grandchildren")
    nox.send(number)
    ended: Ended = nox.end()
    assert ended.code == 130
    assert wait_until_gone(str(project.root), patience_s=2.0) == []
    assert "Traceback" not in ended.text
    assert f"go on:  nox -s screen -- toy other --jobs 1 --resume {project.screen}" in ended.err
    assert_two_rows_kept(project)


def test_the_terminal_goes_away(project: ToyProject) -> None:
    """SIGHUP, as a lost connection sends it to the whole group; not ignored, as below nohup it would be."""
    project.trouble({**OTHER_AT_3, "do": "hang"})
    words = ("screen", "toy", "other", "--jobs", "1")
    started = project.start(*words, limit=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
    _wait_for(project.suite / "grandchildren")
    os.killpg(started.pid, signal.SIGHUP)
    started.end()
    assert wait_until_gone(str(project.root), "zlbench_plugins.worker") == []
    assert_two_rows_kept(project)
    project.trouble()
    assert project.run("screen", "--resume", str(project.screen)).code == 0
