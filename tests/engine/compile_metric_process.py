"""Child of test_compile_metric: prepares two kernels as a resident cell does, measures each twice, prints JSON.

argv: the folder of the cell, and whether every measurement is to find the same cache directory.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import torch
import triton
import triton.language as tl
from zlbench_plugins import compile_rounds, context, counters, device_targets, ir_meta

from zlbench.cells import CellSpec

# A global that a helper uses: up to Triton 3.7 a kernel that calls it is keyed once more when it is hashed again.
FACTOR = tl.constexpr(2)


@triton.jit
def scale(value):
    return value * FACTOR


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, scale(tl.load(x + offsets, mask=mask)), mask=mask)


@triton.jit
def multiply(a, b, c, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    where = rows[:, None] * BLOCK + rows[None, :]
    tl.store(c + where, tl.dot(tl.load(a + where), tl.load(b + where)))


def run_cell(spec):
    """What pytest and the suite do in a real cell."""
    context.activate(context.CellContext(spec))
    context.current().recorder = ir_meta.install(context.current())
    device_targets.install(spec.target)
    x, half = torch.empty(256, device="meta"), torch.empty(64, 64, device="meta", dtype=torch.float16)
    double[(2,)](x, 256, BLOCK=128)
    multiply[(1,)](half, half, torch.empty(64, 64, device="meta"), BLOCK=64, num_warps=8)
    return 0


def main():
    folder, same_cache = Path(sys.argv[1]), sys.argv[2] == "same"
    spec = CellSpec(
        cell="two/A", op="two", side="A", node="", suite_root="", package="", out_dir=str(folder / "out"),
        backend="compile", timer="compile", target="cuda:90",
    )  # fmt: skip
    (folder / "cache").mkdir(parents=True)
    (folder / "out").mkdir()
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
    metric = compile_rounds.CompileMetric(spec, run_cell)
    prepared = metric.prepare()
    if same_cache:
        metric._fresh_cache = contextmanager(lambda: iter([_same(folder)]))
    readings, errors = {}, {}
    children = []
    for item in prepared["items"] * 2:
        before = os.times().children_user + os.times().children_system
        try:
            readings.setdefault(item, []).append(metric.measure(item))
        except RuntimeError as error:
            errors[item] = str(error)
        children.append(os.times().children_user + os.times().children_system - before)
    print(json.dumps({
        "prepared": prepared, "readings": readings, "errors": errors, "cache": os.environ["TRITON_CACHE_DIR"],
        "left": [path.name for path in (folder / "cache").rglob("*")],
        "counts": not counters.no_counter_reason(),
        "children_s": sum(children), "gc": __import__("gc").isenabled(),
        "listener": triton.knobs.compilation.listener.__qualname__,
        "timer": triton.compiler.compiler.CompileTimer.__module__,
    }))  # fmt: skip


def _same(folder):
    os.environ["TRITON_CACHE_DIR"] = str(folder / "same")
    return folder / "same"


if __name__ == "__main__":
    main()
