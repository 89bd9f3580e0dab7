"""Options do what their help says."""

from __future__ import annotations

import os

import pytest
from fakes.suites import PATHS, ToyProject, data, lines, make_table_backend


@pytest.fixture
def timed(project: ToyProject) -> dict[str, str]:
    """The environment in which the backend `table` is known, which chooses devices by TOY_VISIBLE."""
    backend = make_table_backend(project.root / "backend")
    return {"PYTHONPATH": os.pathsep.join([*PATHS, str(backend)])}


@pytest.mark.parametrize(("words", "variables"), [(("--device", "3"), {}), ((), {"ZL_DEVICE": "3"})])
def test_a_device_is_the_only_visible_one(
    project: ToyProject, timed: dict[str, str], words: tuple[str, ...], variables: dict[str, str]
) -> None:
    env = {**timed, **variables, "TOY_VISIBLE": "0,1,2,3"}
    run = ("run", "toy", "--build", "x", "--backend", "table", "--quick", *words)
    assert project.run(*run, env=env).code == 0
    (shown,) = [line for line in project.run(*run, "--dry-run", env=env).out.splitlines() if "A: env " in line]
    assert "TOY_VISIBLE=3 " in shown
    assert "TOY_OTHER" not in shown
    without = project.run("run", "toy", "--build", "x", "--quick", "--dry-run", *words, env=env)
    assert "TOY_VISIBLE" not in without.out  # the compile backend has no device to choose


@pytest.mark.parametrize(("backend", "calls"), [("table", 3), ("compile", 1)])
def test_a_row_is_timed_as_often_as_asked(project: ToyProject, timed: dict[str, str], backend: str, calls: int) -> None:
    run = ("run", "toy", "--build", "x", "--backend", backend, "--quick", "--direct-repeat", "3")
    assert project.run(*run, env=timed).code == 0
    assert len(project.journal()) == calls
    (identity,) = project.runs.glob("toy_*/run_identity.json")
    assert data(identity)["direct_repeat"] == calls
    assert len(lines(identity.with_name("rows.jsonl"))) == 1


@pytest.mark.parametrize("command", ["screen", "run"])
def test_what_only_a_card_reads_is_said_once_and_is_no_condition(project: ToyProject, command: str) -> None:
    words = ("--l2", "warm", "--warmup", "7", "--iter", "8", "--wait-for-card", "9", "--cudagraph", "1")
    ended = project.run(command, "toy", "--backend", "compile", "--quick", *words, env={"ZL_DEVICE": "1"})
    assert ended.code == 0, ended.text
    assert ended.text.count("without effect") == 1
    assert (
        "note: without effect, since kernels are compiled only: ZL_DEVICE, --l2, --warmup, --iter, --wait-for-card\n"
        in ended.err
    )
    assert ended.text.count("--cudagraph 1 refused: backend compile has no graphs") == 1
    found = data(next(project.runs.rglob("run_identity.json")))
    assert [found[name] for name in ("warmup_ms", "rep_ms", "l2", "direct_repeat")] == [None, None, None, 1]
    assert "without effect" not in project.run(command, "toy", "--quick").text


@pytest.mark.parametrize("command", ["screen", "run"])
@pytest.mark.parametrize("family", ["cuda", "musa", "ascend"])
def test_a_card_that_is_not_there_is_said_once(project: ToyProject, command: str, family: str) -> None:
    ended = project.run(command, "toy", "other", "--backend", family)
    assert ended.code == 3
    assert "PREFLIGHT_FAILED check=device-available" in ended.err
    assert ended.err.count(": there is no card for /") == 1
    assert "a torch without a device: give one that has it, --" in ended.err
    assert "--backend compile" in ended.err
    assert project.journal() == []
    assert list(project.runs.glob(".work_*")) == []


@pytest.mark.parametrize(("command", "sides"), [("screen", "A and B"), ("run", "A")])
def test_what_one_waits_for_is_said_once(project: ToyProject, command: str, sides: str) -> None:
    ended = project.run(command, "toy", "other", "--quick")
    before, said, after = ended.err.partition(f"starting {sides}: importing torch, triton and toygems\n")
    assert said
    assert "[1/" in after
    assert "[1/" not in before
    assert "starting" not in before + after
    if command == "screen":
        assert "starting" not in project.run("screen", "--resume").err  # nothing is left to start


@pytest.mark.parametrize("command", ["screen", "run"])
def test_debug_shows_the_log_of_what_failed(project: ToyProject, command: str) -> None:
    project.trouble({"op": "toy", "dtype": "float16", "shape": 2, "at": "call", "do": "segv"})
    quiet = project.run(command, "toy", "other", "--jobs", "1")
    assert (quiet.code, "run.log:" in quiet.text) == (6, False)
    loud = project.run(command, "toy", "other", "--jobs", "1", "--debug")
    assert loud.code == 6
    shown = [line for line in loud.err.splitlines() if line.endswith("run.log:")]
    assert len(shown) == (2 if command == "screen" else 1)  # toy on each side; other went well
    assert all("toy" in line and line.startswith("the last ") for line in shown)
    assert 0 < loud.err.count("  | ") <= 80


def test_debug_shows_the_log_of_a_worker_that_did_not_start(project: ToyProject) -> None:
    leak = project.root / "leak"
    leak.mkdir()
    (leak / "pytest.py").write_text("raise ImportError('another pytest')\n")
    env = {"PYTHONPATH": os.pathsep.join([*PATHS, str(leak)])}
    ended = project.run("run", "toy", "--build", "x", "--debug", env=env)
    assert ended.code == 3
    assert "worker_A.log:" in ended.err
    assert "  | ImportError: another pytest" in ended.err
