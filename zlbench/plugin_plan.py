"""Which pytest plugins a cell loads, by name and in order; sessions and driver know plugins only as these names."""

from __future__ import annotations

from collections.abc import Sequence

PACKAGE = "zlbench_plugins"


def plan(timer: str, extra: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the plugins for a timer; the device comes first because it works at import.

    Hooks of `-p` plugins run in reverse order, so that shapes are injected before rows replace the run loop.
    """
    autotune = "autotune_pin" if timer == "compile" else "autotune_sweep"
    names = ("device", autotune, "ir_meta", "rows", "shapes")
    return (*(f"{PACKAGE}.{name}" for name in names), *extra)
