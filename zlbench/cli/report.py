"""``zlbench report``: what was measured and what may be said of it, from files alone; a card is never started."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from zlbench import store
from zlbench.cli.app import App
from zlbench.cli.find import find_rounds
from zlbench.cli.main import finish
from zlbench.errors import ExitCode, NotComparableError, NothingMeasuredError, UsageError, ZlbenchError
from zlbench.report import gate
from zlbench.report.ending import exit_code, nothing_lines
from zlbench.report.exports.data import to_data
from zlbench.report.outputs import BEFORE, REPORT, Asked, Told, move_aside, write
from zlbench.report.prose import github
from zlbench.report.prose.text import to_text
from zlbench.report.reading.load import Kind, Source, load, source_of
from zlbench.report.receipts.place import require_place
from zlbench.report.summary import summarise
from zlbench.settings import SourceKind
from zlbench.text import relative


def run(app: App) -> ExitCode:
    """Read, judge, write the files of the report, print the table."""
    with _without_collector():
        return _run(app)


@contextmanager
def _without_collector() -> Iterator[None]:
    """A hundred thousand readings hold no cycle, and looking for one among them takes a fifth of the time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _run(app: App) -> ExitCode:
    source = _source(app)
    asked = _asked(app, source)
    try:
        measured = load(source, allow=app.resolved.flag("allow_caliber_mismatch"))
        code = exit_code(measured)
        # Rounds of which nothing was measured yet, or whose switch is dead, have that to tell.
        if not measured.reason and (source.kind is Kind.PAIRS or code is ExitCode.NOT_COMPARABLE):
            _refuse_nothing(nothing_lines(measured), code)
    except (NotComparableError, NothingMeasuredError) as error:
        _without_former(app, source, error)
        raise
    summary = summarise(measured, delta=app.resolved.value("delta") / 100)
    gates = app.resolved.value("fail_on")
    found = gate.regressions(summary, gates)
    summary = replace(summary, findings=tuple(gate.lines(summary, gates, found)))
    # What is missing or cannot be compared is said first: it is found and mended before a regression is looked for.
    code = ExitCode.REGRESSION if found and code is ExitCode.OK else code
    folder = _folder(app, source)
    told = Told(summary=summary, failures=gate.failures(found) if gates else None)
    write(folder, told, asked)
    _tell_github(app, folder, found)
    if app.resolved.flag("json"):
        directory = str(relative(folder, app.cwd))
        app.json(to_data(summary, failures=told.failures, directory=directory, exit_code=int(code)))
        return ExitCode(finish(code))
    for line in to_text(summary, colour=app.paint):
        app.result(line)
    if asked.receipts is not None:
        app.result(f"receipts: {relative(asked.receipts, app.cwd)}")
    app.result(str(relative(folder / REPORT, app.cwd)))
    return ExitCode(finish(code))


def _asked(app: App, source: Source) -> Asked:
    """What is wanted; receipts that have no place are refused before anything is read or written."""
    given = app.resolved.value("receipts")
    receipts = None if given is None else app.cwd / given
    if receipts is not None:
        shown = relative(receipts, app.cwd)
        require_place(receipts, shown)
        known = _known_folder(app, source)
        if known is not None and receipts.resolve() == known.resolve():
            raise UsageError(
                f"{shown} is where the report goes; receipts are a bundle of their own.",
                hint="Nothing is written. Give a new or an empty folder: --receipts DIR",
            )
    return Asked(exports=app.resolved.value("export"), receipts=receipts)


def _tell_github(app: App, folder: Path, found: Sequence[gate.Regression]) -> None:
    """Annotations, and the page of the step, where a workflow runs this. Both go where no result goes."""
    if github.in_actions(app.env):
        for line in github.annotations(found):
            app.tell_runner(line)
    warning = github.write_step_summary((folder / REPORT).read_text(encoding="utf-8"), app.env)
    if warning:
        app.talk(f"note: {warning}")


def _source(app: App) -> Source:
    given = app.resolved.value("of")
    return source_of([(app.cwd / path).resolve() for path in given] if given else [find_rounds(app)])


def _folder(app: App, source: Source) -> Path:
    """Where the report is written: in --out DIR itself where directories are named, else where the rounds are.

    Runs that are compared are left as they are: their report is a directory of its own below runs/.
    """
    return _known_folder(app, source) or store.create_run_dir(app.runs, "report", app.now)


def _known_folder(app: App, source: Source) -> Path | None:
    """The directory of the report where each call has the same; None where each makes its own."""
    if app.resolved.value("of") and app.resolved.source("out").kind is SourceKind.COMMAND_LINE:
        return app.runs
    return source.root if source.kind is Kind.ROUNDS else None


def _without_former(app: App, source: Source, error: ZlbenchError) -> None:
    """Leave no report in place that says what this one may not: scripts read whatever lies there."""
    folder = _known_folder(app, source)
    if folder is not None and move_aside(folder):
        there = relative(folder / f"{REPORT}{BEFORE}", app.cwd)
        error.hint = f"{error.hint}\nThe former report is not valid any more: {there}, and its other files alike."


def _refuse_nothing(lines: list[str], code: ExitCode) -> None:
    """Write no report of runs of which nothing can be compared: an empty table reads like an all-clear."""
    if not lines:
        return
    if code is ExitCode.NOT_COMPARABLE:
        raise NotComparableError("\n".join(lines), hint="No report is written. Row by row: zlbench compare")
    raise NothingMeasuredError("\n".join(lines), hint="No report is written.")
