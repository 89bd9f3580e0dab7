"""``zlbench partition``: which operators of a screen are measured on which card, and how long that takes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.campaign.record import CAMPAIGN
from zlbench.cli.app import App
from zlbench.cli.find import find_screen
from zlbench.errors import ExitCode, UsageError
from zlbench.partition import make_plan
from zlbench.partition_plan import Plan
from zlbench.partition_table import listed, to_text, to_tsv
from zlbench.screen.candidates import Candidate, extra_work, on_cards, read_candidates, work_of
from zlbench.settings import SourceKind
from zlbench.text import plural, relative

PLAN_TSV = "plan.tsv"
PARTITION = "partition.json"
"""Beside plan.tsv; a screen's own plan.json is another thing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """A plan and what it was made from."""

    screen: Path
    plan: Plan
    cards: bool
    """Whether lanes are cards; with no device they are not."""
    left_out: tuple[Candidate, ...]
    known: int
    """Operators of the screen."""
    notes: tuple[str, ...]

    @property
    def noun(self) -> str:
        """What a lane is called."""
        return "card" if self.cards else "lane"

    def to_data(self) -> dict[str, Any]:
        """Everything that is printed, as data, with the rows of every shard."""
        return {
            "schema_version": 1,
            "screen": str(self.screen),
            **self.plan.to_data(cards=self.cards),
            "left_out": [
                {"op": item.op, "dir": item.directory, "verdict": item.verdict, "machine_code": item.code or None}
                for item in self.left_out
            ],
            "notes": list(self.notes),
        }

    def write(self, folder: Path) -> None:
        """Write plan.tsv and partition.json."""
        store.write_text(folder / PLAN_TSV, to_tsv(self.plan))
        store.write_json(folder / PARTITION, self.to_data())


def run(app: App) -> ExitCode:
    """Plan, write, print."""
    found = partition_of(app, _screen(app))
    if not app.resolved.flag("dry_run"):
        with store.hold(found.screen):
            found.write(_target(app, found.screen))
    if app.resolved.flag("json"):
        app.json(found.to_data())
        return ExitCode.OK
    _show(app, found)
    return ExitCode.OK


def partition_of(app: App, screen: Path, lanes: Sequence[str] = ()) -> Partition:
    """Plan what a screen found, as the options say.

    Args:
        lanes: names of cards or lanes; as the options say where there are none.
    """
    candidates = read_candidates(screen)
    asked = app.resolved.texts("verdict")
    chosen = [item for item in candidates if (item.verdict in asked if asked else item.chosen)]
    taken = {item.directory for item in chosen}
    extra = extra_work(screen, app.resolved.texts("extra_ops"), candidates)
    work = [*(work_of(screen, item) for item in chosen), *(item for item in extra if item.directory not in taken)]
    notes = [f"{item.op} of --extra-ops is among the chosen already" for item in extra if item.directory in taken]
    taken |= {item.directory for item in extra}
    cards, split = on_cards(candidates), not app.resolved.flag("no_split")
    plan = make_plan(work, cards=lanes or _lanes(app, cards=cards), rounds=app.resolved.value("rounds"), split=split)
    return Partition(
        screen=screen, plan=plan, cards=cards, known=len(candidates), notes=(*_unfinished(screen), *notes),
        left_out=tuple(item for item in candidates if item.directory not in taken),
    )  # fmt: skip


def _screen(app: App) -> Path:
    given = app.resolved.value("from_screen")
    if len(given) > 1:
        raise UsageError(f"{len(given)} screens are given, one is spread", hint="Give one: runs/screen_…")
    # The predecessor's SCREEN names the table itself.
    folders = [path.parent if path.name == "screen.tsv" else path for path in given]
    return find_screen(app, folders[0] if folders else None)


def _lanes(app: App, *, cards: bool) -> Sequence[str]:
    """Names of the lanes: cards, or numbers."""
    named, count = app.resolved.texts("devices"), app.resolved.value("lanes")
    if named and count is not None:
        sources = app.resolved.source("devices").kind.rank, app.resolved.source("lanes").kind.rank
        if sources[0] == sources[1]:
            raise UsageError("--devices and --lanes are both given", hint="Drop one of them.")
        named = named if sources[0] > sources[1] else ()
    if named:
        return named
    if count is None and cards:
        raise UsageError(
            "no card is named, so nothing can be planned",
            hint=f"Name some: {app.hint('partition', '--devices', '0,1')}\nTheir numbers: {app.hint('doctor')}",
        )
    return [str(number) for number in range(count or len(os.sched_getaffinity(0)))]


def _unfinished(screen: Path) -> list[str]:
    state = (store.read_json(screen / store.STATUS) or {}).get("state", "finished")
    return [] if state == "finished" else [f"the screen is {state}: what it has not judged is not in this plan"]


def _target(app: App, screen: Path) -> Path:
    """The screen's directory, or the campaign's that it belongs to; elsewhere only where a screen was named, as --out
    then is not needed to find one."""
    given = app.resolved.source("out").kind is SourceKind.COMMAND_LINE and app.resolved.value("from_screen")
    if not given:
        return screen.parent if (screen.parent / CAMPAIGN).is_file() else screen
    with store.clear_errors(app.runs):
        app.runs.mkdir(parents=True, exist_ok=True)
    return app.runs


def _show(app: App, found: Partition) -> None:
    plan = found.plan
    measured = len({piece.directory for piece in plan.pieces})
    app.result(
        f"partition of {relative(found.screen, app.cwd)}: {plural(measured, 'operator')} to measure, "
        f"{found.known} screened · {plural(plan.rounds, 'round')} · {plural(len(plan.lanes), found.noun)}"
    )
    app.result("")
    for note in found.notes:
        app.result(note)
    for line in (
        to_text(plan, noun=found.noun) if measured else ["nothing to measure: no operator has a chosen verdict"]
    ):
        app.result(line)
    for line in _left_out(found.left_out):
        app.result(line)
    if app.resolved.flag("dry_run"):
        app.result("nothing was written (--dry-run)")
    else:
        app.result(str(relative(_target(app, found.screen) / PLAN_TSV, app.cwd)))


def _left_out(candidates: Sequence[Candidate]) -> list[str]:
    """Who is not measured, by verdict."""
    groups: dict[str, list[str]] = {}
    for item in candidates:
        code = {"same": ", same code", "changed": ", other code", "unknown": ", code unknown"}.get(item.code, "")
        judged = code if item.verdict in ("IR_CHANGED", "NO_IR_DIFF") else ""
        groups.setdefault(item.verdict + judged, []).append(item.directory)
    return [f"left out  {verdict}: {listed(names)}" for verdict, names in groups.items()]
