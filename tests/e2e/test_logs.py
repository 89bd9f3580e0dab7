"""A log that an error names is there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from fakes.suites import PATHS, ToyProject


@pytest.mark.parametrize("words", [("run", "toy", "--build", "y"), ("screen", "toy")], ids=["run", "screen"])
def test_the_log_of_a_worker_that_cannot_start_is_kept(project: ToyProject, words: tuple[str, ...]) -> None:
    broken = project.root / "broken"
    broken.mkdir()
    (broken / "pytest.py").write_text("raise ImportError('a broken pytest')\n")
    ended = project.run(*words, env={"PYTHONPATH": os.pathsep.join([*PATHS, str(broken)])})
    assert ended.code == 3
    assert "check=worker-starts" in ended.err
    named = re.search(r"The whole log: (\S+)", ended.err)
    assert named is not None
    assert "a broken pytest" in Path(named[1]).read_text()


def test_nothing_else_is_left_of_a_run_that_went_well(project: ToyProject) -> None:
    assert project.run("run", "toy", "--build", "y").code == 0
    assert [path.name.partition("_")[0] for path in project.runs.iterdir()] == ["toy"]
