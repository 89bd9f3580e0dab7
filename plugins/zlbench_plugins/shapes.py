"""Shapes from outside: sets `self.shapes` after the benchmark's own configuration, and checks that they were used.

Setting them behind `init_user_config` beats every `set_shapes` that a subclass hard-codes. A class that does not read
`self.shapes` at all keeps its own inputs; that is said aloud, because its rows would not be those that were asked for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from zlbench.shapes import ShapeSet, load_shape_file
from zlbench_plugins.context import CellContext, current


def keys_of(bench: Any) -> list[str]:
    """Names under which a shape file may hold shapes for a benchmark: its operator, then its classes."""
    return [str(bench.op_name), *(cls.__name__ for cls in type(bench).__mro__ if cls is not object)]


def wanted_shapes(context: CellContext, bench: Any) -> list[Any] | None:
    """Shapes that the request gives for this benchmark; None where the suite's own set is asked for."""
    spec = context.spec
    if spec.shapes is not None:
        return list(spec.shapes)
    if spec.shape_mode != "file" or spec.shape_file is None:
        return None
    sets: dict[str, ShapeSet] = load_shape_file(Path(spec.shape_file))
    for key in keys_of(bench):
        if key in sets:
            return list(sets[key].shapes)
    raise KeyError(f"{spec.shape_file} has no shapes for {bench.op_name} (looked for {', '.join(keys_of(bench))})")


def pytest_collection_modifyitems() -> None:
    """Wrap `Benchmark.init_user_config`."""
    context = current()
    benchmark = getattr(sys.modules.get("benchmark.base"), "Benchmark", None)
    if benchmark is None or not hasattr(benchmark, "init_user_config"):
        return
    original = benchmark.init_user_config

    def init_user_config(self: Any) -> None:
        original(self)
        shapes = wanted_shapes(context, self)
        if shapes is not None:
            self.shapes = shapes
            context.events.append({"event": "shapes_injected", "op": str(self.op_name), "count": len(shapes)})

    context.patches.set(benchmark, "init_user_config", init_user_config)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Compare what was asked for with what the rows say they ran."""
    context = current()
    if context.spec.shape_mode == "upstream" and context.spec.shapes is None:
        return
    if context.hard_coded_rows:
        context.warn(
            "SHAPES_NOT_IN_FORCE",
            f"{context.hard_coded_rows} rows come from a class that does not read its list of shapes: "
            "they ran the suite's own inputs, not those asked for",
        )
