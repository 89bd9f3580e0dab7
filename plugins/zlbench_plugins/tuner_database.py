"""What LibTuner and LibEntry keep beyond a row or a process: a database of winners and times, locks, and compiled
kernels that are launched with no tuner asked."""

from __future__ import annotations

import functools
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from zlbench_plugins.context import CellContext

_BUSY = ("database is locked", "database table is locked", "database schema is locked")
_PATIENCE_S = 60.0


def is_libentry(module: str) -> bool:
    """Whether a module of this name defines LibTuner and LibEntry: that of FlagGems, or of a package like it."""
    return module.endswith("utils.libentry")


def libentry_modules() -> Iterator[Any]:
    """Every loaded module that defines a LibTuner: `flag_gems.utils.libentry`, and that of a package like it."""
    for name, module in list(sys.modules.items()):
        if is_libentry(name) and hasattr(module, "LibTuner"):
            yield module


_early: list[Any] = []
"""Entries that were made before this process was forked into a cell: the collector does not list them there."""


def own_locks() -> int:
    """Give every LibEntry that was made so far a lock of this process; returns how many there are.

    Its own lies in memory that forked processes share: a cell that is killed while it holds one would leave every cell
    after it waiting for ever.
    """
    _early[:] = _entries()
    for entry in _early:
        if hasattr(entry, "lock"):
            entry.lock = threading.Lock()
    return len(_early)


def _entry_classes() -> tuple[type[Any], ...]:
    modules = [module for name, module in list(sys.modules.items()) if is_libentry(name)]
    return tuple({module.LibEntry for module in modules if hasattr(module, "LibEntry")})


def _entries() -> list[Any]:
    classes = _entry_classes()
    # By type alone: to look further into somebody's object can run its code.
    return [one for one in gc.get_objects() if issubclass(type(one), classes)] if classes else []


def ask_in_every_row(context: CellContext) -> None:
    """Have every LibEntry forget its kernels before each row, so that its tuner is asked in every row.

    It keeps them by the types alone of arguments that are not specialized, and launches them itself: a later row would
    run on the config of an earlier one, whatever its tuner or a record has for it, and nobody would see which.
    """
    for cls in _entry_classes():
        if hasattr(cls.__init__, "by_zlbench"):
            continue
        made = {id(entry): entry for entry in (*_early, *_entries()) if type(entry) is cls}
        known = list(made.values())
        context.patches.set(cls, "__init__", _noting(cls.__init__, known))
        context.before_row.append(functools.partial(_forget_kernels, known))


def _noting(original: Callable[..., None], known: list[Any]) -> Callable[..., None]:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        known.append(self)

    init.by_zlbench = True  # type: ignore[attr-defined]
    return init


def _forget_kernels(entries: list[Any]) -> None:
    for entry in entries:
        for cache in (*getattr(entry, "kernel_cache", ()), getattr(entry, "_cpu_cache", None)):
            if cache:
                cache.clear()


def hide_stored_times(context: CellContext) -> None:
    """Keep LibTuner from reading or writing configs' times in its database."""
    for module in libentry_modules():
        cache = getattr(module, "BenchmarkCache", None)
        if cache is not None and not hasattr(cache.get, "by_zlbench"):
            context.patches.set(cache, "get", _forget)
            context.patches.set(cache, "set", _forget)


def _forget(*_: Any) -> None:
    return None


_forget.by_zlbench = True  # type: ignore[attr-defined]


def wait_for_database(context: CellContext) -> None:
    """Let LibTuner's database be busy: several processes on one file are no reason for an operator to fail."""
    for module in libentry_modules():
        model = type(getattr(getattr(module, "libcache", None), "model", None))
        for name in ("get_config", "put_config", "get_benchmark", "put_benchmark"):
            method = getattr(model, name, None)
            if method is not None and not hasattr(method, "by_zlbench"):
                context.patches.set(model, name, _patient(context, method))


def _patient(context: CellContext, method: Callable[..., Any]) -> Callable[..., Any]:
    """Try again while the database is busy; then go on without it, which costs a sweep and not the row."""

    def patient(*args: Any, **kwargs: Any) -> Any:
        until, pause = time.monotonic() + _PATIENCE_S, 0.01
        while True:
            try:
                return method(*args, **kwargs)
            except Exception as error:
                if not any(text in str(error) for text in _BUSY):
                    raise
                if time.monotonic() > until:
                    context.events.append({"event": "tuner_cache_busy", "method": method.__name__})
                    return None
            time.sleep(pause)
            pause = min(2 * pause, 0.5)

    patient.by_zlbench = True  # type: ignore[attr-defined]
    return patient
