"""Exact costs of an operator's kernels on both sides: compared as equal or not, no statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.costing import COSTS_FILE
from zlbench.judge import Kernel, read_index


class Cost(str, Enum):
    """What is counted; its value is the column's name."""

    REGISTERS = "registers"
    SPILLS = "spills"
    SHARED = "shared"
    INSTRUCTIONS = "instructions"


# Registers and shared memory limit occupancy one kernel at a time, so their largest counts; the others add up.
_LARGEST = frozenset({Cost.REGISTERS, Cost.SHARED})


@dataclass(frozen=True, kw_only=True, slots=True)
class CostPair:
    """One cost of an operator on both sides; None where it is unknown. `differ` counts kernels in which it differs."""

    before: int | None
    after: int | None
    differ: int

    @property
    def equal(self) -> bool:
        """Whether it is known and the same in every kernel."""
        return self.before is not None and self.before == self.after and not self.differ


def read_costs(pair_dir: Path) -> dict[Cost, CostPair]:
    """Read the costs of both sides of a screened operator."""
    a, b = (_SideCosts.read(pair_dir / side) for side in ("A", "B"))
    shared = [name for name in a.kernels if name in b.kernels]
    return {
        cost: CostPair(
            before=a.total(cost),
            after=b.total(cost),
            differ=sum(a.of(name, cost) != b.of(name, cost) for name in shared),
        )
        for cost in Cost
    }


def side_totals(cell_dir: Path) -> dict[Cost, int | None]:
    """Totals of one cell; None where a cost is unknown."""
    side = _SideCosts.read(cell_dir)
    return {cost: side.total(cost) for cost in Cost}


@dataclass(frozen=True, kw_only=True, slots=True)
class _SideCosts:
    kernels: Mapping[str, Kernel]
    costs: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, cell_dir: Path) -> _SideCosts:
        used = (kernel for kernel in read_index(cell_dir / "ttgir" / "index.tsv") if kernel.launches)
        return cls(kernels={kernel.id: kernel for kernel in used}, costs=store.read_json(cell_dir / COSTS_FILE) or {})

    def of(self, kernel: str, cost: Cost) -> int | None:
        if cost is Cost.SHARED:
            return self.kernels[kernel].shared
        value = self.costs.get(kernel, {}).get(cost.value)
        return None if value is None else int(value)

    def total(self, cost: Cost) -> int | None:
        values = [self.of(kernel, cost) for kernel in self.kernels]
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return None
        return max(known) if cost in _LARGEST else sum(known)
