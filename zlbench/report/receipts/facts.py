"""Receipts that say under what conditions numbers were won: identities of both sides, and the caliber. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from zlbench.caliber import FIELDS, column_text
from zlbench.report.exports.data import caliber_of
from zlbench.report.exports.machine import SIDES, finite, first, identity, json_text, plain
from zlbench.report.model import CellSighting
from zlbench.report.receipts.text import listed, table
from zlbench.report.summary import Summary

_COMPILER = ("name", "kind", "version", "commit", "dirty", "native_sha256", "python_sha256", "tools_sha256", "identity")
_SUITE = {"provider": "provider", "commit": "suite_commit", "dirty": "suite_dirty", "hash": "suite_hash"}
_SOFTWARE = ("torch", "python", "driver", "zlbench")
_SEEN = ("clock_mhz", "temp_c", "power_w")


def identities_json(summary: Summary) -> str:
    """Compiler, suite, software and card of both sides; no path of the machine is in it."""
    cells = summary.source.cells if summary.source else ()
    described = dict(zip(SIDES, (summary.header.a, summary.header.b), strict=True))
    return json_text(
        {
            side: {
                "described": described[side],
                **plain(_identity(identity(summary, side))),
                "seen": _seen(cells, side),
            }
            for side in SIDES
        },
        depth=3,
    )


def caliber_md(summary: Summary) -> str:
    """Every condition with both sides' values, and what was allowed to differ."""
    parts = ["# Caliber", "Every condition that changes what a number means. The guard compares it before any number."]
    if summary.header.warnings:
        parts += ["## Allowed to differ", listed(summary.header.warnings)]
    if not any(identity(summary, side) for side in SIDES):
        return "\n\n".join([*parts, "No identity was read."]) + "\n"
    a, b = (caliber_of(summary, side) for side in SIDES)
    rows = ((name, *_sides(name, getattr(a, name), getattr(b, name))) for name in FIELDS)
    return "\n\n".join([*parts, table(("condition", "A", "B", "", "what it is"), rows)]) + "\n"


def _identity(known: Mapping[str, Any]) -> dict[str, Any]:
    build = known.get("build") or {}
    return {
        "compiler": {key: build.get(key) for key in _COMPILER},
        "switches": known.get("switches") or {},
        "suite": {key: known.get(name) for key, name in _SUITE.items()},
        "software": {key: known.get(key) for key in _SOFTWARE},
        "card": {
            "backend": known.get("backend"),
            "name": first((known.get("device_name"), known.get("device"))),
            "uuid": known.get("device_uuid"),
            "settings": known.get("card_settings") or {},
        },
    }


def _seen(cells: tuple[CellSighting, ...], side: str) -> dict[str, Any]:
    """What the sampler saw of the card while the cells of a side ran; null where nothing was seen."""
    found: dict[str, Any] = {}
    for name in _SEEN:
        values = [value for cell in cells if cell.side == side and (value := finite(getattr(cell, name))) is not None]
        found[name] = (
            {"min": min(values), "median": statistics.median(values), "max": max(values)} if values else None
        )  # fmt: skip
    return found


def _sides(name: str, a: object, b: object) -> tuple[str, str, str, str]:
    declared = FIELDS[name].metadata
    agree = "same" if a == b else "differs" if declared["compared"] else "differs, is not compared"
    return column_text(a), column_text(b), agree, str(declared["doc"])
