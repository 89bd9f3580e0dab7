"""Exact costs of kernels: equal or not, and by how much; no statistics. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zlbench.report.model import KernelCosts, KernelPair
from zlbench.report.summary import OpSummary

COSTS = ("registers", "spills", "shared", "instructions")
"""Attributes of KernelCosts; `shared` in bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Total:
    """One cost over the kernels of which it is known on both sides.

    Args:
        kernels: how many these are; unseen: how many there are besides, on one side alone or with an unknown cost.
    """

    cost: str
    a: int
    b: int
    kernels: int
    unseen: int

    @property
    def growth(self) -> int:
        """What B needs more."""
        return self.b - self.a


def total(kernels: Iterable[KernelPair], cost: str) -> Total:
    """One cost over kernels, each counted once."""
    known, unseen = [], 0
    for pair in {kernel.id: kernel for kernel in kernels}.values():
        a, b = value(pair.a, cost), value(pair.b, cost)
        if a is None or b is None:
            unseen += 1
        else:
            known.append((a, b))
    return Total(cost=cost, a=sum(a for a, _ in known), b=sum(b for _, b in known), kernels=len(known), unseen=unseen)


def value(costs: KernelCosts | None, cost: str) -> int | None:
    """One cost of one side; None where it is unknown."""
    found: int | None = getattr(costs, cost) if costs is not None else None
    return found


def name_of(cost: str) -> str:
    """A cost with its unit, where it has one."""
    return f"{cost} (bytes)" if cost == "shared" else cost


def said(a: int | None, b: int | None) -> str:
    """``38 → 36``; ``=`` where both are equal, ``?`` for what is unknown."""
    if a == b:
        return "=" if a is not None else "?"
    return f"{'?' if a is None else a} → {'?' if b is None else b}"


def differs(pair: KernelPair) -> bool:
    """Whether any exact cost, the IR or the machine code of a kernel differs, or it ran on one side alone."""
    return (
        any(value(pair.a, cost) != value(pair.b, cost) for cost in COSTS)
        or bool(pair.histogram)
        or pair.ir not in ("same", "unknown")
        or pair.code not in ("same", "unknown")
    )


def changed(ops: Sequence[OpSummary]) -> list[tuple[OpSummary, list[KernelPair]]]:
    """Operators with the kernels that differ; without those of which none does."""
    found = [(op, [pair for pair in op.op.kernels if differs(pair)]) for op in ops]
    return [(op, pairs) for op, pairs in found if pairs]


def overview(ops: Sequence[OpSummary]) -> str:
    """``exact costs: 5 of 9 operators differ · registers 190 → 180 · …``; empty where no kernel is known."""
    seen = [op for op in ops if op.op.kernels]
    if not seen:
        return ""
    sums = [total((pair for op in seen for pair in op.op.kernels), cost) for cost in COSTS]
    parts = [
        f"{one.cost}{' (bytes)' if one.cost == 'shared' else ''} {said(one.a, one.b)}" for one in sums if one.kernels
    ]
    unseen = max(one.unseen for one in sums)
    parts += [f"{unseen} kernels on one side alone or unknown"] if unseen else []
    number = len(changed(seen))
    return " · ".join([f"exact costs: {number} of {len(seen)} operators differ", *parts])
