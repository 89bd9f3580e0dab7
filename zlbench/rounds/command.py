"""``zlbench ab_repeat`` from what a person asks to a root of finished rounds."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.axis import Axis
from zlbench.campaign.record import CAMPAIGN, ROUNDS
from zlbench.cli.app import App
from zlbench.errors import ExitCode, PartialError, UsageError, ZlbenchError
from zlbench.live import LiveView
from zlbench.measure.cardwatch import alone
from zlbench.measure.prepare import Prepared, prepare
from zlbench.measure.request import Request
from zlbench.partition_plan import Kind
from zlbench.process import terminable
from zlbench.rounds import again, looks, raising
from zlbench.rounds.ask import planned_request
from zlbench.rounds.driver import Driver, ends_of
from zlbench.rounds.names import PLAN, Metric
from zlbench.rounds.plan import RepeatPlan
from zlbench.rounds.planning import asked_request, controls_of, known_cards, make_plan, schedule_of
from zlbench.rounds.question import question_of
from zlbench.rounds.records import End, exit_code
from zlbench.rounds.unseen import can_be_seen, unseen_line
from zlbench.screen.command import plan_data
from zlbench.settings.parsers import NEWEST
from zlbench.smi import CardFacts
from zlbench.text import plural, relative


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """What a command came to."""

    root: Path
    plan: RepeatPlan
    ends: Sequence[End]
    code: ExitCode
    unseen: str = ""
    """In how many pairs the sampler saw nothing, in a line for people."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "schema_version": 1,
            "directory": str(self.root),
            "exit_code": int(self.code),
            "metric": self.plan.metric.value,
            "rounds": self.plan.schedule.to_json(),
            "operators": [end.to_json() for end in self.ends],
            "notes": list(self.plan.notes),
        }


def run_repeat(app: App) -> Repeated:
    """Measure what is asked for, or what is missing of it.

    Raises:
        ZlbenchError: it cannot be measured, or not to its end; what is finished is kept.
    """
    given = app.resolved.path("resume")
    if given is not None:
        return _go_on(app, root_to_resume(app, given))
    question = question_of(app)
    if not schedule_of(question.resolved).fixed:
        looks.require()
    controls = controls_of(question)
    request, words = asked_request(app, question, controls)
    made, root = _new_root(app)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_removed_if_unused(root, made=made))
        stack.enter_context(store.hold(root))
        prepared = prepare(request, home=app.home, env=app.env, log=app.talk)
        axis = plan_data(request, prepared, [])["axis"]
        if question.screened is not None and not again.same_axis(question.screened.plan.get("axis") or {}, axis):
            if question.own_screen:
                again.refuse_other_axis(
                    question.screened.plan.get("axis") or {}, axis, where=str(question.screened.path)
                )
            question, controls = replace(question, screened=None), []
            request, words = asked_request(app, question, controls)
        known = known_cards(request, app.env)
        plan = make_plan(app, question, request, controls, axis=axis, words=words, known=known)
        stack.enter_context(_cards(app, request, plan, root, known))
        plan.write(root)
        return _measure(app, _driver(app, request, prepared, plan, root))


def _go_on(app: App, root: Path) -> Repeated:
    with store.hold(root):
        before = RepeatPlan.read(root)
        plan = raising.raised(app.resolved, before, root)
        resolved = again.as_planned(app.resolved, plan, root)
        if not plan.schedule.fixed:
            looks.require()
        request = planned_request(replace(app, cwd=Path(plan.cwd)), resolved, plan)
        again.refuse_other_environment(plan, request.environment, root)
        prepared = prepare(request, home=app.home, env=app.env, log=app.talk)
        again.refuse_other_axis(plan.axis, plan_data(request, prepared, [])["axis"], where=str(root))
        with _cards(app, request, plan, root, known_cards(request, app.env)):
            if plan is not before:
                app.talk(raising.explained(before.schedule, plan.schedule))
                plan.write(root)
            return _measure(app, _driver(app, request, prepared, plan, root))


def _driver(app: App, request: Request, prepared: Prepared, plan: RepeatPlan, root: Path) -> Driver:
    """A driver that tells this terminal."""
    return Driver(
        request=request, prepared=prepared, plan=plan, root=root, env=app.env, view=LiveView(sys.stderr, app.env)
    )


def _measure(app: App, driver: Driver) -> Repeated:
    """Run; whatever stops it, what was finished stays and the status says so."""
    plan, root = driver.plan, driver.root
    for line in header(driver.request, driver.prepared, plan, root):
        app.talk(line)
    write_status(root, plan, "running")
    try:
        with terminable(), driver.view:
            codes = driver.run()
    except KeyboardInterrupt:
        _try_status(root, plan, "interrupted", ExitCode.INTERRUPTED)
        app.talk(f"interrupted; what is finished is kept in {root}")
        app.talk(f"go on:  {app.hint('ab_repeat', '--resume', str(root))}")
        raise
    except ZlbenchError as error:
        _try_status(root, plan, "failed", error.code, error.message)
        if isinstance(error, PartialError):
            error.hint = f"{error.hint}\ngo on:  {app.hint('ab_repeat', '--resume', str(root))}"
        raise
    except Exception as error:
        _try_status(root, plan, "failed", ExitCode.OP_FAILED, f"internal fault: {type(error).__name__}: {error}")
        raise
    ends = driver.ends()
    code = _code(ends, codes)
    write_status(root, plan, "finished", code)
    interval_s = float(driver.request.resolved.value("telemetry_interval"))
    unseen = unseen_line(ends, interval_s=interval_s) if can_be_seen(plan, root) else ""
    return Repeated(root=root, plan=plan, ends=ends, code=code, unseen=unseen)


