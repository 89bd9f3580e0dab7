"""On Moore Threads cards: lifts gates of FlagGems' benchmarks that ask for CUDA although what they run asks for no card
in particular.

Each is pinned to one file and the exact reason that it gives: a gate with other words is another gate, and stays.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from zlbench_plugins.context import CellContext, current

VENDOR = "mthreads"
# Benchmarks whose inputs are made on `flag_gems.device`. Those that name "cuda" in their inputs, or compare with a
# kernel that exists for CUDA alone, keep their gates.
GATES = {
    "test_apply_repetition_penalties.py": "CUDA required",
    "test_fft.py": "CUDA is not available",
    "test_flash_attention_backward.py": "CUDA is not available",
    "test_flash_attention_forward.py": "CUDA is not available",
    "test_scaled_dot_product_attention_math.py": "CUDA is not available",
    "test_top_k_per_row_prefill.py": "CUDA device required",
}


def _is_gate(mark: pytest.Mark, reason: str) -> bool:
    return mark.name == "skipif" and mark.args == (True,) and mark.kwargs.get("reason") == reason


def lift(items: Sequence[pytest.Item], benchmarks: Path) -> list[str]:
    """Take the gates off these tests and off their modules; returns what was lifted, as ``file: reason``."""
    lifted = []
    for item in items:
        reason = GATES.get(item.path.name)
        if reason is None or item.path.parent != benchmarks:
            continue
        for node in item.listchain():
            kept = [mark for mark in node.own_markers if not _is_gate(mark, reason)]
            if len(kept) != len(node.own_markers):
                node.own_markers[:] = kept
                lifted.append(f"{item.path.name}: {reason}")
    return list(dict.fromkeys(lifted))


def _is_for(context: CellContext) -> bool:
    """Asked of the suite itself: it decides by what it found, whatever it was told."""
    return getattr(sys.modules.get(context.spec.package), "vendor_name", "") == VENDOR


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lift what is pinned and say so: the suite on its own would have skipped these."""
    context = current()
    if not _is_for(context):
        return
    for text in lift(items, Path(context.spec.suite_root) / "benchmark"):
        context.warn("CUDA_GATE_LIFTED", text)
