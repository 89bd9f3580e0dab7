"""Which timer a command measures with: by what the device family can, refused aloud where more was asked for."""

from __future__ import annotations

import os

import pytest
from fakes.suites import PATHS, ToyProject, data, lines, make_table_backend


@pytest.fixture
def timed(project: ToyProject) -> dict[str, str]:
    """The environment in which the backend `table`, which has no graphs, is known."""
    backend = make_table_backend(project.root / "backend")
    return {"PYTHONPATH": os.pathsep.join([*PATHS, str(backend)])}


@pytest.mark.parametrize(
    ("words", "variables", "asked"),
    [
        (("--cudagraph", "1"), {}, "--cudagraph 1"),
        ((), {"ZL_ENABLE_CUDAGRAPH": "1"}, "--cudagraph 1"),
        (("--mode", "cudagraph"), {}, "--mode cudagraph"),
        (("--mode", "cudagraph", "--cudagraph", "1"), {}, "--cudagraph 1 and --mode cudagraph"),
    ],
)
def test_graphs_of_a_family_without_them_are_refused(
    project: ToyProject, timed: dict[str, str], words: tuple[str, ...], variables: dict[str, str], asked: str
) -> None:
    run = ("run", "toy", "--build", "x", "--backend", "table", "--quick", *words)
    ended = project.run(*run, env={**timed, **variables})
    said = f"{asked} refused: backend table has no graphs; timer direct"
    assert ended.code == 0
    assert f"note: {said}" in ended.err
    (identity,) = project.runs.glob("toy_*/run_identity.json")
    assert (data(identity)["timer"], data(identity)["timer_reason"]) == ("direct", said)
    assert [row["timer"] for row in lines(identity.with_name("rows.jsonl"))] == ["direct"]


@pytest.mark.parametrize("words", [(), ("--cudagraph", "0"), ("--cudagraph", "auto")])
def test_nothing_is_said_where_nobody_asked(project: ToyProject, timed: dict[str, str], words: tuple[str, ...]) -> None:
    ended = project.run("run", "toy", "--build", "x", "--backend", "table", "--quick", *words, env=timed)
    assert ended.code == 0
    assert "refused" not in ended.text
    (identity,) = project.runs.glob("toy_*/run_identity.json")
    assert data(identity)["timer_reason"] is None


def test_a_screen_keeps_the_note(project: ToyProject, timed: dict[str, str]) -> None:
    ended = project.run("screen", "toy", "--backend", "table", "--quick", "--cudagraph", "1", env=timed)
    assert "--cudagraph 1 refused: backend table has no graphs; timer direct" in ended.text


@pytest.mark.parametrize("mode", ["operator", "wrapper"])
def test_a_loop_of_the_suite_has_no_cache_policy(project: ToyProject, timed: dict[str, str], mode: str) -> None:
    run = ("run", "toy", "--build", "x", "--backend", "table", "--quick", "--mode", mode, "--l2", "warm")
    ended = project.run(*run, env=timed)
    assert ended.code == 0
    assert f"note: --l2 has no effect: --mode {mode} is the suite's own loop" in ended.err
    (identity,) = project.runs.glob("toy_*/run_identity.json")
    assert data(identity)["l2"] is None


@pytest.mark.parametrize("command", ["run", "screen"])
@pytest.mark.parametrize("words", [("--parallel", "8"), ("--parallel=8",)])
def test_the_suite_s_parallel_is_refused(project: ToyProject, command: str, words: tuple[str, ...]) -> None:
    ended = project.run(command, "toy", *words)
    assert ended.code == 2
    assert "is part of its time" in ended.err
    assert "--parallel-warmup" in ended.err
    assert project.journal() == []
