"""From a plan to the request that measures it: the operators of the plan, asked for as its screen asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zlbench.cli.app import App
from zlbench.errors import UsageError
from zlbench.measure.request import Request, make_request
from zlbench.rounds.plan import RepeatPlan
from zlbench.settings import Resolved, Source, SourceKind, axis_of
from zlbench.settings.resolve import Setting

_FROM_PLAN = Source(kind=SourceKind.FILE, where="repeat.json")


def request_of(app: App, resolved: Resolved, words: Sequence[str]) -> Request:
    """A request for these operators and no others.

    Raises:
        UsageError: one of them cannot be meant.
    """
    chosen = {
        "ops": Setting(value=tuple(dict.fromkeys(words)), source=_FROM_PLAN),
        "ops_file": Setting(value=None, source=_FROM_PLAN),
        "all": Setting(value=False, source=_FROM_PLAN),
    }
    asked = replace(resolved, settings={**resolved.settings, **chosen})
    axis = axis_of(asked, app.project)
    return make_request(asked, app.project, axis, sides=("A", "B"), cwd=app.cwd, cache=app.home, env=app.env)


def planned_request(app: App, resolved: Resolved, plan: RepeatPlan) -> Request:
    """The request of a plan that was made before.

    Raises:
        UsageError: the suite does not have its operators any more.
    """
    request = request_of(app, resolved, plan.words)
    known = {request.pair_name(selection, target) for selection in request.selections for target in request.targets}
    missing = [piece.directory for piece in plan.pieces if piece.directory not in known]
    if missing:
        raise UsageError(f"the suite has no {missing[0]} any more", hint="Is it the same checkout?")
    return request
