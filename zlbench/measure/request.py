"""From resolved settings to the request of a measuring command: values only, nothing is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zlbench import cards, plugin_plan
from zlbench.axis import Axis, Side, Switch
from zlbench.backend import Backend, Timer
from zlbench.builds.spec import Build, BuildKind, parse_build
from zlbench.cells import CellSpec
from zlbench.errors import UsageError
from zlbench.measure.ambient import ambient, blocking
from zlbench.measure.backend_choice import choose
from zlbench.settings import Project, Resolved, ShapeMode, SourceKind, requests_of, shape_source_of
from zlbench.shapes import Shape, load_shape_file, parse_inline
from zlbench.suite.inventory import Inventory, read_inventory
from zlbench.suite.names import safe_dirname
from zlbench.suite.provider import Provider, find_provider
from zlbench.suite.resolve import Selection, resolve_all, resolve_operators
from zlbench.tuning import sources_of

SEED = 20240229
BUDGETS_MS = {"run": {"warmup": 50, "iter": 100}, "screen": {"warmup": 10, "iter": 20}}
"""A row's warm-up and measured calls on a card, where nothing is given, in milliseconds.

Upstream's own are 1,000 ms of warm-up for each of two calls, and 100 ms. A screen asks what was compiled: its times are
those of a single pair, and indicative however long it measures.
"""

_ON_A_CARD = (
    "device", "l2", "warmup", "iter", "direct_repeat", "baseline", "autotune", "mm_cluster", "wait_for_card",
)  # fmt: skip
"""Options of measuring; what was asked of graphs is answered by itself, and a record to replay is refused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be measured, how and with which compilers."""

    provider: Provider
    inventory: Inventory
    selections: tuple[Selection, ...]
    left_out: tuple[Selection, ...]
    backend: Backend
    """What was asked for, or what ``auto`` became."""
    targets: tuple[str, ...]
    """Compile targets; one empty word where a device decides."""
    axis: Axis
    builds: Mapping[str, Build]
    """Build of each side, by label."""
    shape_mode: ShapeMode
    shape_file: Path | None
    inline: Mapping[str, tuple[Shape, ...]]
    resolved: Resolved
    cwd: Path = Path()
    environment: tuple[str, ...] = ()
    """The caller's variables that every side inherits and that a compiler or suite may read."""
    not_passed_on: tuple[str, ...] = ()
    """Variables that the caller has set to find a fault, and that measured processes do not get."""
    backend_reason: str = ""
    """Why it is this backend, where nobody named one."""
    devices: tuple[str, ...] | None = None
    """Cards that measured processes may use, by index or UUID; None leaves all visible."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that are measured, A first."""
        return tuple(side for side in self.axis.sides if side.label in self.builds)

    @property
    def compat_plugins(self) -> tuple[str, ...]:
        """Plugins that the device family, or a known fault of the suite, asks for."""
        cluster = ("mm_cluster",) if self.resolved.flag("mm_cluster") and not self.backend.deviceless else ()
        return (*self.backend.compat_plugins, *cluster)

    @property
    def unread(self) -> list[str]:
        """Files whose benchmarks are missing from ``--all``, since they could not be read."""
        return self.inventory.unread() if self.resolved.flag("all") else []

    @property
    def switched(self) -> tuple[Switch, ...]:
        """The declared switches."""
        return self.axis.switches

    @property
    def share_cache(self) -> bool:
        """Whether both sides were told to share one compile cache."""
        return "share_cache" in self.resolved.settings and self.resolved.flag("share_cache")

    @property
    def timer(self) -> str:
        """The timer that rows are tried with; a row that falls back carries the one that it got."""
        if self.backend.deviceless:
            return Timer.COMPILE.value
        graphs = self.backend.supports_cuda_graph and self.resolved.text("cudagraph") != "0"
        return Timer.CUDA_GRAPH.value if graphs and not self.own_loop else Timer.DIRECT.value

    @property
    def own_loop(self) -> bool:
        """Whether the suite times with a loop of its own, host work included: no graph, no flushed cache."""
        return self.resolved.text("mode") in ("operator", "wrapper")

    @property
    def timer_reason(self) -> str:
        """Why graphs that were asked for are not tried; empty where they are, or where nobody asked."""
        mode = self.resolved.text("mode")
        asked = [f"--cudagraph {self.resolved.text('cudagraph')}"] if self.resolved.text("cudagraph") == "1" else []
        asked += ["--mode cudagraph"] if mode == "cudagraph" else []
        if not asked or self.timer == Timer.CUDA_GRAPH.value:
            return ""
        if not self.backend.supports_cuda_graph:
            reason = f"backend {self.backend.name} has no graphs"
        else:
            reason = f"--mode {mode} is the suite's own loop" if self.own_loop else "--cudagraph 0 says otherwise"
        return f"{' and '.join(asked)} refused: {reason}; timer {self.timer}"

    @property
    def notes(self) -> list[str]:
        """What the request asks for and does not get; said before anything is measured."""
        found = [self.timer_reason] if self.timer_reason else []
        if self.backend.deviceless and (idle := self._idle_with_no_device()):
            found.append(f"without effect, since kernels are compiled only: {', '.join(idle)}")
        if self.own_loop and not self.backend.deviceless and self.resolved.value("l2"):
            found.append(f"--l2 has no effect: --mode {self.resolved.text('mode')} is the suite's own loop")
        recording = not self.backend.deviceless and any(self.autotune(side.label) == "record" for side in self.sides)
        if recording and not self.resolved.flag("isolate_tuner_cache"):
            found.append("TUNER_CACHE_SHARED recording on a shared tuner cache: winners of earlier runs are taken over")
        if self.not_passed_on:
            names = " ".join(self.not_passed_on)
            found.append(f"{names} is not passed on to measured processes: every direct time would hold a wait")
        return found

    def _idle_with_no_device(self) -> list[str]:
        """Options that somebody gave, on the command line or by a variable, and that only measuring on a card reads."""
        settings = self.resolved.settings
        given = [
            settings[name].source
            for name in _ON_A_CARD
            if name in settings and settings[name].source.kind.rank > SourceKind.FILE.rank
        ]
        return [source.where for source in given]

    @property
    def l2(self) -> str | None:
        """State of the second-level cache before each timed call; None with no device or in a suite's own loop.

        The default is each timer's own: Triton's do_bench flushes, a replayed graph finds what it left.
        """
        if self.backend.deviceless or self.own_loop:
            return None
        asked = self.resolved.value("l2")
        return str(asked) if asked else "warm" if self.timer == Timer.CUDA_GRAPH.value else "flushed"

    @property
    def direct_repeat(self) -> int:
        """Calls of a row that is timed without a graph; what nobody times is no condition."""
        return 1 if self.backend.deviceless else int(self.resolved.value("direct_repeat"))

    def autotune(self, side: str) -> str:
        """What becomes of autotuners' choices on a side: B replays what A recorded."""
        if self.backend.deviceless:
            return "policy"
        if not self.resolved.flag("autotune"):
            return "off"
        return "replay" if side == "B" or self.resolved.path("replay_from") else "record"

    def replay_source(self, op: str, pair: Path = Path()) -> Path:
        """The run whose choices are replayed for an operator: the one that was given, else side A of the same pair."""
        given = self.replays_from
        return next(iter(sources_of(given, op)), given[0]) if given else pair / "A"

    @property
    def replays_from(self) -> tuple[Path, ...]:
        """Runs and screens that were named to replay choices from."""
        return tuple((self.cwd / path).resolve() for path in self.resolved.paths("replay_from"))

    def jobs(self, asked: int) -> int:
        """Cells at a time: on a card always one, since two would time each other."""
        return asked if self.backend.deviceless else 1

    def pair_name(self, selection: Selection, target: str) -> str:
        """Directory of an operator below the run's: its name, with the target where there are several."""
        name = safe_dirname(selection.op)
        return f"{name}@{target.replace(':', '-')}" if len(self.targets) > 1 else name


