"""The identities of both sides beside each other: one line a field, those that differ told apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ABSENT = "not recorded"


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One field of run_identity.json, nested ones by their path; values as text."""

    name: str
    a: str
    b: str

    @property
    def differs(self) -> bool:
        """Whether the sides say different things."""
        return self.a != self.b


def fields(sides: Mapping[str, Mapping[str, Any]]) -> list[Field]:
    """Every field that a side has, in order of its first mention."""
    flat = [dict(_flat(sides.get(side) or {})) for side in "AB"]
    # Which side it is stands above the column.
    names = [name for name in dict.fromkeys((*flat[0], *flat[1])) if name != "side"]
    return [Field(name=name, a=flat[0].get(name, ABSENT), b=flat[1].get(name, ABSENT)) for name in names]


def _flat(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, item in value.items():
        name = f"{path}{key}"
        if isinstance(item, Mapping) and item:
            yield from _flat(item, f"{name}.")
        else:
            yield name, _text(item)


def _text(value: Any) -> str:
    """``null`` is said as what it is: nothing is known, which is not an empty text."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
