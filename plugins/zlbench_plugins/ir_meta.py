"""What the compiler produced: every variant as it is compiled, and which of them each row really launched.

Works through Triton's own hooks, on a card and without one. Files are copied the moment a variant is compiled, so
that a crash in the next instruction loses nothing. Naming and layout of `ttgir/` happen later, in the driver.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.cells import KERNEL_DIGEST
from zlbench.code.elf import ElfError, code_identity
from zlbench_plugins import loaded_costs
from zlbench_plugins.context import CellContext, current

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BINARY_SUFFIXES = (".cubin", ".hsaco")
_TEXT_SUFFIXES = (".amdgcn",)
_LOWER_SUFFIXES = (".ttir", ".llir", ".ptx")


class IrRecorder:
    """Listens to one process's compilations and launches."""

    def __init__(self, context: CellContext) -> None:
        self._context = context
        self._dir = context.out_dir / "kernels"
        self._by_hash: dict[str, str] = {}
        self._by_function: dict[Any, str] = {}
        self._seen: dict[str, int] = {}
        self.new_compile_ms: float = 0.0
        """Compile time spent since `take_compile_ms`, in milliseconds."""

    def take_compile_ms(self) -> float:
        """Milliseconds of compile work since the last call."""
        spent, self.new_compile_ms = self.new_compile_ms, 0.0
        return spent

    def compiled(
        self, *, src: Any, metadata: Any, metadata_group: Mapping[str, Any], times: Any, cache_hit: bool
    ) -> None:
        """Triton's compilation listener: describe, copy, append."""
        meta = metadata if isinstance(metadata, Mapping) else metadata._asdict()
        triton_hash = str(meta.get("hash", ""))
        if triton_hash in self._by_hash:
            return
        params = describe(src, meta)
        kernel = self._identify(params)
        self._by_hash[triton_hash] = kernel
        during = "sweep" if self._context.sweeping else self._context.doing
        record: dict[str, Any] = {
            "kernel": kernel, **params, "hash": triton_hash, "cache_hit": bool(cache_hit), "during": during,
        }  # fmt: skip
        record |= self._copy(kernel, metadata_group)
        record |= self._stages(triton_hash, times, cache_hit=bool(cache_hit))
        record["shared"] = meta.get("shared")
        if not cache_hit:
            self.new_compile_ms += float(record.get("compile_ms") or 0.0)
        self._context.kernels.append(record)

    def kernel_of(self, triton_hash: str) -> str | None:
        """Our name of a kernel that this process compiled or found in the cache."""
        return self._by_hash.get(triton_hash)

    def loaded(self, _module: Any, function: Any, _name: str, _metadata_group: Any, triton_hash: str) -> None:
        """Triton's load hook: remember which kernel a function handle belongs to."""
        kernel = self._by_hash.get(str(triton_hash))
        if kernel is not None:
            self._by_function[function] = kernel

    def launched(self, lazy: Any) -> None:
        """Triton's launch hook: count for the row in progress."""
        if lazy is None:
            return
        data = lazy.get()
        kernel = self._by_function.get(data.get("function"))
        if kernel is not None:
            self._context.launched(kernel, self._context.grid)

    def _identify(self, params: Mapping[str, Any]) -> str:
        """A name for the variant that is equal on both sides for equal parameters.

        Triton's own hash will not do: it covers the compiler, so it differs between builds. Two variants that agree
        in all parameters (a kernel defined twice, a changed global) are told apart by their order.
        """
        digest = hashlib.sha256(json.dumps(params, sort_keys=True, default=str).encode()).hexdigest()[:KERNEL_DIGEST]
        base = f"{params['name'][:80]}-{digest}"
        self._seen[base] = self._seen.get(base, 0) + 1
        return base if self._seen[base] == 1 else f"{base}-{self._seen[base]}"

    def _copy(self, kernel: str, group: Mapping[str, Any]) -> dict[str, Any]:
        """Copy TTGIR and machine code out of Triton's cache, which is removed at the end."""
        self._dir.mkdir(parents=True, exist_ok=True)
        found: dict[str, Any] = {}
        for name, origin in group.items():
            path = Path(str(origin))
            suffix = path.suffix or Path(name).suffix
            if suffix == ".ttgir":
                data = path.read_bytes()
                self._write(f"{kernel}.ttgir", data)
                found["ttgir_sha256"] = hashlib.sha256(data).hexdigest()
            elif suffix in _BINARY_SUFFIXES:
                data = path.read_bytes()
                self._write(f"{kernel}{suffix}", data)
                found["binary"] = f"{kernel}{suffix}"
                found |= _code(data, suffix[1:])
            elif suffix in _TEXT_SUFFIXES or (self._context.spec.keep_binaries and suffix in _LOWER_SUFFIXES):
                self._write(f"{kernel}{suffix}", path.read_bytes())
        return found

    def _write(self, name: str, data: bytes) -> None:
        store.write_bytes(self._dir / name, data)

    def _stages(self, triton_hash: str, times: Any, *, cache_hit: bool) -> dict[str, Any]:
        """Milliseconds per stage; for a hit, those of the compilation that filled the cache, if it was ours."""
        note = Path(os.environ.get("TRITON_CACHE_DIR", ".")) / "zlbench-times" / f"{triton_hash}.json"
        if not cache_hit:
            fresh = stage_times(times)
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps({**fresh, "compiled_by": self._owner}), encoding="utf-8")
            return fresh
        if note.is_file():
            stages: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
            if stages.pop("compiled_by", None) == self._owner:
                return stages
        self._context.events.append({"event": "foreign_cache_hit", "hash": triton_hash})
        return {"stages_ms": {}, "compile_ms": None}

    @property
    def _owner(self) -> str:
        return os.environ.get("ZL_CACHE_OWNER", "")


