"""Reads what a suite measures from its source text; it is never imported, so no torch and no device."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from .opnames import FileNames
from .provider import suite_commit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .provider import Provider

BUILTIN_MARKS = frozenset({"parametrize", "skip", "skipif", "xfail", "usefixtures", "filterwarnings", "timeout"})
_CACHE_SCHEMA = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """One benchmark function.

    Args:
        op_name: the name in its table and shape file; None where there is none, or several without a first among
            them.
        file: path below `benchmark/`, with slashes.
        skip: the reason of an unconditional skip, "" where there is none.
        op_names: every name that its tables may have; a part that only running the code would tell is ``*``.
    """

    op_name: str | None
    markers: tuple[str, ...]
    function: str
    file: str
    line: int
    skip: str = ""
    op_names: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """The file as people write it: ``fft`` for ``test_fft.py``."""
        return self.file.rpartition("/")[2].removesuffix(".py").removeprefix("test_")

    @property
    def path(self) -> str:
        """The file without ``.py``: what tells two files of one stem in different folders apart."""
        return self.file.removesuffix(".py")

    @property
    def short(self) -> str:
        """The function without ``test_``."""
        return self.function.removeprefix("test_")

    @property
    def node(self) -> str:
        """The node id below the suite's root."""
        return f"benchmark/{self.file}::{self.function}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """Every benchmark of one suite, its benchmark classes, and the files that could not be read."""

    provider: Provider
    benchmarks: tuple[Benchmark, ...]
    classes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def names(self) -> dict[Benchmark, str]:
        """Return each benchmark's one name: op_name where unique, else function, else function@file."""
        unique_ops = _unique([benchmark.op_name for benchmark in self.benchmarks])
        unique_shorts = _unique([benchmark.short for benchmark in self.benchmarks])
        located = _unique([f"{benchmark.short}@{benchmark.stem}" for benchmark in self.benchmarks])
        taken: dict[Benchmark, str] = {}
        for benchmark in self.benchmarks:
            with_file = f"{benchmark.short}@{benchmark.stem}"
            if benchmark.op_name in unique_ops and benchmark.op_name is not None:
                taken[benchmark] = benchmark.op_name
            elif benchmark.short in unique_shorts and benchmark.short not in unique_ops:
                taken[benchmark] = benchmark.short
            else:
                taken[benchmark] = with_file if with_file in located else f"{benchmark.short}@{benchmark.path}"
        return taken

    def unread(self, limit: int = 5) -> list[str]:
        """Say which files could not be read, one a line: their benchmarks are missing from every list."""
        lines = [f"could not be read: {problem}" for problem in self.problems[:limit]]
        more = len(self.problems) - limit
        return [*lines, f"… and {more} more"] if more > 0 else lines

    def shape_keys(self) -> frozenset[str]:
        """Return what a shape file may use as keys: operator names, and class names for what has no entry."""
        return frozenset(self.classes).union(name for b in self.benchmarks for name in b.op_names if "*" not in name)


def read_inventory(provider: Provider, *, cache: Path | None = None) -> Inventory:
    """Read every Python file of `benchmark/` and of its direct sub-folders.

    Args:
        cache: a file to keep the result in; it is used as long as the commit and the name, size and time of every
            file agree.
    """
    files = sorted(_source_files(provider))
    stamp = _stamp(provider, files)
    if cache is not None:
        kept = _from_cache(cache, stamp, provider)
        if kept is not None:
            return kept
    found: list[Benchmark] = []
    classes: set[str] = set()
    problems: list[str] = []
    for path in files:
        relative = path.relative_to(provider.benchmark_dir).as_posix()
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            problems.append(_problem(f"benchmark/{relative}", error))
            continue
        classes.update(_benchmark_classes(tree))
        if path.name.startswith("test_"):
            found += benchmarks_in(tree, relative)
    inventory = Inventory(
        provider=provider, benchmarks=tuple(found), classes=tuple(sorted(classes)), problems=tuple(problems)
    )
    if cache is not None:
        _to_cache(cache, stamp, inventory)
    return inventory


