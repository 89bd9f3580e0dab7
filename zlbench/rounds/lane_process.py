"""One lane in a process of its own: ``python -m zlbench.rounds.lane_process ROOT LANE``, for drivers of several.

It asks what repeat.json says, in the environment of its driver, and ends as a command does: with an exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from zlbench import store
from zlbench.cli.app import App
from zlbench.cli.main import project_root, report_error
from zlbench.errors import ExitCode, UsageError, ZlbenchError
from zlbench.measure.prepare import prepare
from zlbench.process import terminable
from zlbench.rounds.ask import planned_request
from zlbench.rounds.plan import RepeatPlan
from zlbench.rounds.work import LaneWork
from zlbench.settings import Resolved, load_project
from zlbench.settings.stored import restored
from zlbench.text import say

COMMAND = "ab_repeat"


def main(argv: Sequence[str]) -> int:
    """Measure what is missing of one lane."""
    root, name = Path(argv[0]), argv[1]
    try:
        with terminable():
            return _run(root, name)
    except ZlbenchError as error:
        return report_error(error)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)


def _run(root: Path, name: str) -> int:
    plan = RepeatPlan.read(root)
    lane = next((lane for lane in plan.lanes if lane.lane == name), None)
    if lane is None:
        raise UsageError(f"{root} has no lane {name}")
    env = dict(os.environ)
    project = load_project(project_root(Path(plan.cwd), env), env)
    settings = restored(COMMAND, plan.settings)
    driver = store.read_json(root / DRIVER) or {}
    settings |= restored(COMMAND, driver.get("settings") or {})
    resolved = Resolved(command=COMMAND, settings=settings)
    app = App(command=COMMAND, project=project, resolved=resolved, env=env, cwd=Path(plan.cwd), now=datetime.now())
    request = planned_request(app, resolved, plan)
    folder = plan.folder(root, lane)
    folder.mkdir(parents=True, exist_ok=True)
    with store.hold(folder):
        prepared = prepare(request, home=app.home, env=env, log=say, install=False)
        LaneWork(
            request=request, prepared=prepared, plan=plan, lane=replace(lane), root=root, env=env, say=say,
            family=os.getppid(),
        ).run()  # fmt: skip
    return int(ExitCode.OK)


DRIVER = "driver.json"
"""What the driver was asked beyond the plan: limits and intervals, which may be others when rounds go on."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
