"""Fixed seeds: data-dependent operators (sort, topk, masked_select) see the same inputs on both sides.

Seeded before every row, not once a process: a row that failed half-way would otherwise shift the inputs of all
rows after it on one side only.
"""

from __future__ import annotations

import random
import sys


def seed_all(seed: int) -> None:
    """Seed every generator that is loaded: Python's, numpy's, torch's (all devices that are initialised)."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "manual_seed"):
        torch.manual_seed(seed)
