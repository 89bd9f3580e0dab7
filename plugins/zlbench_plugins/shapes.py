"""Shapes from outside: set behind the benchmark's own configuration, handed to its inputs, and checked to be in force.

Setting them behind `set_shapes` and `init_user_config` beats every list that a subclass hard-codes; what a subclass
filters afterwards still applies. A class whose inputs do not come from `self.shapes` gets them through an adapter. One
for which there is none keeps its own inputs; that is said aloud, because its rows would not be those asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from zlbench.cells import read_json_lines
from zlbench.shapes import ShapeSet, load_shape_file
from zlbench_plugins import shape_adapters as adapters
from zlbench_plugins import shapes_in_force
from zlbench_plugins._patch import subclasses
from zlbench_plugins.context import CellContext, current
from zlbench_plugins.quick_yaml import parsed_in_c
from zlbench_plugins.seed import seed_all


def keys_of(bench: Any) -> list[str]:
    """Names under which a shape file may hold shapes for a benchmark: its operator, then its classes."""
    return [str(bench.op_name), *(cls.__name__ for cls in type(bench).__mro__ if cls is not object)]


def wanted_shapes(context: CellContext, bench: Any) -> list[Any] | None:
    """Shapes that the request gives for this benchmark; None where the suite's own set is asked for."""
    spec = context.spec
    if spec.shapes is not None:
        return list(spec.shapes)
    if spec.shape_mode != "file" or spec.shape_file is None:
        return None
    sets: dict[str, ShapeSet] = load_shape_file(Path(spec.shape_file))
    for key in keys_of(bench):
        if key in sets:
            return list(sets[key].shapes)
    raise KeyError(f"{spec.shape_file} has no shapes for {bench.op_name} (looked for {', '.join(keys_of(bench))})")


