"""``zlbench run``: operators once, on one compiler."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from zlbench import store, tuning
from zlbench.axis import Axis, Side
from zlbench.builds.check import check_imported
from zlbench.builds.probe import Observed
from zlbench.cells import CellOutcome, CellSpec, CellState, read_json_lines
from zlbench.cli.app import App
from zlbench.cli.dry import build_lines, condition_lines
from zlbench.cli.listing import list_operators
from zlbench.cli.main import finish, show_log
from zlbench.cli.rows import row_lines
from zlbench.cost_table import Cost, side_totals
from zlbench.errors import ExitCode, ZlbenchError
from zlbench.measure.prepare import Prepared, make_work_dir, prepare, tidy_work_dir, worker_specs
from zlbench.measure.progress import progress_line
from zlbench.measure.request import Request, make_cells, make_request
from zlbench.measure.runner import CellRunner, Clock, Finished
from zlbench.measure.warmup import WarmUp
from zlbench.settings import side_of
from zlbench.suite.names import safe_dirname
from zlbench.suite.resolve import Selection
from zlbench.text import columns, plural, relative, seconds


def run(app: App) -> ExitCode:
    """Measure, print rows and costs, return the exit code."""
    resolved = app.resolved
    if resolved.flag("list"):
        return list_operators(app)
    side = side_of(resolved, app.project)
    axis = Axis(name="run", a=side, b=Side(label="-", build=side.build), stamps=resolved.texts("stamps"))
    request = make_request(resolved, app.project, axis, sides=("A",), cwd=app.cwd, cache=app.home, env=app.env)
    if resolved.flag("dry_run"):
        return _dry_run(app, request)
    prepared = prepare(request, home=app.home, env=app.env, log=app.talk)
    manifest = prepared.manifests["A"]
    quick = " · quick: one shape and one dtype" if resolved.flag("quick") else ""
    where = "compile only" if request.backend.deviceless else request.backend.title
    where += f" ({request.backend_reason})" if request.backend_reason else ""
    app.talk(f"run  {manifest.label} · {where} · suite {request.provider.name} · level {resolved.text('level')}{quick}")
    for line in request.notes:
        app.talk(f"note: {line}")
    done = _measure(app, request, prepared)
    if resolved.flag("json"):
        app.json([{"op": f.spec.op, "directory": f.spec.out_dir, **f.outcome.to_json(),
                   "rows": read_json_lines(Path(f.spec.out_dir) / "rows.jsonl")} for f in done])  # fmt: skip
    else:
        _show(app, done)
    if resolved.flag("debug"):
        for item in done:
            show_log(None if item.outcome.complete else Path(item.spec.out_dir) / "run.log")
    for line in request.unread:
        app.talk(f"note: {line}")
    code = _code([item.outcome for item in done])
    return ExitCode(finish(ExitCode.PARTIAL if code is ExitCode.OK and request.unread else code))


def _cells(app: App, request: Request) -> list[CellSpec]:
    """Every operator gets a run directory of its own, ``runs/<op>_<time>``, as a person who runs one expects."""
    cells = []
    for spec in make_cells(request, app.runs):
        name = safe_dirname(spec.op) if len(request.targets) == 1 else spec.cell.rpartition("/")[0]
        root = app.runs if app.resolved.flag("dry_run") else store.create_run_dir(app.runs, name, app.now)
        cells.append(CellSpec.from_json({**spec.to_json(), "out_dir": str(root)}))
    return cells


def _measure(app: App, request: Request, prepared: Prepared) -> list[Finished]:
    cells = _cells(app, request)
    work = store.create_run_dir(app.runs, ".work", app.now)
    make_work_dir(request, work)
    clock = Clock(len(cells), request.jobs(app.jobs))
    done: list[Finished] = []

    def finished(item: Finished) -> None:
        clock.note(item.outcome.elapsed_s)
        app.talk(progress_line(clock, item.spec, item.outcome, reused=item.reused))
        done.append(item)

    workers = worker_specs(request, prepared, work_dir=work, env=app.env)
    warm = WarmUp(
        request, workers[0], env=app.env, say=app.talk,
        check=lambda side, seen: check_imported(side, prepared.manifests[side], Observed.from_dict(dict(seen))),
    )  # fmt: skip
    runner = CellRunner(
        request, prepared, workers, jobs=request.jobs(app.jobs), on_finished=finished, on_note=app.talk,
        on_ended=warm.after,
    )  # fmt: skip
    try:
        runner.run([warm.before(spec, _selection(request, spec)) for spec in cells])
        for line in runner.coster.notes:
            app.talk(line)
    except ZlbenchError as error:
        if error.log is None:  # it names no worker's log
            shutil.rmtree(work, ignore_errors=True)
        raise
    except KeyboardInterrupt:
        app.talk(f"interrupted: {len(done)} of {plural(len(cells), 'operator')} finished, kept in {app.runs}")
        shutil.rmtree(work, ignore_errors=True)
        raise
    finally:
        # Where an error goes up from here, the workers' logs stay: it names them.
        tidy_work_dir(request, work)
        _remove_empty(cells)
        with suppress(OSError):
            work.rmdir()  # where no worker was started, there is no log
    shutil.rmtree(work, ignore_errors=True)
    return done


def _selection(request: Request, spec: CellSpec) -> Selection:
    return next(item for item in request.selections if item.node_id == spec.node)


def _remove_empty(cells: list[CellSpec]) -> None:
    """A run that was stopped before an operator began leaves no directory for it."""
    for spec in cells:
        path = Path(spec.out_dir)
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _show(app: App, done: list[Finished]) -> None:
    for item in done:
        path = Path(item.spec.out_dir)
        app.result("")
        for line in row_lines(item.spec, read_json_lines(path / "rows.jsonl"), paint=app.paint):
            app.result(line)
        totals = side_totals(path)
        costs = [f"{cost.value} {totals[cost]}" for cost in Cost if totals[cost] is not None]
        app.result(" · ".join([plural(item.outcome.kernels, "kernel"), *costs]))
        for line in tuning.choice_lines(tuning.read_choices(path)):
            app.result(line)
        if item.outcome.state is not CellState.OK:
            app.result(app.paint(f"{item.outcome.state.value}: {item.outcome.detail}"))
        for marker in item.outcome.markers:
            if marker != item.outcome.detail:
                app.result(marker)
        if item.outcome.rows_not_measured:
            app.result(f"{plural(item.outcome.rows_not_measured, 'row')} not measured: not_measured.jsonl")
        app.result(str(relative(path, app.cwd)))


def _code(outcomes: list[CellOutcome]) -> ExitCode:
    """One operator: its own code. Several: partial where some are complete and some are not."""
    codes = {_own_code(outcome) for outcome in outcomes}
    if codes <= {ExitCode.OK}:
        return ExitCode.OK if outcomes else ExitCode.NOTHING_MEASURED
    if len(codes) == 1:
        return codes.pop()
    return ExitCode.OP_FAILED if codes <= {ExitCode.OK, ExitCode.OP_FAILED} else ExitCode.PARTIAL


def _own_code(outcome: CellOutcome) -> ExitCode:
    """Who asked for a replay and got none of it was not given what he asked for, however well the rows ran."""
    nothing = any(word == tuning.REPLAYED_NOTHING for word, _ in outcome.marked())
    return ExitCode.OP_FAILED if nothing and outcome.exit_code is ExitCode.OK else outcome.exit_code


def _dry_run(app: App, request: Request) -> ExitCode:
    """Print the plan and the exact commands; start and write nothing."""
    cells = _cells(app, request)
    if app.resolved.flag("json"):
        app.json({"build": request.builds["A"].name, "cells": [cell.to_json() for cell in cells]})
        return ExitCode.OK
    work = app.runs / f".work_{app.now:%Y%m%d-%H%M%S}"
    for line in (*condition_lines(request), *build_lines(app, request, work_dir=work)):
        app.result(line)
    rows = [(spec.cell, spec.node, seconds(float(app.resolved.value("cell_timeout")))) for spec in cells]
    for line in columns(("cell", "pytest node", "limit"), rows):
        app.result(line)
    return ExitCode.OK
