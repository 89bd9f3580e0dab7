"""The local engine against workers of a few lines."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from zlbench.cells import CellSpec
from zlbench.engine.local import LocalEngine, WorkerSpec
from zlbench.errors import PreflightError

WORKER = """
import os, sys, time
from zlbench.resident import Lines
lines = Lines.from_env(os.environ)
opening = lines.receive()
lines.send({"event": "imported", "observed": {}})
time.sleep(opening["seconds"])
lines.send({"event": "ready", "targets_failed": opening["failed"]})
while (message := lines.receive()) is not None and message["do"] == "run":
    cell = message["cell"]
    with open("started", "a") as stream:
        stream.write(cell["cell"] + "\\n")
    lines.send({"event": "ended", "cell": cell["cell"], "pid": 0, "returncode": 0})
"""


def worker(folder: Path, side: str, **opening: Any) -> WorkerSpec:
    package = folder / "fake" / "zlbench_plugins"
    package.mkdir(parents=True, exist_ok=True)
    (package / "worker.py").write_text(WORKER)
    core = str(Path(sys.modules["zlbench"].__file__ or "").parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package.parent), core])}
    return WorkerSpec(
        side=side, interpreter=Path(sys.executable), safe_path=False, env=env, work_dir=folder,
        opening={"seconds": 0.0, "failed": {}, **opening},
    )  # fmt: skip


def cell(folder: Path, name: str) -> CellSpec:
    return CellSpec(
        cell=name, op="mm", side=name[-1], node="", suite_root="", package="", out_dir=str(folder), backend="compile",
        timer="compile",
    )  # fmt: skip


def ends(folder: Path, *workers: WorkerSpec) -> list[str]:
    engine = LocalEngine(workers, check=lambda side, observed: None, cell_timeout_s=60.0)
    return [end.spec.cell for end in engine.run([cell(folder, name) for name in ("mm/A", "mm/B", "fft/A")], jobs=2)]


def test_every_cell_runs(tmp_path: Path) -> None:
    assert sorted(ends(tmp_path, worker(tmp_path, "A"), worker(tmp_path, "B", seconds=0.3))) == [
        "fft/A",
        "mm/A",
        "mm/B",
    ]


def test_a_side_without_a_target_is_refused_before_the_other_has_run_anything(tmp_path: Path) -> None:
    sides = worker(tmp_path, "A"), worker(tmp_path, "B", seconds=0.5, failed={"hip:gfx942": "no such backend"})
    with pytest.raises(PreflightError, match="side B cannot compile for hip:gfx942: no such backend"):
        ends(tmp_path, *sides)
    assert not (tmp_path / "started").exists()
