"""From what is asked to the plan: rounds, controls, lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zlbench import cards
from zlbench.cli.app import App
from zlbench.errors import UsageError
from zlbench.measure.request import Request
from zlbench.rounds import choose
from zlbench.rounds.ask import request_of
from zlbench.rounds.lanes import empty_lanes, fill_lanes
from zlbench.rounds.names import Metric
from zlbench.rounds.plan import RepeatPlan, Schedule
from zlbench.rounds.question import Question
from zlbench.screen.candidates import Candidate
from zlbench.settings import Resolved, SourceKind
from zlbench.settings.stored import stored
from zlbench.smi import CardFacts


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
