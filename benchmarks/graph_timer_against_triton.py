"""Our timers against Triton's, bare, in one process on one card: the same call, in alternating order.

    PYTHONPATH=.:plugins:backends:ops/builtin/src python benchmarks/graph_timer_against_triton.py --json FILE

Each operator is timed `repeats` times by each timer, ours first in even rounds and Triton's first in odd ones; a line
shows the medians and the ratio of the medians, with the smallest and largest ratio of a round. Two captures of one
kernel can differ by their placement in memory, so a single round says little.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
import triton.testing
from zlbench_builtin import gemm, norm, pointwise, softmax, topk
from zlbench_plugins.direct_timer import time_warm
from zlbench_plugins.graph_timer import Refusal, Timed, time_by_graph
from zlbench_plugins.timing_card import Card

from zlbench import backend as backends

WARMUP_MS, REP_MS = 25.0, 200.0
SMALL_US = 10.0
"""Kernels below are shown and not judged: placement and launch decide more than the timer does."""
AGREE = 0.005


def operators() -> dict[str, Callable[[], object]]:
    """What is timed, from one microsecond to a few milliseconds."""

    def tensor(*shape: int) -> Any:
        return torch.randn(shape, dtype=torch.float16, device="cuda")

    tiny, row, wide, large = tensor(64, 64), tensor(1024, 1024), tensor(4096, 4096), tensor(8192, 8192)
    a, b, weight, bias = tensor(4096, 4096), tensor(4096, 4096), tensor(4096), tensor(4096)
    return {
        "gelu 64x64": lambda: pointwise.gelu(tiny),
        "softmax 1024x1024": lambda: softmax.softmax(row),
        "softmax 4096x4096": lambda: softmax.softmax(wide),
        "layer_norm 4096x4096": lambda: norm.layer_norm(wide, weight, bias),
        "topk 1024x1024": lambda: topk.topk(row, 16),
        "torch.softmax 4096x4096": lambda: torch.softmax(wide, -1),
        "torch add 8192x8192": lambda: large + large,
        "mm 4096 (tuned)": lambda: gemm.mm(a, b),
    }


def by_graph(card: Card, call: Callable[[], object], *, flushed: bool = False) -> float:
    """Milliseconds by our captured graph."""
    found = time_by_graph(card, Timed(call=call, warmup_ms=WARMUP_MS, rep_ms=REP_MS), flushed=flushed)
    if isinstance(found, Refusal):
        raise SystemExit(f"not captured, phase {found.phase.value}: {found.reason}")
    return statistics.median(found)


def pairs(card: Card, call: Callable[[], object]) -> dict[str, tuple[Callable[[], float], Callable[[], float]]]:
    """Ours and Triton's, by what they measure."""

    def do_bench() -> float:
        return float(triton.testing.do_bench(call, warmup=WARMUP_MS, rep=REP_MS, return_mode="median"))

    def do_bench_cudagraph() -> float:
        return float(triton.testing.do_bench_cudagraph(call, rep=20, return_mode="median"))

    def direct_warm() -> float:
        return statistics.median(time_warm(card, Timed(call=call, warmup_ms=WARMUP_MS, rep_ms=REP_MS)))

    return {
        "graph, warm": (lambda: by_graph(card, call), do_bench_cudagraph),
        "graph, flushed / do_bench": (lambda: by_graph(card, call, flushed=True), do_bench),
        "direct, warm / do_bench": (direct_warm, do_bench),
    }


def compare(ours: Callable[[], float], theirs: Callable[[], float], repeats: int) -> dict[str, Any]:
    """Time both in alternating order; milliseconds."""
    mine, other = [], []
    for number in range(repeats):
        if number % 2:
            other.append(theirs())
            mine.append(ours())
        else:
            mine.append(ours())
            other.append(theirs())
    ratios = [one / two for one, two in zip(mine, other, strict=True)]
    return {
        "ours_ms": statistics.median(mine),
        "triton_ms": statistics.median(other),
        "ratio": statistics.median(mine) / statistics.median(other),
        "smallest": min(ratios),
        "largest": max(ratios),
    }


def main() -> None:
    """Print the table; the first pair of each operator is the one that must agree."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="part of an operator's name")
    parser.add_argument("--what", default="", help="beginning of what is compared, such as 'graph, warm'")
    given = parser.parse_args()
    card = Card(backends.get("cuda"), torch)
    print(f"{torch.cuda.get_device_name()} · torch {torch.__version__} · triton {triton.__version__}")
    print(f"{'operator':<26}{'what':<28}{'ours µs':>10}{'triton µs':>11}{'ratio':>9}{'range of a round':>20}")
    results: list[dict[str, Any]] = []
    judged: list[float] = []
    for name, call in operators().items():
        if given.only not in name:
            continue
        for what, (ours, theirs) in pairs(card, call).items():
            if not what.startswith(given.what):
                continue
            found = compare(ours, theirs, given.repeats)
            results.append({"operator": name, "what": what, **found})
            spread = f"{found['smallest']:.4f} … {found['largest']:.4f}"
            print(
                f"{name:<26}{what:<28}{found['ours_ms'] * 1000:>10.2f}{found['triton_ms'] * 1000:>11.2f}"
                f"{found['ratio']:>9.4f}{spread:>20}",
                flush=True,
            )
            if what == "graph, warm" and found["triton_ms"] * 1000 > SMALL_US:
                judged.append(abs(found["ratio"] - 1))
    if judged:
        verdict = "within" if max(judged) <= AGREE else "NOT within"
        print(f"graphs of kernels above {SMALL_US:.0f} µs: largest difference {max(judged):.2%}, {verdict} {AGREE:.1%}")
    if given.json is not None:
        given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
