"""A benchmark's own input descriptions as shapes, and shapes as such descriptions: no family of them is copied.

What a suite loops over is a tuple of numbers, a number, a dataclass or a dict. A shape names the numbers at its front;
everything behind them (a label, a flag, a dtype, a page size) comes from the own description that is nearest to it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any


class ArityError(Exception):
    """A shape has not the form that this benchmark's inputs are described in."""


class OwnShape(tuple[Any, ...]):
    """The shape of one of the suite's own descriptions, which comes back unchanged when inputs are built from it."""

    item: Any

    @classmethod
    def of(cls, item: Any, count: int) -> OwnShape:
        """The first `count` values of a description, with the description itself kept."""
        shape = cls(_frozen(value) for value in values_of(item)[:count])
        shape.item = item
        return shape


def values_of(item: Any) -> list[Any]:
    """The values of a description in its own order: what can stand in a shape, and what follows."""
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, field.name) for field in dataclasses.fields(item)]
    if isinstance(item, Mapping):
        return list(item.values())
    return list(item) if isinstance(item, Sequence) and not isinstance(item, str) else [item]


def named(item: Any) -> list[str]:
    """Names of the values, where the description has names; else none."""
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return [field.name for field in dataclasses.fields(item)]
    return [str(key) for key in item] if isinstance(item, Mapping) else []


def shape_length(items: Sequence[Any]) -> int:
    """How many values at the front are a shape in every one of the suite's descriptions."""
    counts = []
    for item in items:
        values = values_of(item)
        if named(item):  # a record: its leading whole numbers
            count = next((place for place, value in enumerate(values) if not _whole(value)), len(values))
        else:  # a tuple: all but what labels it at its end
            count = len(values)
            while count > 1 and isinstance(values[count - 1], str | bool | None) and not _mode(values, count - 1):
                count -= 1
        counts.append(count)
    return min(counts, default=0)


def own_shapes(items: Sequence[Any]) -> list[OwnShape]:
    """The suite's own descriptions as shapes."""
    count = shape_length(items)
    return [OwnShape.of(item, count) for item in items]


def item_of(shape: Sequence[Any], items: Sequence[Any]) -> Any:
    """The description that a shape means among descriptions like `items`.

    Raises:
        ArityError: more or fewer values than a description has.
    """
    if isinstance(shape, OwnShape):
        return shape.item
    values = list(shape)
    length = shape_length(items)
    if named(items[0]):
        if not 1 <= len(values) <= length:
            raise ArityError(f"1 to {length} numbers ({', '.join(named(items[0])[:length])})")
        return _record(values, items)
    total = len(values_of(items[0]))
    if not isinstance(items[0], Sequence):
        if len(values) != 1:
            raise ArityError("one number")
        return values[0]
    ranks = {len(values_of(item)) for item in items}
    if len(ranks) > 1:
        # Shapes of several ranks: the suite reads them as they come.
        return _like(items[0], values)
    if length == total and len(ranks) == 1 and len(values) != total:
        raise ArityError(f"{total} numbers")
    if not length <= len(values) <= total:
        raise ArityError(f"{length} to {total} values")
    tail = values_of(_nearest(values, items))[len(values) :]
    typed = [bool(v) if isinstance(own, bool) else v for v, own in zip(values, values_of(items[0]), strict=False)]
    return _like(items[0], [*typed, *tail])


def _like(item: Any, values: Sequence[Any]) -> Any:
    return list(values) if isinstance(item, list) else tuple(values)


def _record(values: Sequence[Any], items: Sequence[Any]) -> Any:
    names = named(items[0])
    given = dict(zip(names, values, strict=False))
    template = _nearest(values, items)
    for name in names[len(values) :]:
        followed = _follows(name, names[: len(values)], items)
        if followed is not None:
            given[name] = given[followed]
    if isinstance(template, Mapping):
        return {**template, **given}
    return dataclasses.replace(template, **given)


def _follows(name: str, leaders: Sequence[str], items: Sequence[Any]) -> str | None:
    """The given value that another one equals in every own description, where they are not all alike."""

    def column(key: str) -> list[Any]:
        return [dict(zip(named(item), values_of(item), strict=True))[key] for item in items]

    wanted = column(name)
    if len({repr(value) for value in wanted}) < 2:
        return None
    return next((leader for leader in leaders if column(leader) == wanted), None)


def _nearest(values: Sequence[Any], items: Sequence[Any]) -> Any:
    """The own description that agrees with most of the given values; of equals the first."""

    def agreeing(item: Any) -> tuple[int, int]:
        own = values_of(item)[: len(values)]
        # A zero switches something off: agreeing on that counts before all else.
        zeros = sum((a == 0) == (b == 0) for a, b in zip(values, own, strict=False))
        return zeros, sum(a == b for a, b in zip(values, own, strict=False))

    return max(items, key=agreeing)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _mode(values: Sequence[Any], place: int) -> bool:
    """Whether a word inside a tuple is part of the shape, such as a padding mode between numbers."""
    return isinstance(values[place], str) and any(_whole(value) for value in values[place + 1 :])


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value
