"""Whether the rows that ran carry the shapes that were given: said per benchmark class, from the rows themselves."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench.shapes import shape_text
from zlbench.text import plural
from zlbench_plugins import inputs
from zlbench_plugins.context import CellContext
from zlbench_plugins.shape_adapters import not_by_shape

NOT_IN_FORCE = "SHAPES_NOT_IN_FORCE"
LEFT_OUT = "SHAPES_LEFT_OUT"


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """Shapes that one benchmark was given, and how they reach its inputs (empty: they do not)."""

    op: str
    cls: str
    file: str
    shapes: tuple[Any, ...]
    how: str
    why_not: str

    @classmethod
    def of(cls, bench: Any, context: CellContext, shapes: Sequence[Any], how: str) -> Given:
        """Note what a benchmark was given; a first look runs one shape only."""
        kind = type(bench)
        wanted = shapes[:1] if context.spec.quick else shapes
        return cls(
            op=str(bench.op_name), cls=kind.__name__, file=file_of(kind, context.spec.suite_root),
            shapes=tuple(wanted), how=how, why_not=not_by_shape(bench),
        )  # fmt: skip

    @property
    def where(self) -> str:
        """The class as messages name it."""
        return f"{self.cls} ({self.file})"


def file_of(cls: type[Any], root: str) -> str:
    """The file of a class below the suite's root."""
    try:
        path = Path(inspect.getsourcefile(cls) or "")
        return path.resolve().relative_to(Path(root).resolve()).as_posix()
    except (OSError, TypeError, ValueError):
        return str(cls.__module__)


def verdicts(given: Given, rows: Sequence[Mapping[str, Any]], *, complete: bool) -> Iterator[tuple[str, str]]:
    """Yield what is to be said about one benchmark's rows: a marker and its text."""
    mine = [row for row in rows if row["op"] == given.op and row.get("shape_index") is not None]
    other = [row for row in mine if row.get("shape_index") == -1]
    if other:
        reason = given.why_not or "its inputs do not come from its list of shapes"
        said = f"{plural(len(other), 'row')} {'comes' if len(other) == 1 else 'come'}"
        yield NOT_IN_FORCE, f"{said} from {given.where}, which ran the suite's own inputs: {reason}"
        return
    measured = [row for row in mine if row.get("input")]
    ran = [row["shape"] for row in mine]
    missing = [shape for shape in given.shapes if inputs.describe(shape) not in ran]
    if complete and missing:
        names = ", ".join(shape_text(shape) for shape in missing[:5])
        yield LEFT_OUT, f"{given.where} leaves out {len(missing)} of {len(given.shapes)} shapes given: {names}"
    if measured and not _depends(measured):
        yield NOT_IN_FORCE, f"the inputs of {given.where} are the same whatever the shape"


def _depends(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether inputs follow shapes: they differ from shape to shape, or have a size at all where there is one."""
    by_dtype: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        shapes = by_dtype.setdefault(row["dtype"], {})
        shapes.setdefault(json.dumps(row["shape"]), set()).add(json.dumps(row["input"], sort_keys=True))
    for shapes in by_dtype.values():
        if len(shapes) > 1:
            return len({min(texts) for texts in shapes.values()}) > 1
    return all(_related(row) for row in rows[:1])


def _related(row: Mapping[str, Any]) -> bool:
    """Whether one shape alone can have made the inputs: a shape may be a place in a list, so any size will do."""
    asked = any(number > 1 for number in _numbers(row["shape"]))
    return not asked or any(number > 1 for number in _numbers(row["input"]))


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _numbers(item)
