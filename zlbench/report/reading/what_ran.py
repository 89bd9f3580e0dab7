"""What ran in the operators of a report: many files, of which no verdict needs any, so they are read last."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from zlbench.judge import Verdict
from zlbench.report.model import KernelPair, OpReadings
from zlbench.report.reading.faults import FAULTS
from zlbench.report.reading.kernels import CHANGED, kernel_pairs
from zlbench.report.reading.read import RoundsRead

UNREADABLE = "its kernels are not shown: a file of theirs is torn, or of another version"
MOST_DIFFS = 200
"""Changed kernels that get a readable diff, which takes the longest of all that a report is made of. A report of more
has them of the operators that changed most; `zlbench diff` shows any."""


def with_kernels(read: RoundsRead, stamps: Sequence[str] = (), *, most_diffs: int = MOST_DIFFS) -> list[OpReadings]:
    """The operators of a report with their kernels: costs, and IR of both sides compared.

    Args:
        stamps: patterns of attributes that the change itself writes into the IR.
        most_diffs: changed kernels that get a diff; all kernels of an operator that gets one do.
    """
    found: dict[int, OpReadings] = {}
    for index in sorted(range(len(read.ops)), key=lambda index: -_change(read.ops[index])):
        op = read.ops[index]
        try:
            kernels = _kernels(read.places.get(op.directory, ()), op, stamps, diffs=most_diffs > 0)
        except FAULTS as fault:
            found[index] = replace(op, notes=(*op.notes, f"{UNREADABLE}: {type(fault).__name__}"))
            continue
        most_diffs -= sum(bool(kernel.diff) for kernel in kernels)
        found[index] = replace(op, kernels=kernels)
    return [found[index] for index in range(len(read.ops))]


def _change(op: OpReadings) -> float:
    """The largest change of a row, either way; what is equal by its code comes last."""
    if op.control:
        return -1.0
    means = (statistics.fmean(reading.difference for reading in row.readings) for row in op.rows if row.readings)
    return max(map(abs, means), default=0.0)


def _kernels(
    places: Sequence[tuple[Path, Path]], op: OpReadings, stamps: Sequence[str], *, diffs: bool
) -> tuple[KernelPair, ...]:
    """Kernels of an operator; one that several shards launched is one, with the rows of all.

    One that changed and has no diff says that it was cut off.
    """
    found: dict[str, KernelPair] = {}
    equal = op.verdict == Verdict.NO_IR_DIFF.value
    for a, b in places:
        for kernel in kernel_pairs(a, b, stamps=stamps, judged_equal=equal, diffs=diffs):
            known = found.get(kernel.id)
            rows = (*(known.rows if known is not None else ()), *kernel.rows)
            cut = kernel.cut or (kernel.ir == CHANGED and not diffs)
            found[kernel.id] = replace(known or kernel, rows=tuple(dict.fromkeys(rows)), cut=cut)
    return tuple(found.values())
