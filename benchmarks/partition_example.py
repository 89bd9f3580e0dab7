"""The predecessor's planning example: sixteen operators on eight cards, by hash, whole, and cut by rows.

    python benchmarks/partition_example.py

Its README gives minutes of six rounds for three operators (topk 70.6, sort 43.4, rand 13.0), the rows of two (sort 25,
rand 15), and the results: 120 minutes by hash with one card idle, 70 by measured time, which topk alone sets. The other
thirteen operators are named or not named there without times; names, minutes, rows and start-up are chosen here.
Then 1,000 operators on 8 cards, to see how long planning takes. Ends with 1 if a target is missed.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fakes.planning import CARDS, ROUNDS, example, work  # noqa: E402

from zlbench.partition import hash_plan, make_plan  # noqa: E402
from zlbench.partition_table import to_text  # noqa: E402

WHOLE_MINUTES = 70.6
CUT_MINUTES = 52.0
PLANNING_SECONDS = 1.0


def main() -> int:
    plans = {
        "by hash of the name": hash_plan(example(), cards=CARDS, rounds=ROUNDS),
        "by measured time, operators whole": make_plan(example(), cards=CARDS, rounds=ROUNDS, split=False),
        "by measured time, cut by rows": make_plan(example(), cards=CARDS, rounds=ROUNDS),
    }
    for title, plan in plans.items():
        print(f"== {title}\n")
        print("\n".join(to_text(plan)) + "\n")
    paths = [plan.critical_path_s / 60 for plan in plans.values()]
    chance = random.Random(0)
    many = [work(f"op{number}", 10 * chance.paretovariate(1.0), rows=40) for number in range(1000)]
    start = time.perf_counter()
    make_plan(many, cards=CARDS, rounds=ROUNDS)
    took = time.perf_counter() - start
    idle = [sum(not lane.pieces for lane in plan.lanes) for plan in plans.values()]
    for title, path, cards in zip(plans, paths, idle, strict=True):
        print(f"{title:<35} critical path {path:6.1f} min, idle cards {cards}")
    print(f"planning 1,000 operators of 40 rows on 8 cards: {1000 * took:.0f} ms")
    met = abs(paths[1] - WHOLE_MINUTES) < 0.05 and paths[2] <= CUT_MINUTES and took < PLANNING_SECONDS
    print(f"targets: {WHOLE_MINUTES} whole, at most {CUT_MINUTES:g} cut, under a second: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
