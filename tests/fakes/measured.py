"""A campaign as values, made of seeded noise: every kind of verdict, exclusion and marker a report has to show."""

from __future__ import annotations

import random
from typing import Any

from zlbench.report.model import (
    CellSighting,
    Header,
    KernelCosts,
    KernelPair,
    LeftOut,
    Measured,
    OpReadings,
    Reading,
    RowReadings,
    TelemetryPoint,
)
from zlbench.rounds.names import Metric

ROUNDS = 6
EVIL = "<script>alert('op')</script>"
"""An operator that somebody named so: it is text everywhere."""


def row(
    label: str, *, ms: float, effect: float = 0.0, noise: float = 0.003, seed: int = 0, dtype: str = "float16",
    rounds: int = ROUNDS, left_out: tuple[LeftOut, ...] = (), timer: str = "cuda_graph",
) -> RowReadings:  # fmt: skip
    """One row; `effect` and `noise` are relative (0.01: 1 %)."""
    chance = random.Random(f"{label} {seed}")
    readings = tuple(
        Reading(
            round=number, before=ms * (1 + chance.gauss(0, noise)), after=ms * (1 + effect + chance.gauss(0, noise)),
            a_first=number % 2 == 1,
        )
        for number in range(1, rounds + 1)
    )  # fmt: skip
    return RowReadings(
        name=f"{dtype}|{label}", dtype=dtype, label=label, unit="ms", readings=readings, left_out=left_out, timer=timer,
        l2="warm",
    )  # fmt: skip


def kernel(name: str, *, changed: bool = True) -> KernelPair:
    """A kernel on both sides."""
    a = KernelCosts(registers=38, spills=0, shared=8192, instructions=410, code="a" * 16, ttgir="1" * 16)
    b = KernelCosts(registers=36, spills=0, shared=4096, instructions=390, code="b" * 16, ttgir="2" * 16)
    diff = (
        "--- A\n+++ B\n@@ -4,3 +4,2 @@\n   %4 = tt.load %3 : tensor<128x!tt.ptr<f16>, #blocked>\n"
        "-  %5 = ttg.convert_layout %4 : tensor<128xf16, #blocked> -> tensor<128xf16, #mma>\n"
        "   tt.return\n"
    )
    return KernelPair(
        id=f"{name}-0123456789abcdef", name=name, variant="w4s3", constexprs={"BLOCK_M": 128, "BLOCK_N": 64},
        signature={"x_ptr": "*fp16", "n": "i32"}, num_warps=4, num_stages=3, rows=("4096x4096",), a=a,
        b=b if changed else a, ir="changed" if changed else "same", code="changed" if changed else "same",
        histogram=(("ttg.convert_layout", 9, 6), ("ttg.local_load", 4, 2)) if changed else (),
        diff=diff if changed else "",
    )  # fmt: skip


def op(name: str, *rows: RowReadings, control: bool = False, **more: Any) -> OpReadings:
    """One operator."""
    common: dict[str, Any] = {
        "rounds": tuple(range(1, ROUNDS + 1)), "verdict": "NO_IR_DIFF" if control else "IR_CHANGED",
        "kernels": (kernel(f"{name}_kernel", changed=not control),),
    }  # fmt: skip
    return OpReadings(op=name, directory=name, control=control, rows=rows, **(common | more))


def identity(side: str) -> dict[str, Any]:
    """What run_identity.json of a side says, in part."""
    return {
        "schema_version": 1, "op": "mm", "provider": "flag_gems", "backend": "cuda", "device": "NVIDIA H200",
        "device_uuid": "GPU-5d1e0000-0000-0000-0000-000000000000", "driver": "580.1", "timer": "cuda_graph",
        "l2": "warm", "switches": {"TOY_FOLD": None if side == "A" else "1"},
        "build": {
            "name": f"build-{side.lower()}", "version": "3.6.0", "native_sha256": {"A": "1f3c", "B": "9ab2"}[side] * 16,
            "import_path": f"/opt/{side.lower()}/triton", "commit": None,
        },
    }  # fmt: skip


def cells(ops: tuple[str, ...]) -> tuple[CellSighting, ...]:
    """When each cell ran on lane 0, ABBA, one second each."""
    found, at = [], 1_764_000_000.0
    for number in range(1, ROUNDS + 1):
        for name in ops:
            for side in "AB" if number % 2 else "BA":
                disturbed = name == "mm" and number == 3
                found.append(
                    CellSighting(
                        lane="0", op=name, round=number, side=side, start=at, end=at + 1,
                        clock_mhz=1980.0 - 300 * disturbed, temp_c=50.0 + number, power_w=600.0,
                        throttle=("sw_thermal",) if disturbed else (),
                        invalid="throttle" if disturbed else "",
                    )
                )  # fmt: skip
                at += 1
    return tuple(found)


def campaign() -> Measured:
    """Four subjects and four controls on one card, six rounds, one disturbed pair that was measured again."""
    note = "cuda_graph on A, direct on B"
    mismatch = tuple(LeftOut(round=number, reason="TIMER_MISMATCH", note=note) for number in range(1, ROUNDS + 1))
    subjects = (
        op("mm", row("4096x4096", ms=0.2331, effect=-0.029), row("1024x1024", ms=0.0052, effect=0.04, seed=1), rerun=1),
        op("topk", row("64x1024 k=32", ms=0.0164, noise=0.001), row("1024x1024 k=16", ms=0.0154, noise=0.001, seed=2)),
        op("gelu", row("64x64", ms=0.0012, noise=0.03), lost=("float16 512x512: OOM on B",)),
        op(
            "sort", row("64x64", ms=0.02, seed=3),
            RowReadings(name="sort|direct", dtype="int64", label="1024x1024", unit="ms", left_out=mismatch),
            fallbacks=(("BENCHMARK_DIRECT_NO_CUDAGRAPH", 6),),
            markers=(("BENCHMARK_DIRECT_NO_CUDAGRAPH", "phase=capture reason=host sync repeat=1"),),
        ),
        op(EVIL, row("<b>8</b> & \"16\"", ms=0.01, effect=0.05, dtype="float32")),
    )  # fmt: skip
    controls = tuple(
        op(name, row("1024x1024", ms=0.003 * number, noise=0.002, seed=number), control=True)
        for number, name in enumerate(("softmax", "layer_norm", "bmm", "cumsum"), 1)
    )
    names = tuple(one.op for one in (*subjects, *controls))
    seen = cells(names)
    return Measured(
        header=Header(
            title="report of campaign_20261129-101010", metric=Metric.LATENCY, a="triton 3.6.0",
            b="triton 3.6.0 (relayout) TOY_FOLD=1", axis="build, switch TOY_FOLD",
            conditions=("NVIDIA H200", "GPU-5d1e0000", "cuda_graph, warm L2", "level core"),
            screen=("screen: 9 operators · 5 IR_CHANGED, other code · 4 NO_IR_DIFF, same code",),
        ),
        ops=(*subjects, *controls), planned="6 rounds", looks=((ROUNDS, 1.0),),
        sides={side: identity(side) for side in "AB"}, cells=seen,
        telemetry=tuple(
            TelemetryPoint(lane="0", at=cell.start + 0.5, clock_mhz=cell.clock_mhz, temp_c=cell.temp_c, power_w=600.0,
                           throttle="+".join(cell.throttle))
            for cell in seen
        ),
    )  # fmt: skip
