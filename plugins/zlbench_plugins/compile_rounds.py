"""Compile time as a measurement: the kernels of one operator, each compiled again and again, alone, from nothing.

The operator's benchmark runs once as in every cell with no device, which is each kernel's first and discarded compile
in this process and tells what Triton's own `compile` was called with. A measurement repeats that call with an empty
cache directory. Once a process and not measured: imports, hashing the compiler's files, asking the assembler for its
version. The memo of a kernel's source hash is cleared, since that work is the kernel's own; those of the functions that
it calls stay, since kernels share them.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zlbench.cells import CellSpec
from zlbench_plugins._patch import PatchSet
from zlbench_plugins.context import current
from zlbench_plugins.counters import Mark, Meter, no_counter_reason
from zlbench_plugins.ir_meta import IrRecorder, stage_times

_CACHE = "TRITON_CACHE_DIR"
FRONTEND, STORE, FINISH = "frontend", "store", "finish"
"""Parts of a compilation beside the backend's own stages; `finish` is what follows the last that Triton tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    """How Triton's own `compile` was called for one kernel."""

    source: Any
    target: Any
    options: Mapping[str, Any]
    more: Mapping[str, Any]
    hash: str


@dataclass(kw_only=True, slots=True)
class _Told:
    """What the compiler said of one compilation."""

    times: Any = None
    cache_hit: bool = True
    files: tuple[str, ...] = ()
    marks: list[tuple[str, Mark]] = field(default_factory=list)


class CompileMetric:
    """Compile times of the kernels that one operator compiles; an item is a kernel, by its name in kernels.jsonl."""

    def __init__(self, spec: CellSpec, run_cell: Callable[[CellSpec], int]) -> None:
        self._spec = spec
        self._run_cell = run_cell
        self._calls: dict[str, _Call] = {}
        self._compile: Callable[..., Any] = _no_compiler
        self._rehashed: dict[str, str] = {}
        """The other hash of a kernel whose source was hashed again; there is one at most."""
        self._count = False
        self._cache = Path(os.environ.get(_CACHE) or tempfile.gettempdir())

    def prepare(self) -> dict[str, Any]:
        """Run the benchmark once and keep every call of the compiler."""
        patches = PatchSet()
        # An empty cache for this too: a kernel that was found in it would be compiled for the first time later on.
        with self._fresh_cache():
            self._collect(patches)
            try:
                returncode = self._run_cell(self._spec)
            finally:
                patches.undo()
        reason = no_counter_reason()
        self._count = not reason
        # What lives now lives on; collections between measurements look at what they left alone.
        gc.collect()
        gc.freeze()
        return {
            "items": list(self._calls),
            "values": [*(["instructions"] if self._count else []), "cpu_ms", "wall_ms"],
            "notes": [reason] if reason else [],
            "returncode": returncode,
        }

    def _collect(self, patches: PatchSet) -> None:
        """Stand in for `triton.compile` where kernels take it from when they are first called."""
        try:
            from triton import compiler
        except ImportError:
            return
        original = getattr(compiler, "compile", None)
        if original is None:
            return
        self._compile = original

        def compile(src: Any, target: Any = None, options: Any = None, **more: Any) -> Any:  # noqa: A001 - its name
            given = dict(options or {})  # whoever called may change its own later
            kernel = original(src, target=target, options=options, **more)
            self._keep(kernel, _Call(source=src, target=target, options=given, more=more, hash=str(kernel.hash)))
            return kernel

        patches.set(compiler, "compile", compile)

    def _keep(self, kernel: Any, call: _Call) -> None:
        recorder = current().recorder
        name = recorder.kernel_of(str(kernel.hash)) if isinstance(recorder, IrRecorder) else None
        if name is not None:
            self._calls.setdefault(name, call)

    def measure(self, item: str) -> dict[str, Any]:
        """Compile one kernel from nothing; raises KeyError for one that this process has not compiled."""
        call = self._calls[item]
        options = dict(call.options)
        told = _Told()
        with self._fresh_cache() as cache, Meter(count=self._count) as meter, _listening(told, meter), _no_collection():
            _forget_source_hash(call.source)
            start = meter.mark()
            kernel = self._compile(call.source, target=call.target, options=options, **call.more)
            end = meter.mark()
        # Triton 3.6 and 3.7 key a kernel once more when a helper's globals are known, which is after its first compile.
        made = str(kernel.hash)
        wanted = call.hash if made == call.hash else self._rehashed.setdefault(item, made)
        _require_fresh(told, cache, made, wanted)
        stages = {}
        before = start
        for name, mark in [*told.marks, (FINISH, end)]:
            stages[name] = mark.since(before)
            before = mark
        return {"values": end.since(start), "stages": stages, "stages_ms": stage_times(told.times)["stages_ms"]}

    @contextmanager
    def _fresh_cache(self) -> Iterator[Path]:
        """An empty cache directory that Triton sees as its own; Triton reads the variable at each compilation."""
        before = os.environ.get(_CACHE)
        folder = Path(tempfile.mkdtemp(prefix="fresh-", dir=self._cache))
        os.environ[_CACHE] = str(folder)
        try:
            yield folder
        finally:
            if before is None:
                del os.environ[_CACHE]
            else:
                os.environ[_CACHE] = before
            shutil.rmtree(folder, ignore_errors=True)


def _no_compiler(*_: Any, **__: Any) -> Any:
    raise RuntimeError("there is no Triton in this process")


def _forget_source_hash(source: Any) -> None:
    """Have the kernel's source hashed again, as for a kernel that is new to its process."""
    function: Any = getattr(source, "fn", None)
    if hasattr(function, "hash"):
        function.hash = None


def _require_fresh(told: _Told, cache: Path, made: str, wanted: str) -> None:
    if told.cache_hit:
        raise RuntimeError("Triton answered from a cache in spite of an empty directory: nothing was measured")
    outside = [path for path in told.files if not Path(path).is_relative_to(cache)]
    if outside:
        raise RuntimeError(f"Triton wrote {outside[0]}, outside of the empty cache {cache}")
    if made != wanted:
        raise RuntimeError(f"the kernel has another hash than at first ({made[:12]}, was {wanted[:12]})")


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector out of a measurement, and what came before it out of the next."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _listening(told: _Told, meter: Meter) -> Iterator[None]:
    """Hear from Triton what it did, and mark the end of each stage where its timer does."""
    from triton import knobs
    from triton.compiler import compiler

    def listen(*, times: Any, cache_hit: bool, metadata_group: Mapping[str, Any], **_: Any) -> None:
        told.times, told.cache_hit = times, bool(cache_hit)
        told.files = tuple(str(path) for path in metadata_group.values())

    patches = PatchSet()
    patches.set(knobs.compilation, "listener", listen)
    timer = getattr(compiler, "CompileTimer", None)
    if timer is not None:
        patches.set(compiler, "CompileTimer", _marking(timer, told, meter))
    try:
        yield
    finally:
        patches.undo()


def _marking(timer: type[Any], told: _Told, meter: Meter) -> type[Any]:
    """Triton's timer of one compilation, which also marks what was used."""

    class MarkingTimer(timer):  # type: ignore[misc]
        def finished_ir_initialization(self) -> None:
            super().finished_ir_initialization()
            told.marks.append((FRONTEND, meter.mark()))

        def stage_finished(self, stage_name: str) -> None:
            super().stage_finished(stage_name)
            told.marks.append((str(stage_name), meter.mark()))

        def end(self) -> Any:
            times = super().end()
            told.marks.append((STORE, meter.mark()))
            return times

    return MarkingTimer