class Injector:
    """Gives the benchmarks of one cell their shapes."""

    def __init__(self, context: CellContext) -> None:
        self._context = context
        self._inside: list[Any] = []
        """Benchmarks whose configuration is in progress, the outermost call first."""
        self._own: dict[int, list[Any]] = {}
        """The suite's own shapes, seen where ours took their place."""
        self.given: list[shapes_in_force.Given] = []

    def set_shapes(self, bench: Any, original: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """In the base class's `set_shapes`: a subclass that filters behind it filters our shapes."""
        original(bench, *args, **kwargs)
        self._replace(bench)

    def base_config(self, bench: Any, original: Callable[..., Any]) -> None:
        """In the base class's `init_user_config`: a subclass that filters behind it filters our shapes."""
        config = getattr(sys.modules.get("benchmark.base"), "Config", None)
        shape_file = getattr(config, "shape_file", None)
        # The suite extends the list in place at the comprehensive level, and it is one list for all its benchmarks.
        if isinstance(getattr(bench, "metrics", None), list):
            bench.metrics = list(bench.metrics)
        with parsed_in_c():
            original(bench)
        if config is not None and hasattr(config, "shape_file"):
            config.shape_file = shape_file  # two vendors write their own file over the one asked for
        if id(bench) not in self._own:
            self._replace(bench)

    def config(self, bench: Any, original: Callable[..., Any]) -> None:
        """Around a class's whole `init_user_config`, whether it hands on to the base class or not."""
        if any(bench is other for other in self._inside):
            original(bench)
            return
        self._inside.append(bench)
        self._own.pop(id(bench), None)
        try:
            original(bench)
        except adapters.ArityError as error:
            self._refuse(bench, str(error), self._own[id(bench)])
        finally:
            self._inside.pop()
        self._prepare(bench)

    def _replace(self, bench: Any) -> None:
        wanted = wanted_shapes(self._context, bench)
        if wanted is not None:
            self._own[id(bench)] = own = list(getattr(bench, "shapes", None) or ())
            bench.shapes = [adapters.as_own(shape, own) for shape in wanted]

    def _prepare(self, bench: Any) -> None:
        """Let the shapes reach the inputs, and refuse what the benchmark cannot take."""
        adapters.follow_by_place(bench)
        wanted = wanted_shapes(self._context, bench)
        loop = None if adapters.reads_shapes(bench) else adapters.ShapeLoop.find(bench)
        if wanted is None:
            self._hard_coded(bench, loop)
            return
        try:
            if id(bench) not in self._own:
                self._replace(bench)  # its configuration never came by the base class
            how = self._hand_over(bench, wanted, self._own[id(bench)], loop)
        except adapters.ArityError as error:
            self._refuse(bench, str(error), self._own[id(bench)])
        own = self._own[id(bench)] if how == "shapes" else []
        rows = [adapters.recorded(adapters.as_own(shape, own)) for shape in wanted]
        given = shapes_in_force.Given.of(bench, self._context, rows, how)
        self.given.append(given)
        self._context.events.append(
            {"event": "shapes_injected", "op": given.op, "count": len(wanted), "class": given.cls, "how": how}
        )

    def _hand_over(self, bench: Any, wanted: Sequence[Any], own: list[Any], loop: adapters.ShapeLoop | None) -> str:
        """Return how the shapes reach the inputs; empty where they do not. `own` is filled where a class hides it."""
        dtypes = list(getattr(bench, "to_bench_dtypes", None) or [None])
        if loop is not None:
            items = loop.own(bench, dtypes[0])
            if not items:
                return ""
            own[:] = adapters.own_shapes(items)
            for shape in wanted:
                adapters.item_of(shape, items)
            bench.shapes = list(wanted)
            loop.install(bench)
            adapters.check(bench, wanted, own, dtypes[0], self._context.spec.seed)
            self._context.origins[str(bench.op_name)] = f"{self._context.spec.shape_mode}, {loop.name}"
            return loop.name
        if not adapters.reads_shapes(bench):
            return ""
        # Taken one by one: a class that appends shapes of its own may append one that was given.
        left = [adapters.plain(adapters.as_own(shape, own)) for shape in wanted]
        kept = []
        for shape in bench.shapes or ():
            if adapters.plain(shape) in left:
                left.remove(adapters.plain(shape))
                kept.append(shape)
        if not kept:
            raise adapters.ArityError("the class leaves out every shape given")
        bench.shapes = kept
        adapters.check(bench, kept, own, dtypes[0], self._context.spec.seed)
        return "shapes"

    def _hard_coded(self, bench: Any, loop: adapters.ShapeLoop | None) -> None:
        """The suite's own shapes, told apart by place where a loop over them can be: one that fails costs itself."""
        shapes = loop.shapes(bench, list(bench.to_bench_dtypes)) if loop is not None else None
        if loop is not None and shapes:
            bench.shapes = shapes
            loop.install(bench)
            self._context.origins[str(bench.op_name)] = "hard-coded"

    def _refuse(self, bench: Any, why: str, own: Sequence[Any]) -> NoReturn:
        description = str(getattr(bench, "shape_desc", "") or "")
        cls = type(bench)
        where = shapes_in_force.file_of(cls, self._context.spec.suite_root)
        pytest.fail(
            f"the shapes given are not those of {bench.op_name} ({cls.__name__}, {where}): {why}. "
            f"Its own are like {adapters.example(own, description)}",
            pytrace=False,
        )


_injector: Injector | None = None


def pytest_collection_modifyitems() -> None:
    """Wrap the base class's configuration."""
    global _injector  # noqa: PLW0603 - pytest calls hooks of a module, there is no object to keep it in
    context = current()
    benchmark = getattr(sys.modules.get("benchmark.base"), "Benchmark", None)
    if benchmark is None or not hasattr(benchmark, "init_user_config"):
        return
    _injector = injector = Injector(context)
    config, set_shapes = benchmark.init_user_config, getattr(benchmark, "set_shapes", None)

    def init_user_config(self: Any) -> None:
        injector.config(self, lambda bench: injector.base_config(bench, config))

    context.patches.set(benchmark, "init_user_config", init_user_config)
    if set_shapes is not None:

        def replaced(self: Any, *args: Any, **kwargs: Any) -> None:
            injector.set_shapes(self, set_shapes, *args, **kwargs)

        context.patches.set(benchmark, "set_shapes", replaced)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """Wrap what subclasses made of the configuration, now that their files are imported."""
    if _injector is None:
        return
    benchmark = sys.modules["benchmark.base"].Benchmark
    for cls in subclasses(benchmark):
        if "init_user_config" in vars(cls) and not hasattr(vars(cls)["init_user_config"], "by_zlbench"):
            _wrap(cls, _injector)
    # Some classes draw their cases at random when they are made.
    seed_all(current().spec.seed)


def _wrap(cls: type[Any], injector: Injector) -> None:
    original = vars(cls)["init_user_config"]

    def init_user_config(self: Any) -> None:
        injector.config(self, original)

    init_user_config.by_zlbench = True  # type: ignore[attr-defined]
    current().patches.set(cls, "init_user_config", init_user_config)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Compare what was asked for with what the rows say they ran."""
    context = current()
    if _injector is None or not _injector.given:
        return
    rows = read_json_lines(context.out_dir / "rows.jsonl")
    completed = {event["op"] for event in read_json_lines(context.out_dir / "events.jsonl") if _completed(event)}
    for given in _injector.given:
        for marker, text in shapes_in_force.verdicts(given, rows, complete=given.op in completed):
            context.warn(marker, text)


def _completed(event: dict[str, Any]) -> bool:
    return bool(event["event"] == "completed")