def make_request(
    resolved: Resolved,
    project: Project,
    axis: Axis,
    *,
    sides: Sequence[str],
    cwd: Path,
    cache: Path,
    env: Mapping[str, str],
) -> Request:
    """Resolve operators, shapes, backend, targets and builds.

    Raises:
        UsageError: any of them cannot be meant; nothing has been started or written.
    """
    provider = find_provider(resolved.text("suite"), cwd=cwd, given=str(resolved.source("suite")))
    inventory = read_inventory(provider, cache=cache / f"inventory-{provider.name}.json")
    words = requests_of(resolved)
    if resolved.flag("all"):
        selections, left_out = resolve_all(inventory)
    else:
        selections, left_out = resolve_operators(words, [inventory]), ()
    shapes = shape_source_of(resolved)
    inline: dict[str, tuple[Shape, ...]] = {}
    if shapes.mode is ShapeMode.INLINE:
        if len(selections) != 1:
            raise UsageError(
                f"--shapes is for one operator, {len(selections)} are named", hint="Use --shape-file for several."
            )
        inline[selections[0].op] = parse_inline(shapes.text, selections[0].op)
    if shapes.path is not None:
        shapes = replace(shapes, path=(cwd / shapes.path).resolve())
        load_shape_file(shapes.path or cwd, known=inventory.shape_keys())
    known = project.known_builds()
    builds = {side.label: parse_build(side.build, known, cwd=cwd) for side in axis.sides if side.label in sides}
    if axis.null_test and len(builds) == 2 and builds["A"] == builds["B"] and builds["B"].kind is BuildKind.WHEEL:
        # The same release at a second prefix: what differs by path alone must not count.
        builds["B"] = replace(builds["B"], name=f"{builds['B'].name}-twin")
    backend, reason = choose(resolved.text("backend"), builds.values())
    devices = cards.chosen(backend, env, resolved.value("device"))
    if devices and resolved.value("device") and not backend.deviceless:
        cards.require(backend, env, devices)
    return Request(
        provider=provider,
        inventory=inventory,
        selections=selections,
        left_out=left_out,
        backend=backend,
        targets=tuple(str(target) for target in resolved.value("target")) if backend.deviceless else ("",),
        axis=axis,
        builds=builds,
        shape_mode=shapes.mode,
        shape_file=shapes.path,
        inline=inline,
        resolved=resolved,
        cwd=cwd,
        environment=ambient(
            env, (switch.name for switch in axis.switches), isolated=resolved.flag("isolate_tuner_cache")
        ),
        not_passed_on=() if backend.deviceless else blocking(env),
        backend_reason=reason,
        devices=devices,
    )


