"""The costs of one compiled kernel, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zlbench.errors import ZlbenchError

if TYPE_CHECKING:
    from collections.abc import Mapping


class CostsUnavailableError(ZlbenchError):
    """The costs of a kernel cannot be told: a tool is missing or failed, or the file is not a kernel."""

    def __init__(self, message: str, *, hint: str = "", marker: str = "COSTS_UNAVAILABLE") -> None:
        super().__init__(message, hint=hint, marker=marker)


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """What one compiled kernel takes.

    Args:
        registers: of a thread; on AMD the vector registers, accumulation registers included.
        spills: 32-bit words of a thread's stack, which a driver reports as `n_spills`. Arrays and calls count
            too: no tool tells them apart once the code is made.
        stack_bytes: of a thread.
        shared_static: bytes of a block, without what the launch adds (`metadata.shared`). NVIDIA reserves
            1024 of them on sm_90 and later.
        instructions: without the no-operations that pad the end of the code to its alignment.
        mix: opcode (NVIDIA: without modifiers) to count, padding left out too, most frequent first.
        details: what only one vendor has, such as `sgpr` and `agpr`.
    """

    registers: int
    spills: int
    stack_bytes: int
    shared_static: int
    instructions: int
    mix: Mapping[str, int]
    details: Mapping[str, int] = field(default_factory=dict)


def sorted_mix(counts: Mapping[str, int]) -> dict[str, int]:
    """Most frequent first, then by name, so that equal mixes are written alike."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
