"""The rows of a run for people: inputs that are the same in every row stand once above the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zlbench.cells import CellSpec
from zlbench.colour import Paint, plain
from zlbench.text import columns, folded


def row_lines(spec: CellSpec, rows: Sequence[Mapping[str, Any]], *, paint: Paint = plain) -> list[str]:
    """Format rows as a table: dtype, input, what was measured."""
    target = f" · {spec.target}" if spec.target else ""
    lines = [f"{spec.op}{target} · timer {spec.timer}"]
    if not rows:
        return [*lines, "no row was measured"]
    labels, legend = folded([str(row.get("label") or "") for row in rows])
    if legend:
        lines.append(f"every row: {legend}")
    shown = [name for name, key in _TIMES if any(row.get(key) for row in rows)]
    if any(row.get("timer", spec.timer) != spec.timer for row in rows):
        shown.append("timer")
    head = ["dtype", "input", "kernels", "compile", *shown, "status"]
    cells = [_row(row, label, shown) for row, label in zip(rows, labels, strict=True)]
    return [*lines, *columns(head, cells, right=frozenset({2, 3}), paint={len(head) - 1: paint})]


_TIMES = (("latency", "latency_ms"), ("torch", "baseline_ms"))
"""Columns of times, which are there where any row has one."""


def _row(row: Mapping[str, Any], label: str, shown: Sequence[str]) -> list[str]:
    more = {name: milliseconds(row.get(key)) for name, key in _TIMES} | {"timer": str(row.get("timer", "-"))}
    if row.get("baseline_ms") and row.get("baseline_timer") != row.get("timer"):
        more["torch"] += f" {row.get('baseline_timer')}"
    failure = f"{row.get('failure')}: {row.get('error', '')}"[:80] if row["status"] != "SUCCESS" else "ok"
    return [
        str(row["dtype"]),
        label or ("-" if row.get("shape") is None else str(row["shape"])),
        str(len(row["kernels"])),
        # Nothing was compiled for a row whose kernels an earlier one has.
        milliseconds(row.get("compile_ms") or None),
        *(more[name] for name in shown),
        failure,
    ]


def milliseconds(value: float | None) -> str:
    """A time in the unit that suits it."""
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    return f"{value:.1f} ms" if value >= 1 else f"{value * 1000:.1f} µs"
