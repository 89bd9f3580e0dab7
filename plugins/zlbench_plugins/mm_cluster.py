"""Work-around for FlagGems' Hopper mm: its kernel for clusters of two blocks (fp16, compilers with TLE) reads out of
bounds and takes the card's context along. Its own test for that path is answered with no, so that mm goes on to the
kernels that it has for everything else. Off unless asked for.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from zlbench.cells import read_json_lines
from zlbench_plugins.context import current

MODULE = "hopper.ops.mm"
"""One file, loaded under two names: by the suite from its backend folder, by benchmarks with its full path."""
SCENARIO = "cluster_remote_mm_scenario"
KERNEL = "_cluster_remote_gemm_kernel"


def _modules() -> list[ModuleType]:
    return [module for name, module in list(sys.modules.items()) if name == MODULE or name.endswith(f".{MODULE}")]


def _never(*_: Any, **__: Any) -> bool:
    return False


def pytest_collection_modifyitems() -> None:
    """Close the path in every copy of the module, once the suite is imported."""
    context = current()
    modules = _modules()
    if not modules:
        # Another card than Hopper, or an operator whose benchmark does not load it: nothing can go wrong either.
        context.tell("mm_cluster:", f"no module {MODULE} is loaded, nothing to do")
    for module in modules:
        if hasattr(module, SCENARIO):
            context.patches.set(module, SCENARIO, _never)
        else:
            context.warn("PATCH_NOT_IN_FORCE", f"mm_cluster: {module.__name__} has no {SCENARIO}")


def pytest_sessionfinish() -> None:
    """Look at what was done, not at what was meant: a launched kernel, or a copy that came later, says it aloud."""
    context = current()
    if any(record.get("name") == KERNEL for record in read_json_lines(context.out_dir / "kernels.jsonl")):
        context.warn("PATCH_NOT_IN_FORCE", f"mm_cluster: {KERNEL} was launched all the same")
    for module in _modules():
        if getattr(module, SCENARIO, _never) is not _never:
            context.warn("PATCH_NOT_IN_FORCE", f"mm_cluster: {module.__name__}.{SCENARIO} is not ours")
