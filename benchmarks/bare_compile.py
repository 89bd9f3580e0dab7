"""Compile the kernels of a finished screen's side and nothing else; started by `screen_speed.py` in the side's Python.

Gets the kernels by running the suite once with the compiler's entry point recorded, then says ``ready N``, waits for
a line, compiles every recorded kernel again into an empty cache, and prints the seconds that took.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
import triton
import triton.compiler
from zlbench_plugins import context, worker, worker_start

from zlbench.cells import CellSpec


def record(cells: list[dict[str, Any]]) -> list[tuple[Any, Any, Any]]:
    """Run every cell in this process and return the arguments of each compilation."""
    seen: dict[str, tuple[Any, Any, Any]] = {}
    original = triton.compiler.compile

    def compile_and_note(src: Any, target: Any = None, options: Any = None, **rest: Any) -> Any:
        kernel = original(src, target=target, options=options, **rest)
        seen[kernel.hash] = (src, target, dict(options or {}))
        return kernel

    triton.compiler.compile = compile_and_note
    for cell in cells:
        with tempfile.TemporaryDirectory() as out_dir:
            spec = CellSpec.from_json({**cell, "out_dir": out_dir})
            context.activate(context.CellContext(spec))
            pytest.main(worker.pytest_arguments(spec))
    triton.compiler.compile = original
    return list(seen.values())


def main() -> None:
    """Record, wait, compile, report."""
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    cells = [cell for cell in plan["cells"] if cell["side"] == sys.argv[2]]
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker_start.prepare(
        {"torch": True, "timer": "compile", "targets": [cells[0]["target"]], "preload": [cells[0]["package"]]}
    )
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        os.environ["TRITON_CACHE_DIR"] = first
        kernels = record(cells)
        say.write(f"ready {len(kernels)}\n")
        sys.stdin.readline()
        os.environ["TRITON_CACHE_DIR"] = second
        started = time.perf_counter()
        for src, target, options in kernels:
            triton.compile(src, target=target, options=options)
        say.write(f"took {time.perf_counter() - started:.3f}\n")


if __name__ == "__main__":
    main()
