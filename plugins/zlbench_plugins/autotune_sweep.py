"""Tells sweeps from use on a card: what an autotuner launches to time its configs is no launch of the row.

Only the winner is launched outside of the sweep, so the losers stay in `ttgir/index.tsv` alone.
"""

from __future__ import annotations

from typing import Any

from zlbench_plugins.context import CellContext, current


def install(context: CellContext) -> None:
    """Wrap the method in which `triton.runtime.autotuner.Autotuner` times one config."""
    try:
        from triton.runtime.autotuner import Autotuner
    except ImportError:
        context.hooks["autotuner"] = False
        return
    context.hooks["autotuner"] = hasattr(Autotuner, "_bench")
    if not context.hooks["autotuner"]:
        context.warn("IR_HOOKS_MISSING", "this Triton's autotuner has no _bench: sweep losers count as used")
        return
    original = Autotuner._bench

    def bench(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, context.sweeping = context.sweeping, True
        try:
            return original(self, *args, **kwargs)
        finally:
            context.sweeping = before

    context.patches.set(Autotuner, "_bench", bench)


def pytest_configure() -> None:
    """Install for the cell of this process."""
    install(current())
