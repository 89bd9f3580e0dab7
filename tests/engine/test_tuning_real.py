"""Record and replay with a real autotuner: winners, hooks, configs that do not compile, and a database of winners.

Each record and each replay is a process of its own, as in a campaign. Kernels are compiled for cuda:90, times are made
up. LibTuner is a stand-in with the same caching, and once the real one, where FlagGems and a card are there.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zlbench import tuning
from zlbench.cells import read_json_lines

pytest.importorskip("triton")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.triton

HERE = Path(__file__).parent
STAND_IN = HERE.parent / "fakes" / "tuned" / "suite" / "src"
TUNERS = ["triton", "libtuner"]


class Lab:
    """Directories of one test, and processes in them."""

    def __init__(self, folder: Path, tuner: str) -> None:
        self.folder, self.tuner = folder, tuner

    def run(self, mode: str, times: list[Any], rows: list[int], **more: Any) -> tuple[Path, dict[str, Any]]:
        out = self.folder / f"{mode}-{len(list(self.folder.iterdir()))}"
        job = {"mode": mode, "out": str(out), "tuner": self.tuner, "times": times, "rows": rows,
               "libentry": "toygems.utils.libentry", **more}  # fmt: skip
        paths = [*sys.path, str(STAND_IN)]
        env = {
            **os.environ, "TRITON_CACHE_DIR": str(self.folder / "triton"), "TRITON_DEFAULT_FP_FUSION": "1",
            "FLAGGEMS_CACHE_DIR": str(self.folder / "tuner"), "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }  # fmt: skip
        ended = subprocess.run(
            [sys.executable, str(HERE / "tuning_process.py"), json.dumps(job)], env=env, cwd=self.folder, text=True,
            capture_output=True, timeout=300, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        (line,) = [line for line in ended.stdout.splitlines() if line.startswith("RESULT ")]
        return out, {**json.loads(line.removeprefix("RESULT ")), "err": ended.stderr}


@pytest.fixture(params=TUNERS)
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    return Lab(tmp_path, request.param)


def edit(run: Path, **config: Any) -> None:
    """Change the configs of a record."""
    path = run / tuning.RECORDS
    records = read_json_lines(path)
    for record in records:
        record["config"] = {**record["config"], **config}
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def outcomes(run: Path) -> list[tuple[str, str, int]]:
    return [(line["outcome"], line["reason"], line["swept"]) for line in read_json_lines(run / tuning.REPLAY)]


def test_a_replay_takes_what_was_recorded_and_times_nothing(lab: Lab) -> None:
    a, first = lab.run("record", [4, 3, 1, 2], [64, 100])
    assert (first["launched"], first["errors"]) == ([64, 64], [])
    assert [(record["swept"], record["source"]) for record in tuning.read_records(a)] == [(4, "sweep")] * 2
    b, second = lab.run("replay", [1, 2, 3, 4], [64, 100], source=str(a))
    assert (second["launched"], second["timed"]) == ([64, 64], [])
    assert outcomes(b) == [("hit", "", 0)] * 2
    assert tuning.source_digest(a) == tuning.source_digest(b)
    rows = [[row["config"] for row in read_json_lines(run / "rows.jsonl")] for run in (a, b)]
    assert rows[0] == rows[1]


def test_hooks_are_kept(lab: Lab) -> None:
    a, _ = lab.run("record", [4, 3, 1, 2], [64], hooked=True)
    assert [record["pre_hook"] for record in tuning.read_records(a)] == [True]
    _, second = lab.run("replay", [1, 2, 3, 4], [64], hooked=True, source=str(a))
    assert second["hooked"] == [64]


def test_a_key_that_was_not_recorded_is_tuned(lab: Lab) -> None:
    a, _ = lab.run("record", [4, 3, 1, 2], [64])
    b, second = lab.run("replay", [1, 2, 3, 4], [64, 100], source=str(a))
    assert second["launched"] == [64, 16]
    assert outcomes(b) == [("hit", "", 0), ("miss", "key_missing", 4)]
    assert second["err"].count("AUTOTUNE_REPLAY_FALLBACK reason=key_missing kernel=add_one") == 1


@pytest.mark.parametrize(
    ("kwargs", "reason"),
    [
        pytest.param({"BLOCK": 48}, "compile_failed", id="no power of two"),
        pytest.param({"BLOK": 64}, "config_unknown", id="another name"),
    ],
)
def test_a_config_that_this_compiler_cannot_run_is_tuned_anew(lab: Lab, kwargs: dict[str, int], reason: str) -> None:
    a, _ = lab.run("record", [4, 3, 1, 2], [64])
    edit(a, kwargs=kwargs)
    b, second = lab.run("replay", [1, 2, 3, 4], [64, 64], source=str(a))
    assert (second["launched"][-2:], second["errors"]) == ([16, 16], [])
    # Also where a database holds the times that A measured: what is tuned anew is timed anew.
    assert outcomes(b) == [("miss", reason, 4)]
    assert second["err"].count(f"AUTOTUNE_REPLAY_FALLBACK reason={reason}") == 1


def test_a_sweep_without_a_time_cannot_be_replayed(lab: Lab) -> None:
    a, first = lab.run("record", ["inf"] * 4, [64])
    assert "TUNE_ALL_FAILED kernel=add_one" in first["err"]
    b, second = lab.run("replay", [4, 3, 1, 2], [64], source=str(a))
    assert (second["launched"], outcomes(b)) == ([64], [("miss", "tune_all_failed", 4)])
    assert "AUTOTUNE_REPLAY_FALLBACK reason=tune_all_failed kernel=add_one" in second["err"]


def test_winners_in_a_database_do_not_swallow_a_replay(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "libtuner")
    a, _ = lab.run("record", [4, 3, 1, 2], [64])
    inherited, third = lab.run("record", [1, 2, 3, 4], [64])
    assert third["timed"] == []
    (record,) = tuning.read_records(inherited)
    assert (record["source"], record["swept"], record["config"]["kwargs"]) == ("database", 0, {"BLOCK": 64})
    edit(a, kwargs={"BLOCK": 128})
    b, second = lab.run("replay", [1, 2, 3, 4], [64], source=str(a))
    assert (second["launched"], outcomes(b)) == ([128], [("hit", "", 0)])
    (database,) = tmp_path.glob("tuner/config_cache/*.db")
    assert tuning.count_entries([database]) == 1


def test_pinned_with_no_device(lab: Lab) -> None:
    lab.run("record", [4, 3, 1, 2], [64])
    out, result = lab.run("pin", [4, 3, 1, 2], [64, 100], configs="2")
    assert result["timed"] == []
    pinned = read_json_lines(out / "autotune_records" / "pinned.jsonl")
    assert [len(line["compiled"]) for line in pinned] == [2, 2]
    assert [line["chosen"].partition(",")[0] for line in pinned] == ["BLOCK: 16"] * 2
    for database in lab.folder.glob("tuner/config_cache/*.db"):
        # What a card chose stays, and nothing is added to it.
        with sqlite3.connect(database) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            assert sum(connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables) == 5


@pytest.mark.skipif(importlib.util.find_spec("flag_gems") is None, reason="FlagGems is not installed")
def test_with_flag_gems_itself(tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("FlagGems looks for a card when imported")
    lab = Lab(tmp_path, "libtuner")
    a, _ = lab.run("record", [4, 3, 1, 2], [64], libentry="flag_gems.utils.libentry", hooked=True)
    b, second = lab.run("replay", [1, 2, 3, 4], [64], libentry="flag_gems.utils.libentry", hooked=True, source=str(a))
    assert (second["timed"], outcomes(b)) == ([], [("hit", "", 0)])
