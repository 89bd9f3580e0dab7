"""``zlbench compare``: latencies of two finished runs, or of the pairs of a screen, row by row."""

from __future__ import annotations

from collections.abc import Sequence

from zlbench import guard
from zlbench.cli.app import App
from zlbench.cli.find import find_screen
from zlbench.cli.main import finish
from zlbench.compare import NOT_INDEPENDENT, compare
from zlbench.compare_table import Compared, to_data, to_text
from zlbench.errors import ExitCode, NotComparableError, NothingMeasuredError, UsageError
from zlbench.identity import read_identity
from zlbench.pair import markers, unfit_shapes
from zlbench.run_pairs import HOW, RunPair, is_run, pair_of_screen, pairs_of_screen, two_runs
from zlbench.run_rows import RunRows


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


def _pairs(app: App) -> Sequence[RunPair]:
    """What was named, as pairs of run directories."""
    paths = [(app.cwd / path).resolve() for path in app.resolved.value("runs")]
    if len(paths) > 2:
        raise UsageError(f"{len(paths)} directories are given, two sides are compared", hint=HOW)
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is no directory", hint=HOW)
    if len(paths) == 2:
        return (two_runs(*paths),)
    if paths and is_run(paths[0]):
        raise UsageError(f"{paths[0]} is one run; with what is it compared?", hint=HOW)
    pair = pair_of_screen(paths[0]) if paths else None
    return (pair,) if pair is not None else pairs_of_screen(find_screen(app, paths[0] if paths else None))


def _name(pair: RunPair) -> str:
    return pair.name(*(read_identity(path) for path in (pair.a, pair.b)))


def _guarded(app: App, pair: RunPair, sides: list[RunRows]) -> tuple[str, ...]:
    """Refuse runs that answer different questions; return what is allowed to stand as a warning."""
    if not all(side.measured for side in sides):
        return ()  # no number will be read, and that is the finding
    before, after = (read_identity(path) for path in (pair.a, pair.b))
    found = guard.complaints(before, after, pair.axis, op=_name(pair))
    found += unfit_shapes(_name(pair), *(side.outcome for side in sides))
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
