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


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluated:
    """One valid row.

    Args:
        variance, df: of d after moderation, at the last look.
        mde, floor: as in `RowResult`.
    """

    row: Series
    sequential: Sequential
    variance: float
    df: float
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
    moments: dict[int, list[_Moments]] = defaultdict(list)
    for number, row in enumerate(valid):
        for index, n in reached([pair.round for pair in row.pairs], looks):
            known = row.differences[:n]
            mean = mean_of(known)
            variance = variance_of(known, mean)
            rounding = row.rounding if row.quantised(variance) else 0.0
            moments[index].append(_Moments(number, n, mean, max(variance, row.least_variance), rounding))
    prior = None
    seen: dict[int, list[tuple[Seen, float, float]]] = defaultdict(list)
    for index in sorted(moments):
        prior = _shared(moments[index])
        most = math.fsum([one.n - 1 for one in moments[index]])
        for one in moments[index]:
            variance, df = moderate(one.variance, one.n - 1, prior, most_df=most)
            variance = max(variance, valid[one.row].least_variance)
            seen[one.row].append((_seen(one, variance, df, looks[index][1], calibration), variance, df))
    return _finish(valid, [seen[number] for number in range(len(valid))], settings), prior


@dataclass(frozen=True, slots=True)
class _Moments:
    """Of one row at one look; `rounding` is a variance that more rounds do not shrink."""

    row: int
    n: int
    mean: float
    variance: float
    rounding: float


def looks_of(settings: Settings) -> tuple[tuple[int, float], ...]:
    """The looks; one that has all of alpha where nobody says when it was."""
    return settings.looks or ((1, 1.0),)


def _shared(moments: Sequence[_Moments]) -> Prior:
    return estimate_prior([one.variance for one in moments], [one.n - 1 for one in moments])


def _seen(one: _Moments, variance: float, df: float, weight: float, calibration: Calibration) -> Seen:
    parts = [(variance / one.n, df)]
    if one.rounding:
        parts.append((one.rounding, math.inf))
    if calibration.used:
        parts.append((calibration.between**2, len(calibration.operators) - 1))
    error, df = add_errors(parts)
    return Seen(weight=weight, n=one.n, estimate=one.mean - calibration.bias, error=error, df=df)


def _finish(
    valid: Sequence[Series], seen: Sequence[Sequence[tuple[Seen, float, float]]], settings: Settings
) -> dict[tuple[str, str], Evaluated]:
    """All tests in one call of scipy, and then row by row."""
    looks = iter(look_at([one for some in seen for one, _, _ in some], alpha=settings.alpha))
    sequential = [put_together([next(looks) for _ in some]) for some in seen]
    lasts = [one.looks[-1] for one in sequential]
    powers = student().ppf(POWER, [last.seen.df for last in lasts]).tolist() if lasts else []
    return {
        row.key: Evaluated(
            row=row, sequential=one, variance=some[-1][1], df=some[-1][2], floor=floor,
            mde=(last.quantile + power) * last.seen.error,
        )
        for row, one, some, last, power, floor in zip(
            valid, sequential, seen, lasts, powers, floors(valid), strict=True
        )
    }  # fmt: skip


def rounds_needed(some: Sequence[Evaluated], settings: Settings, calibration: Calibration) -> list[int | None]:
    """About how many rounds show a difference of 2 delta with 80 % power; None where no number of them does.

    The error shrinks with rounds only as far as the controls let it, and its degrees of freedom grow meanwhile, so the
    number is approached in a few steps.
    """
    if not some:
        return []
    target, share = math.log1p(2 * settings.delta), settings.alpha * looks_of(settings)[-1][1] / 2
    fixed = calibration.between**2 if calibration.used else 0.0
    needed: list[float] = [float(one.last.seen.n) for one in some]
    for _ in range(6):
        errors = [
            add_errors(
                [(one.variance / n, one.df - one.last.seen.n + n)]
                + ([(fixed, len(calibration.operators) - 1)] if calibration.used else [])
            )
            for one, n in zip(some, needed, strict=True)
        ]
        dfs = [df for _, df in errors]
        t = student()
        sums = [a + b for a, b in zip(t.isf(share, dfs).tolist(), t.ppf(POWER, dfs).tolist(), strict=True)]
        left = [(target / factor) ** 2 - fixed for factor in sums]
        needed = [max(4.0, one.variance / most) if most > 0 else math.inf for one, most in zip(some, left, strict=True)]
        needed = [min(n, 1e9) for n in needed]
    return [None if n >= 1e6 else 2 * math.ceil(n / 2) for n in needed]
