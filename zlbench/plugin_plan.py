"""Which pytest plugins a cell loads, by name and in order; sessions and driver know plugins only as these names."""

from __future__ import annotations

from collections.abc import Sequence

PACKAGE = "zlbench_plugins"

_AUTOTUNE = {"policy": "autotune_pin", "record": "autotune_record", "replay": "autotune_replay"}


def plan(*, autotune: str, ir: bool = True, compat: Sequence[str] = (), extra: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the plugins of a cell; the device comes first because it works at import.

    Hooks of `-p` plugins run in reverse order, so that shapes are injected before rows replace the run loop.

    Args:
        autotune: `CellSpec.autotune`.
        ir: whether IR is recorded.
        compat: plugins of ours that the device family or the suite needs, without the package.
        extra: further plugins, by full name.
    """
    names = ["device", "autotune_sweep", "ir_meta", "rows", "shapes", *compat]
    if not ir:
        names.remove("ir_meta")
    if autotune in _AUTOTUNE:
        names.insert(1, _AUTOTUNE[autotune])
    if autotune == "policy":
        names.remove("autotune_sweep")
    return (*(f"{PACKAGE}.{name}" for name in names), *extra)
