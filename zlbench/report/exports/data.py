"""report.json: every number of a report, with units in the names of its keys. Pure: a summary in, text out.

Version policy: `SCHEMA_VERSION` rises when a key goes, gets another name, or changes its meaning or unit. Keys may be
added without that, so readers leave alone what they do not know. report.schema.json, beside this module, describes what
this zlbench writes, to the last key.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from typing import Any

from zlbench import __version__
from zlbench.caliber import FIELDS, Caliber
from zlbench.inference.types import Calibration, Inference, Prior, Verdict
from zlbench.report.exports.data_ops import operator_data
from zlbench.report.exports.machine import SIDES, change, finite, identity, json_text, operators, plain
from zlbench.report.model import CellSighting
from zlbench.report.summary import Summary

SCHEMA_VERSION = 2
SCHEMA = "report.schema.json"
CONVENTION = "differences are ln B - ln A, above 0 B takes longer; *_pct is 100 (exp(*_log) - 1)"
_DEPTH = 4
"""Levels that get lines of their own: one line a row, which a diff can show and a person can find."""


def to_json(
    summary: Summary,
    *,
    failures: Mapping[tuple[str, str], str] | None = None,
    created: str | None = None,
    directory: str | None = None,
    exit_code: int | None = None,
) -> str:
    """The file's text.

    Args:
        failures: what gates found, by operator's directory and row name, an empty one for the operator as a whole;
            None without a gate.
        created: the time stamp, ISO 8601 with a zone; None keeps equal input at equal bytes.
        directory: where the report was written to; exit_code: what the command ends with. Both are None in a file.
    """
    data = to_data(summary, failures=failures, created=created, directory=directory, exit_code=exit_code)
    return json_text(data, depth=_DEPTH)


def to_data(
    summary: Summary,
    *,
    failures: Mapping[tuple[str, str], str] | None = None,
    created: str | None = None,
    directory: str | None = None,
    exit_code: int | None = None,
) -> dict[str, Any]:
    """The same as values that JSON can hold. Arguments as of `to_json`."""
    header, source = summary.header, summary.source
    return {
        "schema_version": SCHEMA_VERSION,
        "generator": {"name": "zlbench", "version": __version__},
        "created": created,
        "directory": directory,
        "exit_code": exit_code,
        "title": header.title,
        "metric": header.metric.value if header.metric else None,
        "convention": CONVENTION,
        "axis": header.axis,
        "planned": summary.planned,
        "progress": summary.progress,
        "reason": summary.reason,
        "claim": summary.claim,
        "measured": summary.measured,
        "conditions": list(header.conditions),
        "warnings": list(header.warnings),
        "screen": list(header.screen),
        "notes": list(source.notes) if source else [],
        "commands": list(source.commands) if source else [],
        "sides": {
            side: {"described": described, "identity": plain(identity(summary, side)) or None}
            for side, described in zip(SIDES, (header.a, header.b), strict=True)
        },
        "caliber": _caliber(summary),
        "counts": {item.name: getattr(summary.counts, item.name) for item in fields(summary.counts)},
        "statistics": _statistics(summary.inference),
        "gates": list(summary.findings),
        "regressions": None
        if failures is None
        else [{"directory": op, "row": row, "text": text} for (op, row), text in failures.items()],
        "operators": [operator_data(op) for op in operators(summary)],
        "cells": [_cell(cell) for cell in source.cells] if source else [],
    }


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the file, as it is shipped."""
    text = resources.files("zlbench.report.exports").joinpath(SCHEMA).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def caliber_of(summary: Summary, side: str) -> Caliber:
    """A side's conditions; what its identity does not name is unset."""
    return Caliber.from_mapping(identity(summary, side))


def _caliber(summary: Summary) -> list[dict[str, Any]]:
    a, b = (caliber_of(summary, side) for side in SIDES)
    return [
        {
            "condition": name, "a": plain(getattr(a, name)), "b": plain(getattr(b, name)),
            "same": getattr(a, name) == getattr(b, name), "compared": bool(declared.metadata["compared"]),
        }
        for name, declared in FIELDS.items()
    ]  # fmt: skip


def _statistics(inference: Inference | None) -> dict[str, Any] | None:
    if inference is None:
        return None
    settings, campaign = inference.settings, inference.campaign
    return {
        "settings": {
            "alpha": settings.alpha,
            "q": settings.q,
            "delta_pct": 100 * settings.delta,
            "looks": [{"rounds": rounds, "weight": weight} for rounds, weight in settings.looks],
        },
        "verdicts": {verdict.value: inference.count(verdict) for verdict in Verdict},
        "campaign": {
            "operators": campaign.operators,
            **change("estimate", campaign.estimate),
            **change("low", campaign.low),
            **change("high", campaign.high),
        },
        "calibration": _calibration(inference.calibration),
        "prior": _prior(inference.prior),
    }


def _calibration(found: Calibration) -> dict[str, Any]:
    return {
        "used": found.used,
        "biased": found.biased,
        **change("bias", found.bias),
        "between_log": finite(found.between),
        "error_log": finite(found.error),
        "operators": [{"directory": op, **change("mean", mean)} for op, mean in sorted(found.operators.items())],
    }


def _prior(prior: Prior | None) -> dict[str, Any] | None:
    if prior is None:
        return None
    infinite = math.isinf(prior.df)
    return {"df": finite(prior.df), "df_infinite": infinite, "variance_log2": finite(prior.variance)}


def _cell(cell: CellSighting) -> dict[str, Any]:
    return {
        "lane": cell.lane,
        "op": cell.op,
        "round": cell.round,
        "side": cell.side,
        "start_s": finite(cell.start),
        "end_s": finite(cell.end),
        "clock_mhz": finite(cell.clock_mhz),
        "temp_c": finite(cell.temp_c),
        "power_w": finite(cell.power_w),
        "util_pct": finite(cell.util_pct),
        "throttle": list(cell.throttle),
        "foreign": list(cell.foreign),
        "invalid": cell.invalid,
    }
