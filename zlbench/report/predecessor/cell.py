"""One run of the predecessor: its log's rows, how each was timed as far as the log says, and its identity."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zlbench import guard, store
from zlbench.backend import Timer
from zlbench.caliber import FIELDS, SCREEN_COLUMNS, column_text
from zlbench.cells import CellOutcome, CellState
from zlbench.guard import Complaint, Severity
from zlbench.identity import FILE_NAME, RunIdentity, parse_identity
from zlbench.report.predecessor.upstream_table import (
    HEAD_WORDS,
    NO_GRAPH,
    REPLAY_FALLBACK,
    RunLog,
    Table,
    TableRow,
    parse_log,
)
from zlbench.run_rows import RunRows

LOG = "run.log"
OURS = frozenset({"rows.jsonl", "events.jsonl", "process.json", "cell.json", store.RESULT})
"""Files that a cell of zlbench has and a run of the predecessor has not."""
CALIBER = SCREEN_COLUMNS[:7]
"""Conditions that the predecessor compares; its runs without one of them are older than it."""
_STATES = {
    0: CellState.OK, 1: CellState.OP_FAILED, 2: CellState.INTERRUPTED, 3: CellState.PREFLIGHT, 4: CellState.USAGE,
    5: CellState.NOTHING_MEASURED, 124: CellState.TIMEOUT,
}  # fmt: skip
_TEXT = 300
"""Characters of a marker that are kept."""
_SIZE = re.compile(r"torch\.Size\(\[([^\[\]()]*)\]\)")


def is_run(path: Path) -> bool:
    """Whether a directory is one run of the predecessor: a log with its identity, or with a table; no file of ours."""
    if not (path / LOG).is_file() or any((path / name).exists() for name in OURS):
        return False
    identity = store.read_json(path / FILE_NAME)
    if isinstance(identity, Mapping):
        return "schema_version" not in identity
    return HEAD_WORDS in (path / LOG).read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True, kw_only=True, slots=True)
class OldCell:
    """One run.

    Args:
        identity: with the operator's name, which the file does not have; None where there is no such file.
        data: the file as it is, keys that nobody knows included.
        outcome: None where the run is not at its end.
        named: by marker, lines of the log whose rows it speaks of: timed without a graph although the run used graphs;
            run on another config than the recorded one.
        somewhere: by marker, how often the log says it without saying of which row.
    """

    path: Path
    identity: RunIdentity | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    log: RunLog = field(default_factory=RunLog)
    outcome: CellOutcome | None = None
    named: Mapping[str, frozenset[int]] = field(default_factory=dict)
    somewhere: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, *, op: str, rc: int | None = None) -> OldCell:
        """Read a run.

        Args:
            op: its operator; rc: exit status, None where no table tells.

        Raises:
            UsageError: a table in its log cannot be read.
        """
        known = store.read_json(path / FILE_NAME)
        data: Mapping[str, Any] = known if isinstance(known, Mapping) else {}
        identity = parse_identity((path / FILE_NAME).read_text(encoding="utf-8")) if data else None
        if not (path / LOG).is_file():
            return cls(path=path, data=data)
        log = parse_log((path / LOG).read_text(encoding="utf-8", errors="replace"), str(path / LOG))
        found = {word: _rows_of(log, word) for word in (NO_GRAPH, REPLAY_FALLBACK)}
        return cls(
            path=path, identity=None if identity is None else replace(identity, op=op), data=data, log=log,
            outcome=_outcome(log, rc), named={word: lines for word, (lines, _) in found.items()},
            somewhere={word: count for word, (_, count) in found.items()},
        )  # fmt: skip

    @property
    def timer(self) -> str:
        """The timer that the run used; empty where nobody wrote it down."""
        return str((self.identity.caliber.timer if self.identity else None) or "")

    def rows(self, timer: str, doubts: Collection[str] = ()) -> RunRows:
        """Its rows as any run's are, named by operator, dtype and their whole input.

        Args:
            timer: of the run.
            doubts: markers that may be about any row, since the log does not say about which.
        """
        rows = [
            {**_record(table, row, self._timer_of(row, timer, doubts)), **self._config_of(row, doubts)}
            for table in self.log.tables
            for row in table.rows
        ]
        return RunRows(rows=rows, outcome=self.outcome, timer=timer)

    def _timer_of(self, row: TableRow, timer: str, doubts: Collection[str]) -> str:
        if timer == Timer.DIRECT.value:
            return timer
        if row.line in self.named.get(NO_GRAPH, ()):
            return Timer.DIRECT.value
        return f"{timer} or {Timer.DIRECT.value}" if NO_GRAPH in doubts else timer

    def _config_of(self, row: TableRow, doubts: Collection[str]) -> Mapping[str, str]:
        if row.line in self.named.get(REPLAY_FALLBACK, ()):
            return {"replay_fallback": "another config than the recorded one"}
        if REPLAY_FALLBACK in doubts:
            return {"replay_fallback": "the log does not say whether it was this row"}
        return {}


def _record(table: Table, row: TableRow, timer: str) -> Mapping[str, Any]:
    """A row under the names of rows.jsonl. What a plugin folded out of all rows still belongs to its name."""
    return {
        "op": table.op, "dtype": table.dtype, "row": "|".join((table.op, table.dtype, row.detail, *table.legend)),
        "label": _label(row.detail), "timer": timer, "baseline_timer": timer, "latency_ms": row.latency_ms,
        "baseline_ms": row.baseline_ms, "status": "SUCCESS" if row.ok else "FAILED",
        **({} if row.ok else {"failure": "FAILED"}),
    }  # fmt: skip


def _label(detail: str) -> str:
    """``[torch.Size([64, 1024]), 32]`` as ``64x1024, 32``."""
    text = _SIZE.sub(lambda match: match[1].replace(", ", "x") or "scalar", detail)
    return text[1:-1] if text.startswith("[") and text.endswith("]") and "[" not in text[1:] else text


def _outcome(log: RunLog, rc: int | None) -> CellOutcome:
    rows = [row for table in log.tables for row in table.rows]
    if rc is None:
        state = CellState.OK if rows else CellState.NOTHING_MEASURED
    else:
        # Above 128 a shell names a signal.
        state = CellState.CRASH if rc < 0 or rc > 128 else _STATES.get(rc, CellState.OP_FAILED)
    ok = sum(row.ok for row in rows)
    said = dict.fromkeys(f"{word} {text[:_TEXT]}".rstrip() for word, text in log.markers)
    return CellOutcome(state=state, returncode=rc or 0, rows_ok=ok, rows_failed=len(rows) - ok, markers=tuple(said))


def _rows_of(log: RunLog, word: str) -> tuple[frozenset[int], int]:
    """Rows of which a marker speaks, and how often it was said without that anybody can tell the row.

    A marker is known to be a row's where it names the row's input. A call that got no graph says so once: where there
    are as many markers as calls, each call has one.
    """
    rows = [(table, row) for table in log.tables for row in table.rows]
    said = log.said(word)
    calls = sum(value is not None for _, row in rows for value in (row.latency_ms, row.baseline_ms))
    if word == NO_GRAPH and said and len(said) == calls:
        return frozenset(row.line for _, row in rows), 0
    named = [_named(text, rows) for text in said]
    return frozenset(line for line in named if line is not None), named.count(None)


def _named(text: str, rows: list[tuple[Table, TableRow]]) -> int | None:
    """The line of the row that a marker names; None where it names none, or more than one."""
    lines = [(table, row.line) for table, row in rows if row.detail.startswith(("[", "(", "{")) and row.detail in text]
    if len(lines) > 1:
        lines = [(table, line) for table, line in lines if re.search(rf"\b{re.escape(table.dtype)}\b", text)]
    return lines[0][1] if len(lines) == 1 else None


def complaints(a: OldCell, b: OldCell, *, op: str) -> Iterator[Complaint]:
    """Why two runs answer different questions: by the guard's rules, over what both identities have.

    A condition that the predecessor never wrote down differs in no two of its runs, as far as anybody can know. One of
    its own that a file lacks is a difference where the other file has it, else a warning.
    """
    before, after = a.identity, b.identity
    for found in guard.complaints(before, after, None, op=op):
        if before is None or after is None or found.field == "op":  # which no file has: its directory says it
            yield found
            continue
        lacking = [side for side in (before, after) if found.field in side.missing]
        if not lacking or (len(lacking) == 1 and found.field in CALIBER):
            yield found
        elif len(lacking) == 1 or found.field in CALIBER:
            yield replace(found, severity=Severity.WARN)
    providers = [column_text(cell.data["provider"]) for cell in (a, b) if "provider" in cell.data]
    if len(providers) == 2 and providers[0] != providers[1]:
        yield Complaint(op=op, field="provider", before=providers[0], after=providers[1])
    for name in ("mode", "level"):
        left, right = ({getattr(table, name) for table in cell.log.tables} for cell in (a, b))
        if left and right and left != right:
            told = [",".join(sorted(side)) for side in (left, right)]
            yield Complaint(op=op, field=f"{name} of the tables", before=told[0], after=told[1])


def not_recorded(identity: RunIdentity) -> list[str]:
    """Conditions that this run did not write down; the suite stands in it as its provider."""
    return [name for name in FIELDS if name in identity.missing and not (name == "suite" and identity.provider)]
