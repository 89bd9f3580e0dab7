"""``zlbench screen``: which operators does the change touch?"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from zlbench import store
from zlbench.cells import CellState
from zlbench.cli.app import App
from zlbench.cli.dry import build_lines, condition_lines, known_manifests
from zlbench.cli.find import newest_screen
from zlbench.cli.listing import list_operators
from zlbench.cli.main import finish, show_log
from zlbench.errors import ExitCode, PartialError, PreflightError, UsageError, ZlbenchError
from zlbench.judge import Verdict
from zlbench.measure.prepare import Prepared, prepare
from zlbench.measure.request import Request, make_cells, make_request
from zlbench.measure.runner import finished_outcome
from zlbench.pair import grouped
from zlbench.screen import table
from zlbench.screen.command import CACHE, Screen, header, plan_data, side_status
from zlbench.screen.resume import refuse_other_question, with_planned_operators, words_again
from zlbench.settings import SourceKind, axis_of
from zlbench.settings.parsers import NEWEST
from zlbench.text import plural, relative, seconds


def run(app: App) -> ExitCode:
    """Screen, print the table, return the exit code."""
    resolved = app.resolved
    if resolved.flag("list"):
        return list_operators(app)
    resuming = app.resolved.path("resume")
    if resuming is not None:
        resolved = with_planned_operators(resolved, _screen_to_resume(app, resuming))
    axis = axis_of(resolved, app.project)
    request = make_request(resolved, app.project, axis, sides=("A", "B"), cwd=app.cwd, cache=app.home, env=app.env)
    if resolved.flag("dry_run"):
        return dry_run(app, request)
    root = _root(app)
    with store.hold(root):
        return _screen(app, request, root)


def _screen(app: App, request: Request, root: Path) -> ExitCode:
    try:
        prepared = prepare(request, home=app.home, env=app.env, log=app.talk)
    except ZlbenchError as error:
        _note_preflight(root, request, error)
        raise
    except KeyboardInterrupt:
        app.talk("interrupted before anything was measured; what was installed by then is used again")
        if app.resolved.path("resume") is None:
            shutil.rmtree(root, ignore_errors=True)
        raise
    if app.resolved.path("resume") is not None:
        refuse_other_question(root, plan_data(request, prepared, make_cells(request, root)))
    screen = Screen(request=request, prepared=prepared, root=root, env=app.env, talk=app.talk)
    for line in header(request, prepared):
        app.talk(line)
    for line in request.notes:
        app.talk(f"note: {line}")
    app.talk()
    code = _run_to_the_end(screen, app)
    _show(app, screen, code)
    if app.resolved.flag("debug"):
        for pair, sides in screen.outcomes.items():
            for side, outcome in sides.items():
                show_log(None if outcome.complete else root / pair / side / "run.log")
    return ExitCode(finish(code))


def _root(app: App) -> Path:
    given = app.resolved.path("resume")
    if given is None:
        return store.create_run_dir(app.runs, "screen", app.now)
    return _screen_to_resume(app, given)


def _screen_to_resume(app: App, given: Path) -> Path:
    if str(given) == NEWEST:
        found = store.newest(app.runs, "screen", having=store.STATUS)
        if found is None:
            raise UsageError(f"no screen in {app.runs} to go on with", hint="Name its directory: --resume DIR")
        return found
    root = (app.cwd / given).resolve()
    if not (root / "plan.json").is_file() and not (root / store.STATUS).is_file():
        raise UsageError(f"{root} is no screen to go on with", hint="Give the directory of an interrupted screen.")
    return root


def _note_preflight(root: Path, request: Request, error: ZlbenchError) -> None:
    """Keep in status.json which side failed before anything ran; data of an earlier try stays as it is."""
    known = store.read_json(root / store.STATUS) or {}
    # From the disk: a driver that was killed has not said everything that was finished.
    cells = [(spec.side, finished_outcome(Path(spec.out_dir))) for spec in make_cells(request, root)]
    sides = {label: side_status([kept for side, kept in cells if kept and side == label]) for label in request.builds}
    side = _side_of(error, request)
    for label in [side] if side else list(sides):
        # As nox says of a session whose interpreter is not there; for zlbench it is a failure all the same.
        python = request.builds[label].python
        state = CellState.SKIPPED if side and python and not python.exists() else CellState.PREFLIGHT
        sides[label] = {"state": state.value, "returncode": int(error.code), "exit_code": int(error.code),
                        "error": error.message}  # fmt: skip
    store.write_json(
        root / store.STATUS,
        {**known, "schema_version": 1, "command": "screen", "state": "failed", "exit_code": int(error.code),
         "exit": error.code.label, "error": error.message, "sides": sides},
    )  # fmt: skip


def _side_of(error: ZlbenchError, request: Request) -> str:
    """The side whose build an error is about; empty where it is about both."""
    named = getattr(error, "side", "")
    found = [label for label, build in request.builds.items() if f"build {build.name}: " in error.message]
    found += [label for label in request.builds if error.message.startswith(f"side {label}")]
    return named or (found[0] if len(found) == 1 else "")


def _run_to_the_end(screen: Screen, app: App) -> ExitCode:
    """Run; whatever stops it, what was finished stays and the status says so."""
    try:
        screen.run(screen.request.jobs(app.jobs))
        code = _finish_screen(screen)
    except KeyboardInterrupt:
        _try_status(screen, "interrupted", ExitCode.INTERRUPTED)
        app.talk(f"interrupted: {plural(len(screen.lines), 'operator')} judged, kept in {screen.root}")
        app.talk(f"go on:  {_resume_command(app, screen.root)}")
        raise
    except ZlbenchError as error:
        _try_status(screen, "failed", error.code, error.message)
        if isinstance(error, PreflightError) and _side_of(error, screen.request):
            _note_preflight(screen.root, screen.request, error)
        if isinstance(error, PartialError):
            error.hint = f"{error.hint}\ngo on:  {_resume_command(app, screen.root)}"
        raise
    except Exception as error:
        _try_status(screen, "failed", ExitCode.OP_FAILED, f"internal fault: {type(error).__name__}: {error}")
        raise
    return code


def _finish_screen(screen: Screen) -> ExitCode:
    code = screen.exit_code()
    if any(line.judgement.verdict is not Verdict.NO_ROWS for line in screen.lines.values()):
        store.write_json(screen.root / "screen.json", screen_data(screen, code))
    screen.write_status("finished", code)
    return code


def _try_status(screen: Screen, state: str, code: ExitCode, error: str = "") -> None:
    """A full disk may refuse even this; what ended the screen is what matters."""
    with contextlib.suppress(ZlbenchError):
        screen.write_status(state, code, error)


def _resume_command(app: App, root: Path) -> str:
    return app.hint("screen", *words_again(app.resolved), "--resume", str(root))


def screen_data(screen: Screen, code: ExitCode) -> dict[str, object]:
    """Everything the table shows, as data."""
    lines = screen.sorted_lines()
    return {
        "schema_version": 1,
        "directory": str(screen.root),
        "exit_code": int(code),
        "axis": plan_data(screen.request, screen.prepared, [])["axis"],
        "elapsed_s": round(screen.clock.took_s, 1),
        "operators": table.to_data(lines),
        "notes": screen.notes,
    }


def _show(app: App, screen: Screen, code: ExitCode) -> None:
    lines = screen.sorted_lines()
    if app.resolved.flag("json"):
        app.json(screen_data(screen, code))
        return
    app.talk()
    for text in table.to_text(lines, paint=app.paint):
        app.result(text)
    app.result("")
    for line in lines:
        if line.judgement.failed:
            app.result(f"{line.directory}: {line.judgement.verdict.value}: {line.judgement.reason}")
    for note in grouped([note for note in screen.notes if note not in screen.request.notes]):
        app.result(note)
    app.result(table.summary(lines, seconds(screen.clock.took_s)))
    app.result(str(relative(screen.root / "screen.tsv", app.cwd)))
    for text in _next_steps(app, lines, screen.root):
        app.result(text)


def _next_steps(app: App, lines: Sequence[table.Line], root: Path) -> list[str]:
    """What one would do next, as commands to paste."""
    steps = []
    changed = [line for line in table.by_urgency(lines) if line.judgement.changed_kernels]
    failed = [line for line in lines if line.judgement.failed]
    if changed:
        # Named where `diff` alone would look at another one.
        found = app.resolved.source("out").kind is not SourceKind.COMMAND_LINE and newest_screen(app) == root
        screen = () if found else ("--screen", str(relative(root, app.cwd)))
        steps.append(f"look:  {app.hint('diff', changed[0].op, *screen)}")
    if failed:
        steps.append(f"why:   {app.hint('explain', failed[0].judgement.verdict.value)}")
    if any(not outcome.kept for line in failed for outcome in (line.before, line.after)):
        steps.append(f"go on: {_resume_command(app, root)}")
    return steps


def dry_run(app: App, request: Request) -> ExitCode:
    """Print the plan and the exact commands; start and write nothing."""
    root = app.runs / f"screen_{app.now:%Y%m%d-%H%M%S}"
    cells = make_cells(request, root)
    if app.resolved.flag("json"):
        app.json(plan_data(request, Prepared(manifests=known_manifests(app, request)), cells))
        return ExitCode.OK
    app.result(f"plan: {plural(len(request.selections), 'operator')} · {plural(len(cells), 'cell')} · {root}")
    for line in (*condition_lines(request), *build_lines(app, request, work_dir=root / CACHE)):
        app.result(line)
    for cell in cells:
        app.result(f"  {cell.cell:<28} pytest {cell.node}")
    return ExitCode.OK
