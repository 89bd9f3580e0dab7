"""A/A noise of compile-time rounds on this machine, and the smallest effect that they can see. Percent, from one run.

    python benchmarks/compile_rounds_noise.py [--a triton-3.6.0] [--b BUILD] [--ops softmax mm] [--rounds 6] [--pairs 3]

Both sides compile the same kernels in rounds, as `ab_repeat` does on a machine with no device; with no ``--b`` both are
the same build. Everything is done again in `--pairs` fresh pairs of processes, since a difference that stays for the
life of a process looks like a real one. Printed for each kernel, and as medians over kernels:

* sd within: of one side's values over the rounds of one process
* sd pair: of the differences B - A over rounds, which is what a paired test works with
* sd between: of the mean differences of the pairs of processes, beside what chance alone would give from `sd pair`
* B - A: mean difference; with one build on both sides it is noise too
* MDE: (t.975 + t.80) x sd pair / sqrt(N) for 6 and 16 rounds, no adjustment for looks
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / name) for name in ("plugins", "backends", "sessions"))]

from zlbench.engine.alternate import TURNS, Taken  # noqa: E402
from zlbench.engine.compile_rounds import CompileRounds, Items  # noqa: E402
from zlbench.measure.prepare import make_work_dir, prepare, worker_specs  # noqa: E402
from zlbench.measure.request import Request, make_cells, make_request  # noqa: E402
from zlbench.settings import axis_of, load_project, resolve  # noqa: E402
from zlbench.text import columns  # noqa: E402

T_SUM = {6: 2.571 + 0.920, 16: 2.131 + 0.866}
"""t.975 + t.80 with N - 1 degrees of freedom."""
Measured = dict[tuple[str, str, str, int], dict[int, float]]
"""Value by round, for each (value name, kernel, side, pair of processes)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--a", default="triton-3.6.0")
    parser.add_argument("--b", help="another build; without it A against A")
    parser.add_argument("--ops", nargs="+", default=["softmax", "mm", "topk"])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=3, help="fresh pairs of processes")
    parser.add_argument("--turns", type=int, default=TURNS, help="compilations of a kernel and side in a round")
    parser.add_argument("--quick", action="store_true", help="one shape and one dtype an operator")
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds: an sd needs two")
    words = [*arguments.ops, *(["--quick"] if arguments.quick else [])]
    words += ["--a", arguments.a, "--b", arguments.b] if arguments.b else ["--build", arguments.a, "--null-test"]
    with tempfile.TemporaryDirectory() as folder:
        measured: Measured = {}
        request = make(words)
        for pair in range(arguments.pairs):
            items = measure(request, Path(folder) / str(pair), arguments.rounds, pair, measured, turns=arguments.turns)
    report(measured, items, arguments.rounds, arguments.pairs)


def make(words: list[str]) -> Request:
    env = {**os.environ, "ZLBENCH_ROOT": str(ROOT)}
    project = load_project(ROOT, env)
    resolved = resolve("screen", words, env=env, project=project)
    axis = axis_of(resolved, project)
    return make_request(resolved, project, axis, sides=("A", "B"), cwd=Path.cwd(), cache=home(), env=env)


def home() -> Path:
    return Path(os.environ.get("ZLBENCH_HOME") or ROOT / ".nox" / "zlbench")


def measure(request: Request, root: Path, rounds: int, pair: int, measured: Measured, *, turns: int) -> Items:
    """All operators in one fresh pair of workers; returns what was measured, of all operators together."""
    env = dict(os.environ)
    builds = prepare(request, home=home(), env=env, log=say)
    root.mkdir()
    make_work_dir(request, root)
    cells = {(cell.op, cell.side): cell for cell in make_cells(request, root)}
    labels: dict[str, str] = {}
    workers = worker_specs(request, builds, work_dir=root, env=env)
    with CompileRounds(request, builds, workers, turns=turns, note=say) as sides:
        for op in dict.fromkeys(op for op, _ in cells):
            items = sides.prepare(cells[op, "A"], cells[op, "B"], root / op)
            labels |= items.labels
            say(f"pair {pair + 1}, {op}: {len(items.common)} kernels, compared by {items.metric}")
            for number in range(1, rounds + 1):
                for one in sides.round(number).taken:
                    keep(one, number, pair, measured)
    for note in items.notes:
        say(note)
    return Items(metric=items.metric, common=tuple(labels), labels=labels, only={}, not_repeatable={})


def keep(one: Taken, number: int, pair: int, measured: Measured) -> None:
    if not one.readings:
        say(f"not measured: {one.item} on {one.side}: {one.error}")
        return
    for name, value in one.values.items():
        measured.setdefault((name, one.item, one.side, pair), {})[number] = math.log(value)


def report(measured: Measured, items: Items, rounds: int, pairs: int) -> None:
    for name in dict.fromkeys((items.metric, "wall_ms")):
        table = [["kernel", "mean", "sd within", "sd pair", "sd between", "(chance)", "B - A", "MDE 6", "MDE 16"]]
        numbers = [found for item in items.common if (found := of_kernel(measured, name, item, pairs)) is not None]
        for label, mean, *rest in numbers:
            table.append([items.labels[label][:44], f"{mean:.3g}", *(percent(value) for value in rest)])
        if numbers:
            middle = [statistics.median(values) for values in zip(*(found[2:] for found in numbers), strict=True)]
            table.append(["median", "", *(percent(value) for value in middle)])
        print(
            f"\n{name}: {rounds} rounds, {pairs} pairs of processes, load {os.getloadavg()[0]:.1f} on {cores()} cores"
        )
        print("\n".join(columns(table[0], table[1:])))


def of_kernel(measured: Measured, name: str, item: str, pairs: int) -> tuple[Any, ...] | None:
    within, differences, means, levels = [], [], [], []
    for pair in range(pairs):
        a, b = (measured.get((name, item, side, pair), {}) for side in ("A", "B"))
        both = [number for number in a if number in b]
        if len(both) < 2:
            return None
        within += [statistics.stdev(side.values()) for side in (a, b)]
        found = [b[number] - a[number] for number in both]
        differences.append(statistics.stdev(found))
        means.append(statistics.fmean(found))
        levels += [math.exp(value) for value in a.values()]
    sd_pair = root_mean_square(differences)
    between = statistics.stdev(means) if pairs > 1 else math.nan
    chance = sd_pair / math.sqrt(len(both))
    mde = [total * sd_pair / math.sqrt(count) for count, total in T_SUM.items()]
    difference = statistics.fmean(means)
    return (item, statistics.fmean(levels), root_mean_square(within), sd_pair, between, chance, difference, *mde)


def root_mean_square(values: list[float]) -> float:
    return math.sqrt(statistics.fmean(value * value for value in values))


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * math.expm1(value):.2f} %"


def cores() -> int:
    return len(os.sched_getaffinity(0))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
