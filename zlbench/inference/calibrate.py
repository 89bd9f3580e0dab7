"""What equal code shows. A build may be slower by its path or its launching code; no number of rounds can see that."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from zlbench.inference.series import Series, mean_of, variance_of
from zlbench.inference.types import FEWEST_CONTROLS, Calibration

NONE = Calibration(used=False)


def calibrate(rows: Iterable[Series]) -> Calibration:
    """Take the mean difference of the control operators and its spread between them.

    The mean of an operator is over its valid rows, each with all pairs it has; over those that count where some do.
    Fewer than 4 operators say too little of their spread: nothing is subtracted then.
    """
    found: dict[str, dict[bool, list[float]]] = defaultdict(lambda: {True: [], False: []})
    for row in rows:
        if row.control and row.valid:
            found[row.key[0]][row.counted].append(mean_of(row.differences))
    means = {op: mean_of(values[True] or values[False]) for op, values in sorted(found.items())}
    if len(means) < FEWEST_CONTROLS:
        return Calibration(used=False, operators=means)
    bias = mean_of(list(means.values()))
    variance = variance_of(list(means.values()), bias)
    return Calibration(
        used=True, bias=bias, between=math.sqrt(variance * (1 + 1 / len(means))),
        error=math.sqrt(variance / len(means)), operators=means,
    )  # fmt: skip


def add_errors(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Standard error of a sum of independent parts, with its degrees of freedom by Welch and Satterthwaite.

    Args:
        parts: variance and degrees of freedom of each; those of variance 0 say nothing.
    """
    total = math.fsum([variance for variance, _ in parts])
    # Relative to the total: squares of small variances would be lost in the smallest numbers there are.
    below = math.fsum([(variance / total) ** 2 / df for variance, df in parts])
    return math.sqrt(total), 1 / below
