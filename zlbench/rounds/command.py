"""``zlbench ab_repeat`` from what a person asks to a root of finished rounds."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zlbench import cards, store
from zlbench.axis import Axis
from zlbench.cli.app import App
from zlbench.cli.find import CAMPAIGN, find_screen, newest_screen
from zlbench.errors import ExitCode, NothingMeasuredError, UsageError, ZlbenchError
from zlbench.live import LiveView
from zlbench.measure.cardwatch import alone
from zlbench.measure.prepare import Prepared, prepare
from zlbench.measure.request import Request, make_request
from zlbench.partition_plan import Kind, Lane, Work, lanes_of
from zlbench.rounds import again, choose, looks
from zlbench.rounds.ask import planned_request, request_of
from zlbench.rounds.driver import Driver, ends_of
from zlbench.rounds.lanes import empty_lanes, fill_lanes
from zlbench.rounds.plan import PLAN, Metric, RepeatPlan, Schedule
from zlbench.rounds.records import End, exit_code
from zlbench.screen.candidates import Candidate, extra_work
from zlbench.screen.command import plan_data
from zlbench.settings import Resolved, SourceKind, axis_of
from zlbench.settings.parsers import NEWEST
from zlbench.settings.stored import stored
from zlbench.smi import CardFacts
from zlbench.text import plural


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a person asks, before anything is made.

    Args:
        subjects: what is measured for itself; directories as a screen names them.
        words: how to ask for the subjects.
        screened: where controls and times come from.
        own_screen: whether the subjects come from it, so that its sides have to be these.
        planned: lanes of a partition.json.
    """

    resolved: Resolved
    subjects: tuple[Work, ...]
    words: tuple[str, ...]
    screened: choose.Screened | None
    own_screen: bool
    planned: tuple[Lane, ...] = ()


def question_of(app: App) -> Question:
    """Find out what is meant.

    Raises:
        UsageError: there is no screen, or no such operator.
        NothingMeasuredError: no operator of the screen has a chosen verdict.
    """
    paths, names = _split(app)
    resolved = _with_operators(app.resolved, names)
    partition, screen = _source(app, paths)
    by_name = bool(names) or resolved.flag("all") or resolved.path("ops_file") is not None
    if partition is not None:
        assert screen is not None
        screened = choose.Screened.read(screen)
        planned = lanes_of(partition)
        pieces = {piece.directory: piece for lane in planned for piece in lane.pieces}
        subjects = tuple(Work(op=piece.op, directory=piece.directory) for piece in pieces.values())
        return _from_screen(resolved, screened, subjects, planned=planned)
    if by_name:
        return _by_name(app, resolved, screen)
    screened = choose.Screened.read(screen or find_screen(app))
    chosen = screened.subjects(resolved.texts("verdict"))
    extra = extra_work(screened.path, resolved.texts("extra_ops"), screened.candidates)
    taken = {item.directory for item in chosen}
    works = (*map(screened.work, chosen), *(item for item in extra if item.directory not in taken))
    if not works:
        wanted = " ".join(resolved.texts("verdict")) or "other machine code"
        raise NothingMeasuredError(
            f"{screened.path} has no operator with {wanted}",
            hint="Name operators to measure them all the same, or other verdicts: --verdict NO_IR_DIFF.",
        )
    return _from_screen(resolved, screened, works)


def _from_screen(
    resolved: Resolved, screened: choose.Screened, works: Sequence[Work], *, planned: tuple[Lane, ...] = ()
) -> Question:
    words = []
    for work in works:
        known = screened.find(work.directory)
        words.append(screened.word(known) if known is not None else work.op)
    return Question(
        resolved=again.with_screen_settings(resolved, screened.plan), subjects=tuple(works), words=tuple(words),
        screened=screened, own_screen=True, planned=planned,
    )  # fmt: skip


