"""Times in a screen on a card: a hint where the code differs, else this machine's noise; the same in a rescore."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest
from fakes.suites import PATHS, Ended, ToyProject, data, make_table_backend, make_toy_triton


@pytest.fixture
def timed(project: ToyProject) -> dict[str, str]:
    backend = make_table_backend(project.root / "backend")
    return {"PYTHONPATH": os.pathsep.join([*PATHS, str(backend)])}


def screen(project: ToyProject, env: dict[str, str], *words: str) -> tuple[Ended, dict[str, Any]]:
    ended = project.run("screen", "toy", "--backend", "table", "--allow-caliber-mismatch", *words, env=env)
    assert "Traceback" not in ended.text
    (operator,) = data(project.screen / "screen.json")["operators"]
    return ended, operator


def tsv(project: ToyProject) -> list[dict[str, str]]:
    with (project.screen / "screen.tsv").open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def slower_on_b(project: ToyProject) -> None:
    """Rows of side B as they would be with half a millisecond more for each."""
    path = project.screen / "toy" / "B" / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row | {"latency_ms": row["latency_ms"] * 1.5}) + "\n" for row in rows))


def test_a_change_is_a_hint(project: ToyProject, timed: dict[str, str]) -> None:
    ended, operator = screen(project, timed)
    assert operator["verdict"] == "IR_CHANGED"
    assert (operator["latency_meaning"], operator["latency_change"], operator["latency_rows"]) == ("change", 0.0, 10)
    assert "one pair" in ended.out
    assert "indicative only" in ended.out
    assert "faster" not in ended.out


def test_equal_code_shows_the_noise(project: ToyProject, timed: dict[str, str], tmp_path: Path) -> None:
    builds = {name: make_toy_triton(tmp_path / name, name=name) for name in ("x", "y")}
    project.toml(**{name: f"tree = {json.dumps(str(path))}" for name, path in builds.items()})
    ended, operator = screen(project, timed)
    assert (operator["verdict"], operator["latency_meaning"]) == ("NO_IR_DIFF", "noise")
    assert "noise 0.0 %" in ended.out


def test_a_rescore_shows_the_same_and_follows_the_rows(project: ToyProject, timed: dict[str, str]) -> None:
    screen(project, timed)
    before = tsv(project)
    assert project.run("rescore", "--allow-caliber-mismatch", env=timed).code == 0
    assert tsv(project) == before
    slower_on_b(project)
    project.run("rescore", "--allow-caliber-mismatch", env=timed)
    assert (tsv(project)[0]["latency_change"], tsv(project)[0]["latency_max"]) == ("50.000", "50.000")
    assert data(project.screen / "screen.json")["operators"][0]["latency_change"] == 50.0


def test_with_no_device_nothing_is_said_of_times(project: ToyProject) -> None:
    ended = project.run("screen", "toy")
    assert "one pair" not in ended.text
    assert {tsv(project)[0][column] for column in tsv(project)[0] if column.startswith("latency_")} == {""}
    compared = project.run("compare")
    assert compared.code == 5
    assert "these runs only compiled" in compared.err
