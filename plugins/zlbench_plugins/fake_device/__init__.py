"""A suite that needs a device, on a machine with none: everything it asks is answered for one card of the target.

Unmodified suite code runs its wrappers, heuristics and tuners; tensors have shapes and no storage; each kernel is
compiled through the device-less driver and nothing is launched. A suite that can do without a device by itself
(``<package>.runtime.use_device``) is left alone.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path

from zlbench.target import Target, parse_target
from zlbench.text import plural
from zlbench_plugins import device_answers, device_targets
from zlbench_plugins._patch import PatchSet
from zlbench_plugins.context import CellContext
from zlbench_plugins.fake_device import backward, dispatch, fake_tensors, guard, torch_answers
from zlbench_plugins.fake_device.dispatch import Registered
from zlbench_plugins.fake_device.fake_tensors import MadeUp

_VENDORS = {"cuda": "nvidia", "hip": "amd"}
_OVERRIDING = ("ARCH", "PPU_SDK", "FLAGGEMS_VENDOR", "GEMS_BACKEND", "FLAGGEMS_BACKEND")
"""Variables that a suite would believe before the properties of the target."""


class FakeDevice:
    """What this process was made to answer, and what was registered with it; a forked cell finds its worker's."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.patches = PatchSet()
        self.registered = Registered()
        self.made_up = MadeUp()
        self._leave: list[Callable[[], None]] = []

    def enter(self, package: str) -> None:
        """From now on every tensor is one without storage, and the suite's functions are found by Torch's names."""
        # Outside of the modes: what a suite makes at import it would make on the host.
        importlib.import_module(package)
        self._leave = [fake_tensors.enter(self.made_up), dispatch.enter(self.registered)]

    def leave(self) -> None:
        """Put everything back."""
        while self._leave:
            self._leave.pop()()
        self.patches.undo()


_installed: FakeDevice | None = None


def needed(package: str) -> bool:
    """Whether the suite cannot do without a device; decided from its source, since importing it would be too late."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    for place in spec.submodule_search_locations or ():
        for name in ("runtime.py", "runtime/__init__.py"):
            path = Path(place, name)
            if path.is_file():
                tree = ast.parse(path.read_text(encoding="utf-8"))
                defined = (node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
                return "use_device" not in defined
    return True


def install(text: str) -> FakeDevice | None:
    """Make Triton and Torch of this process answer for a target; None where either is a stand-in or missing.

    Has to come before the first import of the suite. A second call for the same target changes nothing.
    """
    global _installed  # noqa: PLW0603 - one process, one device
    if _installed is not None and _installed.target == text:
        return _installed
    if not device_targets.install(text) or not _real_torch():
        return None
    if _installed is not None:
        _installed.leave()
    target = parse_target(text)
    _installed = FakeDevice(text)
    vendor_variables(target)
    torch_answers.install(target, _installed.patches)
    backward.install(_installed.patches)
    fake_tensors.install(_installed.patches)
    dispatch.watch(_installed.registered, _installed.patches)
    problem = guard.register()
    if problem:
        print(f"no device guard: {problem}", file=sys.stderr)  # noqa: T201 - the log of the worker or the cell
    return _installed


def preload(package: str, targets: list[str]) -> None:
    """Import the suite once for the cells of one target; with several, each cell does it, since it asks at import.

    Raises:
        ImportError: with several targets, a child could not import it for the first.
    """
    if not targets or not needed(package):
        return
    if len(targets) > 1:
        problem = device_answers.in_child(lambda: _import_problem(package, targets[0]))
        if problem != "":
            raise ImportError(problem or "the process that tried ended; its last words are in the log")
    elif install(targets[0]) is not None:
        importlib.import_module(package)
        fake_tensors.warm()


def _import_problem(package: str, target: str) -> str:
    try:
        if install(target) is not None:
            importlib.import_module(package)
    except Exception as error:  # noqa: BLE001 - an import may raise anything
        return f"{type(error).__name__}: {error}"
    return ""


def enter_cell(context: CellContext) -> FakeDevice | None:
    """Give this cell the device that its suite needs; None where Torch or Triton is a stand-in."""
    fake = install(context.spec.target or "")
    if fake is None:
        return None
    context.patches.adopt(fake.patches)
    context.made_up = fake.made_up
    fake.enter(context.spec.package)
    return fake


def leave_cell(context: CellContext) -> None:
    """Say what was made up, and put everything back."""
    if context.made_up_rows:
        rows = plural(context.made_up_rows, "row")
        context.warn("VALUES_MADE_UP", f"{rows} read values that only a device can tell: sizes behind them are made up")
    if _installed is not None:
        _installed.leave()


def _real_torch() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return hasattr(torch, "_C")


def vendor_variables(target: Target) -> None:
    """Name the vendor, so that no suite starts tools to find one; the architecture comes from the properties."""
    for name in _OVERRIDING:
        os.environ.pop(name, None)
    os.environ["GEMS_VENDOR"] = _VENDORS[target.backend]