def _by_name(app: App, resolved: Resolved, screen: Path | None) -> Question:
    """Operators that somebody named, whatever their verdict; a screen that nobody named serves for controls alone."""
    found = screen or newest_screen(app)
    screened = choose.Screened.read(found) if found is not None else None
    own = screen is not None
    if own and screened is not None:
        resolved = again.with_screen_settings(resolved, screened.plan)
    axis = axis_of(resolved, app.project)
    request = make_request(resolved, app.project, axis, sides=("A", "B"), cwd=app.cwd, cache=app.home, env=app.env)
    works = []
    for target in request.targets:
        for selection in request.selections:
            directory = request.pair_name(selection, target)
            known = screened.find(directory) if screened is not None else None
            works.append(
                screened.work(known)
                if screened is not None and known is not None
                else Work(op=selection.op, directory=directory)
            )
    words = [f"{one.op}::{','.join(one.dtypes)}" if one.dtypes else one.op for one in request.selections]
    return Question(
        resolved=resolved, subjects=tuple(works), words=tuple(words), screened=screened, own_screen=own
    )  # fmt: skip


def _split(app: App) -> tuple[list[Path], tuple[str, ...]]:
    """Words that name a directory or a partition, and words that name operators."""
    paths, names = [], []
    for word in app.resolved.texts("ops"):
        path = (app.cwd / word).resolve()
        if "::" not in word and (word.endswith(".json") or _is_source(path)):
            paths.append(path)
        else:
            names.append(word)
    return paths, tuple(names)


def _is_source(path: Path) -> bool:
    return any((path / name).is_file() for name in ("screen.tsv", CAMPAIGN, "partition.json"))


def _with_operators(resolved: Resolved, names: tuple[str, ...]) -> Resolved:
    ops = replace(resolved.settings["ops"], value=names)
    return replace(resolved, settings={**resolved.settings, "ops": ops})


def _source(app: App, paths: Sequence[Path]) -> tuple[Mapping[str, Any] | None, Path | None]:
    """The partition and the screen that were named."""
    given = app.resolved.path("screen")
    if given is not None and not (paths and app.resolved.source("screen").kind is SourceKind.ENVIRONMENT):
        paths = [*paths, (app.cwd / given).resolve()]
    if len(paths) > 1:
        raise UsageError(f"{len(paths)} screens are given, one is measured", hint="Give one: --screen runs/screen_…")
    if not paths:
        return None, None
    path = paths[0]
    if path.name == "screen.tsv":
        path = path.parent
    if (path / CAMPAIGN).is_file() and (path / "partition.json").is_file():
        path /= "partition.json"
    if path.suffix != ".json":
        return None, find_screen(app, path)
    data = store.read_json(path)
    if not isinstance(data, Mapping) or "lanes" not in data or "screen" not in data:
        raise UsageError(f"{path} is no partition", hint=f"Make one: {app.hint('partition')}")
    return data, find_screen(app, Path(str(data["screen"])))


# --- the plan ------------------------------------------------------------------------------------------------------


def schedule_of(resolved: Resolved) -> Schedule:
    """How many rounds were asked for.

    Raises:
        UsageError: in two ways at once.
    """
    if not resolved.flag("until_settled"):
        if resolved.source("max_rounds").kind is SourceKind.COMMAND_LINE:
            raise UsageError("--max-rounds goes with --until-settled", hint="A fixed number of rounds: --rounds N.")
        return Schedule(looks=(int(resolved.value("rounds")),))
    if resolved.source("rounds").kind is SourceKind.COMMAND_LINE:
        raise UsageError("--rounds fixes their number, --until-settled does not", hint="Drop one of them.")
    return Schedule.until_settled(int(resolved.value("max_rounds")))


def controls_of(question: Question) -> list[Candidate]:
    """Operators that are measured along, for which the screen says that nothing differs."""
    if question.screened is None:
        return []
    asked = question.resolved.value("controls")
    return choose.choose_controls(
        question.screened.candidates, taken=[work.directory for work in question.subjects], asked=asked,
        subjects_s=sum(work.pair_s or 0.0 for work in question.subjects),
    )  # fmt: skip