def _code(ends: Sequence[End], codes: Sequence[int]) -> ExitCode:
    """From the operators; a lane that did not come to its end leaves a part, unless nothing came of any."""
    bad = [code for code in codes if code]
    if bad and len(bad) == len(codes) and len(set(bad)) == 1 and bad[0] in {int(code) for code in ExitCode}:
        return ExitCode(bad[0])
    code = exit_code(ends)
    return ExitCode.PARTIAL if bad and code is ExitCode.OK else code


def root_to_resume(app: App, given: Path) -> Path:
    """The root that is gone on with.

    Raises:
        UsageError: there is none.
    """
    if str(given) == NEWEST:
        found = store.newest_of(app.runs, {"repeat": PLAN, "campaign": f"{ROUNDS}/{PLAN}"})
        if found is None:
            raise UsageError(f"no rounds in {app.runs} to go on with", hint=_without_rounds(app))
        return found / ROUNDS if (found / CAMPAIGN).is_file() else found
    root = (app.cwd / given).resolve()
    root = root / "rounds" if (root / CAMPAIGN).is_file() else root
    if not (root / PLAN).is_file():
        raise UsageError(f"{root} holds no {PLAN} to go on with", hint="Give the directory of interrupted rounds.")
    return root


def _without_rounds(app: App) -> str:
    campaign = store.newest(app.runs, "campaign", having=CAMPAIGN)
    if campaign is None:
        return "Name their directory: --resume DIR"
    return (
        f"A campaign has not come to its rounds: {app.hint('campaign', '--resume', str(relative(campaign, app.cwd)))}"
    )


def _new_root(app: App) -> tuple[bool, Path]:
    """The directory for this plan, and whether it was made now."""
    given = app.resolved.path("root")
    if given is None:
        return True, store.create_run_dir(app.runs, "repeat", app.now)
    root = (app.cwd / given).resolve()
    if (root / PLAN).is_file():
        raise UsageError(
            f"{root} holds rounds already", hint=f"Go on with them: {app.hint('ab_repeat', '--resume', str(root))}"
        )
    made = not root.is_dir()
    with store.clear_errors(root):
        root.mkdir(parents=True, exist_ok=True)
    return made, root


@contextlib.contextmanager
def _removed_if_unused(root: Path, *, made: bool) -> Iterator[None]:
    """A root that came to no plan is not left behind."""
    try:
        yield
    finally:
        if made and not (root / PLAN).is_file():
            (root / ".lock").unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                root.rmdir()


@contextlib.contextmanager
def _cards(app: App, request: Request, plan: RepeatPlan, root: Path, known: Sequence[CardFacts]) -> Iterator[None]:
    """Have every lane's card to ourselves as long as this process lives."""
    if request.backend.deviceless:
        yield
        return
    names = [lane.uuid or (lane.card if lane.index is None else None) or str(lane.index or 0) for lane in plan.lanes]
    wait_s = float(request.resolved.value("wait_for_card"))
    with alone(request.backend, known, names, env=app.env, directory=root, wait_s=wait_s, say=app.talk):
        yield


def header(request: Request, prepared: Prepared, plan: RepeatPlan, root: Path) -> list[str]:
    """What is measured, said once above everything."""
    axis: Axis = request.axis
    names = [f"{label} {prepared.manifests[label].label}" for label in ("A", "B")]
    subjects, controls = plan.named(Kind.SUBJECT), plan.named(Kind.CONTROL)
    rounds = f"{plan.schedule.rounds} rounds" if plan.schedule.fixed else f"up to {plan.schedule.rounds} rounds"
    measured = f"{plural(len(subjects), 'operator')}, {plural(len(controls), 'control')}"
    lanes = plural(len(plan.lanes), "lane" if plan.metric is Metric.COMPILE else "card")
    where = "compile times" if plan.metric is Metric.COMPILE else f"latencies on {request.backend.title}"
    return [
        f"repeat  {'  →  '.join(names)}        axis: {axis.describe}",
        f"        {where} · {measured} · {rounds} · {lanes}",
        f"        {root}",
        *(f"        {note}" for note in plan.notes),
    ]


def write_status(root: Path, plan: RepeatPlan, state: str, code: ExitCode | None = None, error: str = "") -> None:
    """Write the root's status.json: what a script reads instead of nox's exit status."""
    store.write_json(
        root / store.STATUS,
        {
            "schema_version": 1, "command": "ab_repeat", "state": state, "pid": os.getpid(),
            "exit_code": None if code is None else int(code), "exit": None if code is None else code.label,
            "error": error, "operators": [end.to_json() for end in ends_of(plan, root)], "notes": list(plan.notes),
        },
    )  # fmt: skip


def _try_status(root: Path, plan: RepeatPlan, state: str, code: ExitCode, error: str = "") -> None:
    """A full disk may refuse even this; what ended the rounds is what matters."""
    with contextlib.suppress(ZlbenchError):
        write_status(root, plan, state, code, error)
