"""Registers and spills as the card's driver counts them when it loads a kernel: a check on those of the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zlbench.costing import LOADED_FILE
from zlbench_plugins.context import CellContext, JsonLines


def install(context: CellContext, kernel_of: Callable[[str], str | None]) -> None:
    """Wrap the method in which a compiled kernel of Triton loads itself.

    Args:
        kernel_of: our name of a kernel by Triton's hash of it.
    """
    try:
        from triton.compiler.compiler import CompiledKernel
    except ImportError:
        context.hooks["loaded_costs"] = False
        return
    context.hooks["loaded_costs"] = hasattr(CompiledKernel, "_init_handles")
    if not context.hooks["loaded_costs"]:
        return
    lines = JsonLines(context.out_dir / LOADED_FILE)
    original = CompiledKernel._init_handles
    seen: set[str] = set()

    def init_handles(self: Any) -> Any:
        result = original(self)
        kernel = kernel_of(str(getattr(self, "hash", "")))
        registers = getattr(self, "n_regs", None)
        if kernel is not None and registers is not None and kernel not in seen:
            seen.add(kernel)
            lines.append({"kernel": kernel, "registers": registers, "spills": self.n_spills})
        return result

    context.patches.set(CompiledKernel, "_init_handles", init_handles)
