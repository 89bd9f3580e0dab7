"""Compile time of real kernels: counted, from nothing each time, in the backend's stages; nothing stays changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zlbench.cells import read_json_lines

pytest.importorskip("triton")
pytest.importorskip("torch")
pytestmark = pytest.mark.triton


def run(folder: Path, cache: str) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    script = Path(__file__).with_name("compile_metric_process.py")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", str(script), str(folder), cache]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("first"), "fresh")


def test_every_kernel_that_compiled_is_an_item_under_its_name_in_the_records(
    found: dict[str, Any], tmp_path: Path
) -> None:
    again = run(tmp_path / "elsewhere", "fresh")
    recorded = [record["kernel"] for record in read_json_lines(tmp_path / "elsewhere" / "out" / "kernels.jsonl")]
    assert found["prepared"]["items"] == again["prepared"]["items"] == recorded
    assert [item.partition("-")[0] for item in recorded] == ["double", "multiply"]


def test_each_measurement_compiles_and_counts(found: dict[str, Any]) -> None:
    values = found["prepared"]["values"]
    assert values == [*(["instructions"] if found["counts"] else []), "cpu_ms", "wall_ms"]
    assert bool(found["prepared"]["notes"]) is not found["counts"]
    assert found["errors"] == {}
    for readings in found["readings"].values():
        assert len(readings) == 2
        assert all(set(reading["values"]) == set(values) for reading in readings)
        assert all(number > 0 for reading in readings for number in reading["values"].values())
    assert found["children_s"] > 0, "the assembler ran as a child"


def test_stages_are_those_of_the_backend_and_sum_to_the_whole(found: dict[str, Any]) -> None:
    for readings in found["readings"].values():
        for reading in readings:
            assert list(reading["stages"]) == ["frontend", "ttir", "ttgir", "llir", "ptx", "cubin", "store", "finish"]
            assert list(reading["stages_ms"]) == list(reading["stages"])[:-1]
            for name, total in reading["values"].items():
                parts = [stage[name] for stage in reading["stages"].values()]
                assert sum(parts) == pytest.approx(total)
                assert all(part >= 0 for part in parts)


def test_the_cache_is_empty_before_and_gone_after(found: dict[str, Any], tmp_path: Path) -> None:
    assert found["left"] == []
    assert found["cache"].endswith("/cache")
    same = run(tmp_path / "same", "same")
    assert [len(readings) for readings in same["readings"].values()] == [1, 1]
    assert all("from a cache" in error for error in same["errors"].values())
    assert set(same["errors"]) == set(same["prepared"]["items"])


def test_hooks_timer_and_collector_are_put_back(found: dict[str, Any]) -> None:
    assert found["gc"] is True
    assert found["listener"] == "IrRecorder.compiled"
    assert found["timer"] == "triton.compiler.compiler"
