"""Reads shapes given inline or in a YAML file; what cannot be meant is refused with file and line."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, Union

import yaml

from zlbench.errors import UsageError
from zlbench.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

Dim = Union[int, float, str, None, "tuple[Dim, ...]"]
Shape = tuple[Dim, ...]
_T = TypeVar("_T")

_PRODUCT = re.compile(r"\d+(?:\s*[xX×*]\s*\d+)*")
# `origin` stands in the shapes.yaml of a cell, which can be given back.
_ENTRY_KEYS = ("shapes", "shape_desc", "origin")
# More than any suite has; a YAML file of a hundred bytes can unfold to millions of values through aliases.
_MAX_VALUES = 100_000
_MAX_BYTES = 10_000_000
_WORDS: dict[str, Dim] = {"valid": "valid", "same": "same", "true": True, "false": False, "null": None}
"""Words that may stand for a number in a shape: how a convolution pads, a switch, what is left open.

Suites have them in shapes of their own, which are kept and given back. Any other word is a slip of the pen.
"""
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShapeSet:
    """The shapes of one operator (or benchmark class) and where they stand."""

    key: str
    shapes: tuple[Shape, ...]
    where: str


class _Reader:
    """Turns YAML nodes into values; nodes, because a plain load forgets the lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values = 0

    def at(self, node: yaml.Node) -> str:
        return f"{self.name}:{node.start_mark.line + 1}"

    def document(self, node: yaml.Node | None, known: frozenset[str]) -> dict[str, ShapeSet]:
        if not isinstance(node, yaml.MappingNode) or not node.value:
            place = self.at(node) if node is not None else self.name
            raise UsageError(f"{place}: no operators in it", hint=_EXAMPLE)
        sets: dict[str, ShapeSet] = {}
        for key_node, value in node.value:
            key = self.word(key_node)
            if key in sets:
                raise UsageError(f"{self.at(key_node)}: {key} occurs twice (also {sets[key].where})")
            if known and key not in known:
                raise UsageError(
                    f"{self.at(key_node)}: {unknown('operator', key, known)}",
                    hint="A key that no operator reads would leave the suite's default shapes in force.",
                )
            sets[key] = ShapeSet(key=key, shapes=self.entry(key, value), where=self.at(key_node))
        return sets

    def entry(self, key: str, node: yaml.Node) -> tuple[Shape, ...]:
        if not isinstance(node, yaml.MappingNode):
            raise UsageError(f"{self.at(node)}: {key} has no shapes: list", hint=_EXAMPLE)
        shapes: tuple[Shape, ...] | None = None
        for name_node, value in node.value:
            name = self.word(name_node)
            if name not in _ENTRY_KEYS:
                raise UsageError(f"{self.at(name_node)}: {unknown('key', name, _ENTRY_KEYS, where=f'in {key}')}")
            if name == "shapes":
                shapes = self.shapes(key, value)
        if shapes is None:
            raise UsageError(f"{self.at(node)}: {key} has no shapes: list", hint=_EXAMPLE)
        return shapes

    def shapes(self, key: str, node: yaml.Node) -> tuple[Shape, ...]:
        if not isinstance(node, yaml.SequenceNode):
            raise UsageError(f"{self.at(node)}: the shapes of {key} are not a list", hint=_EXAMPLE)
        if not node.value:
            raise UsageError(f"{self.at(node)}: the list of shapes of {key} is empty", hint=_EXAMPLE)
        return tuple(self.shape(key, item) for item in node.value)

    def shape(self, key: str, node: yaml.Node) -> Shape:
        if not isinstance(node, yaml.SequenceNode):
            raise UsageError(
                f"{self.at(node)}: a shape of {key} is {_described(node)}, wanted a list of numbers",
                hint="One shape is a list, as in - [1024, 1024]; a vector is - [1024].",
            )
        value = self.dim(key, node)
        assert isinstance(value, tuple)
        return value

    def dim(self, key: str, node: yaml.Node) -> Dim:
        self.values += 1
        if self.values > _MAX_VALUES:
            raise UsageError(f"{self.at(node)}: more than {_MAX_VALUES} numbers in the shapes of {key}")
        if isinstance(node, yaml.SequenceNode):
            if not node.value:
                raise UsageError(f"{self.at(node)}: a shape of {key} is empty")
            return tuple(self.dim(key, item) for item in node.value)
        return self.number(key, node)

    def number(self, key: str, node: yaml.Node) -> Dim:
        if isinstance(node, yaml.ScalarNode):
            if node.value in _WORDS:
                return _WORDS[node.value]
            try:
                if node.tag == "tag:yaml.org,2002:int":
                    return int(node.value.replace("_", ""), 0)
                if node.tag == "tag:yaml.org,2002:float":
                    value = float(node.value.replace("_", ""))
                    if abs(value) < float("inf"):
                        return value
            except ValueError:
                pass  # a form of number that YAML 1.1 knows and Python does not: refused below
        raise UsageError(f"{self.at(node)}: {_described(node)} in the shapes of {key} is not a number")

    def word(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        raise UsageError(f"{self.at(node)}: a key is {_described(node)}, wanted a name")


_EXAMPLE = "Write:\n  softmax:\n    shapes:\n      - [1024, 1024]"


def load_shape_file(path: Path, *, known: Iterable[str] = ()) -> dict[str, ShapeSet]:
    """Read a shape file: operator or class name at the top, below it ``shapes:`` with a list.

    Args:
        known: the keys that mean something; with none given, keys are not checked.

    Raises:
        UsageError: with file and line (and column where the YAML itself is malformed).
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{path}: larger than 10 MB, which no shape file is")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    return _read(text, str(path), lambda reader, node: reader.document(node, frozenset(known)))


def parse_inline(text: str, op: str) -> tuple[Shape, ...]:
    """Read shapes from the command line, for one operator.

    ``1024x1024;64x512`` is two shapes, ``[1024, 1024]`` and ``[[16, 1024, 256], 256]`` are one each,
    ``[[1024, 1024], [64, 512]]`` (a list of nothing but lists) is two, and ``softmax: {shapes: […]}`` is the
    file form.

    Raises:
        UsageError: nothing in it, or something that is no number.
    """
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if not parts:
        raise UsageError("--shapes: no shape in it", hint="Write 1024x1024;64x512 or [[16,1024,256],256].")
    shapes: list[Shape] = []
    for part in parts:
        if _PRODUCT.fullmatch(part):
            shapes.append(tuple(int(number) for number in re.findall(r"\d+", part)))
        else:
            shapes += _read(part, "--shapes", lambda reader, node: _inline(reader, node, op, single=len(parts) > 1))
    return tuple(shapes)


def shapes_hash(sets: Mapping[str, Iterable[Shape]]) -> str:
    """Return a digest of shapes by operator, for the caliber; order of the operators does not matter."""
    plain = {key: list(shapes) for key, shapes in sets.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:12]


def shape_text(shape: Dim) -> str:
    """Print a shape with its nesting kept: ``1024x1024``, ``(16x1024x256)x256``.

    >>> shape_text(((16, 1024, 256), 256))
    '(16x1024x256)x256'
    """
    if not isinstance(shape, tuple):
        return f"{shape:g}" if isinstance(shape, float) else str(shape)
    return "x".join(f"({shape_text(item)})" if isinstance(item, tuple) else shape_text(item) for item in shape)


def _inline(reader: _Reader, node: yaml.Node | None, op: str, *, single: bool) -> tuple[Shape, ...]:
    if isinstance(node, yaml.MappingNode):
        sets = reader.document(node, frozenset({op}))
        return sets[op].shapes
    if isinstance(node, yaml.SequenceNode):
        of_lists = bool(node.value) and all(isinstance(item, yaml.SequenceNode) for item in node.value)
        return reader.shapes(op, node) if of_lists and not single else (reader.shape(op, node),)
    raise UsageError(
        f"--shapes: {node.value if isinstance(node, yaml.ScalarNode) else ''!r} is no shape",
        hint="Write 1024x1024;64x512 or [[16,1024,256],256].",
    )


def _read(text: str, name: str, use: Callable[[_Reader, yaml.Node | None], _T]) -> _T:
    """Parse YAML and hand its root node on, with every way to fail turned into a sentence."""
    reader = _Reader(name)
    try:
        return use(reader, yaml.compose(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise UsageError(f"{name}{place}: {error.problem or error.context}", hint=_EXAMPLE) from error
    except yaml.YAMLError as error:
        raise UsageError(f"{name}: {' '.join(str(error).split())[:200]}", hint=_EXAMPLE) from error
    except RecursionError as error:
        raise UsageError(f"{name}: nested too deeply", hint=_EXAMPLE) from error


def _described(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return repr(str(node.value)[:40])
    return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"
