"""Where a row's inputs lie: in repeated rounds each row gets a place of its own, the same on both sides of a round.

A process that starts as the one before it did puts every tensor where that one put it. Rounds would then repeat one
placement, and how much the placement matters (up to several percent for a small kernel) could not be seen in their
spread. So before the inputs of a row are made, the allocator gives back what it holds, and paddings of a size that
follows from the round and the row go in front.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from zlbench import backend as backends
from zlbench_plugins.context import CellContext

_STEP = 512
"""Allocators of Torch hand out multiples of this; alignment, and with it the compiled code, stays as it is."""
_SMALL, _LARGE = 1 << 20, 1 << 25
"""Bytes below the largest small and large padding: up to 1 MB shares its segment with small tensors."""


class Placement:
    """Puts the rows of one cell somewhere else; does nothing where no place is asked for, or there is no device."""

    def __init__(self, context: CellContext) -> None:
        self._context = context
        self._number = context.spec.placement
        name = backends.get(context.spec.backend).device_module
        self._module: Any = getattr(sys.modules.get("torch"), name, None) if name and self._number else None
        self._device = name
        self._paddings: list[Any] = []

    def renew(self, sequence: int) -> None:
        """Take the place of a row, by its number in the cell."""
        if self._module is None or not hasattr(self._module, "empty_cache"):
            return
        self._paddings = []
        self._module.empty_cache()
        chance = random.Random(f"{self._number} {sequence}")
        torch: Any = sys.modules["torch"]
        sizes = [_STEP * chance.randrange(1, below // _STEP) for below in (_SMALL, _LARGE)]
        self._paddings = [torch.empty(size, dtype=torch.uint8, device=self._device) for size in sizes]
