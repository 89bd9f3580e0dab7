"""``zlbench report``: what repeated rounds found, from files alone; a card is never started."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zlbench import guard, store
from zlbench.campaign.record import CAMPAIGN, ROUNDS, SCREEN
from zlbench.cli.app import App
from zlbench.cli.main import finish
from zlbench.cli.rescore import axis_of_plan
from zlbench.errors import ExitCode, UsageError
from zlbench.report.markdown import to_markdown
from zlbench.report.model import Header, Measured
from zlbench.report.read import REPEAT, header_of, planned_rounds, read_rounds
from zlbench.report.rows_csv import to_csv
from zlbench.report.summary import Summary, summarise
from zlbench.report.text import to_text
from zlbench.screen.candidates import read_candidates
from zlbench.text import plural, relative

REPORT, ROWS = "report.md", "rows.csv"
_HOW = "Give the directory of a campaign (runs/campaign_…) or of repeated rounds (runs/repeat_…)."


def run(app: App) -> ExitCode:
    """Read, sum up, write report.md and rows.csv, print the table."""
    root = find(app)
    summary = summarise(_measured(app, root))
    store.write_text(root / REPORT, to_markdown(summary))
    store.write_text(root / ROWS, to_csv(summary))
    # A campaign that found nothing to measure has said so, which is a result.
    code = ExitCode.OK if summary.measured or summary.reason else ExitCode.NOTHING_MEASURED
    if app.resolved.flag("json"):
        app.json(_data(root, summary, code))
        return ExitCode(finish(code))
    for line in to_text(summary):
        app.result(line)
    app.result(str(relative(root / REPORT, app.cwd)))
    return ExitCode(finish(code))


def find(app: App) -> Path:
    """The campaign or repeat root that is meant: the one named, else the newest.

    Raises:
        UsageError: there is none.
    """
    given = app.resolved.value("of")
    if len(given) > 1:
        raise UsageError(f"{len(given)} directories are given, one is looked at", hint=_HOW)
    if given:
        root: Path = (app.cwd / given[0]).resolve()
        if not any((root / name).is_file() for name in (REPEAT, CAMPAIGN)):
            raise UsageError(f"{root} holds neither {REPEAT} nor {CAMPAIGN}", hint=_HOW)
        return root
    found = store.newest_of(app.runs, {"repeat": REPEAT, "campaign": CAMPAIGN})
    if found is None:
        raise UsageError(f"no campaign and no repeated rounds in {app.runs}", hint=_HOW)
    return found


def rounds_of(root: Path) -> Path:
    """The repeat root of a campaign, or the root itself."""
    return root / ROUNDS if (root / CAMPAIGN).is_file() else root


def _measured(app: App, root: Path) -> Measured:
    rounds = rounds_of(root)
    screen = _screen_lines(root / SCREEN) if rounds != root else ()
    title = f"report of {root.name}"
    if not (rounds / REPEAT).is_file():
        header = Header(title=title, metric=None, screen=screen, axis=_axis_text(root / SCREEN))
        return Measured(header=header, reason=_no_rounds(root))
    plan: dict[str, Any] = store.read_json(rounds / REPEAT) or {}
    read = read_rounds(rounds, axis_of_plan(plan))
    warnings = guard.refuse(read.complaints, allow=app.resolved.flag("allow_caliber_mismatch"))
    running = store.is_held(rounds)
    return Measured(
        header=header_of(read, title=title, warnings=warnings, screen=screen), ops=read.ops,
        planned=planned_rounds(plan),
        progress=f"not at their end: the rounds are running, {plural(read.cells, 'cell')} finished" if running else "",
    )  # fmt: skip


def _no_rounds(root: Path) -> str:
    steps = (store.read_json(root / CAMPAIGN) or {}).get("steps", ())
    note = next((step.get("note") for step in steps if step["name"] == "ab_repeat"), "")
    return f"no rounds were measured: {note}" if note else ""


def _screen_lines(screen: Path) -> tuple[str, ...]:
    if not (screen / "screen.tsv").is_file():
        return ("the screen has judged nothing",)
    candidates = read_candidates(screen)
    code = {"same": ", same code", "changed": ", other code"}
    groups = Counter(f"{item.verdict}{code.get(item.code, '')}" for item in candidates)
    listed = " · ".join(f"{number} {group}" for group, number in groups.most_common())
    return (f"screen: {plural(len(candidates), 'operator')} · {listed}",)


def _axis_text(screen: Path) -> str:
    plan: dict[str, Any] = store.read_json(screen / "plan.json") or {}
    return str(plan.get("axis", {}).get("describe", ""))


def _data(root: Path, summary: Summary, code: ExitCode) -> dict[str, Any]:
    return {"schema_version": 1, "directory": str(root), "exit_code": int(code), **asdict(summary)}
