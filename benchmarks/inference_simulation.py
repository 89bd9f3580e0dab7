"""What the verdicts are worth: campaigns whose truth is known go through `zlbench.inference.infer`, and are scored.

    python benchmarks/inference_simulation.py [--campaigns 400] [--rows 4000] [--seed 1] [--only campaign single …]

Cells of both sides lie in time as ABBA has them. The noise of a row is partly white and partly a drift (AR(1) with 0.9
from cell to cell); all rows of an operator share the luck of a process; the second cell of a pair is slower; a few
cells are disturbed without that anybody noticed; the whole B side may be slower by a bias that differs between
operators, which is no effect of the change: a row that is called slower for it is a false one. Nothing of the harness
knows what the statistics assume. The rules of other tools are scored on the same rounds.

FDR is the mean over campaigns of the share of false rows among those flagged; coverage is that of the intervals of
all valid subject rows; power is the share of rows with such an effect that are flagged with its sign. Percent.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from zlbench.inference import infer, moderate  # noqa: E402
from zlbench.inference.floor import floors, free_pairs  # noqa: E402
from zlbench.inference.series import Series, make_series  # noqa: E402
from zlbench.inference.types import Inference, Pair, RowResult, Sample, Settings, Verdict  # noqa: E402
from zlbench.rounds.looks import Settled, settle  # noqa: E402
from zlbench.rounds.plan import Schedule  # noqa: E402

EFFECTS = (0.005, 0.01, 0.02, 0.05)
FLAGGED = {Verdict.SLOWER: 1, Verdict.FASTER: -1}


@dataclass(frozen=True, kw_only=True)
class World:
    """What is true of a campaign; standard deviations and effects are of logarithms, 0.01 is 1 %.

    Args:
        sd: median standard deviation of a cell's value; sd_spread: of ln sd between rows.
        drifting: share of a row's variance that is AR(1) with 0.9.
        luck: standard deviation of what all rows of an operator share in one cell.
        trend: over the whole campaign; warm_up: of the first cell, gone with a time constant of three cells.
        second: by how much the second cell of a pair is slower.
        step: a window of a third of the cells that is slower by this, in half of the operators.
        spikes: share of cells slower by spike.
        quantum: step that all values are rounded to, known to the statistics.
        bias, bias_sd: of the B side; mean, and standard deviation between operators, controls among them.
        changing: operators with an effect; changed: share of their rows that have one.
    """

    operators: int = 16
    rows: int = 25
    controls: int = 4
    sd: float = 0.003
    sd_spread: float = 0.5
    drifting: float = 0.75
    luck: float = 0.001
    trend: float = 0.0
    warm_up: float = 0.0
    second: float = 0.001
    step: float = 0.0
    spikes: float = 0.005
    spike: float = 0.03
    quantum: float = 0.0
    bias: float = 0.0
    bias_sd: float = 0.0
    changing: int = 8
    changed: float = 0.6
    effects: tuple[float, ...] = EFFECTS


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One campaign in full: values of rows in cells, in time; truth by row."""

    world: World
    cells: np.ndarray
    """Rows by rounds by (first, second), logarithms."""
    truth: np.ndarray

    @property
    def rounds(self) -> int:
        return self.cells.shape[1]

    @property
    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """A and B, rows by rounds. Odd rounds measure A first."""
        a_first = np.arange(1, self.rounds + 1) % 2 == 1
        first, second = self.cells[:, :, 0], self.cells[:, :, 1]
        return np.where(a_first, first, second), np.where(a_first, second, first)

    def key(self, row: int) -> tuple[str, str]:
        return f"op{row // self.world.rows:03d}", f"row{row % self.world.rows:03d}"

    def is_control(self, row: int) -> bool:
        return row // self.world.rows >= self.world.operators

    @property
    def subjects(self) -> int:
        return self.world.operators * self.world.rows


