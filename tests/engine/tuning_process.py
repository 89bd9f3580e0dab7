"""One process that records, replays or pins the autotune choices of a kernel with a real Triton, and no card.

Its argument is JSON: `mode` (record, replay, pin), `out`, `source` (record to replay), `tuner` (triton or libtuner),
`libentry` (module of the LibTuner), `times` (of each sweep's configs, in order; "inf" is none), `rows` (sizes),
`hooked` (whether configs have a pre_hook), `configs` (for pin). What happened comes back as one line of JSON.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from zlbench_plugins import context as contexts
from zlbench_plugins import device_targets

from zlbench.cells import CellSpec

JOB = json.loads(sys.argv[1])
BLOCKS = (16, 32, 64, 128)
timed: list[int] = []
hooked: list[int] = []
launched: list[int] = []


def add_one(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(x_ptr + offs, x + 1, mask=offs < n)


def hook(nargs):
    hooked.append(nargs["BLOCK"])


def bench(call, quantiles=(), **_):
    before = len(launched)
    call()
    timed.append(launched[-1])
    del launched[before:]
    number = BLOCKS.index(timed[-1])
    return [math.inf if JOB["times"][number] == "inf" else JOB["times"][number]] * len(quantiles)


def configs():
    pre_hook = hook if JOB.get("hooked") else None
    return [triton.Config({"BLOCK": block}, num_warps=4, pre_hook=pre_hook) for block in BLOCKS]


def tuned(libentry):
    function = triton.jit(add_one)
    run = function.run

    def note(*args, **kwargs):
        launched.append(kwargs["BLOCK"])
        return run(*args, **kwargs)

    function.run = note
    if JOB["tuner"] == "triton":
        return triton.autotune(configs(), key=["n"], do_bench=bench)(function)
    if hasattr(libentry, "libtuner"):
        return libentry.libtuner(configs(), key=["n"], do_bench=bench, warmup=None, rep=None)(function)
    return libentry.LibTuner(function, function.arg_names, configs(), ["n"], None, None, do_bench=bench)


def main():
    out = Path(JOB["out"])
    out.mkdir(parents=True, exist_ok=True)
    device_targets.install("cuda:90")
    spec = CellSpec(
        cell="c", op="add_one", side="A", node="n", suite_root="s", package="toygems", out_dir=str(out), backend="cuda",
        timer="compile" if JOB["mode"] == "pin" else "direct", target="cuda:90", autotune=JOB["mode"],
        replay_from=JOB.get("source"), configs=JOB.get("configs", "first"),
    )  # fmt: skip
    context = contexts.CellContext(spec)
    contexts.activate(context)
    libentry = importlib.import_module(JOB["libentry"]) if JOB["tuner"] == "libtuner" else None
    plugin = importlib.import_module(f"zlbench_plugins.autotune_{JOB['mode']}")
    plugin.pytest_configure()
    plugin.pytest_collection_modifyitems()
    kernel, errors = tuned(libentry), []
    for size in JOB["rows"]:
        context.begin_row()
        context.row = f"row {size}"
        try:
            kernel[(1,)](torch.empty(size, device="meta"), size)
        except Exception as error:
            errors.append(type(error).__name__)
        context.end_row({"row": context.row})
    getattr(plugin, "pytest_sessionfinish", lambda: None)()
    print("RESULT " + json.dumps({"timed": timed, "hooked": hooked, "launched": launched, "errors": errors}))


main()
