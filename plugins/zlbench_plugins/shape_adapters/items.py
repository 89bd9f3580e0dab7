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
        shape = cls(_frozen(_encoded(value) if named(item) else value) for value in values_of(item)[:count])
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


def shape_length(item: Any) -> int:
    """How many values at the front of a description are its shape: all but what only labels or types it."""
    values = values_of(item)
    if named(item):  # a record: numbers, switches and what is left open, up to the first dtype or device
        return next((place for place, value in enumerate(values) if not _is_number(value)), len(values))
    count = len(values)  # a tuple: words between numbers (a padding mode) belong to it, those behind them do not
    while count > 1 and (values[count - 1] is None or isinstance(values[count - 1], str | bool)):
        count -= 1
    return count


def own_shapes(items: Sequence[Any]) -> list[OwnShape]:
    """The suite's own descriptions as shapes."""
    return [OwnShape.of(item, shape_length(item)) for item in items]


def recorded(own: Any) -> Any:
    """An entry of a benchmark's list of shapes as the shape that rows and shape files know it by."""
    if named(own):
        return OwnShape.of(own, shape_length(own))
    return own if isinstance(own, list | tuple) else (own,)


def as_own(shape: Sequence[Any], own: Sequence[Any]) -> Any:
    """A shape as an entry of a list whose entries are like `own`: tuples, plain numbers, or records.

    Raises:
        ArityError: more or fewer values than such an entry has.
    """
    if own and all(named(entry) or not isinstance(entry, list | tuple) for entry in own):
        return item_of(shape, own)
    return shape


def item_of(shape: Sequence[Any], items: Sequence[Any]) -> Any:
    """The description that a shape means among descriptions like `items`.

    Raises:
        ArityError: more or fewer values than a description has.
    """
    if isinstance(shape, OwnShape):
        return shape.item
    values = list(shape)
    first = items[0]
    if named(first):
        length = min(shape_length(item) for item in items)
        if not 1 <= len(values) <= length:
            raise ArityError(f"wanted 1 to {length} numbers ({', '.join(named(first)[:length])})")
        return _record(values, items)
    if not isinstance(first, list | tuple):
        if len(values) != 1:
            raise ArityError("wanted one number")
        return values[0]
    if len({len(item) for item in items}) > 1:
        return _like(first, values)  # of any rank
    length, total = max(shape_length(item) for item in items), len(first)
    if not length <= len(values) <= total:
        raise ArityError(f"wanted {total} numbers" if length == total else f"wanted {length} to {total} values")
    tail = _nearest(values, items)[len(values) :]
    typed = [bool(v) if isinstance(own, bool) else v for v, own in zip(values, first, strict=False)]
    return _like(first, [*typed, *tail])


def _like(item: Any, values: Sequence[Any]) -> Any:
    return list(values) if isinstance(item, list) else tuple(values)


def _record(values: Sequence[Any], items: Sequence[Any]) -> Any:
    names = named(items[0])
    columns = list(zip(*map(values_of, items), strict=True))
    given = {
        name: _typed(value, columns[place]) for place, (name, value) in enumerate(zip(names, values, strict=False))
    }
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
        own = [_encoded(value) for value in values_of(item)][: len(values)]
        # A zero switches something off: agreeing on that counts before all else.
        zeros = sum((a == 0) == (b == 0) for a, b in zip(values, own, strict=False))
        return zeros, sum(a == b for a, b in zip(values, own, strict=False))

    return max(items, key=agreeing)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _encoded(value: Any) -> Any:
    """A value as a shape writes it: switches are 0 and 1, and what is left open is 0."""
    return int(value or 0) if value is None or isinstance(value, bool) else value


def _typed(value: Any, column: Sequence[Any]) -> Any:
    """A shape's number as the suite writes that value."""
    if all(isinstance(own, bool) for own in column):
        return bool(value)
    return None if value == 0 and None in column else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value
