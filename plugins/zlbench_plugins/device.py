"""Device set-up of the measured process, first of all plugins: works at import, before any suite module is loaded.

On the device-less backend it puts the compile-only driver into Triton and tells the suite to make meta tensors. On a
card it names the vendor, so that the suite does not start probes that hang. At the end it writes what was found.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from zlbench import backend as backends
from zlbench import store
from zlbench.plugin_plan import PACKAGE
from zlbench_plugins import device_targets, deviceless, fake_device
from zlbench_plugins.context import CellContext, current

# Members of `vendors` in FlagGems' runtime/common.py, in their order there.
_VENDORS = frozenset(
    """nvidia cambricon metax iluvatar mthreads kunlunxin hygon amd aipu ascend tsingmicro sunrise enflame spacemit
    thead arm""".split()  # noqa: SIM905 - a name a line is a screen
)


def set_up(context: CellContext) -> None:
    """Prepare Triton and the environment for this cell's backend."""
    backend = backends.get(context.spec.backend)
    if backend.vendor:
        os.environ.setdefault("GEMS_VENDOR", backend.vendor)
    if context.spec.timer == "compile" and context.spec.target:
        fake = fake_device.enter_cell(context) if fake_device.needed(context.spec.package) else None
        if fake is None:
            device_targets.install(context.spec.target)
        deviceless.DevicelessLauncher.on_grid = lambda grid: setattr(context, "grid", grid)


def vendors_loaded(modules: Any) -> set[str]:
    """Vendors whose implementation was imported, told by path segment.

    ``….backend._nvidia.ops`` counts for nvidia, and so does ``_nvidia.ops``: FlagGems puts its backend folder on the
    path and imports the active vendor from there. A bare ``_nvidia`` is only its description, which a probe of all
    vendors reads of each.
    """
    names = list(modules)
    found = set()
    for name in names:
        parts = name.split(".")
        for before, segment in pairwise(parts):
            if before == "backend" and segment.startswith("_") and not segment.startswith("__"):
                found.add(segment[1:])
        if len(parts) > 1 and parts[0][1:] in _VENDORS and parts[0][0] == "_":
            found.add(parts[0][1:])
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Tell a suite that can do without a device to do so; its package is importable only after its conftest ran."""
    context = current()
    _note_code(context, config)
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
    active = _vendor(context)
    foreign = sorted(vendors_loaded(sys.modules) - {active})
    if foreign and active:
        context.warn("FOREIGN_VENDOR_MODULE", f"active={active} loaded={','.join(foreign)}")
    store.write_json(context.out_dir / "process.json", facts(context))
    fake_device.leave_cell(context)


def _note_code(context: CellContext, config: pytest.Config) -> None:
    """Keep digests of further plugins' files: who measures with a plugin of his own changes it without a new name."""
    others = [name for name in context.spec.plugins if not name.startswith(f"{PACKAGE}.")]
    found = {name: digest for name in others if (digest := _code_of(config.pluginmanager.get_plugin(name)))}
    if found:
        context.events.append({"event": "plugin_code", "code": found})


def _code_of(plugin: object) -> str:
    """Digest of the files of a module, or of all of a package; "" for a plugin without any."""
    file = getattr(plugin, "__file__", None)
    if not file:
        return ""
    folder = Path(file).parent
    files = sorted(folder.rglob("*.py")) if hasattr(plugin, "__path__") else [Path(file)]
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _vendor(context: CellContext) -> str:
    """The vendor that the suite was told, which the caller may have named."""
    backend = backends.get(context.spec.backend)
    return os.environ.get("GEMS_VENDOR", backend.vendor).lower() if backend.vendor else ""


def facts(context: CellContext) -> dict[str, Any]:
    """Versions, hooks and patches of this process, and the card that it used."""
    device = device_facts(backends.get(context.spec.backend).device_module)
    torch, triton = sys.modules.get("torch"), sys.modules.get("triton")
    return {
        "python": platform.python_version(),
        "torch": str(getattr(torch, "__version__", "")) or None,
        "triton": str(getattr(triton, "__version__", "")) or None,
        "pytest": pytest.__version__,
        "vendor": _vendor(context) or None,
        "device": device,
        "hooks": dict(context.hooks),
        "patches": context.patches.labels(),
        "patches_not_in_force": context.patches.not_in_force(),
        "plugins": list(context.spec.plugins),
    }


def device_facts(module: str) -> dict[str, Any] | None:
    """Name, UUID and processors of the card as Torch sees it, after the rows; None without a card."""
    if not module:
        return None
    try:
        device = getattr(importlib.import_module("torch"), module)
        properties = device.get_device_properties(device.current_device())
    except Exception:  # noqa: BLE001 - a lost card may raise anything; what it was is then unknown
        return None
    said = {name: getattr(properties, name, None) for name in ("name", "uuid", "total_memory", "multi_processor_count")}
    return {**said, "name": str(said["name"] or ""), "uuid": str(said["uuid"] or "")}


set_up(current())
