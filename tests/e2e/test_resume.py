"""Going on with a screen: nothing is done twice, and nothing is kept that answers another question."""

from __future__ import annotations

import signal
import time

from fakes.suites import ToyProject, data, lines


def test_a_finished_screen_is_kept_whole_and_can_grow(project: ToyProject) -> None:
    assert project.run("screen", "toy").code == 0
    table = (project.screen / "screen.tsv").read_text()
    again = project.run("screen", "--resume", str(project.screen))
    assert again.code == 0
    assert again.err.count("kept") == 2
    assert (project.screen / "screen.tsv").read_text() == table
    assert len(project.journal()) == 20
    assert project.run("screen", "toy", "other", "--resume", str(project.screen)).code == 0
    assert (project.screen / "screen.tsv").read_text().startswith(table)
    assert {line["op"] for line in project.journal()[20:]} == {"other"}


def test_other_settings_are_refused(project: ToyProject) -> None:
    assert project.run("screen", "toy", "--quick").code == 0
    before = {path: path.read_bytes() for path in project.screen.rglob("*") if path.is_file()}
    for words, said in (
        (("--level", "comprehensive", "--quick"), "toy/A: level core then, comprehensive now"),
        ((), "toy/A: quick True then, False now"),
        (("--quick", "--a", "y", "--b", "x"), "side A: build version 3.6.0 then, 3.7.1 now"),
        (("--quick", "--build", "x", "--switch", "TOY_FOLD"), "switch TOY_FOLD unset then, 0 now"),
    ):
        ended = project.run("screen", *words, "--resume", str(project.screen))
        assert ended.code == 4
        assert said in ended.err
        assert "start a new screen" in ended.err
    assert {path: path.read_bytes() for path in project.screen.rglob("*") if path.is_file()} == before


def test_dtypes_of_an_operator_are_resumed_with_it(project: ToyProject) -> None:
    assert project.run("screen", "toy::float32", "other", "--quick").code == 0
    again = project.run("screen", "--quick", "--resume", str(project.screen))
    assert (again.code, again.err.count("kept")) == (0, 4)
    other = project.run("screen", "--quick", "--dtypes", "float16", "--resume", str(project.screen))
    assert (other.code, "dtypes" in other.err) == (4, True)


def test_what_is_no_screen_or_has_no_plan_is_said_so(project: ToyProject) -> None:
    for word in (".", "nowhere"):
        ended = project.run("screen", "--resume", word)
        assert (ended.code, "is no screen to go on with" in ended.err) == (2, True)
    project.toml(y='tree = "gone"')
    assert project.run("screen", "toy").code == 3
    ended = project.run("screen", "--resume", str(project.screen))
    assert ended.code == 2
    assert "stopped before it had a plan" in ended.err
    project.toml()
    assert project.run("screen", "toy", "--quick", "--resume", str(project.screen)).code == 0


def test_a_screen_in_progress_is_left_alone(project: ToyProject) -> None:
    project.trouble({"compiler": "x", "op": "toy", "dtype": "float16", "shape": 1, "at": "call", "do": "hang"})
    running = project.start("screen", "toy")
    until = time.monotonic() + 30
    while not (project.suite / "grandchildren").exists() and time.monotonic() < until:
        time.sleep(0.05)
    second = project.run("screen", "--resume", str(project.screen))
    assert second.code == 2
    assert f"another zlbench is writing into {project.screen}" in second.err
    running.send(signal.SIGINT)
    assert running.end().code == 130
    assert data(project.screen / "status.json")["state"] == "interrupted"


def test_an_interrupted_resume_loses_nothing_of_what_it_had_not_come_to(project: ToyProject) -> None:
    crash = {"compiler": "y", "dtype": "float16", "shape": 3, "at": "call", "do": "segv"}
    project.trouble({**crash, "op": "toy"}, {**crash, "op": "other"})
    assert project.run("screen", "toy", "other", "third", "--jobs", "1").code == 6
    root = project.screen
    before = {path: path.read_bytes() for path in (root / "other").rglob("*") if path.is_file()}
    table = {line.split("\t")[0]: line for line in (root / "screen.tsv").read_text().splitlines()}
    project.trouble({**crash, "op": "toy", "shape": 2, "do": "interrupt_driver"})
    assert project.run("screen", "--resume", str(root), "--jobs", "1").code == 130
    assert len(lines(root / "toy" / "B" / "rows.jsonl")) == 1  # this one was started again
    assert {path: path.read_bytes() for path in (root / "other").rglob("*") if path.is_file()} == before
    kept = {line.split("\t")[0]: line for line in (root / "screen.tsv").read_text().splitlines()}
    assert kept == {op: line for op, line in table.items() if op != "toy"}
    cells = data(root / "status.json")["cells"]
    assert {cell: entry["state"] for cell, entry in cells.items()} == {
        "toy/A": "OK", "other/A": "OK", "other/B": "CRASH", "third/A": "OK", "third/B": "OK",
    }  # fmt: skip
    project.trouble()
    assert project.run("screen", "--resume", str(root)).code == 0
    assert {item["op"]: item["verdict"] for item in data(root / "screen.json")["operators"]} == dict.fromkeys(
        ("toy", "other", "third"), "IR_CHANGED"
    )


def test_the_status_keeps_up_while_nothing_ends(project: ToyProject) -> None:
    """Cells that end in quick succession are written soon, also when the next one takes long."""
    project.trouble({"compiler": "y", "op": "third", "dtype": "float16", "shape": 1, "at": "call", "do": "hang"})
    running = project.start("screen", "toy", "other", "third", "--jobs", "1")
    until = time.monotonic() + 30
    cells: list[str] = []
    while len(cells) < 5 and time.monotonic() < until:
        time.sleep(0.05)
        found = list(project.runs.glob("screen_*/status.json"))
        cells = list(data(found[0])["cells"]) if found else []
    running.send(signal.SIGINT)
    assert running.end().code == 130
    assert cells == ["toy/A", "toy/B", "other/A", "other/B", "third/A"]


def test_a_plan_in_between_for_other_operators_hides_no_difference(project: ToyProject) -> None:
    assert project.run("screen", "toy", "--quick").code == 0
    grown = project.run("screen", "other", "--quick", "--resume", str(project.screen))
    assert grown.code == 0
    assert [line.split("\t")[0] for line in (project.screen / "screen.tsv").read_text().splitlines()[1:]] == [
        "toy",
        "other",
    ]
    other_target = project.run("screen", "toy", "--quick", "--target", "cuda:80", "--resume", str(project.screen))
    assert other_target.code == 4
    assert "target cuda:90 then, cuda:80 now" in other_target.err
    assert project.run("screen", "toy", "--quick", "--resume", str(project.screen)).code == 0


def test_where_only_failed_operators_are_left_they_are_measured_again(project: ToyProject) -> None:
    project.trouble({"compiler": "y", "op": "toy", "dtype": "float16", "shape": 2, "at": "call", "do": "error"})
    assert project.run("screen", "toy", "other").code == 6
    project.trouble()
    before = len(project.journal())
    ended = project.run("screen", "toy", "other", "--resume", str(project.screen))
    assert ended.code == 0, ended.text
    assert {(line["op"], line["compiler"]) for line in project.journal()[before:]} == {("toy", "y")}
