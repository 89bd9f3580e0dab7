"""What a cell's process was: vendors by path segment, kinds of failures, launches of a row."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.suites import PATHS
from zlbench_plugins import context
from zlbench_plugins.context import Launches
from zlbench_plugins.failures import FailureKind, classify, one_line
from zlbench_plugins.seed import seed_all

# The plugin works at import, for the cell of its process.
VENDORS = """\
from types import SimpleNamespace
from zlbench_plugins import context
spec = SimpleNamespace(backend="compile", timer="compile", target=None, out_dir=".")
context.activate(SimpleNamespace(spec=spec))
from zlbench_plugins.device import vendors_loaded
print(sorted(vendors_loaded(["gems.runtime.backend._nvidia.ops", "gems.runtime.backend._kunlunxin", "backend._mthreads",
    "gems.backend.nvidia", "gems.my_backend._ascend", "gems.backend.__init__", "gems._cambricon.backend", "backend"])))
"""


def test_vendors_are_told_by_path_segment(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    ended = subprocess.run([sys.executable, "-c", VENDORS], env=env, capture_output=True, text=True, check=True)
    assert ended.stdout == "['kunlunxin', 'mthreads', 'nvidia']\n"


class CompilationError(Exception):
    pass


class OutOfResources(Exception):
    pass


class OutOfMemoryError(RuntimeError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "full"), FailureKind.DISK_FULL),
        (OSError(errno.EDQUOT, "quota"), FailureKind.DISK_FULL),
        (RuntimeError("ptxas: No space left on device"), FailureKind.DISK_FULL),
        (OSError(errno.EACCES, "no"), FailureKind.ERROR),
        (MemoryError(), FailureKind.OOM),
        (OutOfMemoryError("x"), FailureKind.OOM),
        (RuntimeError("CUDA error: Out of Memory"), FailureKind.OOM),
        (OutOfResources("shared memory"), FailureKind.OUT_OF_RESOURCES),
        (CompilationError("at 1:2"), FailureKind.COMPILE_ERROR),
        (RuntimeError("PassManager::run failed"), FailureKind.COMPILE_ERROR),
        (RuntimeError("bool can't be supported by this op"), FailureKind.DTYPE),
        (ValueError("anything else"), FailureKind.ERROR),
    ],
)
def test_kinds_of_failures(error: Exception, kind: FailureKind) -> None:
    assert classify(error) is kind


def test_a_failure_is_told_by_its_cause() -> None:
    failed = CompilationError("writing the cache")
    failed.__cause__ = OSError(errno.ENOSPC, "full")
    assert classify(failed) is FailureKind.DISK_FULL
    looped = ValueError("a")
    looped.__cause__ = looped
    assert classify(looped) is FailureKind.ERROR


def test_an_error_fits_a_line() -> None:
    assert one_line(ValueError("two\nlines\tand  blanks")) == "ValueError: two lines and blanks"
    assert len(one_line(ValueError("x" * 999))) == 300


def test_grids_are_kept_once_in_the_order_of_their_first_use() -> None:
    launches = Launches()
    for grid in ((4, 1, 1), (2, 1, 1), (4, 1, 1), None):
        launches.add(grid)
    assert launches.to_json() == {"launches": 4, "grids": [[4, 1, 1], [2, 1, 1]]}


def test_launches_belong_to_the_row_and_not_to_a_sweep(tmp_path: Path) -> None:
    cell = context.CellContext(SimpleNamespace(out_dir=str(tmp_path)))  # type: ignore[arg-type]
    cell.launched("k", (1, 1, 1))
    cell.sweeping = True
    cell.launched("loser", (1, 1, 1))
    assert {name: launch.count for name, launch in cell.launches.items()} == {"k": 1}
    cell.begin_row()
    assert cell.launches == {}


def test_one_seed_gives_one_sequence() -> None:
    drawn = []
    for seed in (7, 7, 2**40):
        seed_all(seed)
        drawn.append(random.random())
    assert drawn[0] == drawn[1] != drawn[2]
