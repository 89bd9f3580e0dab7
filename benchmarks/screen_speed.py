"""Print what zlbench costs beside the work that it drives, as ratios taken in one run.

    python benchmarks/screen_speed.py [--ops softmax mm …] [--rounds 3]

* a screen of the whole built-in suite against the bare compile time of the same kernels (target: at most 1.5)
* seconds of ``nox -l`` (target: 0.5)
* memory of the driver with 1,000 operators planned (target: 150 MB)

The two sides of the screen compile side by side, and so do the two bare compilations, whose seconds are
averaged. Environments must exist:
``nox -s build``. The fingerprint's ratio is printed by ``fingerprint_speed.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / name) for name in ("plugins", "backends", "sessions"))]

from zlbench.builds.environment import installed  # noqa: E402

NOX_DRIVER = [sys.executable, "-m", "nox", "-f", str(ROOT / "noxfile.py")]


def screen(out: Path, ops: list[str]) -> tuple[float, Path]:
    """Run one screen and return its wall time in seconds and its directory."""
    command = [sys.executable, "-m", "zlbench", "screen", *(ops or ["--all"]), "--out", str(out)]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    took = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"the screen ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return took, max(out.glob("screen_*"), key=lambda path: path.stat().st_mtime_ns)


def environment() -> dict[str, str]:
    """The caller's environment with this checkout as the project."""
    return {**os.environ, "ZLBENCH_ROOT": str(ROOT)}


def bare(directory: Path) -> tuple[float, list[int]]:
    """Compile the same kernels, both sides at once; seconds and number of kernels.

    The two sides' own seconds are added and divided by the processors that they had: a screen may spread the slower
    side's rest over both, and must not look good for it.
    """
    plan = json.loads((directory / "plan.json").read_text(encoding="utf-8"))
    children = [_bare_child(directory, plan, side) for side in ("A", "B")]
    counts = [int(_line(child, "ready")) for child in children]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    took = sum(float(_line(child, "took")) for child in children) / min(2, len(os.sched_getaffinity(0)))
    for child in children:
        child.wait()
    return took, counts


def _bare_child(directory: Path, plan: dict[str, Any], side: str) -> subprocess.Popen[str]:
    build = plan["axis"]["sides"][side]["build"]
    manifest = next(item for item in installed(ROOT / ".nox" / "zlbench") if item.triton_path == build["import_path"])
    suite = Path(plan["cells"][0]["suite_root"]) / "src"
    paths = [*manifest.pythonpath, str(ROOT), str(ROOT / "plugins"), str(ROOT / "backends"), str(suite)]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [
        manifest.interpreter,
        "-W",
        "ignore",
        str(ROOT / "benchmarks" / "bare_compile.py"),
        str(directory / "plan.json"),
        side,
    ]
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def _line(child: subprocess.Popen[str], word: str) -> str:
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith(word):
            return line.split()[1]
    sys.exit(f"the bare compilation ended before it said {word}")


def listing() -> float:
    """Best of five of ``nox -l`` in seconds."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([*NOX_DRIVER, "-l"], capture_output=True, check=True)
        times.append(time.perf_counter() - started)
    return min(times)


def driver_memory(operators: int = 1000) -> float:
    """Peak memory in MB of a driver that plans a screen of many operators (a suite of that size, dry run)."""
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder)
        (suite / "src" / "many").mkdir(parents=True)
        (suite / "src" / "many" / "__init__.py").touch()
        (suite / "benchmark").mkdir()
        for name in ("conftest.py", "__init__.py"):
            (suite / "benchmark" / name).touch()
        for index in range(operators):
            body = f"base.Benchmark(op_name='op{index}', torch_op=None).run()"
            text = f"from . import base\n\n\ndef test_op{index}():\n    {body}\n"
            (suite / "benchmark" / f"test_op{index}.py").write_text(text)
        code = (
            "import resource, sys; from zlbench.cli import main; "
            f"code = main(['screen', '--all', '--dry-run', '--json', '--suite', {folder!r}]); "
            "print('PEAK', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
        )
        paths = [str(ROOT), str(ROOT / "backends"), str(ROOT / "plugins")]
        env = {**environment(), "PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        return int(done.stderr.split("PEAK")[1]) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    print(f"nox -l                         {listing():.2f} s        (target 0.5)")
    print(f"driver, 1000 operators planned {driver_memory():.0f} MB        (target 150)")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            took, directory = screen(Path(folder), arguments.ops)
            compiled, counts = bare(directory)
            ratios.append(took / compiled)
            print(f"round {number + 1}: screen {took:.1f} s, bare {compiled:.1f} s, kernels {counts[0]} + {counts[1]}")
    print(f"screen / bare compile          {statistics.median(ratios):.2f}          (target 1.5)")


if __name__ == "__main__":
    main()
