"""Our timers against Triton's, bare, in one process on one card: the same call, in alternating order.

    PYTHONPATH=.:plugins:backends:ops/builtin/src python benchmarks/graph_timer_against_triton.py --json FILE

Each operator is timed `repeats` times by each timer, ours first in even rounds and Triton's first in odd ones. Two
captures of one kernel differ by their placement in memory, steadily while the placement stays: each round therefore
begins with an emptied allocator, a padding of random size and new inputs. A card at its power limit is the slower the
longer it was loaded: both timers start behind the same load. Triton's repetitions are long, so that the launch of
its graph, which it counts in, is small beside them. A line shows the medians and the median ratio of a round.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
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

WARMUP_MS, REP_MS = 25.0, 500.0
SMALL_US = 10.0
"""Kernels below are shown and not judged: placement and launch decide more than the timer does."""
AGREE = 0.005


TRITON_REP_MS = 50
"""Of one repetition of Triton's; it makes ten."""
SOAK_MS = 300.0
"""The same load before each timer."""


def operators() -> dict[str, Callable[[], object]]:
    """What is timed, from one microsecond to a few hundred, on inputs that are made here."""

    def tensor(*shape: int) -> Any:
        return torch.randn(shape, dtype=torch.float16, device="cuda")

    tiny, row, wide, large = tensor(64, 64), tensor(1024, 1024), tensor(4096, 4096), tensor(8192, 8192)
    small_a, small_b = tensor(2048, 2048), tensor(2048, 2048)
    a, b, weight, bias = tensor(4096, 4096), tensor(4096, 4096), tensor(4096), tensor(4096)
    return {
        "gelu 64x64": lambda: pointwise.gelu(tiny),
        "softmax 1024x1024": lambda: softmax.softmax(row),
        "softmax 4096x4096": lambda: softmax.softmax(wide),
        "layer_norm 4096x4096": lambda: norm.layer_norm(wide, weight, bias),
        "topk 1024x1024": lambda: topk.topk(row, 16),
        "torch.softmax 4096x4096": lambda: torch.softmax(wide, -1),
        "torch add 8192x8192": lambda: large + large,
        "mm 2048": lambda: gemm.mm(small_a, small_b),
        "mm 4096": lambda: gemm.mm(a, b),
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
        return float(triton.testing.do_bench_cudagraph(call, rep=TRITON_REP_MS, return_mode="median"))

    def direct_warm() -> float:
        return statistics.median(time_warm(card, Timed(call=call, warmup_ms=WARMUP_MS, rep_ms=REP_MS)))

    return {
        "graph, warm": (lambda: by_graph(card, call), do_bench_cudagraph),
        "graph, flushed / do_bench": (lambda: by_graph(card, call, flushed=True), do_bench),
        "direct, warm / do_bench": (direct_warm, do_bench),
    }


def placed_anew(chance: random.Random) -> dict[str, Callable[[], object]]:
    """The operators on inputs that lie elsewhere than before."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    padding = torch.empty(chance.randrange(1, 64) << 19, dtype=torch.uint8, device="cuda")
    made = operators()
    del padding
    return made


def soak(call: Callable[[], object]) -> None:
    """Load the card for a while."""
    until = time.monotonic() + SOAK_MS / 1000
    while time.monotonic() < until:
        for _ in range(20):
            call()
        torch.cuda.synchronize()


def one_round(card: Card, name: str, what: str, number: int, chance: random.Random) -> tuple[float, float]:
    """Milliseconds of ours and of Triton's on one placement."""
    call = placed_anew(chance)[name]
    timers = pairs(card, call)[what]
    found = [0.0, 0.0]
    for which in (1, 0) if number % 2 else (0, 1):
        soak(call)
        found[which] = timers[which]()
    return found[0], found[1]


def compare(card: Card, name: str, what: str, repeats: int) -> dict[str, Any]:
    """Time both in alternating order; milliseconds."""
    chance = random.Random(name)
    found = [one_round(card, name, what, number, chance) for number in range(repeats)]
    ratios = [ours / theirs for ours, theirs in found]
    return {
        "ours_ms": statistics.median(ours for ours, _ in found),
        "triton_ms": statistics.median(theirs for _, theirs in found),
        "ratio": statistics.median(ratios),
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
    for name in (name for name in operators() if given.only in name):
        for what in (what for what in pairs(card, lambda: None) if what.startswith(given.what)):
            found = compare(card, name, what, given.repeats)
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
