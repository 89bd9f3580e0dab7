"""``zlbench ab_repeat``: what a screen kept, measured in repeated A/B rounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zlbench.cli.app import App
from zlbench.cli.dry import build_lines, known_manifests
from zlbench.cli.main import finish
from zlbench.errors import ExitCode
from zlbench.measure.prepare import Prepared
from zlbench.partition_plan import Kind
from zlbench.rounds.command import Repeated, root_to_resume, run_repeat
from zlbench.rounds.names import MARKERS
from zlbench.rounds.plan import RepeatPlan
from zlbench.rounds.planning import asked_request, controls_of, known_cards, make_plan
from zlbench.rounds.question import question_of
from zlbench.rounds.raising import raised
from zlbench.rounds.records import End
from zlbench.rounds.status import Table
from zlbench.screen.command import plan_data
from zlbench.text import columns, plural, relative, seconds


def run(app: App) -> ExitCode:
    """Measure, say what became of it, return the exit code."""
    if app.resolved.flag("dry_run"):
        return _dry_run(app)
    found = run_repeat(app)
    if app.resolved.flag("json"):
        app.json(found.to_json())
    else:
        _show(app, found)
    return ExitCode(finish(found.code))


def _show(app: App, found: Repeated) -> None:
    app.talk()
    rows = [
        (end.label, end.kind.value, f"{end.rounds}/{end.wanted}", str(end.invalid), _said(end)) for end in found.ends
    ]
    for line in columns(("op", "kind", "rounds", "invalid", ""), rows, right=frozenset({2, 3})):
        app.result(line)
    app.result("")
    app.result(_counts(found))
    if found.unseen:
        app.result(found.unseen)
    for note in found.plan.notes:
        app.result(note)
    app.result(str(relative(found.root / "status.tsv", app.cwd)))
    for line in _next_steps(app, found):
        app.result(line)


def _said(end: End) -> str:
    """What a person must know of an operator, in a few words."""
    if end.not_comparable:
        return f"NOT_COMPARABLE {end.not_comparable}"[:160]
    if end.dead:
        return "SWITCH_NO_IR_DIFF: the switch changes neither IR nor machine code"
    parts = []
    if end.failed:
        name, first = next(iter(end.failed.items()))
        parts.append(f"{first.state.value} {name} {first.detail}"[:120] + _more(end.failed))
    if not end.complete:
        parts.append("not to its end")
    if end.settled:
        parts.append(f"{plural(end.settled, 'row')} settled early")
    if not end.headline:
        parts.append("no headline")
    return " · ".join(parts)


def _more(items: object) -> str:
    count = len(items) - 1 if hasattr(items, "__len__") else 0
    return f" and {count} more" if count else ""


def _counts(found: Repeated) -> str:
    """One line of counts over all lanes."""
    lines = [
        line
        for lane in found.plan.lanes
        for line in Table.status(found.plan.folder(found.root, lane), repair=False).lines.values()
    ]
    failed = sum(line["rc"] != "0" for line in lines)
    names = ("replay_fallback", "no_cudagraph", "capture_poisoned")
    counts = [f"{word} {sum(int(line[name]) for line in lines)}" for word, name in zip(MARKERS, names, strict=True)]
    return " · ".join((plural(len(lines), "cell"), f"{failed} with a status other than 0", *counts))


def _next_steps(app: App, found: Repeated) -> list[str]:
    root = str(relative(found.root, app.cwd))
    steps = [f"look:  {app.hint('report', root)}"]
    if any(not end.complete or end.failed or end.invalid for end in found.ends if not end.dead):
        steps.append(f"go on: {app.hint('ab_repeat', '--resume', root)}")
    return steps


def _dry_run(app: App) -> ExitCode:
    """Print the plan with estimated minutes; start and write nothing."""
    given = app.resolved.path("resume")
    if given is not None:
        root = root_to_resume(app, given)
        return _show_plan(app, raised(app.resolved, RepeatPlan.read(root), root), root, [])
    question = question_of(app)
    controls = controls_of(question)
    request, words = asked_request(app, question, controls)
    axis = plan_data(request, Prepared(manifests=known_manifests(app, request)), [])["axis"]
    plan = make_plan(app, question, request, controls, axis=axis, words=words, known=known_cards(request, app.env))
    root = (app.cwd / (app.resolved.path("root") or app.runs / f"repeat_{app.now:%Y%m%d-%H%M%S}")).resolve()
    return _show_plan(app, plan, root, build_lines(app, request, work_dir=root / ".cache"))


def _show_plan(app: App, plan: RepeatPlan, root: Path, builds: Sequence[str]) -> ExitCode:
    if app.resolved.flag("json"):
        app.json({"directory": str(root), **plan.to_json()})
        return ExitCode.OK
    rounds = "" if plan.schedule.fixed else "at most "
    subjects, controls = plan.named(Kind.SUBJECT), plan.named(Kind.CONTROL)
    app.result(
        f"plan: {plural(len(subjects), 'operator')}, {plural(len(controls), 'control')} · {rounds}"
        f"{plural(plan.schedule.rounds, 'round')} · {plural(len(plan.lanes), 'lane')} · {root}"
    )
    for line in builds:
        app.result(line)
    rows = [
        (lane.lane, piece.label, piece.kind.value, str(2 * plan.schedule.rounds),
         seconds(piece.seconds) if piece.seconds else "?")
        for lane in plan.lanes
        for piece in lane.ops
    ]  # fmt: skip
    for line in columns(("lane", "op", "kind", "cells", "about"), rows, right=frozenset({3, 4})):
        app.result(line)
    longest = max(plan.lanes, key=lambda lane: lane.seconds)
    if longest.seconds:
        app.result(f"about {seconds(longest.seconds)}, by the pairs of the screen (lane {longest.lane} ends last)")
    else:
        app.result("how long it takes is not known: no screen has measured these operators")
    for note in plan.notes:
        app.result(note)
    app.result("nothing was started or written (--dry-run)")
    return ExitCode.OK
