"""What a worker does before its first cell: imports that cells share, and what would keep them from running.

Everything here is paid once a side. A cell that is forked afterwards finds it done.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import importlib.util
import pkgutil
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from zlbench_plugins import device_answers, fake_device, tuner_database

# All but `device`, which does its work at import, for one cell.
_SHARED = (
    "autotune_pin",
    "autotune_record",
    "autotune_replay",
    "autotune_sweep",
    "cases",
    "compile_rounds",
    "context",
    "failures",
    "inputs",
    "ir_meta",
    "pretty",
    "rows",
    "shapes",
    "timing",
)


def prepare(message: dict[str, Any], tell: Callable[[dict[str, Any]], None] = lambda _: None) -> dict[str, Any]:
    """Import everything that cells share, before the first of them.

    Returns plugins_missing (pytest plugins that are not here), targets_failed (targets that could not be compiled for),
    no_device (why there is none, "" where there is one or none is asked for), and shared_import (whether cells find the
    suite imported).
    """
    import pytest  # noqa: F401

    missing = _missing(message.get("plugins") or [])
    if missing:
        return {"plugins_missing": missing}
    if message.get("torch"):
        import torch  # noqa: F401
    if message.get("torch_package"):
        try:
            importlib.import_module(str(message["torch_package"]))
        except ImportError as error:
            traceback.print_exc()
            return {"no_device": f"{message['torch_package']} cannot be imported: {error}"}
    for name in _SHARED:
        importlib.import_module(f"zlbench_plugins.{name}")
    packages = list(message.get("preload") or [])
    package = str(message.get("package") or "")
    if message.get("timer") == "compile":
        failed = _warm_compiler(message.get("targets") or [])
        if failed:
            return {"targets_failed": failed}
    # Whatever goes wrong from here on is the import's, also where it hangs or takes the process along.
    tell({"event": "importing", "package": package})
    ready: dict[str, Any] = {"targets_failed": {}, "no_device": "", "shared_import": bool(packages)}
    if message.get("device_module"):
        ready |= _prepare_on_card(str(message["device_module"]), packages)
    else:
        for name in packages:
            _preload(name)
    if message.get("timer") == "compile":
        fake_device.preload(package, message.get("targets") or [])
    tell({"event": "importing", "package": ""})
    tuner_database.own_locks()
    # Objects that exist now are never garbage of a cell: leave them out of every cell's collections.
    gc.collect()
    gc.freeze()
    return ready


def _missing(plugins: Sequence[str]) -> list[str]:
    """Plugins that pytest would not find. A child looks: finding a module imports its package, whatever that does."""
    if not plugins:
        return []
    found = device_answers.in_child(lambda: [name for name in plugins if _importable(name)])
    return [name for name in plugins if name not in (found or ())]


def _importable(plugin: str) -> bool:
    """Whether ``-p`` takes this word: pytest's own plugins, those of other distributions by their name, modules."""
    from _pytest.config import builtin_plugins

    if plugin.startswith("no:") or plugin in builtin_plugins:
        return True
    if any(entry.name == plugin for entry in importlib.metadata.entry_points(group="pytest11")):
        return True
    try:
        return importlib.util.find_spec(plugin) is not None
    except (ImportError, ValueError):
        traceback.print_exc()
        return False


def _prepare_on_card(module: str, packages: list[str]) -> dict[str, Any]:
    """Look for a card and import the suite without opening it; a suite that cannot be shared is left to each cell."""
    answers = device_answers.ask(module)
    if answers is None:
        return {"no_device": device_answers.why_none(module), "shared_import": False}
    if not packages:
        return {}
    with device_answers.answering(module, answers):
        for name in packages:
            importlib.import_module(name)
    _warm_torch()
    return {} if device_answers.works(module) else {"begin_again": True}


def _warm_torch() -> None:
    """Count the operations of one tiny call on the host, as many benchmarks do on the card for their TFLOPS.

    Its first use imports Torch's compiler, three seconds that every such cell would pay.
    """
    try:
        import torch
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError:
        return  # an older Torch, or a stand-in
    with FlopCounterMode(display=False):
        torch.add(torch.ones(2), 1)


def _preload(package: str) -> None:
    """Import a suite's kernels, which nothing has run yet; its harness is imported anew in every cell."""
    module = importlib.import_module(package)
    for info in pkgutil.iter_modules(module.__path__):
        importlib.import_module(f"{package}.{info.name}")


def _warm_compiler(targets: list[str]) -> dict[str, str]:
    """Compile one kernel for each target: a compiler that cannot do that cannot run any operator."""
    from zlbench_plugins import device_targets

    failed = {}
    for target in targets:
        error = device_targets.warm(target)
        if error:
            failed[target] = error
    return failed
