"""``zlbench status``: what a campaign or its rounds do now, read from their files; it disturbs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.campaign.chain import overview
from zlbench.campaign.record import CAMPAIGN, SCREEN, Record, StepState
from zlbench.cli.app import App
from zlbench.cli.find import find_rounds
from zlbench.errors import ExitCode
from zlbench.lane_state import LaneState, Phase
from zlbench.report.reading.load import rounds_of
from zlbench.rounds.names import PLAN, Metric
from zlbench.text import relative


def run(app: App) -> ExitCode:
    """Print the steps of a campaign, the cells of its screen, and its lanes."""
    root = find_rounds(app)
    alive = store.is_held(root)
    record = Record.read(root) if (root / CAMPAIGN).is_file() else None
    rounds = rounds_of(root)
    lanes = _lanes(rounds, alive=store.is_held(rounds))
    screen = _screen(root / SCREEN) if record is not None else {}
    if app.resolved.flag("json"):
        steps = record.to_json()["steps"] if record is not None else []
        shown = [{**asdict(lane), "state": lane.state.value} for lane in lanes]
        state = _state(record, lanes)
        app.json({"directory": str(root), "alive": alive, "state": state, "steps": steps, "screen": screen,
                  "lanes": shown})  # fmt: skip
        return ExitCode.OK
    app.result(f"{relative(root, app.cwd)}: {_said(_state(record, lanes), alive=alive)}")
    if record is not None:
        for line in overview(record):
            app.result(line)
        if screen and record.step("screen").state is not StepState.FINISHED:
            app.result(f"  screen: {screen['done']}/{screen['total']} cells")
    noun = "lane" if (store.read_json(rounds / PLAN) or {}).get("metric") == Metric.COMPILE.value else "card"
    for lane in lanes:
        app.result(f"  {lane.line(noun=noun)}")
    if not alive and _unfinished(record, lanes):
        name = "campaign" if record is not None else "ab_repeat"
        app.result(f"go on:  {app.hint(name, '--resume', str(relative(root, app.cwd)))}")
    return ExitCode.OK


def _state(record: Record | None, lanes: list[LaneState]) -> str:
    if record is not None:
        return record.state.value
    unfinished = any(lane.state is not Phase.FINISHED for lane in lanes)
    return Phase.RUNNING.value if unfinished or not lanes else Phase.FINISHED.value


def _said(state: str, *, alive: bool) -> str:
    if alive:
        return "running"
    return "its driver is dead: nothing runs" if state == Phase.RUNNING.value else state


def _unfinished(record: Record | None, lanes: list[LaneState]) -> bool:
    if record is not None:
        return record.state is not StepState.FINISHED
    return not lanes or any(lane.state is not Phase.FINISHED for lane in lanes)


def _lanes(rounds: Path, *, alive: bool) -> list[LaneState]:
    """Lanes of the plan that have begun; of a dead driver's none is running."""
    plan: Mapping[str, Any] = store.read_json(rounds / PLAN) or {}
    lanes = plan.get("lanes", ())
    folders = [rounds / str(lane["lane"]) if len(lanes) > 1 else rounds for lane in lanes]
    found = [state for folder in folders if (state := LaneState.read(folder)) is not None]
    return found if alive else [state.dead() for state in found]


def _screen(screen: Path) -> dict[str, int]:
    plan, status = (store.read_json(screen / name) or {} for name in ("plan.json", store.STATUS))
    total = len(plan.get("cells", ()))
    return {"done": len(status.get("cells", {})), "total": total} if total else {}
