"""What a device family declares, and the registry; a new family is one file in zlbench_backends."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from zlbench.errors import UsageError
from zlbench.nearest import unknown
from zlbench.smi import CardFacts, CardProcess, Query, Sample

PACKAGE = "zlbench_backends"
ENTRY_POINTS = "zlbench.backends"


class Timer(str, Enum):
    """What a row's number means."""

    CUDA_GRAPH = "cuda_graph"
    DIRECT = "direct"
    COMPILE = "compile"


@dataclass(frozen=True, kw_only=True, slots=True)
class Backend:
    """One device family, as data.

    Args:
        vendor: value for the suite's GEMS_VENDOR, "" where the suite needs none.
        visibility: environment variables that choose devices, the one to set first.
        visible_by_uuid: whether that variable takes UUIDs, which do not depend on how a driver counts.
        environment: variables that every measured process of the family gets, whatever the caller has.
        device_module: name of torch's module for the device (``cuda`` for ``torch.cuda``), "" with no device.
        torch_package: package that brings the device module into torch, "" where torch itself has it.
        timers: what it can measure with, the default first.
        fatal_errors: exact wordings of errors after which the process has lost its context on the card.
        capture_errors: exact wordings by which a refused or failed graph capture is recognised.
        poison_errors: exact wordings of errors that an earlier failed capture leaves behind in the process.
        error_hints: how lines begin that torch appends to every error; they say nothing about this one.
        never_captured: operators (``op_name``) that are timed without a graph from the start.
        device_files: files that are there when a card of this family is; looked at instead of asking a tool.
        telemetry: how its tool tells clocks and temperatures, None where there is none.
        cards: how its tool tells which cards there are.
        processes: how its tool tells who uses them.
        compat_plugins: pytest plugins that this family needs.
    """

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    vendor: str = ""
    visibility: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    visible_by_uuid: bool = False
    device_module: str = ""
    torch_package: str = ""
    supports_cuda_graph: bool = False
    timers: tuple[Timer, ...] = (Timer.DIRECT,)
    fatal_errors: tuple[str, ...] = ()
    capture_errors: tuple[str, ...] = ()
    poison_errors: tuple[str, ...] = ()
    error_hints: tuple[str, ...] = ()
    never_captured: tuple[str, ...] = ()
    device_files: tuple[str, ...] = ()
    telemetry: Query[Sample] | None = None
    cards: Query[CardFacts] | None = None
    processes: Query[CardProcess] | None = None
    compat_plugins: tuple[str, ...] = ()

    @property
    def deviceless(self) -> bool:
        """Whether it compiles only: such a backend never prints a latency."""
        return self.timers == (Timer.COMPILE,)


def available() -> dict[str, Backend]:
    """Return every backend by its name: the files of zlbench_backends, then what other packages register."""
    found: dict[str, Backend] = {}
    package = importlib.import_module(PACKAGE)
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        declared = getattr(importlib.import_module(f"{PACKAGE}.{module.name}"), "BACKEND", None)
        if isinstance(declared, Backend):
            found[declared.name] = declared
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        declared = entry.load()
        if isinstance(declared, Backend):
            found.setdefault(declared.name, declared)
    return found


def get(name: str) -> Backend:
    """Return the backend of this name or alias.

    Raises:
        UsageError: there is none; the nearest is named.
    """
    wanted = name.strip().lower()
    found = available()
    for backend in found.values():
        if wanted == backend.name or wanted in backend.aliases:
            return backend
    words = {word for backend in found.values() for word in (backend.name, *backend.aliases)}
    raise UsageError(
        unknown("backend", name.strip()[:60], words),
        hint=f"Backends of this installation: {', '.join(sorted(found))}.",
    )