def draw(world: World, rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw one campaign."""
    operators = world.operators + world.controls
    rows, cells = operators * world.rows, 2 * rounds
    sd = world.sd * np.exp(world.sd_spread * rng.standard_normal(rows))[:, None]
    drift = np.empty((rows, cells))
    drift[:, 0] = rng.standard_normal(rows)
    for cell in range(1, cells):
        drift[:, cell] = 0.9 * drift[:, cell - 1] + math.sqrt(1 - 0.81) * rng.standard_normal(rows)
    white = rng.standard_normal((rows, cells))
    values = sd * (math.sqrt(world.drifting) * drift + math.sqrt(1 - world.drifting) * white)
    shared = world.luck * rng.standard_normal((operators, cells)) + _course(world, operators, cells, rng)
    values += np.repeat(shared, world.rows, axis=0)
    values += world.spike * (rng.random((rows, cells)) < world.spikes)
    values = values.reshape(rows, rounds, 2)
    values[:, :, 1] += world.second
    truth = _truth(world, rows, rng)
    bias = np.repeat(world.bias + world.bias_sd * rng.standard_normal(operators), world.rows)
    for number in range(1, rounds + 1):
        values[:, number - 1, 1 if number % 2 else 0] += truth + bias
    if world.quantum:
        values += world.quantum * rng.random(rows)[:, None, None]
        values = world.quantum * np.round(values / world.quantum)
    return Drawn(world=world, cells=values, truth=truth)


def _course(world: World, operators: int, cells: int, rng: np.random.Generator) -> np.ndarray:
    """What happens to all rows of an operator in the course of its rounds."""
    at = np.arange(cells)
    course = np.tile(world.trend * at / max(1, cells - 1) + world.warm_up * np.exp(-at / 3), (operators, 1))
    if world.step:
        starts = rng.integers(0, cells, operators)
        hit = rng.random(operators) < 0.5
        for operator in np.flatnonzero(hit):
            course[operator, starts[operator] : starts[operator] + cells // 3] += world.step
    return course


def _truth(world: World, rows: int, rng: np.random.Generator) -> np.ndarray:
    truth = np.zeros(rows)
    some = world.changing * world.rows
    effects = rng.choice(world.effects, some) * rng.choice([-1, 1], some)
    truth[:some] = np.where(rng.random(some) < world.changed, effects, 0.0)
    return truth


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """What the driver measured.

    Args:
        settled: rows that it did not measure any more, and why, by number.
        mean: rounds of a row.
    """

    samples: list[Sample]
    settled: dict[int, Settled]
    mean: float


def measured(drawn: Drawn, schedule: Schedule, *, dropping: bool = False) -> Rounds:
    """Measure as the driver does it.

    Args:
        dropping: rows that are settled are measured no more.
    """
    a, b = (side.tolist() for side in drawn.sides)
    last = [schedule.rounds] * len(a)
    settled: dict[int, Settled] = {}
    for number in schedule.looks[:-1] if dropping else ():
        going = [row for row in range(len(a)) if row not in settled]
        known = {str(row): {k + 1: b[row][k] - a[row][k] for k in range(number)} for row in going}
        why = settle(known, looks=schedule.looks, weights=schedule.weights, now=number, rows=len(a))
        for name, reason in why.items():
            settled[int(name)] = reason
            last[int(name)] = number
    samples = [
        Sample(
            key=drawn.key(row), control=drawn.is_control(row), resolution=drawn.world.quantum,
            pairs=tuple(
                Pair(round=k + 1, log_a=a[row][k], log_b=b[row][k], a_first=k % 2 == 0) for k in range(last[row])
            ),
        )
        for row in range(len(a))
    ]  # fmt: skip
    return Rounds(samples=samples, settled=settled, mean=sum(last) / len(last))


def settings_of(schedule: Schedule) -> Settings:
    return Settings(looks=tuple(zip(schedule.looks, schedule.weights, strict=True)))


# --- scores --------------------------------------------------------------------------------------------------------


@dataclass
class Score:
    """Counts over campaigns."""

    campaigns: int = 0
    shares: float = 0.0
    false: int = 0
    flagged: int = 0
    wrong_sign: int = 0
    covered: int = 0
    intervals: int = 0
    rounds: float = 0.0
    verdicts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    found: dict[float, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))

    def flags(self, signs: Iterable[int], truth: Sequence[float]) -> None:
        """Count one campaign: the sign that each row was flagged with (0: not flagged), and its true effect."""
        false = flagged = 0
        for sign, effect in zip(signs, truth, strict=True):
            flagged += sign != 0
            false += sign != 0 and effect == 0
            if effect:
                right = sign * effect > 0
                self.wrong_sign += sign * effect < 0
                count = self.found[round(abs(effect), 6)]
                count[0] += right
                count[1] += 1
        self.campaigns += 1
        self.shares += false / max(1, flagged)
        self.false += false
        self.flagged += flagged

    def interval(self, low: float | None, high: float | None, effect: float) -> None:
        if low is not None and high is not None:
            self.intervals += 1
            self.covered += low <= effect <= high

    @property
    def fdr(self) -> float:
        return 100 * self.shares / max(1, self.campaigns)

    @property
    def coverage(self) -> float:
        return 100 * self.covered / max(1, self.intervals)

    def power(self, effect: float) -> float:
        found, count = self.found[effect]
        return 100 * found / max(1, count)

    def line(self, name: str) -> str:
        coverage = f"{self.coverage:8.1f}" if self.intervals else "       -"
        rounds = f"{self.rounds / self.campaigns:6.1f}" if self.rounds else "     -"
        power = " / ".join(f"{self.power(effect):5.1f}" for effect in sorted(self.found))
        return f"{name:46}{self.false / self.campaigns:7.2f}{self.fdr:7.1f}{coverage}{rounds}  {power}"


HEAD = f"{'':46}{'false':>7}{'FDR':>7}{'covered':>8}{'rounds':>6}  power by effect"


def score(found: Inference, drawn: Drawn, rows: Score, operators: Score, whole: Score) -> None:
    """Score one campaign's rows, operators and aggregate."""
    keys = [drawn.key(row) for row in range(drawn.subjects)]
    truth = drawn.truth[: drawn.subjects].tolist()
    results = [found.rows[key] for key in keys]
    rows.flags([FLAGGED.get(result.verdict, 0) for result in results], truth)
    for result, effect in zip(results, truth, strict=True):
        rows.interval(result.low, result.high, effect)
        rows.verdicts[result.verdict.value] += 1
    means = drawn.truth[: drawn.subjects].reshape(drawn.world.operators, -1).mean(axis=1).tolist()
    of_operators = [found.operators[f"op{number:03d}"] for number in range(drawn.world.operators)]
    operators.flags([FLAGGED.get(result.verdict, 0) for result in of_operators], means)
    for one, effect in zip(of_operators, means, strict=True):
        operators.interval(one.low, one.high, effect)
    whole.interval(found.campaign.low, found.campaign.high, sum(means) / len(means))


Rule = Callable[[np.ndarray], np.ndarray]
"""Differences, rows by rounds, to signs."""


def all_signs(d: np.ndarray) -> np.ndarray:
    """Every round agrees: what a person sees."""
    return np.sign(d.mean(axis=1)) * (np.abs(np.sign(d).sum(axis=1)) == d.shape[1])


def plain_t(d: np.ndarray) -> np.ndarray:
    """Paired t in each row, Benjamini and Hochberg over rows: nothing shared, nothing subtracted."""
    ps = stats.ttest_1samp(d, 0.0, axis=1).pvalue
    return np.sign(d.mean(axis=1)) * (stats.false_discovery_control(ps) <= 0.05)


def uncorrected(d: np.ndarray) -> np.ndarray:
    """Paired t at 5 % in each row."""
    return np.sign(d.mean(axis=1)) * (stats.ttest_1samp(d, 0.0, axis=1).pvalue <= 0.05)


# --- sections ------------------------------------------------------------------------------------------------------

SIX, LOOKS = Schedule(looks=(6,)), Schedule.until_settled(16)


@dataclass(frozen=True, kw_only=True)
class Scores:
    rows: Score = field(default_factory=Score)
    operators: Score = field(default_factory=Score)
    whole: Score = field(default_factory=Score)
    others: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    settled: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def run(
    world: World, schedule: Schedule, campaigns: int, seed: int, *, dropping: bool = False,
    rules: dict[str, Rule] | None = None,
) -> Scores:  # fmt: skip
    """Draw, judge and score so many campaigns."""
    scores = Scores()
    for number in range(campaigns):
        drawn = draw(world, schedule.rounds, np.random.default_rng([seed, number]))
        rounds = measured(drawn, schedule, dropping=dropping)
        scores.rows.rounds += rounds.mean
        found = infer(rounds.samples, settings_of(schedule))
        score(found, drawn, scores.rows, scores.operators, scores.whole)
        _agreement(rounds, drawn, found, scores)
        a, b = drawn.sides
        for name, rule in (rules or {}).items():
            signs = rule((b - a)[: drawn.subjects])
            scores.others[name].flags(signs.tolist(), drawn.truth[: drawn.subjects].tolist())
    return scores


BIASES = ((0.0, 0.0), (0.001, 0.0005), (0.003, 0.001))


def campaigns_section(arguments: argparse.Namespace) -> None:
    """Whole campaigns under a bias of the build."""
    print(f"Campaigns: {World()}\n")
    for bias, spread in BIASES:
        world = World(bias=bias, bias_sd=spread)
        print(f"bias {100 * bias:g} ± {100 * spread:g} %\n{HEAD}")
        six = run(world, SIX, arguments.campaigns, arguments.seed, rules={
            "6 rounds, p < .05": uncorrected, "6 rounds, all signs agree": all_signs, "6 rounds, t and BH": plain_t,
        })  # fmt: skip
        for name, other in six.others.items():
            print(other.line(name))
        _print(six, "6 rounds")
        _print(run(world, LOOKS, arguments.campaigns, arguments.seed), "looks at 4, 8, 16, all rounds measured")
        dropped = run(world, LOOKS, arguments.campaigns, arguments.seed, dropping=True)
        _print(dropped, "looks at 4, 8, 16, settled rows dropped")
        print("       settled: " + _shares(dropped.settled))
        bare = replace(world, controls=0)
        _print(run(bare, LOOKS, arguments.campaigns // 4, arguments.seed), "looks at 4, 8, 16, no controls")
        print()


def worlds_section(arguments: argparse.Namespace) -> None:
    """The same bias in other worlds."""
    biased = {"bias": 0.003, "bias_sd": 0.001}
    for name, changes in {
        "processes that differ by 0.3 %": {"luck": 0.003}, "8 controls": {"controls": 8},
        "trend of 1 %, second cell 0.3 % slower": {"trend": 0.01, "second": 0.003},
        "bias 0.3 ± 0.3 %": {"bias_sd": 0.003}, "rows of very unlike noise": {"sd_spread": 1.0},
        "4 operators of 5 rows": {"operators": 4, "rows": 5, "changing": 2}, "A = B": {"changing": 0},
    }.items():  # fmt: skip
        world = replace(World(), **{**biased, **changes})
        print(f"{name}\n{HEAD}")
        _print(run(world, SIX, arguments.campaigns // 2, arguments.seed), "6 rounds")
        _print(run(world, LOOKS, arguments.campaigns // 2, arguments.seed), "looks at 4, 8, 16, all rounds measured")
        print()


def _print(scores: Scores, name: str) -> None:
    print(scores.rows.line(f"infer: {name}"))
    print(scores.operators.line("       operators")[:76])
    print(f"       campaign mean covered {scores.whole.coverage:.1f}")
    print("       " + _shares(scores.rows.verdicts))


def _shares(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    return ", ".join(f"{name} {100 * count / total:.2f} %" for name, count in sorted(counts.items()))


NULLS = {
    "white": {"drifting": 0.0}, "AR": {}, "AR and trend": {"trend": 0.01}, "warm-up": {"warm_up": 0.02},
    "second cell": {"drifting": 0.0, "second": 0.003}, "step": {"drifting": 0.0, "step": 0.02},
    "spikes, sd 0.35 %": {"drifting": 0.0, "spikes": 0.05, "sd": 0.0035},
    "step of 1 %, sd .05 %": {"drifting": 0.0, "sd": 0.0005, "quantum": 0.01},
}  # fmt: skip
"""Kinds of noise. The figures to compare with were made with ``white``, ``AR`` and so on of the same description."""
ALONE = World(operators=1, rows=1, controls=0, sd=0.005, sd_spread=0.0, luck=0.0, second=0.0, spikes=0.0, changing=0)


def _agreement(rounds: Rounds, drawn: Drawn, found: Inference, scores: Scores) -> None:
    """Count what the report says of rows that the driver settled."""
    for row, why in rounds.settled.items():
        verdict = found.rows[drawn.key(row)].verdict
        scores.settled[f"{why.value} → {'faster or slower' if verdict in FLAGGED else verdict.value}"] += 1


def alone(world: World, schedule: Schedule, rows: int, seed: int, *, effect: float = 0.0) -> tuple[float, float, float]:
    """Rows each alone in a campaign: share flagged, share with p <= 5 %, share of intervals that hold the truth."""
    if effect:
        world = replace(world, changing=1, changed=1.0, effects=(effect,))
    flagged = significant = covered = 0
    for number in range(rows):
        drawn = draw(world, schedule.rounds, np.random.default_rng([seed, number]))
        (result,) = infer(measured(drawn, schedule).samples, settings_of(schedule)).rows.values()
        assert result.p is not None
        assert result.low is not None
        assert result.high is not None
        flagged += result.verdict in FLAGGED
        significant += result.p <= 0.05
        covered += result.low <= float(drawn.truth[0]) <= result.high
    return 100 * flagged / rows, 100 * significant / rows, 100 * covered / rows


def single_section(arguments: argparse.Namespace) -> None:
    """One row alone: no other row to learn from, no controls."""
    print(f"Rows alone, sd of a cell 0.5 % where no other is given; {arguments.rows} of each")
    print("flagged / p <= 5 % / interval covers, percent")
    print(f"{'':22}{'no effect, 6 rounds':>24}{'no effect, 4/8/16':>24}{'1 %, 6 rounds':>24}{'1 %, 4/8/16':>24}")
    for name, changes in NULLS.items():
        world = replace(ALONE, **changes)
        cells = [
            alone(world, schedule, arguments.rows, arguments.seed, effect=effect)
            for effect in (0.0, 0.01)
            for schedule in (SIX, LOOKS)
        ]
        print(f"{name:22}" + "".join(f"{' / '.join(f'{x:.1f}' for x in cell):>24}" for cell in cells))
    print()


GATES: dict[str, Callable[[Sequence[Series]], list[float]]] = {
    "no floor": lambda rows: [0.0] * len(rows),
    "its own free pairs": lambda rows: [1.96 * own_rms(row) / math.sqrt(len(row.pairs)) for row in rows],
    "own, by Student's t": lambda rows: [
        float(stats.t.ppf(0.975, len(row.pairs) - 1)) * own_rms(row) / math.sqrt(len(row.pairs)) for row in rows
    ],
    "shared, as in infer": floors,
    "quantile over all rows": lambda rows: [
        float(np.quantile([abs(alternating(row)) for row in rows], 0.95)) for _ in (1,)
    ] * len(rows),
}  # fmt: skip
"""Ways to make a floor of the free pairs."""


def own_rms(row: Series) -> float:
    return math.sqrt(float(np.mean(np.square(free_pairs(row)))))


def alternating(row: Series) -> float:
    """Mean of the free pairs with alternating signs, as a trend cancels in ABBA."""
    free = np.array(free_pairs(row))
    return float(np.mean(free * np.where(np.arange(len(free)) % 2, -1, 1)))


def floor_section(arguments: argparse.Namespace) -> None:
    """What each kind of floor costs and keeps, everything else being the same."""
    campaigns = arguments.campaigns // 2
    for name, changes in {
        "as campaigns": {}, "rows of very unlike noise": {"sd_spread": 1.0}, "5 % spikes": {"spikes": 0.05},
        "steps of 2 %": {"step": 0.02}, "steps of 2 %, no controls": {"step": 0.02, "controls": 0},
    }.items():  # fmt: skip
        for schedule in (SIX, LOOKS):
            world = replace(World(), **changes)
            scores: dict[str, Score] = defaultdict(Score)
            for number in range(campaigns):
                drawn = draw(world, schedule.rounds, np.random.default_rng([arguments.seed, number]))
                samples = measured(drawn, schedule).samples
                found = infer(samples, settings_of(schedule))
                rows = [make_series(sample) for sample in samples[: drawn.subjects]]
                results = [found.rows[row.key] for row in rows]
                for gate, make in GATES.items():
                    signs = [_gated(result, floor) for result, floor in zip(results, make(rows), strict=True)]
                    scores[gate].flags(signs, drawn.truth[: drawn.subjects].tolist())
            print(f"{name}, {'6 rounds' if schedule is SIX else 'looks at 4, 8, 16'}\n{HEAD}")
            print("\n".join(scores[gate].line(gate) for gate in GATES), end="\n\n")


def _gated(result: RowResult, floor: float) -> int:
    """Sign of the claim that a row would get with this floor."""
    assert result.q is not None
    assert result.low is not None
    assert result.high is not None
    assert result.estimate is not None
    apart = result.low > 0 or result.high < 0
    return int(math.copysign(1, result.estimate)) if result.q <= 0.05 and apart and abs(result.estimate) >= floor else 0


def few_section(arguments: argparse.Namespace) -> None:
    """Few rows without an effect, and no controls: is what they share worth it."""
    print("Rows without an effect, 4 rounds: share with p <= 5 % / 0.5 %; by number of rows")
    sizes = (1, 5, 19, 20, 50, 400)
    for fewest in (moderate.FEWEST_ROWS, 2):
        print(f"{f'{fewest} rows may share; sd of ln sd':32}" + "".join(f"{size:>14}" for size in sizes))
        with mock.patch.object(moderate, "FEWEST_ROWS", fewest):
            for spread in (0.0, 0.25, 0.5, 1.0):
                shares = [_few(replace(ALONE, rows=size, sd_spread=spread, drifting=0.0), arguments) for size in sizes]
                print(f"{spread:<32}" + "".join(shares))
    print()


def _few(world: World, arguments: argparse.Namespace) -> str:
    ps: list[float] = []
    schedule = Schedule(looks=(4,))
    for number in range(max(1, arguments.rows // world.rows)):
        drawn = draw(world, 4, np.random.default_rng([arguments.seed, number, world.rows]))
        found = infer(measured(drawn, schedule).samples, settings_of(schedule))
        ps += [result.p for result in found.rows.values() if result.p is not None]
    return f"{_share(ps, 0.05):7.1f} /{_share(ps, 0.005):5.2f}"


def _share(ps: Sequence[float], bound: float) -> float:
    return 100 * sum(p <= bound for p in ps) / len(ps)


SECTIONS = {
    "campaign": campaigns_section, "worlds": worlds_section, "single": single_section, "few": few_section,
    "floor": floor_section,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=400)
    parser.add_argument("--rows", type=int, default=4000, help="single rows for each kind of noise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    arguments = parser.parse_args()
    for name in arguments.only:
        began = time.monotonic()
        SECTIONS[name](arguments)
        print(f"({name}: {time.monotonic() - began:.0f} s)\n", file=sys.stderr)


if __name__ == "__main__":
    main()