def asked_request(app: App, question: Question, controls: Sequence[Candidate]) -> tuple[Request, tuple[str, ...]]:
    """The request for subjects and controls, and the words that ask for them."""
    screened = question.screened
    words = (*question.words, *(screened.word(item) for item in controls if screened is not None))
    words = tuple(dict.fromkeys(words))
    return request_of(app, question.resolved, words), words


def known_cards(request: Request, env: Mapping[str, str]) -> Sequence[CardFacts]:
    """Cards that the family's tool names."""
    return () if request.backend.deviceless else cards.cards_of(request.backend, env).values


def make_plan(
    app: App, question: Question, request: Request, controls: Sequence[Candidate], *, axis: Mapping[str, Any],
    words: tuple[str, ...], known: Sequence[CardFacts],
) -> RepeatPlan:  # fmt: skip
    """Put everything that is measured into lanes."""
    schedule, resolved = schedule_of(question.resolved), question.resolved
    metric = Metric.COMPILE if request.backend.deviceless else Metric.LATENCY
    lanes = empty_lanes(request, app.env, planned=question.planned, known=known)
    split = not resolved.flag("no_split") and metric is Metric.LATENCY
    filled = fill_lanes(
        lanes, question.subjects, choose.control_pieces(controls, schedule.rounds), planned=question.planned,
        rounds=schedule.rounds, split=split,
    )  # fmt: skip
    screen = question.screened.path if question.screened is not None else None
    note = choose.calibration_note(len(controls), asked=resolved.value("controls"), screen=screen)
    return RepeatPlan(
        metric=metric, schedule=schedule, lanes=filled, axis=axis, settings=stored(resolved), words=words,
        screen=str(screen) if screen is not None else None, cwd=str(app.cwd), environment=request.environment,
        retries=int(resolved.value("retries")), notes=(*request.notes, *([note] if note else [])),
    )  # fmt: skip


# --- running it ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """What a command came to."""

    root: Path
    plan: RepeatPlan
    ends: Sequence[End]
    code: ExitCode

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
        plan = RepeatPlan.read(root)
        resolved = again.as_planned(app.resolved, plan, root)
        if not plan.schedule.fixed:
            looks.require()
        request = planned_request(replace(app, cwd=Path(plan.cwd)), resolved, plan)
        again.refuse_other_environment(plan, request.environment, root)
        prepared = prepare(request, home=app.home, env=app.env, log=app.talk)
        again.refuse_other_axis(plan.axis, plan_data(request, prepared, [])["axis"], where=str(root))
        with _cards(app, request, plan, root, known_cards(request, app.env)):
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
        with driver.view:
            codes = driver.run()
    except KeyboardInterrupt:
        _try_status(root, plan, "interrupted", ExitCode.INTERRUPTED)
        app.talk(f"interrupted; what is finished is kept in {root}")
        app.talk(f"go on:  {app.hint('ab_repeat', '--resume', str(root))}")
        raise
    except ZlbenchError as error:
        _try_status(root, plan, "failed", error.code, error.message)
        raise
    except Exception as error:
        _try_status(root, plan, "failed", ExitCode.OP_FAILED, f"internal fault: {type(error).__name__}: {error}")
        raise
    ends = driver.ends()
    code = _code(ends, codes)
    write_status(root, plan, "finished", code)
    return Repeated(root=root, plan=plan, ends=ends, code=code)


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
        found = store.newest(app.runs, "repeat", having=PLAN)
        if found is None:
            raise UsageError(f"no rounds in {app.runs} to go on with", hint="Name their directory: --resume DIR")
        return found
    root = (app.cwd / given).resolve()
    root = root / "rounds" if (root / CAMPAIGN).is_file() else root
    if not (root / PLAN).is_file():
        raise UsageError(f"{root} holds no {PLAN} to go on with", hint="Give the directory of interrupted rounds.")
    return root


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


# --- telling -------------------------------------------------------------------------------------------------------


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
