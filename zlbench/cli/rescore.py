"""``zlbench rescore``: judge a stored screen again with today's fingerprint; nothing is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.axis import axis_of_plan
from zlbench.cli.app import App
from zlbench.cli.find import find_screen
from zlbench.cli.main import finish
from zlbench.cost_table import read_costs
from zlbench.errors import ExitCode, UsageError
from zlbench.pair import JudgedPair, grouped, judge_pair
from zlbench.screen import table
from zlbench.screen.candidates import read_table
from zlbench.screen.ending import exit_code
from zlbench.text import plural

KEPT = "screen.tsv.before-rescore"


def run(app: App) -> ExitCode:
    """Rescore every directory named, or the newest screen."""
    roots = [find_screen(app, Path(path)) for path in app.resolved.value("dirs")] or [find_screen(app)]
    reports = [_rescore(app, root) for root in roots]
    refused = any(report["exit_code"] == ExitCode.NOT_COMPARABLE for report in reports)
    code = ExitCode.NOT_COMPARABLE if refused else ExitCode.OK
    if app.resolved.flag("json"):
        app.json(reports)
        return ExitCode(finish(code))
    for report in reports:
        app.result(f"{report['directory']}: {plural(report['operators'], 'operator')} judged again")
        for change in report["changed"]:
            app.result(f"  {change['op']}  {change['before']} → {change['after']}  ({change['reason']})")
        if not report["changed"]:
            app.result("  no verdict changed")
        for note in grouped(report["notes"]):
            app.result(f"  {note}")
    return ExitCode(finish(code))


def _rescore(app: App, root: Path) -> dict[str, Any]:
    """Judge one screen again, as a screen judges; the table before the first rescore is kept."""
    with store.hold(root):
        return _rescore_held(app, root)


def _rescore_held(app: App, root: Path) -> dict[str, Any]:
    plan: dict[str, Any] = store.read_json(root / "plan.json") or {}
    axis = axis_of_plan(plan)
    allow = app.resolved.flag("allow_caliber_mismatch") or bool(plan.get("allow_caliber_mismatch"))
    before = read_table(root / "screen.tsv")
    pairs = [
        judge_pair(_pair_dir(root, row), op=row["op"], axis=axis, stamps=app.resolved.texts("stamps"),
                   allow_mismatch=allow)
        for row in before
    ]  # fmt: skip
    lines = [_line(root, row, pair) for row, pair in zip(before, pairs, strict=True)]
    kept = root / KEPT
    if not kept.exists():
        store.write_text(kept, (root / "screen.tsv").read_text(encoding="utf-8"))
    store.write_text(root / "screen.tsv", table.to_tsv(lines))
    planned = {cell["cell"].rpartition("/")[0] for cell in plan.get("cells", ())}
    complete = planned <= {line.directory for line in lines} and not plan.get("unread")
    code = exit_code(lines, axis, complete=complete)
    notes = [note for pair in pairs for note in pair.notes]
    _keep_in_step(root, lines, notes, code, app.now)
    changed = [
        {
            "op": line.op,
            "before": row["verdict"],
            "after": line.judgement.verdict.value,
            "reason": line.judgement.reason,
        }
        for row, line in zip(before, lines, strict=True)
        if row["verdict"] != line.judgement.verdict.value
    ]
    return {
        "directory": str(root),
        "operators": len(lines),
        "exit_code": int(code),
        "changed": changed,
        "notes": notes,
    }


def _keep_in_step(root: Path, lines: Sequence[table.Line], notes: list[str], code: ExitCode, now: datetime) -> None:
    """Bring screen.json and the end in status.json to what the table says now."""
    again = {"exit_code": int(code), "rescored": now.isoformat(timespec="seconds")}
    screen: dict[str, Any] | None = store.read_json(root / "screen.json")
    if screen is not None:
        data = {**screen, **again, "operators": table.to_data(lines), "notes": _renewed(screen, notes)}
        store.write_json(root / "screen.json", data)
    status: dict[str, Any] | None = store.read_json(root / store.STATUS)
    if status is not None and status.get("state") == "finished":
        store.write_json(root / store.STATUS, {**status, **again, "exit": code.label, "notes": _renewed(status, notes)})


def _renewed(data: Mapping[str, Any], notes: list[str]) -> list[str]:
    """New notes on operators, and those of before that are on the screen as a whole."""
    whole = [note for note in data.get("notes", ()) if not note.startswith("[caliber]") and " op=" not in note]
    return [*notes, *whole]


def _pair_dir(root: Path, row: Mapping[str, str]) -> Path:
    pair = root / (row.get("directory") or row["op"])
    if not (pair / "A").is_dir():
        raise UsageError(
            f"{pair} holds no stored IR", hint="Only a screen whose directories were kept can be rescored."
        )
    return pair


def _line(root: Path, row: Mapping[str, str], pair: JudgedPair) -> table.Line:
    directory = row.get("directory") or row["op"]
    return table.Line(
        op=row["op"],
        op_file=row.get("op_file", ""),
        dtypes=row.get("dtypes", ""),
        target=row.get("device", ""),
        directory=directory,
        before=pair.a.outcome,
        after=pair.b.outcome,
        judgement=pair.judgement,
        caliber=pair.identity.caliber.columns() if pair.identity is not None else {},
        costs={} if pair.judgement.failed else read_costs(root / directory),
        times=pair.times,
    )
