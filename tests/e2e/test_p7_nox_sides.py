"""P7 NOX-SIDES: through nox, both sides run as planned; a side that does not is named, and nothing is compared."""

from __future__ import annotations

import pytest
from fakes.suites import Ended, ToyProject, data, lines

B_SKIPS = {"compiler": "y", "at": "setup", "do": "skip"}
B_REFUSES = {"compiler": "y", "at": "configure", "do": "usage"}


def nox(project: ToyProject, *words: str) -> Ended:
    ended = project.nox("-s", "screen", "--", "toy", "--jobs", "1", *words)
    assert "Traceback" not in ended.text
    return ended


def side_b(project: ToyProject) -> tuple[str, int]:
    status = data(project.screen / "status.json")
    return status["sides"]["B"]["state"], status["sides"]["B"]["returncode"]


def assert_nothing_compared(project: ToyProject, ended: Ended) -> None:
    assert ended.code not in (0, None)
    assert data(project.screen / "status.json")["exit_code"] == ended.code
    assert not (project.screen / "screen.json").exists()
    for line in (
        (project.screen / "screen.tsv").read_text().splitlines()[1:] if (project.screen / "screen.tsv").exists() else ()
    ):
        assert "NO_ROWS" in line


def stamp(project: ToyProject) -> tuple[int, str]:
    result = project.screen / "toy" / "A" / "result.json"
    return result.stat().st_mtime_ns, result.read_text()


def test_both_sides_run_once_in_the_planned_order_with_their_own_arguments(project: ToyProject) -> None:
    ended = nox(project, "--switch", "TOY_FOLD=unset,1", "--a", "x", "--b", "y")
    assert ended.code == 0
    assert "Session screen was successful" in ended.err
    ran = [(line["compiler"], line["fold"], line["row"]) for line in project.journal()]
    rows = [f"{dtype}:{number}" for dtype in ("float16", "float32") for number in range(1, 6)]
    assert ran == [*(("x", None, row) for row in rows), *(("y", "1", row) for row in rows)]
    status = data(project.screen / "status.json")
    assert {label: side["state"] for label, side in status["sides"].items()} == {"A": "OK", "B": "OK"}
    planned = [cell["cell"] for cell in data(project.screen / "plan.json")["cells"]]
    assert planned == list(status["cells"]) == ["toy/A", "toy/B"]


@pytest.mark.parametrize(
    ("b", "state"),
    [('wheel = "gone-3.7.1-py3-none-any.whl"', "PREFLIGHT"), ('python = "gone/bin/python"', "SKIPPED")],
    ids=["wheel", "interpreter"],
)
def test_what_side_b_is_made_of_is_missing(project: ToyProject, b: str, state: str) -> None:
    project.toml(y=b)
    ended = nox(project)
    assert ended.code == 3
    assert side_b(project) == (state, 3)
    assert "build y" in ended.err
    assert "gone" in ended.err
    assert_nothing_compared(project, ended)
    # Nothing was wasted on A; once B is there, the same directory goes on.
    assert project.journal() == []
    project.toml()
    assert nox(project, "--resume", str(project.screen)).code == 0
    assert side_b(project) == ("OK", 0)


def test_data_of_side_a_survive_a_side_b_that_has_gone_and_are_used_again(project: ToyProject) -> None:
    project.trouble({"compiler": "y", "op": "toy", "at": "call", "do": "kill_driver"})
    project.start("screen", "toy", "--jobs", "1").end()
    before = stamp(project)
    project.trouble()
    project.toml(y='wheel = "gone-3.7.1-py3-none-any.whl"')
    ended = nox(project, "--resume", str(project.screen))
    assert ended.code == 3
    assert side_b(project) == ("PREFLIGHT", 3)
    assert data(project.screen / "status.json")["sides"]["A"]["state"] == "OK"
    assert stamp(project) == before
    project.toml()
    assert nox(project, "--resume", str(project.screen)).code == 0
    assert stamp(project) == before
    assert [line["compiler"] for line in project.journal()].count("x") == 10


@pytest.mark.parametrize(
    ("trouble", "state", "returncode", "cell"),
    [(B_SKIPS, "NOTHING_MEASURED", 0, "SKIPPED"), (B_REFUSES, "USAGE", 4, "USAGE")],
    ids=["skips", "pytest-exit-4"],
)
def test_side_b_runs_and_measures_nothing(
    project: ToyProject, trouble: dict, state: str, returncode: int, cell: str
) -> None:
    project.trouble(trouble)
    ended = nox(project)
    assert ended.code == 5
    assert side_b(project) == (state, returncode)
    status = data(project.screen / "status.json")
    assert status["cells"]["toy/B"]["state"] == cell
    assert status["sides"]["A"]["state"] == "OK"
    assert ("needs a card" if cell == "SKIPPED" else "does not go with that one") in ended.out
    assert_nothing_compared(project, ended)
    before = stamp(project)
    assert len(lines(project.screen / "toy" / "A" / "rows.jsonl")) == 10
    project.trouble()
    nox(project, "--resume", str(project.screen))
    assert stamp(project) == before
    assert [line["compiler"] for line in project.journal()].count("x") == 10
