"""Receipts: what a pull request on a compiler is asked for by hand, as files that it can carry. Pure.

Equal input gives equal bytes; no path of the machine is in them beyond what somebody typed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from zlbench import __version__
from zlbench.report.exports.machine import SIDES, identity, operators
from zlbench.report.exports.rows_csv import to_csv
from zlbench.report.prose import wording
from zlbench.report.prose.markup import fence
from zlbench.report.receipts import excluded, facts, tables
from zlbench.report.receipts.text import paragraph, table, values
from zlbench.report.summary import Summary

README, SUMS = "README.md", "SHA256SUMS"
FILES = {
    "performance.md": "what changed: a table an operator, with intervals, noise and verdicts",
    "performance.csv": "the same with every figure, a line a row",
    "kernels.md": "configuration and costs of every kernel on both sides, and whether IR and machine code are equal",
    "kernels.csv": "the same with whole hashes, a line a kernel",
    "identities.json": "compiler by content (SHA-256), suite, software and card of both sides",
    "caliber.md": "the conditions under which the numbers were won",
    "excluded.md": "what was left out of the numbers, and why",
    SUMS: "checksums of these files: sha256sum --check SHA256SUMS",
}
"""What each file beside the README is."""
NAMES = frozenset({README, *FILES})


def receipts(summary: Summary) -> dict[str, str]:
    """The files' texts, by name."""
    files = {
        README: _readme(summary),
        "performance.md": tables.performance_md(summary),
        "performance.csv": to_csv(summary),
        "kernels.md": tables.kernels_md(summary),
        "kernels.csv": tables.kernels_csv(summary),
        "identities.json": facts.identities_json(summary),
        "caliber.md": facts.caliber_md(summary),
        "excluded.md": excluded.excluded_md(summary),
    }
    # As they will be written: what UTF-8 cannot hold is escaped, here and in the file alike.
    written = {name: text.encode("utf-8", "backslashreplace").decode("utf-8") for name, text in files.items()}
    return {**written, SUMS: _sums(written)}


def _readme(summary: Summary) -> str:
    header = summary.header
    metric = header.metric
    rows = [row for op in summary.subjects for row in op.rows]
    axis = f"axis: {header.axis}" if header.axis else ""
    facts = [fact for fact in (axis, *header.conditions, summary.planned) if fact]
    parts = [
        f"# Receipts: {paragraph(header.title)}",
        table(("side", "", "compiler library, SHA-256"), ((side, told, _library(summary, side)) for side, told in
              zip(SIDES, (header.a, header.b), strict=True))),
        paragraph(" · ".join(facts)),
        *(f"**{paragraph(line)}**" for line in (*header.warnings, summary.progress, *wording.alarms(summary)) if line),
        values(summary) if summary.measured else "",
        paragraph(wording.overview(rows, metric)) if summary.measured else paragraph(summary.reason or wording.NOTHING),
        paragraph(wording.campaign_line(summary)) if summary.measured and summary.inference else "",
        paragraph(wording.convention(metric)) if summary.measured else "",
        "## Files",
        table(("file", "what it is"), FILES.items()),
        "## Commands",
        *_commands(summary),
        paragraph(f"Written by zlbench {__version__}."),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _library(summary: Summary, side: str) -> str:
    build = identity(summary, side).get("build") or {}
    return str(build.get("native_sha256") or "not known")


def _commands(summary: Summary) -> list[str]:
    source = summary.source
    commands = source.commands if source is not None else ()
    if not commands:
        names = " ".join(op.op.op for op in operators(summary))
        return [f"It is not recorded how these were measured. Operators: {paragraph(names) or 'none'}."]
    return ["What was typed; the same with the same builds measures it again:", _block(commands)]


def _block(lines: Sequence[str]) -> str:
    """A block of code that nothing in it can end."""
    cleaned = [wording.clean(text) for text in lines]
    around = fence(cleaned)
    return "\n".join([f"{around}sh", *cleaned, around])


def _sums(files: Mapping[str, str]) -> str:
    """In the form of sha256sum."""
    return "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))
