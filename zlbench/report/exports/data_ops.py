"""Operators, rows and kernels of report.json: what the statistics say, and every reading that it was said of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zlbench.inference.types import OpResult, RowResult
from zlbench.report.exports.machine import change, finite, plain, spread
from zlbench.report.model import KernelCosts, KernelPair, Reading
from zlbench.report.summary import OpSummary, RowSummary


def operator_data(op: OpSummary) -> dict[str, Any]:
    """One operator, its rows and kernels with it."""
    known = op.op
    return {
        "op": known.op,
        "directory": known.directory,
        "control": known.control,
        "ir_verdict": known.verdict,
        "machine_code": known.machine_code,
        "valid_rounds": list(known.rounds),
        "missing_rounds": known.missing,
        "expected_rows": known.expected or len(known.rows),
        "nothing": known.nothing,
        "nothing_note": known.nothing_note,
        "why_no_sum": op.why_not,
        "summed_rounds": op.rounds,
        "measured_mean_pct": _percent(op.change),
        "measured_smallest_pct": _percent(op.low),
        "measured_largest_pct": _percent(op.high),
        "result": _op_result(op.result),
        "failed": list(known.failed),
        "invalid_pairs": list(known.invalid),
        "rerun_pairs": known.rerun,
        "lost_rows": list(known.lost),
        "fallbacks": [{"marker": word, "cells": count} for word, count in known.fallbacks],
        "markers": [{"marker": word, "text": text} for word, text in known.markers],
        "notes": list(known.notes),
        "rows": [row_data(row) for row in op.rows],
        "kernels": [kernel_data(pair) for pair in known.kernels],
    }


def row_data(row: RowSummary) -> dict[str, Any]:
    """One row. Measured changes are as they are, those of `result` less the bias of the controls."""
    known = row.row
    return {
        "name": known.name,
        "dtype": known.dtype,
        "label": known.label,
        "unit": known.unit,
        "timer": known.timer,
        "l2": known.l2,
        "counted": known.counted,
        "n": row.n,
        "median_a": finite(row.median_a),
        "median_b": finite(row.median_b),
        "measured_mean_pct": _percent(row.mean),
        "measured_median_pct": _percent(row.median),
        "measured_smallest_pct": _percent(row.low),
        "measured_largest_pct": _percent(row.high),
        **spread("noise_a", row.noise_a),
        **spread("noise_b", row.noise_b),
        "same_sign": row.same_sign,
        "result": _row_result(row.result),
        "readings": [_reading(reading) for reading in known.readings],
        "left_out": [
            {"round": item.round, "reason": item.reason, "note": item.note, "lost": item.lost}
            for item in known.left_out
        ],
    }


def kernel_data(pair: KernelPair) -> dict[str, Any]:
    """One kernel on both sides, without its diff: that is in report.html, and `zlbench diff` prints it."""
    return {
        "id": pair.id,
        "name": pair.name,
        "variant": pair.variant,
        "constexprs": plain(pair.constexprs),
        "signature": plain(pair.signature),
        "num_warps": pair.num_warps,
        "num_stages": pair.num_stages,
        "rows": list(pair.rows),
        "ir": pair.ir,
        "code": pair.code,
        "a": _costs(pair.a),
        "b": _costs(pair.b),
        "histogram": [{"operation": name, "a": a, "b": b} for name, a, b in pair.histogram],
    }


def _op_result(found: OpResult | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "verdict": found.verdict.value,
        "what": found.what,
        "rows": found.rows,
        "rounds": found.rounds,
        **_interval(found.estimate, found.low, found.high),
        "p": finite(found.p),
        "q": finite(found.q),
        **change("mde", found.mde),
    }


def _row_result(found: RowResult | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "verdict": found.verdict.value,
        "why": found.why.value if found.why else None,
        "what": found.what,
        "n": found.n,
        **_interval(found.estimate, found.low, found.high),
        **change("median", found.median),
        **change("smallest", found.smallest),
        **change("largest", found.largest),
        "p": finite(found.p),
        "q": finite(found.q),
        "sd_log": finite(found.sd),
        "moderated_sd_log": finite(found.moderated),
        **change("mde", found.mde),
        "rounds_needed": found.rounds_needed,
        "same_sign": found.same_sign,
        **change("floor", found.floor),
        "order": {**change("slope", found.order.slope), "p": finite(found.order.p)} if found.order else None,
        "flags": list(found.flags),
    }


def _interval(estimate: float | None, low: float | None, high: float | None) -> Mapping[str, float | None]:
    return {**change("estimate", estimate), **change("low", low), **change("high", high)}


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "round": reading.round,
        "order": "AB" if reading.a_first else "BA",
        "a": finite(reading.before),
        "b": finite(reading.after),
    }


def _costs(costs: KernelCosts | None) -> dict[str, Any] | None:
    if costs is None:
        return None
    return {
        "registers": costs.registers,
        "spills": costs.spills,
        "shared_bytes": costs.shared,
        "instructions": costs.instructions,
        "code_id": costs.code,
        "ttgir_id": costs.ttgir,
    }


def _percent(fraction: float | None) -> float | None:
    """A change as percent; it is a fraction already."""
    known = finite(fraction)
    return None if known is None else finite(100 * known)
