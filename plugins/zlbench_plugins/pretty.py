"""The table of one dtype in run.log: upstream's columns and words, so that everything that greps it goes on working."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlbench.cells import CellSpec
from zlbench_plugins.inputs import dtype_name

_COLUMNS = ("Torch Latency (ms)", "Gems Latency (ms)", "Gems Speedup", "Size Detail")


def table(bench: Any, dtype: Any, spec: CellSpec, rows: Sequence[dict[str, Any]]) -> str:
    """Format rows as upstream's BenchmarkResult prints them; a number that was not measured is ``N/A``."""
    title = (
        f"\nOperator: {bench.op_name}  Performance Test (dtype=torch.{dtype_name(dtype)}, "
        f"mode={spec.mode},level={spec.level})"
    )
    head = " ".join([f"{'Status':<10}", *(f"{name:>20}" for name in _COLUMNS)])
    # One more than the head is long: upstream counts the end of its line.
    lines = [title, head, "-" * (len(head) + 1)]
    lines += [_line(row) for row in rows]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any]) -> str:
    latency, baseline = row.get("latency_ms"), row.get("baseline_ms")
    speedup = baseline / latency if latency and baseline else None
    numbers = (_number(baseline, 6), _number(latency, 6), _number(speedup, 3))
    cells = [f"{row['status']:<10}"] + [f"{text:>20}" for text in numbers]
    return "".join(cells) + f"          {detail(row)}"


def _number(value: float | None, digits: int) -> str:
    return "N/A" if value is None else f"{value:.{digits}f}"


def detail(row: dict[str, Any]) -> str:
    """Size Detail as upstream shows it: ``[torch.Size([64, 64]), 1]``; for a failed row, its error."""
    described = row.get("input")
    if described is None:
        return f"shape={row['shape']} {row.get('failure', '')} phase={row.get('phase', '')}: {row.get('error', '')}"
    args = "[" + ", ".join(_value(item) for item in described["args"]) + "]" if described["args"] else ""
    kwargs = "{" + ", ".join(f"'{k}': {_value(v)}" for k, v in described["kwargs"].items()) + "}"
    detail = f"({args}, {kwargs})" if args and described["kwargs"] else args or kwargs
    return detail if row["status"] == "SUCCESS" else f"{detail} {row.get('failure', '')}: {row.get('error', '')}"


def _value(item: Any) -> str:
    if isinstance(item, dict) and "shape" in item:
        return f"torch.Size({item['shape']})"
    if isinstance(item, list):
        return "[" + ", ".join(_value(part) for part in item) + "]"
    return str(item)
