"""P1 SAME-BUILD through the command: the wrong compiler, or twice the same one, is refused before anything runs."""

from __future__ import annotations

import os

from fakes.suites import PATHS, ToyProject, data


def test_a_leak_through_pythonpath_is_refused_before_any_cell(project: ToyProject) -> None:
    leak = str(project.builds / "x")
    ended = project.run("screen", "toy", env={"PYTHONPATH": os.pathsep.join([leak, *PATHS])})
    assert ended.code == 3
    (line,) = [line for line in ended.err.splitlines() if line.startswith("BUILD_MISMATCH")]
    assert line.startswith(f"BUILD_MISMATCH side=B wanted={project.builds / 'y' / 'triton'} 3.7.1 ")
    assert f"got={leak}/triton 3.6.0 " in line
    assert f"The PYTHONPATH entry {leak} shadows the build." in ended.err
    assert "Traceback" not in ended.text
    assert project.journal() == []
    assert list(project.screen.rglob("rows.jsonl")) == []
    sides = data(project.screen / "status.json")["sides"]
    assert (sides["A"]["state"], sides["B"]["state"]) == ("NOT_RUN", "PREFLIGHT")
    # Without the leak both are what they should be, and the same directory goes on.
    assert project.run("screen", "toy", "--resume", str(project.screen)).code == 0
    builds = [data(project.screen / "toy" / side / "run_identity.json")["build"] for side in ("A", "B")]
    assert builds[0]["native_sha256"] != builds[1]["native_sha256"]


def test_one_build_twice_is_refused_unless_it_is_a_noise_run(project: ToyProject) -> None:
    project.toml(more=f'[build.again]\ntree = "{project.builds / "x"}"\ntorch = ""')
    refused = project.run("screen", "toy", "--a", "x", "--b", "again")
    assert refused.code == 3
    assert refused.err.startswith("SAME_BUILD ")
    assert "--null-test" in refused.err
    assert project.journal() == []
    allowed = project.run("screen", "toy", "--a", "x", "--null-test")
    assert allowed.code == 0
    assert "A/A noise run" in allowed.err
    assert "NO_IR_DIFF" in allowed.out
    assert "SWITCH_NO_IR_DIFF" not in allowed.text
