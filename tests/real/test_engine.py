"""Tests that import torch and triton themselves, `tests/engine`: each file in the interpreter of a build."""

from __future__ import annotations

import faulthandler
import os
import subprocess
from pathlib import Path

import pytest
from driving import OLD, ROOT

from zlbench.builds.manifest import Manifest

pytestmark = pytest.mark.triton

FILES = sorted((ROOT / "tests" / "engine").glob("test_*.py"))
# What this process's own pytest or nox left for those below it.
_FOREIGN = ("PYTEST_", "NOX_", "PYTHONPATH", "PYTHONHOME", "ZLBENCH_")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem.removeprefix("test_"))
def test_a_file_of_the_engine_passes_in_the_build_s_interpreter(
    builds: dict[str, Manifest], tmp_path: Path, path: Path
) -> None:
    # Every test in there is told of by itself where it hangs; a file of them may take its time.
    faulthandler.cancel_dump_traceback_later()
    build = builds[OLD]
    paths = [*build.pythonpath, *(str(ROOT / name) for name in ("", "plugins", "backends"))]
    env = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
    done = subprocess.run(
        [build.interpreter, "-m", "pytest", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'inner'}", str(path)],
        cwd=ROOT, env={**env, "PYTHONPATH": os.pathsep.join(paths)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    assert " passed" in done.stdout.splitlines()[-1]
