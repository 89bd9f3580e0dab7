"""Device set-up of the measured process, first of all plugins: works at import, before any suite module is loaded.

On the device-less backend it puts the compile-only driver into Triton and tells the suite to make meta tensors. On a
card it names the vendor, so that the suite does not start probes that hang. At the end it writes what was found.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from itertools import pairwise
from typing import Any

import pytest

from zlbench import backend as backends
from zlbench import store
from zlbench_plugins import device_targets, deviceless
from zlbench_plugins.context import CellContext, current


def set_up(context: CellContext) -> None:
    """Prepare Triton and the environment for this cell's backend."""
    backend = backends.get(context.spec.backend)
    if backend.vendor:
        os.environ.setdefault("GEMS_VENDOR", backend.vendor)
    if context.spec.timer == "compile" and context.spec.target:
        device_targets.install(context.spec.target)
        deviceless.DevicelessLauncher.on_grid = lambda grid: setattr(context, "grid", grid)


def vendors_loaded(modules: Any) -> set[str]:
    """Vendors whose backend modules were imported, by path segment: ``….backend._nvidia.ops`` counts for nvidia."""
    found = set()
    for name in list(modules):
        parts = name.split(".")
        for before, segment in pairwise(parts):
            if before == "backend" and segment.startswith("_") and not segment.startswith("__"):
                found.add(segment[1:])
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems() -> None:
    """Tell a suite that can do without a device to do so; its package is importable only after its conftest ran."""
    context = current()
    if context.spec.timer != "compile":
        return
    try:
        runtime = importlib.import_module(f"{context.spec.package}.runtime")
    except ImportError:
        return
    use_device = getattr(runtime, "use_device", None)
    if use_device is not None:
        use_device("meta")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Write what this process turned out to be, for run_identity.json."""
    context = current()
    active = backends.get(context.spec.backend).vendor
    foreign = sorted(vendors_loaded(sys.modules) - {active})
    if foreign and active:
        context.warn("FOREIGN_VENDOR_MODULE", f"active={active} loaded={','.join(foreign)}")
    store.write_json(context.out_dir / "process.json", facts(context))


def facts(context: CellContext) -> dict[str, Any]:
    """Versions, hooks and patches of this process."""
    torch, triton = sys.modules.get("torch"), sys.modules.get("triton")
    return {
        "python": platform.python_version(),
        "torch": str(getattr(torch, "__version__", "")) or None,
        "triton": str(getattr(triton, "__version__", "")) or None,
        "pytest": pytest.__version__,
        "hooks": dict(context.hooks),
        "patches": context.patches.labels(),
        "patches_not_in_force": context.patches.not_in_force(),
        "plugins": list(context.spec.plugins),
    }


set_up(current())
