"""How a given shape reaches the inputs of a benchmark that does not read its list of shapes."""

from __future__ import annotations

from zlbench_plugins.shape_adapters.arity import check, example, form, plain
from zlbench_plugins.shape_adapters.families import follow_by_place, not_by_shape
from zlbench_plugins.shape_adapters.items import ArityError, OwnShape, as_own, item_of, own_shapes, recorded
from zlbench_plugins.shape_adapters.loop import ShapeLoop, reads_shapes

__all__ = [
    "ArityError",
    "OwnShape",
    "ShapeLoop",
    "as_own",
    "check",
    "example",
    "follow_by_place",
    "form",
    "item_of",
    "not_by_shape",
    "own_shapes",
    "plain",
    "reads_shapes",
    "recorded",
]
