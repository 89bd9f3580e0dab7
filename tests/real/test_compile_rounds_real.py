"""Compile rounds of the default pair: equal names on both sides, all numbers there, a killed side costs its kernel."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from driving import ROOT, Zlbench, read_lines
from fakes.rounds import cell_in, compile_rounds

from zlbench.builds.manifest import Manifest

pytestmark = pytest.mark.triton


@pytest.fixture
def env(zl: Zlbench, builds: dict[str, Manifest]) -> dict[str, str]:
    return {**zl.environment(), "ZLBENCH_ROOT": str(ROOT)}


def kill_when_there(folder: Path, *, after_s: float = 0.0) -> threading.Thread:
    """Kill the cell that works in a folder as soon as there is one, once."""

    def watch() -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            pid = cell_in(folder)
            if pid is not None:
                time.sleep(after_s)
                os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.01)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_two_releases_take_turns_at_the_same_kernels(zl: Zlbench, env: dict[str, str], tmp_path: Path) -> None:
    words = ["softmax", "layer_norm", "--quick"]
    with compile_rounds(words, root=ROOT, home=zl.home, env=env, folder=tmp_path) as (rounds, cells):
        for op, sides in cells.items():
            folder = tmp_path / "rounds" / op
            items = rounds.prepare(sides["A"], sides["B"], folder)
            assert items.common
            assert not any(items.only.values())
            assert not any(items.not_repeatable.values())
            for number in (1, 2):
                done = rounds.round(number)
                assert {outcome.state.value for outcome in done.outcomes.values()} == {"OK"}
            for cell in ("r1_A", "r1_B", "r2_A", "r2_B"):
                rows = read_lines(folder / cell / "rows.jsonl")
                assert [row["row"] for row in rows] == list(items.common)
                assert all(row["value"] > 0 and row["compile_ms"] > 0 and row["wall_ms"] > 0 for row in rows)
                assert all(sum(row["stages"].values()) == pytest.approx(row["value"]) for row in rows)


def test_a_side_killed_while_prepared_and_while_it_compiles(zl: Zlbench, env: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "rounds" / "softmax"
    with compile_rounds(["softmax", "--quick"], root=ROOT, home=zl.home, env=env, folder=tmp_path) as (rounds, cells):
        killer = kill_when_there(folder / "prepare_B")
        items = rounds.prepare(cells["softmax"]["A"], cells["softmax"]["B"], folder)
        killer.join()
        assert not items.lost, "it was tried once more"
        assert (folder / "prepare_B.before1").is_dir()
        pid = cell_in(folder / "prepare_A")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        first, second = rounds.round(1), rounds.round(2)
    assert all(one.readings for one in (*first.taken, *second.taken)), "what was killed from outside is tried once more"
    assert (folder / "prepare_A.before1").is_dir()
