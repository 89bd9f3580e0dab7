"""Rows in, verdicts out: every piece of the measurement contract's inference, in its order."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from zlbench.inference import words
from zlbench.inference.calibrate import calibrate
from zlbench.inference.evaluate import Evaluated, evaluate, rounds_needed
from zlbench.inference.judge import adjust, judge
from zlbench.inference.operators import OperatorSeries, aggregate, operator_series
from zlbench.inference.order import order_effects
from zlbench.inference.sequential import scipy_stats
from zlbench.inference.series import Series, make_series, mean_of, sd_of
from zlbench.inference.types import (
    Calibration,
    Inference,
    OpResult,
    OrderEffect,
    RowResult,
    Sample,
    Settings,
    Verdict,
    Why,
)

_Key = tuple[str, str]


def infer(samples: Iterable[Sample], settings: Settings) -> Inference:
    """Judge all rows of a campaign together.

    Args:
        samples: every row, subjects and controls, also those without a pair; keys are unique.

    Raises:
        PreflightError: there is no scipy.
    """
    rows = [make_series(sample, settings.looks) for sample in samples]
    if rows:
        scipy_stats()  # asked for here, so that what is missing is said in one way
    calibration = calibrate(rows)
    evaluated, prior = evaluate(rows, settings, calibration)
    judged = _judge(evaluated, settings, calibration)
    orders = _orders(rows, settings)
    operators = operator_series(rows)
    of_operators, _ = evaluate([one.series for one in operators.values()], settings, calibration)
    judged_operators = _judge(of_operators, settings, calibration)
    return Inference(
        settings=settings,
        rows={row.key: _row(row, judged.get(row.key), orders.get(row.key), calibration) for row in rows},
        operators={op: _operator(one, judged_operators.get(one.series.key)) for op, one in operators.items()},
        campaign=aggregate(of_operators, settings.alpha, calibration),
        calibration=calibration,
        prior=prior,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    """A valid row or operator with its verdict, `what` being that in words."""

    one: Evaluated
    verdict: Verdict
    what: str
    q: float
    rounds_needed: int | None


def _judge(evaluated: Mapping[_Key, Evaluated], settings: Settings, calibration: Calibration) -> dict[_Key, _Judged]:
    adjusted = adjust(evaluated)
    verdicts = {key: judge(one, adjusted[key], settings) for key, one in evaluated.items()}
    undecided = [key for key, verdict in verdicts.items() if verdict is Verdict.INCONCLUSIVE]
    rounds = rounds_needed([evaluated[key] for key in undecided], settings, calibration)
    needed = dict(zip(undecided, rounds, strict=True))
    return {
        key: _Judged(
            one=one, verdict=verdicts[key], q=adjusted[key], rounds_needed=needed.get(key),
            what=words.verdict_in_words(
                verdicts[key], delta=settings.delta, mde=one.mde, rounds=needed.get(key)
            ),
        )
        for key, one in evaluated.items()
    }  # fmt: skip


def _orders(rows: Sequence[Series], settings: Settings) -> dict[_Key, tuple[OrderEffect, bool]]:
    """Order effect of each valid row, and whether it stands among all rows."""
    valid = [row for row in rows if row.valid]
    effects = order_effects(valid)
    if not effects:
        return {}
    adjusted = scipy_stats().false_discovery_control([effect.p for effect in effects]).tolist()
    return {row.key: (effect, q <= settings.q) for row, effect, q in zip(valid, effects, adjusted, strict=True)}


def _row(
    row: Series, judged: _Judged | None, order: tuple[OrderEffect, bool] | None, calibration: Calibration
) -> RowResult:
    """Put together what is known of a row; the description also where there is no verdict."""
    shown = [value - calibration.bias for value in row.differences]
    estimate = mean_of(shown) if shown else None
    result = RowResult(
        key=row.key, control=row.control, verdict=Verdict.INVALID, why=row.why, n=len(shown),
        what=words.invalid(row.why or Why.FEW_PAIRS), estimate=estimate,
        median=statistics.median(shown) if shown else None, smallest=min(shown, default=None),
        largest=max(shown, default=None), sd=sd_of(shown), noise_a=sd_of([pair.log_a for pair in row.pairs]),
        noise_b=sd_of([pair.log_b for pair in row.pairs]),
        same_sign=sum(value * estimate > 0 for value in shown) if estimate is not None else 0,
    )  # fmt: skip
    if judged is None or order is None:
        return result
    one, (effect, matters) = judged.one, order
    return replace(
        result, verdict=judged.verdict, what=judged.what, low=one.sequential.low, high=one.sequential.high,
        p=one.sequential.p, q=judged.q, moderated=math.sqrt(one.variance), mde=one.mde,
        rounds_needed=judged.rounds_needed, floor=one.floor, order=effect,
        flags=_flags(result, one, calibrated=calibration.used, order_matters=matters),
    )  # fmt: skip


def _flags(result: RowResult, one: Evaluated, *, calibrated: bool, order_matters: bool) -> tuple[str, ...]:
    error = math.sqrt(one.variance / result.n)
    found = {
        "uncalibrated": not calibrated,
        "order-effect": order_matters,
        "mean≠median": abs((result.estimate or 0.0) - (result.median or 0.0)) > error,
        "quantised": one.row.quantised((result.sd or 0.0) ** 2),
    }
    return tuple(word for word, holds in found.items() if holds)


def _operator(operator: OperatorSeries, judged: _Judged | None) -> OpResult:
    common = OpResult(
        op=operator.series.key[0], verdict=Verdict.INVALID, what=operator.what, control=operator.series.control,
        rows=operator.rows, rounds=len(operator.series.pairs),
    )  # fmt: skip
    if judged is None:
        return common
    one = judged.one
    return replace(
        common, verdict=judged.verdict, what=judged.what, estimate=one.estimate, low=one.sequential.low,
        high=one.sequential.high, p=one.sequential.p, q=judged.q, mde=one.mde,
    )  # fmt: skip
