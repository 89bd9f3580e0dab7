"""``zlbench compare``: latencies of two finished runs, or of the pairs of a screen, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench import guard, store
from zlbench.axis import Axis
from zlbench.cli.app import App
from zlbench.cli.find import find_screen
from zlbench.cli.main import finish
from zlbench.cli.rescore import axis_of_plan
from zlbench.compare import NOT_INDEPENDENT, compare
from zlbench.compare_table import Compared, to_data, to_text
from zlbench.errors import ExitCode, NotComparableError, NothingMeasuredError, UsageError
from zlbench.identity import read_identity
from zlbench.pair import SHAPES_NOT_IN_FORCE, markers, shapes_not_in_force
from zlbench.run_rows import RunRows

_HOW = "Give two run directories (A, then B), one pair of a screen (SCREEN/OP), or one screen."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    """Two run directories, and the axis where a screen declared one."""

    a: Path
    b: Path
    axis: Axis | None


def run(app: App) -> ExitCode:
    """Compare, print rows and operators, return the exit code."""
    items: list[Compared] = []
    refused: list[NotComparableError] = []
    compile_only = 0
    for pair in _pairs(app):
        sides = [RunRows.read(path) for path in (pair.a, pair.b)]
        if all(side.skipped for side in sides):
            app.talk(f"{_name(pair)} skipped itself on both sides")
            continue
        try:
            warnings = _guarded(app, pair, sides)
        except NotComparableError as error:
            refused.append(error)
            continue
        if all(side.compile_only for side in sides):
            compile_only += 1
            continue
        before, after = (read_identity(path) for path in (pair.a, pair.b))
        items.append(
            Compared(
                comparison=compare(*sides, op=_name(pair)), before=before, after=after, warnings=warnings,
                directories=(str(pair.a), str(pair.b)),
                markers=tuple(said for said in markers(_name(pair), *(side.outcome for side in sides))
                              if not said.startswith(NOT_INDEPENDENT)),  # the comparison itself says that
            )
        )  # fmt: skip
    if not items:
        raise refused[0] if refused else _no_latency(app, compile_only=compile_only)
    code = _code([item.comparison.code for item in items], refused=bool(refused))
    if app.resolved.flag("json"):
        app.json({**to_data(items, code), "refused": [refusal.message for refusal in refused]})
        return ExitCode(finish(code))
    for line in to_text(items):
        app.result(line)
    for refusal in refused:
        app.result(refusal.message)
    if refused:
        app.result(refused[0].hint)
    return ExitCode(finish(code))


def _pairs(app: App) -> Iterator[_Pair]:
    """What was named, as pairs of run directories."""
    paths = [(app.cwd / path).resolve() for path in app.resolved.value("runs")]
    if len(paths) > 2:
        raise UsageError(f"{len(paths)} directories are given, two sides are compared", hint=_HOW)
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is no directory", hint=_HOW)
    if len(paths) == 2:
        yield _two_runs(*paths)
        return
    if paths and _is_run(paths[0]):
        raise UsageError(f"{paths[0]} is one run; with what is it compared?", hint=_HOW)
    if paths and (paths[0] / "A").is_dir():
        yield _Pair(a=paths[0] / "A", b=paths[0] / "B", axis=_axis(paths[0].parent))
        return
    root = find_screen(app, paths[0] if paths else None)
    found = sorted(path.parent for path in root.glob("*/A") if (path.parent / "B").is_dir())
    if not found:
        raise UsageError(f"{root} holds no pair of cells", hint=_HOW)
    for pair in found:
        yield _Pair(a=pair / "A", b=pair / "B", axis=_axis(root))


def _two_runs(a: Path, b: Path) -> _Pair:
    for path in (a, b):
        if not _is_run(path):
            raise UsageError(f"{path} is no run directory: it holds neither rows nor a result", hint=_HOW)
    if a == b:
        raise UsageError(f"both sides are {a}", hint=_HOW)
    same_pair = a.parent == b.parent and (a.name, b.name) == ("A", "B")
    return _Pair(a=a, b=b, axis=_axis(a.parent.parent) if same_pair else None)


def _is_run(path: Path) -> bool:
    return any((path / name).is_file() for name in ("rows.jsonl", store.RESULT))


def _axis(screen: Path) -> Axis | None:
    plan: dict[str, Any] = store.read_json(screen / "plan.json") or {}
    return axis_of_plan(plan)


def _name(pair: _Pair) -> str:
    """The operator; with the target where a screen has it on several."""
    identities = [read_identity(path) for path in (pair.a, pair.b)]
    named = next((identity.op for identity in identities if identity is not None and identity.op), "")
    folder = pair.a.parent.name if pair.a.name == "A" else pair.a.name
    return f"{named}@{folder.partition('@')[2]}" if named and "@" in folder and named in folder else named or folder


def _guarded(app: App, pair: _Pair, sides: list[RunRows]) -> tuple[str, ...]:
    """Refuse runs that answer different questions; return what is allowed to stand as a warning."""
    if not all(side.measured for side in sides):
        return ()  # no number will be read, and that is the finding
    before, after = (read_identity(path) for path in (pair.a, pair.b))
    found = guard.complaints(before, after, pair.axis, op=_name(pair))
    found += [
        guard.Complaint(op=_name(pair), field=f"shapes of side {label}", before="asked for", after="not in force",
                        marker=SHAPES_NOT_IN_FORCE, note=text)
        for label, text in shapes_not_in_force(*(side.outcome for side in sides))
    ]  # fmt: skip
    return guard.refuse(found, allow=app.resolved.flag("allow_caliber_mismatch"))


def _no_latency(app: App, *, compile_only: int) -> NothingMeasuredError:
    if not compile_only:
        return NothingMeasuredError("there is nothing to compare: every operator skipped itself on both sides")
    return NothingMeasuredError(
        "these runs only compiled, so there is no latency to compare",
        hint=f"What differs in IR and code of a screened operator: {app.hint('diff', 'OP')}\n"
        "Latencies need a card: --backend cuda (or another family) for both sides.",
    )


def _code(codes: list[ExitCode], *, refused: bool) -> ExitCode:
    """One operator: its own code. Several: not comparable outweighs partial; some without numbers leave a part."""
    if refused or ExitCode.NOT_COMPARABLE in codes:
        return ExitCode.NOT_COMPARABLE
    return codes[0] if len(set(codes)) == 1 else ExitCode.PARTIAL
