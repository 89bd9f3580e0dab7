"""The cards of a campaign, had from its first step to its last. Its steps enter the locks that their parent holds.

Each step would take its own card, and leave it for a moment between two steps: whoever waits for the card has it then,
and the campaign that came first is refused in the middle of its chain.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from zlbench.campaign.record import ROUNDS, Record
from zlbench.campaign.steps import VARIABLES
from zlbench.cli.app import App
from zlbench.measure.cardwatch import alone
from zlbench.measure.request import Request, make_request
from zlbench.rounds.lanes import empty_lanes
from zlbench.rounds.names import PLAN
from zlbench.rounds.plan import RepeatLane, RepeatPlan
from zlbench.rounds.planning import known_cards
from zlbench.settings import axis_of, resolve
from zlbench.settings.words import words_for


@contextlib.contextmanager
def held_cards(app: App, root: Path, record: Record) -> Iterator[None]:
    """Have every card to ourselves that a step will measure on.

    Raises:
        PreflightError: another zlbench measures on one of them (CARD_IN_USE).
    """
    request = _request(app, record)
    if request.backend.deviceless:
        yield
        return
    known = known_cards(request, app.env)
    screened = ("0",) if request.devices is None else request.devices[:1]
    if (root / ROUNDS / PLAN).is_file():
        lanes: Sequence[RepeatLane] = RepeatPlan.read(root / ROUNDS).lanes
    else:
        lanes = empty_lanes(request, app.env, planned=(), known=known)
    names = [lane.uuid or (lane.card if lane.index is None else None) or str(lane.index or 0) for lane in lanes]
    wait_s = float(request.resolved.value("wait_for_card"))
    with alone(
        request.backend, known, (*screened, *names), env=app.env, directory=root, wait_s=wait_s, say=app.talk
    ):  # fmt: skip
        yield


def _request(app: App, record: Record) -> Request:
    """What the campaign was asked, as its steps understand it."""
    env = {key: value for key, value in app.env.items() if key not in VARIABLES}
    resolved = resolve("campaign", words_for("campaign", record.words), env=env, project=app.project)
    axis = axis_of(resolved, app.project)
    return make_request(
        resolved, app.project, axis, sides=("A", "B"), cwd=Path(record.cwd), cache=app.home, env=env
    )  # fmt: skip
