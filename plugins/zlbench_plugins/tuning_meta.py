"""`autotune_records/meta.json`: under which conditions a cell's autotune choices were made or replayed."""

from __future__ import annotations

import os
import sys
from typing import Any

from zlbench import backend as backends
from zlbench import store, tuning
from zlbench_plugins.context import CellContext


def write(context: CellContext, mode: str, **more: Any) -> None:
    """Write the file, or add to it; what an earlier call said stays.

    Args:
        mode: record or replay.
        more: further facts; None says nothing.
    """
    path = context.out_dir / tuning.META
    known = store.read_json(path) or {}
    triton = sys.modules.get("triton")
    cache = tuning.tuner_cache(os.environ)
    facts = {
        "schema_version": tuning.SCHEMA_VERSION,
        "mode": mode,
        "op": context.spec.op,
        "backend": context.spec.backend,
        "suite": context.spec.package,
        "triton": str(getattr(triton, "__version__", "")) or None,
        "compiler": os.environ.get(tuning.COMPILER_VARIABLE),
        "use_flagtune": os.environ.get("USE_FLAGTUNE"),
        "flagtree_aabs": os.environ.get("FLAGTREE_AABS"),
        "tuner_cache": None if cache is None else str(cache),
    }
    with store.clear_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    store.write_json(path, {**known, **facts, **{name: value for name, value in more.items() if value is not None}})


def entries() -> int | None:
    """Winners that the suite's cache holds now."""
    return tuning.count_entries(tuning.tuner_databases(os.environ))


def device_name(context: CellContext) -> str | None:
    """Name of the card, to be asked once something ran on it: asking opens it."""
    module = backends.get(context.spec.backend).device_module
    torch = sys.modules.get("torch")
    if not module or torch is None:
        return None
    try:
        return str(getattr(torch, module).get_device_name())
    except Exception:  # noqa: BLE001 - a card that is lost has no name any more, and the record is kept all the same
        return None