def benchmarks_in(tree: ast.Module, file: str) -> Iterator[Benchmark]:
    """Yield the benchmark functions of one parsed file."""
    names = FileNames.of(tree)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        markers, skip = _marks(node)
        op_names = names.names_of(node)
        yield Benchmark(
            op_name=_main_name(op_names, (node.name.removeprefix("test_"), *markers)),
            op_names=op_names,
            markers=markers,
            function=node.name,
            file=file,
            line=node.lineno,
            skip=skip,
        )


def _problem(file: str, error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{file}:{error.lineno or 1}: {error.msg}"
    return f"{file}: {getattr(error, 'strerror', None) or error}"


def _unique(names: Sequence[str | None]) -> set[str]:
    counts: dict[str, int] = {}
    for name in names:
        if name:
            counts[name] = counts.get(name, 0) + 1
    return {name for name, count in counts.items() if count == 1}


def _source_files(provider: Provider) -> Iterator[Path]:
    yield from provider.benchmark_dir.glob("*.py")
    yield from provider.benchmark_dir.glob("*/*.py")


def _benchmark_classes(tree: ast.Module) -> Iterator[str]:
    """Yield the names of classes that are benchmarks, or that are built on one."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
            if any(name.endswith("Benchmark") for name in (node.name, *bases)):
                yield node.name


def _marks(node: ast.FunctionDef) -> tuple[tuple[str, ...], str]:
    """Return the function's own markers and the reason of an unconditional skip."""
    markers: list[str] = []
    skip = ""
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        dotted = ast.unparse(call.func if call else decorator)
        if not dotted.startswith("pytest.mark."):
            continue
        name = dotted.removeprefix("pytest.mark.")
        if name not in BUILTIN_MARKS:
            markers.append(name)
        elif name == "skip" or (name == "skipif" and call and call.args and _is_true(call.args[0])):
            skip = _reason(call) or "skipped"
    return tuple(markers), skip


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _reason(call: ast.Call | None) -> str:
    if call is None:
        return ""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "reason"] or call.args[:1]
    return next((node.value for node in given if isinstance(node, ast.Constant) and isinstance(node.value, str)), "")


def _main_name(op_names: Sequence[str], own: Sequence[str]) -> str | None:
    """Return the name that stands for a function: its only one, or among several the one that it is called after."""
    plain = [name for name in op_names if "*" not in name]
    if len(plain) == 1 and len(op_names) == 1:
        return plain[0]
    return next((name for name in own if name in plain), None)


def _stamp(provider: Provider, files: list[Path]) -> str:
    """What the cache is valid for: a file that was replaced by one of equal size and older date is another file."""
    digest = hashlib.sha256()
    for path in files:
        stat = path.stat()
        digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ino}\0".encode("utf-8", "surrogateescape"))
    return f"{_CACHE_SCHEMA} {suite_commit(provider.root)} {digest.hexdigest()}"


def _from_cache(cache: Path, stamp: str, provider: Provider) -> Inventory | None:
    try:
        data = json.loads(cache.read_text(encoding="utf-8"))
        if data["stamp"] != stamp:
            return None
        benchmarks = [Benchmark(**entry) for entry in data["benchmarks"]]
        return Inventory(
            provider=provider,
            benchmarks=tuple(
                replace(entry, markers=tuple(entry.markers), op_names=tuple(entry.op_names)) for entry in benchmarks
            ),
            classes=tuple(data["classes"]),
            problems=tuple(data["problems"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # a missing or older cache is no fault: the source is read again


def _to_cache(cache: Path, stamp: str, inventory: Inventory) -> None:
    data = {
        "stamp": stamp,
        "problems": inventory.problems,
        "classes": inventory.classes,
        "benchmarks": [asdict(benchmark) for benchmark in inventory.benchmarks],
    }
    partial = cache.with_name(f"{cache.name}.partial")
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(data), encoding="utf-8")
        partial.replace(cache)
    except OSError:  # an unwritable cache costs time, nothing else
        with contextlib.suppress(OSError):
            partial.unlink()