def make_cells(request: Request, root: Path) -> list[CellSpec]:
    """One cell for every operator, target and side, in the order in which people read them."""
    cells = [
        _cell(request, selection, target, side.label, root)
        for target in request.targets
        for selection in request.selections
        for side in request.sides
    ]
    # Two cells in one directory would write each other's rows.
    assert len({cell.cell for cell in cells}) == len(cells), "two cells share a directory"
    return cells


def _cell(request: Request, selection: Selection, target: str, side: str, root: Path) -> CellSpec:
    resolved = request.resolved
    pair = request.pair_name(selection, target)
    autotune = request.autotune(side)
    plugins = plugin_plan.plan(
        autotune=autotune,
        ir=resolved.flag("ir"),
        compat=request.compat_plugins,
        extra=resolved.texts("extra_plugins"),
    )
    return CellSpec(
        cell=f"{pair}/{side}",
        op=selection.op,
        side=side,
        node=selection.node_id,
        suite_root=str(request.provider.root),
        package=request.provider.package,
        out_dir=str(root / pair / side),
        backend=request.backend.name,
        timer=request.timer,
        target=target or None,
        level=resolved.text("level"),
        mode=resolved.text("mode"),
        dtypes=selection.dtypes or resolved.texts("dtypes"),
        shape_file=str(request.shape_file) if request.shape_file else None,
        shape_mode=request.shape_mode.value,
        shapes=request.inline.get(selection.op),
        configs=str(resolved.value("configs")),
        seed=SEED,
        baseline="none" if request.backend.deviceless else resolved.text("baseline"),
        l2=request.l2,
        autotune=autotune,
        replay_from=str(request.replay_source(selection.op, root / pair)) if autotune == "replay" else None,
        plugins=plugins,
        warmup_ms=_budget(request, "warmup"),
        rep_ms=_budget(request, "iter"),
        direct_repeat=request.direct_repeat,
        environment=request.environment,
        quick=resolved.flag("quick"),
        keep_binaries=resolved.flag("keep_binaries"),
    )


def _budget(request: Request, option: str) -> int | None:
    """A budget in milliseconds; None where nothing is timed."""
    if request.backend.deviceless:
        return None
    value: Any = request.resolved.value(option)
    return int(value) if value is not None else BUDGETS_MS.get(request.resolved.command, BUDGETS_MS["run"])[option]
