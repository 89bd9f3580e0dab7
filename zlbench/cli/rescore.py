"""``zlbench rescore``: judge a stored screen again with today's fingerprint; nothing is compiled."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.cli.app import App
from zlbench.cli.find import find_screen
from zlbench.cli.main import finish
from zlbench.cost_table import read_costs
from zlbench.errors import ExitCode, UsageError
from zlbench.identity import read_identity
from zlbench.judge import SideFacts, judge
from zlbench.screen import table
from zlbench.text import plural

KEPT = "screen.tsv.before-rescore"


def run(app: App) -> ExitCode:
    """Rescore every directory named, or the newest screen."""
    roots = [find_screen(app, Path(path)) for path in app.resolved.value("dirs")] or [find_screen(app)]
    reports = [_rescore(root, app.resolved.texts("stamps")) for root in roots]
    if app.resolved.flag("json"):
        app.json(reports)
        return ExitCode.OK
    for report in reports:
        app.result(f"{report['directory']}: {plural(report['operators'], 'operator')} judged again")
        for change in report["changed"]:
            app.result(f"  {change['op']}  {change['before']} → {change['after']}  ({change['reason']})")
        if not report["changed"]:
            app.result("  no verdict changed")
    return ExitCode(finish(ExitCode.OK))


def _rescore(root: Path, stamps: tuple[str, ...]) -> dict[str, Any]:
    """Judge one screen again; the table before the first rescore is kept."""
    plan: dict[str, Any] = store.read_json(root / "plan.json") or {}
    patterns = (*plan.get("axis", {}).get("stamps", ()), *stamps)
    before = _read_tsv(root / "screen.tsv")
    lines = [_judged(root, row, patterns) for row in before]
    kept = root / KEPT
    if not kept.exists():
        store.write_text(kept, (root / "screen.tsv").read_text(encoding="utf-8"))
    store.write_text(root / "screen.tsv", table.to_tsv(lines))
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
    return {"directory": str(root), "operators": len(lines), "changed": changed}


def _read_tsv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    if rows and ("op" not in rows[0] or "verdict" not in rows[0]):
        raise UsageError(f"{path} is no screen table: it lacks the columns op and verdict")
    return rows


def _judged(root: Path, row: dict[str, str], stamps: tuple[str, ...]) -> table.Line:
    directory = row.get("directory") or row["op"]
    pair = root / directory
    if not (pair / "A").is_dir():
        raise UsageError(
            f"{pair} holds no stored IR", hint="Only a screen whose directories were kept can be rescored."
        )
    a, b = (SideFacts.read(pair / side, stamps) for side in ("A", "B"))
    identity = read_identity(pair / "A")
    return table.Line(
        op=row["op"],
        op_file=row.get("op_file", ""),
        dtypes=row.get("dtypes", ""),
        target=row.get("device", ""),
        directory=directory,
        before=a.outcome,
        after=b.outcome,
        judgement=judge(a, b),
        caliber=identity.caliber.columns() if identity is not None else {},
        costs=read_costs(pair),
    )
