"""What every machine-readable form of a report needs: finite numbers, percent of logarithms, names that are unique."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from zlbench.report.model import RowReadings
from zlbench.report.summary import OpSummary, RowSummary, Summary

SIDES = ("A", "B")


def finite(value: float | None) -> float | None:
    """The number, or None where there is none or it is not finite: JSON knows no NaN."""
    return None if value is None or not math.isfinite(value) else value


def percent_of(log: float | None) -> float | None:
    """A difference of logarithms as percent: 100 (e^x - 1)."""
    if log is None or not math.isfinite(log):
        return None
    try:
        return finite(100 * math.expm1(log))
    except OverflowError:
        return None


def change(name: str, log: float | None) -> dict[str, float | None]:
    """A difference twice, as ``<name>_log`` and as ``<name>_pct``."""
    return {f"{name}_log": finite(log), f"{name}_pct": percent_of(log)}


def spread(name: str, log: float | None) -> dict[str, float | None]:
    """A standard deviation of logarithms, and 100 times it."""
    known = finite(log)
    return {f"{name}_log": known, f"{name}_pct": None if known is None else finite(100 * known)}


def plain(value: Any) -> Any:
    """What JSON can hold: tuples become lists, keys text, numbers that are not finite null, anything else text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return str(value)


def operators(summary: Summary) -> tuple[OpSummary, ...]:
    """Subjects, then controls."""
    return (*summary.subjects, *summary.controls)


def row_names(rows: Sequence[RowSummary]) -> list[str]:
    """A name for each row of an operator: dtype and label, with the row's own name where two would be alike."""
    return _told_apart([said(row.row) for row in rows], [row.row.name for row in rows])


def operator_names(ops: Sequence[OpSummary]) -> list[str]:
    """A name for each operator, with its directory where two would be alike."""
    return _told_apart([op.op.op for op in ops], [op.op.directory for op in ops])


def _told_apart(names: Sequence[str], others: Sequence[str]) -> list[str]:
    seen = Counter(names)
    return [f"{name} [{other}]" if seen[name] > 1 else name for name, other in zip(names, others, strict=True)]


def said(row: RowReadings) -> str:
    """Dtype and label, as far as they are known."""
    return " ".join(part for part in (row.dtype, row.label) if part not in ("", "-")) or row.name


def identity(summary: Summary, side: str) -> Mapping[str, Any]:
    """What is known of a side, as in run_identity.json; empty where nothing is."""
    return (summary.source.sides.get(side) if summary.source else None) or {}


def first(values: Iterable[Any]) -> Any:
    """The first value that is known, else None."""
    return next((value for value in values if value not in (None, "")), None)


def json_text(value: Any, *, depth: int) -> str:
    """JSON of which so many levels stand on lines of their own, which a diff can show and a person can find.

    What is below them is written by the encoder in C: with lines everywhere, many rows take many times as long.

    Raises:
        ValueError: a number is not finite.
    """
    return "".join(_lines(value, depth, 0)) + "\n"


def _has_parts(value: Any) -> bool:
    """Whether it is worth lines of its own: an object, or a list of such; not a few words."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict | list) for item in value))


# `json.dumps` makes an encoder anew for every call that is not of the plainest kind.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _lines(value: Any, depth: int, level: int) -> Iterator[str]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if level == depth or not any(map(_has_parts, items)):
        yield _encode(value)
        return
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    yield opened
    for number, item in enumerate(value):
        yield f"{',' if number else ''}\n{' ' * (level + 1)}"
        if isinstance(value, dict):
            yield f"{_encode(item)}: "
        yield from _lines(value[item] if isinstance(value, dict) else item, depth, level + 1)
    yield f"\n{' ' * level}{closed}"
