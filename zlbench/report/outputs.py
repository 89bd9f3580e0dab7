"""The files of a report: a table of names and of who writes each. A renderer takes a summary and returns text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zlbench import store
from zlbench.report.exports.data import to_json
from zlbench.report.exports.go_bench import to_go
from zlbench.report.exports.junit import to_junit
from zlbench.report.exports.pytest_benchmark import to_pytest_benchmark
from zlbench.report.exports.rows_csv import to_csv
from zlbench.report.page import to_html
from zlbench.report.prose.markdown import to_markdown
from zlbench.report.receipts.bundle import receipts
from zlbench.report.summary import Summary

REPORT = "report.md"
"""The one that people are shown the way to."""
PAGE = "report.html"
ROWS, DATA, JUNIT = "rows.csv", "report.json", "junit.xml"
BENCHMARK = ("A.pytest-benchmark.json", "B.pytest-benchmark.json")
GO = ("A.go-bench.txt", "B.go-bench.txt")
"""The side comes first: tools show the beginning of a file's name."""
BEFORE = ".before"
"""What a former report is called of whose rounds no report may be made any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What renderers are told.

    Args:
        failures: what gates found, by operator's directory and row name; None without a gate.
    """

    summary: Summary
    failures: Mapping[tuple[str, str], str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """One or more files that are written together.

    Args:
        names: theirs.
        render: their texts by name.
        export: the word of ``--export`` that asks for them; empty where they are always written.
        ours: what such a file of ours begins with or holds, and one of another tool does not.
    """

    names: tuple[str, ...]
    render: Callable[[Told], Mapping[str, str]]
    export: str = ""
    ours: str = ""


OUTPUTS: tuple[Output, ...] = (
    Output(names=(REPORT,), render=lambda told: {REPORT: to_markdown(told.summary)}),
    Output(names=(PAGE,), render=lambda told: {PAGE: to_html(told.summary)}),
    Output(names=(ROWS,), render=lambda told: {ROWS: to_csv(told.summary)}),
    Output(names=(DATA,), render=lambda told: {DATA: to_json(told.summary, failures=told.failures)}),
    Output(
        names=(JUNIT,),
        export="junit",
        render=lambda told: {JUNIT: to_junit(told.summary, failures=told.failures)},
        ours=r'\A<\?xml version="1\.0" encoding="UTF-8"\?>\n'
        r'<testsuites name="[^"]*" tests="\d+" failures="\d+" errors="\d+" skipped="\d+"(?: /)?>',
    ),
    Output(
        names=BENCHMARK,
        export="pytest-benchmark",
        render=lambda told: _sides(BENCHMARK, to_pytest_benchmark, told),
        ours=r'^ *"version": *"zlbench ',
    ),
    Output(names=GO, export="go", render=lambda told: _sides(GO, to_go, told), ours=r"\Azlbench: "),
)
EXPORTS = tuple(output.export for output in OUTPUTS if output.export)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """Which files are wanted besides those that are always written.

    Args:
        exports: words of `EXPORTS`.
        receipts: where the receipts go; None for none.
    """

    exports: Collection[str] = field(default_factory=tuple)
    receipts: Path | None = None


def write(folder: Path, told: Told, asked: Asked | None = None) -> tuple[Path, ...]:
    """Write the files, each whole; a folder is made where it is not there.

    Exports that an earlier report left there and that are not wanted now are removed: nothing old stands beside new.

    Raises:
        PreflightError: it cannot be written. PartialError: the disk is full.
    """
    asked = asked or Asked()
    # With a gate, what it found is wanted where tools look for what failed.
    exports = {"", *asked.exports, *(["junit"] if told.failures is not None else [])}
    written: list[Path] = []
    _remove_stale(folder, exports)
    for output in OUTPUTS:
        if output.export in exports:
            written += _written(folder, output.render(told))
    if asked.receipts is not None:
        written += _written(asked.receipts, receipts(told.summary))
    return tuple(written)


def move_aside(folder: Path) -> tuple[Path, ...]:
    """Rename the files of a former report, so that nobody takes them for what the refused one says.

    Raises:
        PreflightError: it cannot be written there.
    """
    there = [path for output in OUTPUTS for name in output.names if (path := folder / name).is_file()]
    with store.clear_errors(folder):
        return tuple(path.replace(path.with_name(path.name + BEFORE)) for path in there)


def _remove_stale(folder: Path, exports: Collection[str]) -> None:
    """Remove exports of an earlier report; files of other tools can have the same names, and stay."""
    if not (folder / DATA).is_file():
        return
    with store.clear_errors(folder):
        for output in OUTPUTS:
            for name in output.names if output.export not in exports else ():
                path = folder / name
                if path.is_file() and re.search(output.ours, path.read_text("utf-8", "replace"), re.MULTILINE):
                    path.unlink()


def _written(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    with store.clear_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        store.write_text(folder / name, text)
    return [folder / name for name in texts]


def _sides(names: tuple[str, ...], render: Callable[[Summary], Mapping[str, str]], told: Told) -> dict[str, str]:
    """Texts of the sides A and B under their names."""
    texts = render(told.summary)
    return {name: texts[side] for name, side in zip(names, "AB", strict=True)}
