"""The tables that a FlagGems benchmark prints into its log, and what the plugins of the predecessor said around them.

One table an operator and dtype; a line a row, its whole input behind the numbers (FlagGems, benchmark/consts.py,
``BenchmarkResult.__str__``). Pure: a log's text in, values out. What is no table is passed over. A line of a table
whose numbers cannot be read is an error that names file and line: a row that is dropped in silence would look like one
that was never measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from zlbench.errors import UsageError
from zlbench.rounds.names import MARKERS

REPLAY_FALLBACK, NO_GRAPH, POISONED = MARKERS
HEAD_WORDS = "Torch Latency (ms)"
"""Stands above every table."""
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_TITLE = re.compile(
    r"\s*Operator: (?P<op>\S.*?)\s+Performance Test \(dtype=(?P<dtype>[^,()]+),\s*mode=(?P<mode>[^,()]*),"
    r"\s*level=(?P<level>[^,()]*)\)\s*"
)
_HEAD = re.compile(
    r"\s*Status\s+Torch Latency \(ms\)\s+Gems Latency \(ms\)\s+Gems Speedup(?P<more>(?:\s.*)?)\sSize Detail\s*"
)
_MORE = re.compile(r"TFLOPS|Torch GBPS|Gems GBPS")
_VALUE = r"(?:N/A|-?nan|-?inf|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_VALUES_BEFORE_INPUT = re.compile(rf"(?:{_VALUE}\s+)+(?=[\[({{])")
_STATUS = re.compile(rf"\s*(?:SUCCESS(?:\s{{2,}}\S|\s+{_VALUE}\s)|FAILED\s+{_VALUE}\s)")
_RULE = re.compile(r"[\s\-=]*")
_MARKER = re.compile(
    rf"\b({NO_GRAPH}|{POISONED}|{REPLAY_FALLBACK}(?:_no_evict)?|FOREIGN_VENDOR_MODULE|CELL_TIMEOUT|PREFLIGHT_FAILED)"
    r"\b(.*)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRow:
    """One line of a table; latencies in milliseconds, None for ``N/A``.

    Args:
        line: its number in the log, from 1.
        detail: the whole input as it is printed.
    """

    line: int
    ok: bool
    baseline_ms: float | None
    latency_ms: float | None
    detail: str


@dataclass(kw_only=True, slots=True)
class Table:
    """One table.

    Args:
        dtype: without ``torch.``.
        legend: lines between the columns' names and the first row: what all rows have in common stands there, where a
            plugin has folded it.
    """

    op: str
    dtype: str
    mode: str
    level: str
    line: int
    legend: list[str] = field(default_factory=list)
    rows: list[TableRow] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLog:
    """What a log says: its tables, and the markers in it, word and text."""

    tables: tuple[Table, ...] = ()
    markers: tuple[tuple[str, str], ...] = ()

    def said(self, word: str) -> list[str]:
        """The texts of a marker, each as often as it was said."""
        return [text for name, text in self.markers if name == word or name.startswith(f"{word}_")]


def parse_log(text: str, name: str) -> RunLog:
    """Parse a log; a last line that a crash cut off is no row.

    Args:
        name: of the log, for messages.

    Raises:
        UsageError: a table cannot be read.
    """
    *lines, _torn = _ANSI.sub("", text).split("\n")
    markers = [(match[1], " ".join(match[2].split())) for line in lines if (match := _MARKER.search(line))]
    return RunLog(tables=tuple(_tables(lines, name)), markers=tuple(markers))


def _tables(lines: list[str], name: str) -> Iterator[Table]:
    table: Table | None = None
    more: int | None = None  # columns behind the speed-up, once the names of the columns have come
    for number, line in enumerate(lines, 1):
        if title := _TITLE.fullmatch(line):
            if table is not None:
                yield table
            table, more = _titled(title, number), None
        elif table is not None and line.lstrip().startswith("Status ") and "Latency" in line:
            more = _columns(line, f"{name}:{number}")
        elif table is not None and more is not None and _STATUS.match(line):
            table.rows.append(_row(line, number, more, name))
        elif table is not None and more is not None and not table.rows and _is_legend(line):
            table.legend.append(line.strip())
    if table is not None:
        yield table


def _titled(title: re.Match[str], number: int) -> Table:
    dtype = title["dtype"].strip().removeprefix("torch.")
    return Table(op=title["op"], dtype=dtype, mode=title["mode"].strip(), level=title["level"].strip(), line=number)


def _columns(line: str, where: str) -> int:
    """How many columns stand between the speed-up and the input."""
    head = _HEAD.fullmatch(line)
    names = _MORE.sub("", head["more"]) if head else ""
    if head is None or names.strip():
        raise UsageError(
            f"{where}: these columns are not known: {' '.join(line.split())}",
            hint="Known is the table of FlagGems: Status, Torch Latency (ms), Gems Latency (ms), Gems Speedup, TFLOPS, "
            "GBPS, Size Detail.",
        )
    return len(_MORE.findall(head["more"]))


def _row(line: str, number: int, more: int, name: str) -> TableRow:
    match = re.fullmatch(rf"\s*(SUCCESS|FAILED)((?:\s+{_VALUE}(?=\s|\Z)){{3,{3 + more}}})(|\s.*)", line, re.DOTALL)
    if match is None:
        raise UsageError(
            f"{name}:{number}: a row of the table cannot be read: {' '.join(line.split())[:160]}",
            hint="A line of something else may have been printed into it. Correct the log in a copy, or leave it out.",
        )
    baseline, latency = (_milliseconds(word) for word in match[2].split()[:2])
    # Columns that only some rows have are not named above all tables.
    detail = _VALUES_BEFORE_INPUT.sub("", match[3].strip(), count=1) if match[3].strip() else ""
    return TableRow(line=number, ok=match[1] == "SUCCESS", baseline_ms=baseline, latency_ms=latency, detail=detail)


def _milliseconds(word: str) -> float | None:
    return None if word == "N/A" else float(word)


def _is_legend(line: str) -> bool:
    return not _RULE.fullmatch(line) and not _MARKER.search(line)
