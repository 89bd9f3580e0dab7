"""The files of a report: a table of names and of who writes each. A renderer takes a summary and returns text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from zlbench import store
from zlbench.report.markdown import to_markdown
from zlbench.report.rows_csv import to_csv
from zlbench.report.summary import Summary

REPORT = "report.md"
"""The one that people are shown the way to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """One file."""

    name: str
    render: Callable[[Summary], str]


OUTPUTS: tuple[Output, ...] = (
    Output(name=REPORT, render=to_markdown),
    Output(name="rows.csv", render=to_csv),
)


def write(folder: Path, summary: Summary) -> tuple[Path, ...]:
    """Write every file of the table, each whole; the folder is made where it is not there.

    Raises:
        PreflightError: it cannot be written. PartialError: the disk is full.
    """
    with store.clear_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for output in OUTPUTS:
        store.write_text(folder / output.name, output.render(summary))
    return tuple(folder / output.name for output in OUTPUTS)
