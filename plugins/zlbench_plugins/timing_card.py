"""The card as timers see it: Torch's module of the device family, one side stream, and whether it still answers."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Any

from zlbench.backend import Backend

_END_OF_POOL = ("endAllocateToPool", "endAllocateCurrentStreamToPool")
"""Torch's names for the same thing, newest first."""


class Card:
    """One device family in one process; nothing of it is touched before a timer asks.

    Args:
        quiet: in force while Torch itself fills tensors, which a suite may have made its own kernel's work.
        clock: seconds.
    """

    def __init__(
        self,
        backend: Backend,
        torch: Any,
        *,
        quiet: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.backend = backend
        self.torch = torch
        self.module: Any = getattr(torch, backend.device_module)
        self.quiet = quiet
        self.clock = clock
        self._abandoned: list[Any] = []

    @cached_property
    def side(self) -> Any:
        """Stream of every graph: one for the whole process, since the allocator's memory belongs to streams."""
        return self.module.Stream()

    @cached_property
    def _cell(self) -> Any:
        device = f"{self.backend.device_module}:{self.module.current_device()}"
        return self.torch.empty(1, dtype=self.torch.float32, device=device)

    @cached_property
    def external_events(self) -> bool:
        """Whether this Torch can time inside a graph: events of an ordinary kind only order captured work."""
        try:
            self.module.Event(enable_timing=True, external=True)
        except TypeError:
            return False
        return True

    def event(self, **how: Any) -> Any:
        """An event that keeps the time."""
        return self.module.Event(enable_timing=True, **how)

    def synchronize(self) -> None:
        """Wait for everything on the card."""
        self.module.synchronize()

    @contextmanager
    def on_side(self) -> Iterator[None]:
        """Let what is called use the side stream, behind all work so far and before all that comes."""
        home = self.module.current_stream()
        if home == self.side:
            yield
            return
        # Made here, and not when something has gone wrong and perhaps nothing can be made any more.
        _ = self._cell
        self.side.wait_stream(home)
        with self.module.stream(self.side):
            yield
        home.wait_stream(self.side)

    def new_graph(self) -> Any:
        """An empty graph, under the family's own name or under CUDA's."""
        own = getattr(self.module, f"{self.backend.device_module.upper()}Graph", None)
        return (own or self.module.CUDAGraph)()

    def abandon(self, graph: Any, pool: Any) -> None:
        """Give back the memory of a graph whose capture could not be ended.

        Torch's allocator is left recording into the graph's pool, and would never return that memory. The graph
        itself is kept, because the allocator and Torch's list of captures may still point to it.
        """
        self._abandoned.append(graph)
        prefix = f"_{self.backend.device_module}_"
        end = next((found for name in _END_OF_POOL if (found := self._internal(prefix + name))), None)
        for function in (end, self._internal(f"{prefix}releasePool")):
            try:
                if function is not None:
                    function(self.module.current_device(), pool)
            except RuntimeError:
                continue  # Torch has done that part itself

    def _internal(self, name: str) -> Any:
        return getattr(getattr(self.torch, "_C", None), name, None)

    def answers(self) -> BaseException | None:
        """Run something small and wait for it: the error that it met, or None where the card works.

        Asked twice, since an earlier call may have left its error to whoever asks next.
        """
        if not getattr(self.module, "is_initialized", lambda: True)():
            return None
        error = self._try()
        return error and self._try()

    def _try(self) -> BaseException | None:
        try:
            self.module.synchronize()
            if "_cell" in vars(self):
                # zero_ is what suites leave to Torch, since timers flush caches with it.
                self._cell.zero_()
                with self.module.stream(self.side):
                    self._cell.zero_()
                self.module.synchronize()
        except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
            return error
        return None

    def empty_cache_buffer(self) -> Any:
        """A buffer larger than the second-level cache, as Triton's own timer makes it."""
        driver = _triton_driver()
        if driver is not None and hasattr(driver, "get_empty_cache_for_benchmark"):
            return driver.get_empty_cache_for_benchmark()
        return self.torch.empty(1 << 26, dtype=self.torch.int32, device=self.backend.device_module)

    def flush(self, buffer: Any) -> None:
        """Write the buffer, so that the second-level cache holds nothing of the operator's inputs."""
        driver = _triton_driver()
        if driver is not None and hasattr(driver, "clear_cache"):
            driver.clear_cache(buffer)
        else:
            buffer.zero_()


def open_card(backend: Backend, quiet: Callable[[], AbstractContextManager[None]]) -> Card | None:
    """The card of a backend; None where Torch is missing or has no module for it, as in suites that need neither."""
    if not backend.device_module:
        return None
    try:
        torch = importlib.import_module("torch")
        if backend.torch_package:
            importlib.import_module(backend.torch_package)
    except ImportError:
        return None
    return Card(backend, torch, quiet=quiet) if hasattr(torch, backend.device_module) else None


def _triton_driver() -> Any:
    runtime = sys.modules.get("triton.runtime")
    return None if runtime is None else runtime.driver.active