def stage_times(times: Any) -> dict[str, Any]:
    """Read Triton's CompileTimes (microseconds) as milliseconds per stage."""
    lowering = getattr(times, "lowering_stages", None)
    if lowering is None:
        return {"stages_ms": {}, "compile_ms": None}
    stages = {"frontend": getattr(times, "ir_initialization", 0) / 1e3}
    stages |= {str(name): micros / 1e3 for name, micros in lowering}
    stages["store"] = getattr(times, "store_results", 0) / 1e3
    return {"stages_ms": stages, "compile_ms": sum(stages.values())}


def describe(src: Any, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that makes one variant of a kernel, in plain data and without anything of the build.

    Returns keys name, module, constexprs, signature, specialisation, num_warps, num_stages, num_ctas, maxnreg.
    """
    fn = getattr(src, "fn", None)
    names = list(getattr(fn, "arg_names", ()) or ())
    declared = {p.name for p in getattr(fn, "params", ()) if getattr(p, "is_constexpr", False)}
    constants = {
        _argument(names, path): _plain(value) for path, value in dict(getattr(src, "constants", {}) or {}).items()
    }
    constexprs = {name: value for name, value in constants.items() if name.split(".")[0] in declared or not declared}
    specialised = {name: f"eq{value}" for name, value in constants.items() if name not in constexprs}
    for path, attributes in dict(getattr(src, "attrs", {}) or {}).items():
        label = "".join(_attribute(attribute) for attribute in attributes or ())
        if label:
            specialised[_argument(names, path)] = label
    signature = {str(k): str(v) for k, v in dict(getattr(src, "signature", {}) or {}).items() if str(v) != "constexpr"}
    return {
        "name": str(meta.get("name") or getattr(src, "name", "kernel")),
        "module": str(getattr(fn, "__module__", "") or ""),
        "constexprs": constexprs,
        "signature": signature,
        "specialisation": specialised,
        **{key: meta.get(key) for key in ("num_warps", "num_stages", "num_ctas", "maxnreg")},
    }


def _argument(names: list[str], path: Any) -> str:
    """Name of an argument from Triton's index path: an int, ``(2,)``, or ``(2, 0)`` inside a tuple argument."""
    indexes = path if isinstance(path, tuple) else (path,)
    head = indexes[0]
    name = names[head] if isinstance(head, int) and head < len(names) else str(head)
    return ".".join([name, *map(str, indexes[1:])])


def _attribute(attribute: Any) -> str:
    name, value = (attribute[0], attribute[1]) if isinstance(attribute, list | tuple) else (attribute, "")
    short = {"tt.divisibility": "div", "tt.pointer_range": "range"}.get(str(name), str(name))
    return f"{short}{value}"


def _plain(value: Any) -> Any:
    """A constexpr as JSON can hold it, equal between processes (functions by name, no addresses)."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    name = getattr(value, "__name__", None)
    return str(name) if name else _ADDRESS.sub("", str(value))


def _code(data: bytes, kind: str) -> dict[str, Any]:
    try:
        return {"code": code_identity(data, "cubin" if kind == "cubin" else "hsaco")}
    except ElfError as error:
        return {"code": None, "code_error": str(error)}


def install(context: CellContext) -> IrRecorder:
    """Hook into Triton; whatever hook this Triton lacks is noted in the identity and degrades only this plugin."""
    recorder = IrRecorder(context)
    try:
        from triton import knobs
    except ImportError:
        context.hooks["knobs"] = False
        context.warn("IR_HOOKS_MISSING", "this Triton has no knobs module: no IR is recorded")
        return recorder
    compilation, runtime = getattr(knobs, "compilation", None), getattr(knobs, "runtime", None)
    context.hooks["compilation.listener"] = hasattr(compilation, "listener")
    if compilation is not None and hasattr(compilation, "listener"):
        compilation.listener = _chained(compilation.listener, recorder.compiled)
    for name, callback in (("kernel_load_end_hook", recorder.loaded), ("launch_enter_hook", recorder.launched)):
        chain = getattr(runtime, name, None)
        context.hooks[name] = hasattr(chain, "add")
        if chain is not None and hasattr(chain, "add"):
            chain.add(callback)
    wanted = ("compilation.listener", "kernel_load_end_hook", "launch_enter_hook")
    missing = [name for name in wanted if not context.hooks[name]]
    if missing:
        context.warn("IR_HOOKS_MISSING", f"this Triton lacks {', '.join(missing)}: what was launched is not seen")
    return recorder


def _chained(before: Callable[..., Any] | None, callback: Callable[..., None]) -> Callable[..., Any]:
    """The listener slot holds one function: keep calling the one that was there."""
    if before is None:
        return callback

    def both(**kwargs: Any) -> Any:
        callback(**kwargs)
        return before(**kwargs)

    return both


def pytest_configure() -> None:
    """Install for the cell of this process."""
    context = current()
    recorder = install(context)
    context.recorder = recorder
    if context.spec.timer != "compile":
        loaded_costs.install(context, recorder.kernel_of)
