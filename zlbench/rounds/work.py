"""One lane's work: its processes, its sampler, its files; done inside whatever process the driver chose for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from zlbench import store
from zlbench.lane_state import LaneState, Phase
from zlbench.measure.prepare import Prepared, make_work_dir, tidy_work_dir, worker_specs
from zlbench.measure.request import Request
from zlbench.partition_plan import Kind
from zlbench.rounds.cells import pair_specs
from zlbench.rounds.choose import Screened
from zlbench.rounds.follow import Follower
from zlbench.rounds.lane import LaneRun, Rules, lane_bounds
from zlbench.rounds.lanes import on_lane
from zlbench.rounds.measure import CardPairs, CompilePairs, Hooks
from zlbench.rounds.plan import RepeatLane, RepeatPlan
from zlbench.telemetry.supervise import Telemetry

CACHE = ".cache"


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneWork:
    """Everything that a lane needs to begin.

    Args:
        root: of the rounds.
        say: takes lines for people.
        show: takes the lane's state whenever it changes.
        family: process whose descendants are all ours; None for this one.
    """

    request: Request
    prepared: Prepared
    plan: RepeatPlan
    lane: RepeatLane
    root: Path
    env: Mapping[str, str]
    say: Callable[[str], None]
    show: Callable[[LaneState], None] = lambda _: None
    family: int | None = None

    def run(self) -> None:
        """Measure what is missing; whatever ends it, its state says so."""
        folder = self.plan.folder(self.root, self.lane)
        with store.clear_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        request = on_lane(self.request, self.lane)
        follower = Follower(
            self.plan, self.lane, folder, sides=request.sides, say=self.say, show=self.show,
        )  # fmt: skip
        with self._told(follower), self._telemetry(folder, request), self._work_dir(folder, request) as work:
            hooks = Hooks(begin=follower.begin, finished=follower.finished, tick=follower.tick, note=follower.say)
            workers = worker_specs(request, self.prepared, work_dir=work, env=self.env)
            pairs = (
                CompilePairs(request, self.prepared, workers, core=self.lane.core, hooks=hooks)
                if request.backend.deviceless
                else CardPairs(request, self.prepared, workers, folder=folder, hooks=hooks)
            )
            specs = pair_specs(request, folder, self.lane.ops)
            run = LaneRun(
                self.plan, self.lane, folder, pairs=pairs, specs=specs, rules=self._rules(), follower=follower,
                axis=request.axis,
            )  # fmt: skip
            with pairs.open():
                run.run()

    def _rules(self) -> Rules:
        resolved = self.request.resolved
        return Rules(
            allow_no_ir_diff=resolved.flag("allow_no_ir_diff"),
            allow_mismatch=resolved.flag("allow_caliber_mismatch"),
            rows=_rows(self.plan),
            bounds=lane_bounds(self.plan.metric),
        )

    def _telemetry(self, folder: Path, request: Request) -> Telemetry:
        card = "" if self.lane.index is None else str(self.lane.index)
        return Telemetry(
            folder, backend=request.backend, card=card, env=self.env, say=self.say, family=self.family,
            interval_s=float(request.resolved.value("telemetry_interval")),
        )  # fmt: skip

    @contextlib.contextmanager
    def _work_dir(self, folder: Path, request: Request) -> Iterator[Path]:
        work = folder / CACHE
        make_work_dir(request, work)
        try:
            yield work
        finally:
            tidy_work_dir(request, work)

    @contextlib.contextmanager
    def _told(self, follower: Follower) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            # A full disk may refuse even this; what ended the lane is what matters.
            with contextlib.suppress(Exception):
                follower.phase(Phase.INTERRUPTED if isinstance(error, KeyboardInterrupt) else Phase.FAILED)
            raise


def _rows(plan: RepeatPlan) -> int:
    """Rows of all subjects, as the screen knows them; one a subject where nobody does."""
    subjects = plan.named(Kind.SUBJECT)
    if plan.screen is None or not (Path(plan.screen) / "screen.tsv").is_file():
        return len(subjects) or 1
    screen = Screened.read(Path(plan.screen))
    found = (screen.find(directory) for directory in subjects)
    return sum(max(1, len(screen.work(item).rows)) if item is not None else 1 for item in found) or 1
