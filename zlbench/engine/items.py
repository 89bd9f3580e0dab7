"""What two prepared sides have in common: the kernels to measure, their names for people, and the value to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zlbench import layout
from zlbench.engine.side import Prepared
from zlbench.ir.naming import variant_stems

ONE_SIDE = "KERNEL_ON_ONE_SIDE"
NOT_REPEATABLE = "KERNEL_NOT_REPEATABLE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Items:
    """What one operator's rounds measure."""

    metric: str
    """Name of the number that is compared: ``instructions``, or ``cpu_ms`` where nothing counts them."""
    common: tuple[str, ...]
    """Kernels that both sides compile, in the order of side A."""
    labels: Mapping[str, str]
    only: Mapping[str, tuple[str, ...]]
    """Kernels that only the named side compiles: there is nothing to compare them with."""
    not_repeatable: Mapping[str, tuple[str, ...]]
    """Kernels that the named side compiled by another way than `triton.compile`, so that it cannot be done again."""
    lost: Mapping[str, str] = field(default_factory=dict)
    """Sides that could not be made ready, and why; no round can be measured then."""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data for items.json."""
        return {
            "schema_version": 1,
            "metric": self.metric,
            "items": [{"item": item, "label": self.labels.get(item, item)} for item in self.common],
            "only": {side: list(items) for side, items in self.only.items()},
            "not_repeatable": {side: list(items) for side, items in self.not_repeatable.items()},
            "lost": dict(self.lost),
            "notes": list(self.notes),
        }

    def markers(self, side: str) -> tuple[str, ...]:
        """What people must see of a side."""
        said = [f"{ONE_SIDE} side={side} kernel={item}" for item in self.only.get(side, ())]
        return (*said, *(f"{NOT_REPEATABLE} side={side} kernel={item}" for item in self.not_repeatable.get(side, ())))


def join(
    ready: Mapping[str, Prepared], lost: Mapping[str, str], kernels: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> Items:
    """Match what both sides have prepared.

    Args:
        ready: sides that are ready.
        lost: sides that are not, and why.
        kernels: descriptions of all that each side compiled, by name.
    """
    found = {label: ready[label].items if label in ready else () for label in ("A", "B")}
    common = tuple(item for item in found["A"] if item in set(found["B"]))
    values = [set(side.values) for side in ready.values()]
    names = [name for side in ready.values() for name in side.values]
    notes = dict.fromkeys(f"side {label}: {note}" for label, side in ready.items() for note in side.notes)
    return Items(
        metric=next((name for name in names if all(name in side for side in values)), ""),
        common=common,
        labels=_labels(common, kernels["A"]),
        only={
            label: tuple(item for item in items if item not in common) if len(ready) == 2 else ()
            for label, items in found.items()
        },
        not_repeatable={
            label: tuple(name for name in kernels[label] if name not in set(side.items))
            for label, side in ready.items()
        },
        lost=lost,
        notes=tuple(notes),
    )


def _labels(items: Sequence[str], kernels: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Kernel name and what tells its variants apart."""
    groups: dict[str, list[str]] = {}
    for item in items:
        if item in kernels:
            groups.setdefault(kernels[item]["name"], []).append(item)
    labels: dict[str, str] = {}
    for name, members in groups.items():
        stems = variant_stems([layout.variant_params(kernels[member]) for member in members])
        labels |= {member: f"{name} {stem}" for member, stem in zip(members, stems, strict=True)}
    return labels
