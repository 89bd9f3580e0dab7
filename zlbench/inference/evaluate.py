"""Numbers of many rows at once: at each look the mean and its error with all that belongs to it, and what follows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from zlbench.inference.calibrate import add_errors
from zlbench.inference.floor import floors
from zlbench.inference.moderate import estimate_prior, moderate
from zlbench.inference.sequential import Look, Seen, Sequential, look_at, put_together, reached, student
from zlbench.inference.series import Series, mean_of, variance_of
from zlbench.inference.types import Calibration, Prior, Settings

POWER = 0.8
_MOST_ROUNDS = 1e6
"""So many are none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluated:
    """One valid row.

    Args:
        variance, df: of d after moderation, at the last look; rounding: a variance that more rounds do not shrink.
        mde, floor: as in `RowResult`.
    """

    row: Series
    sequential: Sequential
    variance: float
    df: float
    rounding: float
    mde: float
    floor: float

    @property
    def last(self) -> Look:
        """Its last look, which knows all its pairs."""
        return self.sequential.looks[-1]

    @property
    def estimate(self) -> float:
        """Mean of d, bias subtracted."""
        return self.last.seen.estimate


def evaluate(
    rows: Sequence[Series], settings: Settings, calibration: Calibration
) -> tuple[dict[tuple[str, str], Evaluated], Prior | None]:
    """Evaluate all valid rows, and say what they share at the last look that any of them reached."""
    valid = [row for row in rows if row.valid]
    looks = looks_of(settings)
    at_looks = _moments(valid, looks)
    prior = None
    seen: list[list[_Step]] = [[] for _ in valid]
    for index in sorted(at_looks):
        moments = at_looks[index]
        prior = estimate_prior([one.variance for one in moments], [one.n - 1 for one in moments])
        most = math.fsum([one.n - 1 for one in moments])
        for one in moments:
            variance, df = moderate(one.variance, one.n - 1, prior, most_df=most)
            variance = max(variance, valid[one.row].least_variance)
            looked = _seen(one, variance, df, looks[index][1], calibration)
            seen[one.row].append(_Step(looked, variance, df, one.rounding))
    return _finish(valid, seen, settings), prior


@dataclass(frozen=True, slots=True)
class _Moments:
    """Of one row at one look."""

    row: int
    n: int
    mean: float
    variance: float
    rounding: float


@dataclass(frozen=True, slots=True)
class _Step:
    """A look with what its error was made of."""

    seen: Seen
    variance: float
    df: float
    rounding: float


def _moments(valid: Sequence[Series], looks: Sequence[tuple[int, float]]) -> dict[int, list[_Moments]]:
    """Mean and variance of each row, by look."""
    found: dict[int, list[_Moments]] = defaultdict(list)
    for number, row in enumerate(valid):
        for index, n in reached([(pair.round, pair.a_first) for pair in row.pairs], looks):
            known = row.differences[:n]
            mean = mean_of(known)
            variance = variance_of(known, mean)
            rounding = row.rounding if row.quantised(variance) else 0.0
            found[index].append(_Moments(number, n, mean, max(variance, row.least_variance), rounding))
    return found


def looks_of(settings: Settings) -> tuple[tuple[int, float], ...]:
    """The looks; one that has all of alpha where nobody says when it was."""
    return settings.looks or ((1, 1.0),)


def _seen(one: _Moments, variance: float, df: float, weight: float, calibration: Calibration) -> Seen:
    error, df = add_errors([(variance / one.n, df), *_fixed(one.rounding, calibration)])
    return Seen(weight=weight, n=one.n, estimate=one.mean - calibration.bias, error=error, df=df)


def _finish(
    valid: Sequence[Series], seen: Sequence[Sequence[_Step]], settings: Settings
) -> dict[tuple[str, str], Evaluated]:
    """All tests in one call of scipy, and then row by row."""
    looks = iter(look_at([step.seen for steps in seen for step in steps], alpha=settings.alpha))
    sequential = [put_together([next(looks) for _ in steps]) for steps in seen]
    lasts = [one.looks[-1] for one in sequential]
    powers = student().ppf(POWER, [last.seen.df for last in lasts]).tolist() if lasts else []
    found = {}
    for row, one, steps, power, floor in zip(valid, sequential, seen, powers, floors(valid), strict=True):
        last, step = one.looks[-1], steps[-1]
        found[row.key] = Evaluated(
            row=row, sequential=one, variance=step.variance, df=step.df, rounding=step.rounding, floor=floor,
            mde=(last.quantile + power) * last.seen.error,
        )  # fmt: skip
    return found


def rounds_needed(some: Sequence[Evaluated], settings: Settings, calibration: Calibration) -> list[int | None]:
    """About how many rounds show a difference of 2 delta with 80 % power; None where no number of them does.

    The error shrinks with rounds only as far as controls and rounding let it, and its degrees of freedom grow
    meanwhile, so the number is approached in a few steps.
    """
    if not some:
        return []
    t = student()
    target, share = math.log1p(2 * settings.delta), settings.alpha * looks_of(settings)[-1][1] / 2
    fixed = [_fixed(one.rounding, calibration) for one in some]
    needed = [float(one.last.seen.n) for one in some]
    for _ in range(6):
        dfs = [
            add_errors([(one.variance / n, one.df - one.last.seen.n + n), *parts])[1]
            for one, n, parts in zip(some, needed, fixed, strict=True)
        ]
        factors = zip(t.isf(share, dfs).tolist(), t.ppf(POWER, dfs).tolist(), strict=True)
        left = [
            (target / (a + b)) ** 2 - sum(variance for variance, _ in parts)
            for (a, b), parts in zip(factors, fixed, strict=True)
        ]
        needed = [
            min(_MOST_ROUNDS, max(one.last.seen.n + 1, one.variance / room)) if room > 0 else _MOST_ROUNDS
            for one, room in zip(some, left, strict=True)
        ]
    return [None if n >= _MOST_ROUNDS else 2 * math.ceil(n / 2) for n in needed]


def _fixed(rounding: float, calibration: Calibration) -> list[tuple[float, float]]:
    """Parts of an error that no number of rounds shrinks."""
    found = [(rounding, math.inf)] if rounding else []
    if calibration.used:
        found.append((calibration.between**2, len(calibration.operators) - 1))
    return found
