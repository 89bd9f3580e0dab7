"""Which shapes a benchmark will run, without running it: its entry in a shape file, looked up as the suite does."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from zlbench.errors import UsageError
from zlbench.shapes import Shape, load_shape_file
from zlbench.suite.inventory import Benchmark
from zlbench.suite.provider import Provider

CORE_SHAPES = "core_shapes.yaml"
_BASE = "Benchmark"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShapeEntry:
    """Shapes and the key under which they stand; no shapes, and the reason why they are not known."""

    shapes: tuple[Shape, ...] = ()
    key: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Class:
    bases: tuple[str, ...]
    own_shapes: bool
    """Whether it sets its shapes by itself, so that no file decides."""


def shape_entry(provider: Provider, benchmark: Benchmark, shape_file: Path | None) -> ShapeEntry:
    """Look up a benchmark in `shape_file`, or in the suite's own: by its operator's name, then along its classes."""
    path = shape_file or provider.benchmark_dir / CORE_SHAPES
    if not path.is_file():
        return ShapeEntry(reason=f"the suite has no {CORE_SHAPES}")
    if benchmark.op_name is None:
        return ShapeEntry(reason="its benchmark measures several operators")
    classes = _classes(provider.benchmark_dir, benchmark)
    chain = list(_chain(_called(provider.benchmark_dir / benchmark.file, benchmark.function, classes), classes))
    if shape_file is None:
        own = [name for name in chain if name != _BASE and classes[name].own_shapes]
        if own:
            return ShapeEntry(reason=f"its class {own[0]} sets its shapes by itself")
    try:
        sets = _suites_own(path) if shape_file is None else {k: v.shapes for k, v in load_shape_file(path).items()}
    except UsageError as error:
        return ShapeEntry(reason=error.message)
    for key in (benchmark.op_name, *chain):
        if key in sets:
            return ShapeEntry(shapes=sets[key], key=key)
    tried = ", ".join((benchmark.op_name, *chain))
    return ShapeEntry(reason=f"{path.name} has no entry for it (tried {tried})")


def _suites_own(path: Path) -> dict[str, tuple[Shape, ...]]:
    """The suite's file as the suite reads it: entries may inherit from each other, which files of people may not."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path.name}: cannot be read ({type(error).__name__})") from error
    found = {}
    for key, entry in data.items() if isinstance(data, dict) else ():
        shapes = entry.get("shapes") if isinstance(entry, dict) else None
        if isinstance(shapes, list) and shapes and all(isinstance(shape, list) for shape in shapes):
            found[str(key)] = tuple(_tuples(shape) for shape in shapes)
    return found


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _classes(folder: Path, benchmark: Benchmark) -> Mapping[str, _Class]:
    """Benchmark classes of the suite's common modules and of this benchmark's file, which counts more."""
    found: dict[str, _Class] = {}
    common = sorted(path for path in folder.glob("*.py") if not path.name.startswith("test_"))
    for path in (*common, folder / benchmark.file):
        for node in ast.walk(_parse(path)):
            if isinstance(node, ast.ClassDef):
                bases = tuple(name for base in node.bases if (name := _name(base)))
                found[node.name] = _Class(bases, any(_decides(item) for item in node.body))
    return found


def _decides(item: ast.stmt) -> bool:
    """Whether this part of a class makes shapes up: it sets them, or makes inputs without a look at `self.shapes`."""
    if not isinstance(item, ast.FunctionDef):
        return False
    if item.name != "get_input_iter":
        return item.name == "set_shapes"
    names = {node.attr for node in ast.walk(item) if isinstance(node, ast.Attribute)}
    return not names & {"shapes", "get_input_iter"}


def _called(path: Path, function: str, classes: Mapping[str, _Class]) -> str:
    """The benchmark class that a test makes an object of; "" for none."""
    for node in ast.walk(_parse(path)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            calls = (_name(call.func) for call in ast.walk(node) if isinstance(call, ast.Call))
            return next((name for name in calls if name in classes), "")
    return ""


def _chain(name: str, classes: Mapping[str, _Class]) -> Iterator[str]:
    """A class and its bases, depth first, each once."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop(0)
        if current in classes and current not in seen:
            seen.add(current)
            yield current
            waiting = [*classes[current].bases, *waiting]


def _name(node: ast.expr) -> str:
    """The last part of a name: ``Blas`` for ``Blas`` and for ``base.Blas``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])
