"""Which operator names a benchmark function gives its tables, read from its source: what people and shape files say.

A name stands in many places: in the call of the benchmark class, in that class's own ``__init__``, in the list of a
parametrisation or of a loop, or in an argument of a helper that makes the call. All of them are followed inside one
file. A part that only running the code would tell is written ``*``.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Names = tuple[str, ...]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_UNKNOWN = "*"
_DEPTH = 4
# A loop over two lists of dtypes has a dozen names; nobody lists more by hand.
_MOST = 64


@dataclass(frozen=True, slots=True)
class FileNames:
    """What the functions of one file may lean on: its classes, its helpers, its constants."""

    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    functions: dict[str, _Function] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.Module) -> FileNames:
        """Index the top level of a file."""
        names = cls()
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                names.classes[node.name] = node
            elif isinstance(node, _Function):
                names.functions[node.name] = node
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                names.constants[node.targets[0].id] = node.value
        return names

    def names_of(self, function: _Function) -> Names:
        """Return the operator names of one benchmark function, in the order of the source, without repeats."""
        found = self._called(function, self._parameters(function), _DEPTH)
        return tuple(dict.fromkeys(name for name in found if name.strip(_UNKNOWN)))

    def _called(self, function: _Function, known: Mapping[str, Names], depth: int) -> Iterable[str]:
        """Yield the names in a function's body; helpers of the file are entered with their arguments."""
        if depth == 0:
            return
        known = {**known, **self._assigned(function, known)}
        for call in _calls(function):
            callee = _callee(call)
            helper = self.functions.get(callee)
            given = self._class_name(call, callee, known)
            if given is not None:
                yield from given
            elif helper is not None and helper is not function:
                yield from self._called(helper, self._bound(helper, call, known), depth - 1)

    def _class_name(self, call: ast.Call, callee: str, known: Mapping[str, Names]) -> Names | None:
        """Return the names that a call gives a benchmark; None where it makes none."""
        keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        if callee in self.functions or ("op_name" not in keywords and not self._is_benchmark(callee)):
            return None
        given = keywords.get("op_name")
        if given is None:
            place = self._place_of_name(callee)
            if place is not None and place < len(call.args):
                given = call.args[place]
        names = self._values(given, known) if given is not None else self._own_name(callee)
        backward = keywords.get("is_backward")
        return _backward(names) if _is_true(backward) or self._always_backward(callee) else names

    def _place_of_name(self, callee: str) -> int | None:
        """Which positional argument of a class is its operator's name; None where its ``__init__`` takes none."""
        init = self._init(callee)
        if init is None:
            return 0
        parameters = [argument.arg for argument in (*init.args.posonlyargs, *init.args.args)][1:]
        if "op_name" in parameters:
            return parameters.index("op_name")
        return 0 if init.args.vararg is not None else None

    def _own_name(self, callee: str) -> Names:
        """The name that a class has of itself: a default of its ``__init__``, or what that hands on."""
        init = self._init(callee)
        if init is None:
            return ()
        known = self._parameters(init)
        for call in _calls(init):
            if _callee(call) == "__init__":
                keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
                given = keywords.get("op_name") or (call.args[0] if call.args else None)
                if given is not None and not isinstance(given, ast.Starred):
                    names = self._values(given, known)
                    return _backward(names) if _is_true(keywords.get("is_backward")) else names
        return known.get("op_name", ())

    def _always_backward(self, callee: str) -> bool:
        init = self._init(callee)
        return init is not None and any(
            _is_true(keyword.value)
            for call in _calls(init)
            if _callee(call) == "__init__"
            for keyword in call.keywords
            if keyword.arg == "is_backward"
        )

    def _is_benchmark(self, name: str) -> bool:
        if name not in self.classes:
            return name.endswith("Benchmark")
        return any("Benchmark" in base for base in (name, *self._bases(name)))

    def _bases(self, name: str) -> list[str]:
        node = self.classes.get(name)
        return [] if node is None else [ast.unparse(base).rpartition(".")[2] for base in node.bases]

    def _init(self, name: str) -> _Function | None:
        """The ``__init__`` of a class of this file, its own or that of a base in this file."""
        seen: set[str] = set()
        while name in self.classes and name not in seen:
            seen.add(name)
            node = self.classes[name]
            for item in node.body:
                if isinstance(item, _Function) and item.name == "__init__":
                    return item
            name = next((base for base in self._bases(name) if base in self.classes), "")
        return None

    def _parameters(self, function: _Function) -> dict[str, Names]:
        """Values of a function's arguments: their defaults, and what its parametrisations list."""
        arguments = (*function.args.posonlyargs, *function.args.args)
        pairs = list(zip(arguments[::-1], function.args.defaults[::-1], strict=False))
        pairs += [(a, d) for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if d]
        known = {argument.arg: self._values(default, {}) for argument, default in pairs}
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parametrize":
                known |= self._parametrised(decorator)
        return known

    def _parametrised(self, decorator: ast.Call) -> dict[str, Names]:
        if len(decorator.args) < 2 or not isinstance(decorator.args[0], ast.Constant | ast.List | ast.Tuple):
            return {}
        given = decorator.args[0]
        if isinstance(given, ast.Constant):
            names = [part.strip() for part in str(given.value).split(",") if part.strip()]
        else:
            names = [str(getattr(item, "value", "")) for item in given.elts]
        rows = self._items(decorator.args[1])
        found: dict[str, list[str]] = {name: [] for name in names}
        for row in rows:
            cells = row.args if isinstance(row, ast.Call) and _callee(row) == "param" else [row]
            if len(names) > 1 and len(cells) == 1 and isinstance(cells[0], ast.Tuple | ast.List):
                cells = cells[0].elts
            for name, cell in zip(names, cells, strict=False):
                found[name] += self._values(cell, {})
        return {name: tuple(values) for name, values in found.items() if values}

    def _bound(self, helper: _Function, call: ast.Call, known: Mapping[str, Names]) -> dict[str, Names]:
        """Arguments of a helper as one call of it gives them."""
        bound = self._parameters(helper)
        parameters = [argument.arg for argument in (*helper.args.posonlyargs, *helper.args.args)]
        pairs = [*zip(parameters, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
        return bound | {name: self._values(value, known) for name, value in pairs if name}

    def _assigned(self, function: _Function, known: Mapping[str, Names]) -> dict[str, Names]:
        """Values of a function's local names: plain assignments, and loops over lists."""
        local: dict[str, Names] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                values = self._values(node.value, {**known, **local})
                local[node.targets[0].id] = (*local.get(node.targets[0].id, ()), *values)
            elif isinstance(node, ast.For):
                local |= self._looped(node, known)
        return {name: values for name, values in local.items() if values}

    def _looped(self, node: ast.For, known: Mapping[str, Names]) -> dict[str, Names]:
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        names = [target.id if isinstance(target, ast.Name) else "" for target in targets]
        found: dict[str, list[str]] = {name: [] for name in names if name}
        for item in self._items(node.iter):
            cells: Sequence[ast.expr] = [item]
            if len(names) > 1 and isinstance(item, ast.Tuple | ast.List):
                cells = item.elts
            for name, cell in zip(names, cells, strict=False):
                if name:
                    found[name] += self._values(cell, known)
        return {name: tuple(values) for name, values in found.items() if values}

    def _items(self, node: ast.expr) -> Sequence[ast.expr]:
        """The items of a list that stands there, or of a constant of the file."""
        if isinstance(node, ast.Name):
            node = self.constants.get(node.id, node)
        return node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else ()

    def _values(self, node: ast.expr, known: Mapping[str, Names]) -> Names:
        """Return the strings that an expression may be; an unknown part inside one is ``*``."""
        if isinstance(node, ast.Constant):
            return (node.value,) if isinstance(node.value, str) else ()
        if isinstance(node, ast.Name):
            if node.id in known:
                return known[node.id]
            constant = self.constants.get(node.id)
            return (constant.value,) if isinstance(constant, ast.Constant) and isinstance(constant.value, str) else ()
        if isinstance(node, ast.IfExp):
            return (*self._values(node.body, known), *self._values(node.orelse, known))
        if isinstance(node, ast.JoinedStr):
            return _joined([self._values(part, known) or (_UNKNOWN,) for part in node.values])
        if isinstance(node, ast.FormattedValue):
            return self._values(node.value, known)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [self._values(side, known) for side in (node.left, node.right)]
            return _joined([side or (_UNKNOWN,) for side in sides]) if any(sides) else ()
        return ()


def _joined(parts: Sequence[Names]) -> Names:
    return tuple("".join(chosen) for chosen in itertools.islice(itertools.product(*parts), _MOST))


def _backward(names: Names) -> Names:
    """The suite's own rule: ``_backward`` behind a name that does not hold it yet."""
    return tuple(name if "_backward" in name else f"{name}_backward" for name in names)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _calls(function: _Function) -> list[ast.Call]:
    """Return the calls in a function in the order of the source (a plain walk goes level by level)."""
    found = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def _callee(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
