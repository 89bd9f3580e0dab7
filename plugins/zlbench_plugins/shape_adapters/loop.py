"""Benchmarks whose `get_input_iter` loops over shapes of its own: the same code, looping over other shapes.

Most such methods are one loop over a list that stands in the method, in the class or in the module. The method's own
source is compiled once more with nothing changed but what that loop goes over: our values in the form of its own. The
suite's code builds every input; a method that is not of this structure is left alone.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from zlbench_plugins.shape_adapters.items import OwnShape, item_of, own_shapes

_HOOK = "zlbench_shapes_"


class _Own(BaseException):
    """Carries the list that a loop was about to go over out of the method; no suite's `except Exception` eats it."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__("the suite's own shapes")
        self.items = items


class ShapeLoop:
    """One benchmark class's loop over its own shapes."""

    name = "loop"

    def __init__(self, owner: type[Any], function: types.FunctionType) -> None:
        self.owner = owner
        self._function = function

    @classmethod
    def find(cls, bench: Any) -> ShapeLoop | None:
        """The loop of a benchmark that does not read `self.shapes`; None where it does, or has no such loop."""
        for owner in type(bench).__mro__:
            method = vars(owner).get("get_input_iter")
            if not isinstance(method, types.FunctionType):
                continue
            function = _rewritten(method)
            return None if function is None else cls(owner, function)
        return None

    def own(self, bench: Any, dtype: Any) -> list[Any]:
        """What the suite's loop goes over for one dtype; nothing is built."""

        def hook(_: Any, items: Any, *_others: Any) -> Iterator[Any]:
            raise _Own(list(items))

        try:
            next(self._bound(bench, hook)(dtype))
        except _Own as own:
            return own.items
        except StopIteration:
            pass
        return []

    def shapes(self, bench: Any, dtypes: list[Any]) -> list[OwnShape] | None:
        """The suite's own shapes; None where they are not the same for every dtype."""
        lists = [self.own(bench, dtype) for dtype in dtypes]
        if not lists or not lists[0] or any(repr(items) != repr(lists[0]) for items in lists[1:]):
            return None
        return own_shapes(lists[0])

    def install(self, bench: Any) -> None:
        """Let this benchmark object loop over its list of shapes."""

        def hook(self_: Any, items: Any, *others: Any) -> Iterator[Any]:
            own = list(items)
            for shape in self_.shapes:
                item = item_of(shape, own)
                # A product takes its lists whole; shape by shape, a shape that fails costs itself alone.
                yield from ((item, *rest) for rest in itertools.product(*others)) if others else (item,)

        bench.get_input_iter = self._bound(bench, hook)

    def _bound(self, bench: Any, hook: Callable[..., Iterator[Any]]) -> Any:
        base = self._function
        function = types.FunctionType(
            base.__code__, base.__globals__, base.__name__, base.__defaults__, base.__closure__
        )
        function.__kwdefaults__ = {**(base.__kwdefaults__ or {}), _HOOK: hook}
        return types.MethodType(function, bench)


def reads_shapes(bench: Any) -> bool:
    """Whether inputs come from `self.shapes`: said by the source of the method and of those that it hands on to."""
    for owner in type(bench).__mro__:
        method = vars(owner).get("get_input_iter")
        if not isinstance(method, types.FunctionType):
            continue
        tree = _parsed(method)
        if tree is None or _mentions_shapes(tree):
            return True  # without its source nothing can be said against it; the rows will tell
        if not _hands_on(tree):
            return False
    return False


def _rewritten(method: types.FunctionType) -> types.FunctionType | None:
    tree = _parsed(method)
    if tree is None or _mentions_shapes(tree) or _hands_on(tree):
        return None
    loops = [node for node in tree.body if isinstance(node, ast.For) and _yields(node)]
    others = [node for node in tree.body if not isinstance(node, ast.For) and _yields(node)]
    if len(loops) != 1 or others:
        return None
    loop = loops[0]
    call = loop.iter
    kind = ast.unparse(call.func).rpartition(".")[2] if isinstance(call, ast.Call) and not call.keywords else ""
    if isinstance(call, ast.Call) and kind == "enumerate" and call.args:
        call.args[0] = _hooked(call.args[0])
    elif isinstance(call, ast.Call) and kind == "product" and call.args:
        loop.iter = _hooked(*call.args)
    else:
        loop.iter = _hooked(loop.iter)
    tree.args.kwonlyargs.append(ast.arg(arg=_HOOK))
    tree.args.kw_defaults.append(ast.Constant(value=None))
    return _compiled(tree, method)


def _hooked(*lists: ast.expr) -> ast.expr:
    arguments = [ast.Name(id="self", ctx=ast.Load()), *lists]
    call = ast.Call(func=ast.Name(id=_HOOK, ctx=ast.Load()), args=arguments, keywords=[])
    return ast.copy_location(call, lists[0])


def _parsed(method: types.FunctionType) -> ast.FunctionDef | None:
    try:
        lines, start = inspect.getsourcelines(method)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return None
    ast.increment_lineno(tree, start - 1)
    node = tree.body[0]
    plain = isinstance(node, ast.FunctionDef) and not node.decorator_list
    return node if plain and isinstance(node, ast.FunctionDef) and _named_self(node) else None


def _named_self(node: ast.FunctionDef) -> bool:
    return bool(node.args.args) and node.args.args[0].arg == "self"


def _compiled(tree: ast.FunctionDef, method: types.FunctionType) -> types.FunctionType | None:
    """Compile a changed method in the place of the old one: same globals, same closure, same lines."""
    free = method.__code__.co_freevars
    outer = ast.parse(f"def _outer({', '.join(free)}): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    tree.returns, tree.decorator_list = None, []
    for argument in (*tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    outer.body = [tree]
    module = ast.fix_missing_locations(ast.Module(body=[outer], type_ignores=[]))
    code: Any = compile(module, method.__code__.co_filename, "exec")
    for name in ("_outer", method.__name__):
        code = next((item for item in code.co_consts if getattr(item, "co_name", None) == name), None)
        if code is None:
            return None
    cells = dict(zip(free, method.__closure__ or (), strict=True))
    if set(code.co_freevars) - set(cells):
        return None
    closure = tuple(cells[name] for name in code.co_freevars)
    return types.FunctionType(code, method.__globals__, method.__name__, method.__defaults__, closure)


def _mentions_shapes(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "shapes" and ast.unparse(node.value) == "self"
        for node in ast.walk(tree)
    )


def _hands_on(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "get_input_iter" for node in ast.walk(tree))


def _yields(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node))
