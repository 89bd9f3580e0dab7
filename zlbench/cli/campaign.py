"""``zlbench campaign``: screen, partition, ab_repeat and report, each a command of its own, from one directory."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from zlbench import store
from zlbench.campaign import steps
from zlbench.campaign.asking import asked_again
from zlbench.campaign.cards import held_cards
from zlbench.campaign.chain import Chain, overview
from zlbench.campaign.estimate import Estimate, estimate
from zlbench.campaign.record import CAMPAIGN, REPORT, SCREEN, Record
from zlbench.cli.app import App
from zlbench.cli.find import newest_campaign, newest_screen
from zlbench.cli.listing import list_operators
from zlbench.cli.main import finish
from zlbench.cli.partition import partition_of
from zlbench.errors import ExitCode, PreflightError, UsageError
from zlbench.measure.request import Request, make_request
from zlbench.screen.candidates import on_cards, read_candidates
from zlbench.settings import SourceKind, axis_of
from zlbench.settings.parsers import NEWEST
from zlbench.settings.table import STEPS
from zlbench.settings.words import given_words
from zlbench.text import plural, relative

_OF_THIS_CALL = ("resume", "dry_run", "json", "out", "debug", "color")
"""Options that say nothing of what is measured."""


def run(app: App) -> ExitCode:
    """Run what is missing, or print the plan; return the exit code."""
    if app.resolved.flag("list"):
        return list_operators(app)
    given = app.resolved.path("resume")
    if given is not None:
        return _resume(app, _campaign(app, given))
    words = given_words(app.resolved, without=_OF_THIS_CALL)
    if app.resolved.source("devices").kind is SourceKind.FILE:
        words |= {"devices": ["--devices", ",".join(app.resolved.texts("devices"))]}
    record = Record(words=words, cwd=str(app.cwd), started=f"{app.now:%Y-%m-%d %H:%M:%S}")
    axis = axis_of(app.resolved, app.project)
    # Whatever cannot be meant is said before anything is made.
    request = make_request(
        app.resolved, app.project, axis, sides=("A", "B"), cwd=app.cwd, cache=app.home, env=app.env
    )  # fmt: skip
    if app.resolved.flag("dry_run"):
        return _dry_run(app, app.runs / f"campaign_{app.now:%Y%m%d-%H%M%S}", record, request)
    root = store.create_run_dir(app.runs, "campaign", app.now)
    with store.hold(root), _removed_if_refused(root):
        record.write(root)
        return _run(app, root, record)


@contextlib.contextmanager
def _removed_if_refused(root: Path) -> Iterator[None]:
    """A campaign that never had its card, so that no step of it began, is not left behind."""
    try:
        yield
    except PreflightError:
        if not (root / SCREEN).exists():
            for name in (CAMPAIGN, store.STATUS, ".lock"):
                (root / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                root.rmdir()
        raise


def _resume(app: App, root: Path) -> ExitCode:
    if app.resolved.flag("dry_run"):
        return _dry_run(app, root, _asked_again(app, root), None)
    with store.hold(root):
        return _run(app, root, _asked_again(app, root))


def _asked_again(app: App, root: Path) -> Record:
    """What the campaign was started with, and what this call may say otherwise; nothing is written here."""
    record = Record.read(root)
    given = given_words(app.resolved, without=_OF_THIS_CALL)
    if "ops" in given and [*given["ops"]] != [*record.words.get("ops", ())]:
        raise UsageError(
            f"{root} is a campaign of other operators: {' '.join(record.words.get('ops', ())) or 'all'}",
            hint=f"Leave them out, or start another: {app.hint('campaign', *given['ops'])}",
        )
    receipts = app.resolved.path("receipts")
    if receipts is not None:
        # The steps run where the campaign was started, which may be elsewhere.
        given["receipts"] = ["--receipts", str(app.cwd / receipts)]
    return asked_again(root, record, given, app.resolved, app.project)


def _campaign(app: App, given: Path) -> Path:
    if str(given) != NEWEST:
        root = (app.cwd / given).resolve()
        Record.read(root)
        return root
    found = newest_campaign(app)
    if found is None:
        raise UsageError(f"no campaign in {app.runs} to go on with", hint=f"Start one: {app.hint('campaign', 'topk')}")
    return found


def _run(app: App, root: Path, record: Record) -> ExitCode:
    # A step finds project and caller's directory where this command found them.
    env = {key: value for key, value in app.env.items() if key not in steps.VARIABLES}
    env |= {"ZLBENCH_ROOT": str(app.project.root), "ZLBENCH_CWD": record.cwd}
    as_data = app.resolved.flag("json")
    chain = Chain(
        root=root, record=record, env=env, talk=app.talk, output=2 if as_data else 1,
        cards=lambda: held_cards(app, root, record),
    )  # fmt: skip
    app.talk(f"campaign {root}")
    try:
        code = chain.run()
    except KeyboardInterrupt:
        app.talk(f"go on:  {_go_on(app, root)}")
        raise
    if as_data:
        app.json({"directory": str(root), **chain.record.to_json()})
        return ExitCode(finish(code))
    app.result("")
    app.result(f"campaign {relative(root, app.cwd)}")
    for line in overview(chain.record):
        app.result(line)
    if (root / REPORT).is_file() and chain.record.step("report").done:
        app.result(str(relative(root / REPORT, app.cwd)))
    if not all(step.done for step in chain.record.steps) or steps.worth_another_try(code):
        app.result(f"go on:  {_go_on(app, root)}")
    return ExitCode(finish(code))


def _go_on(app: App, root: Path) -> str:
    return app.hint("campaign", "--resume", str(relative(root, app.cwd)))


def _dry_run(app: App, root: Path, record: Record, request: Request | None) -> ExitCode:
    """Print every step's command with the minutes that it is likely to take; start and write nothing."""
    found = _estimate(app, root, record, request)
    commands = {name: steps.command(name, root, record.words) for name in STEPS}
    if app.resolved.flag("json"):
        app.json({
            "directory": str(root), "minutes": found.minutes, "minutes_from": found.source,
            "steps": [
                {"name": name, "state": record.step(name).state.value, "command": list(commands[name])}
                for name in STEPS
            ],
        })  # fmt: skip
        return ExitCode.OK
    operators = f"{plural(len(request.selections), 'operator')} · " if request is not None else ""
    app.result(f"plan: {operators}{len(STEPS)} steps · {root}")
    for number, name in enumerate(STEPS, start=1):
        step = record.step(name)
        app.result(f"  {number} {name:<10} {step.state.value if step.done else found.text(name)}")
        app.result(f"      zlbench {shlex.join(commands[name])}")
    app.result(found.note)
    app.result("nothing was started or written (--dry-run)")
    return ExitCode.OK


def _estimate(app: App, root: Path, record: Record, request: Request | None) -> Estimate:
    """From the campaign's own screen, else from the newest one that has judged all of these operators."""
    own = root / SCREEN
    screen = own if (own / "screen.tsv").is_file() else newest_screen(app) if request is not None else None
    if screen is None:
        return Estimate()
    candidates = read_candidates(screen)
    wanted = None if request is None else {selection.op for selection in request.selections}
    if wanted is not None and wanted != {item.op for item in candidates}:
        return Estimate()
    plan = partition_of(app, screen, _named_lanes(screen, record.words)).plan
    return estimate(screen, candidates, plan, jobs=1 if on_cards(candidates) else app.jobs)


def _named_lanes(screen: Path, words: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Names of the lanes that a campaign takes where nobody named any; one without a device is number 0."""
    match steps.lanes(screen, words):
        case ("--devices", card):
            return (card,)
        case ("--lanes", _):
            return ("0",)
    return ()
