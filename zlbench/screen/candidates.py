"""What a screen offers to measure in earnest: operators with verdict, code, and what a pair and its rows took."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zlbench import backend, store
from zlbench.cells import read_json_lines
from zlbench.errors import UsageError
from zlbench.judge import MachineCode, Verdict
from zlbench.partition_plan import Kind, RowCost, Work
from zlbench.suite.names import safe_dirname

_SIDES = ("A", "B")


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One line of screen.tsv."""

    op: str
    op_file: str
    directory: str
    """Where the pair lies, below the screen."""
    verdict: str
    code: str
    """Whether the machine code differs; empty in a table of the predecessor, which does not know."""
    backend: str
    pair_s: float | None
    """What both cells took together; None where the table does not say."""

    @property
    def chosen(self) -> bool:
        """Whether it is worth rounds: its code differs, or may. IR that changed with equal code makes a control."""
        if self.verdict == Verdict.IR_CHANGED.value:
            return self.code != MachineCode.SAME.value
        return self.verdict == Verdict.NO_IR_DIFF.value and self.code not in ("", MachineCode.SAME.value)

    @property
    def control(self) -> bool:
        """Whether both sides are known to run the same code."""
        return self.code == MachineCode.SAME.value and self.verdict in (
            Verdict.IR_CHANGED.value,
            Verdict.NO_IR_DIFF.value,
        )


def read_table(path: Path) -> list[dict[str, str]]:
    """The lines of a screen.tsv by column.

    Raises:
        UsageError: it is none.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    if rows and ("op" not in rows[0] or "verdict" not in rows[0]):
        raise UsageError(f"{path} is no screen table: it lacks the columns op and verdict")
    return rows


def read_candidates(screen: Path) -> list[Candidate]:
    """Every operator of a screen, in the order of its table."""
    return [_candidate(screen, row) for row in read_table(screen / "screen.tsv")]


def _candidate(screen: Path, row: Mapping[str, str]) -> Candidate:
    directory = row.get("directory") or row["op"]
    return Candidate(
        op=row["op"],
        op_file=row.get("op_file") or "",
        directory=directory,
        verdict=row["verdict"],
        code=row.get("machine_code") or "",
        backend=row.get("backend") or "",
        pair_s=_pair_s(screen / directory, row),
    )


def _pair_s(pair: Path, row: Mapping[str, str]) -> float | None:
    """From the cells themselves, which know milliseconds; else from the table."""
    results = [store.read_json(pair / side / store.RESULT) or {} for side in _SIDES]
    exact = [result.get("elapsed_s") for result in results]
    listed = [row.get(f"elapsed_{when}") for when in ("before", "after")]
    for found in (exact, listed):
        try:
            seconds = [float(value) for value in found if value]
        except (TypeError, ValueError):
            continue
        if len(seconds) == len(_SIDES):
            return sum(seconds)
    return None


def row_costs(pair: Path) -> tuple[RowCost, ...]:
    """What each row of a pair took on both sides together; none where a row has no name, no time or no counterpart."""
    sides: list[dict[str, float]] = []
    for side in _SIDES:
        rows = read_json_lines(pair / side / "rows.jsonl")
        timed = [row for row in rows if row.get("row") and isinstance(row.get("elapsed_s"), int | float)]
        costs = {str(row["row"]): float(row["elapsed_s"]) for row in timed}
        if len(costs) != len(rows):
            return ()
        sides.append(costs)
    a, b = sides
    return tuple(RowCost(name=name, seconds=took + b[name]) for name, took in a.items()) if a.keys() == b.keys() else ()


def work_of(screen: Path, candidate: Candidate, *, kind: Kind = Kind.SUBJECT, extra: bool = False) -> Work:
    """What a candidate is to a partition."""
    return Work(
        op=candidate.op, directory=candidate.directory, kind=kind, pair_s=candidate.pair_s, extra=extra,
        rows=row_costs(screen / candidate.directory),
    )  # fmt: skip


def extra_work(screen: Path, words: Sequence[str], candidates: Sequence[Candidate]) -> list[Work]:
    """Operators that somebody adds: with the times of the screen where it has them, else with none.

    Args:
        words: as on the command line, ``topk``, ``perf_fft:fft``.
        candidates: those that the screen has.
    """
    found: dict[str, Work] = {}
    for word in words:
        known = [item for item in candidates if word in (item.op, item.directory, f"{item.op}:{item.op_file}")]
        works = [work_of(screen, item, extra=True) for item in known]
        for work in works or [Work(op=word, directory=safe_dirname(word.partition(":")[0]), extra=True)]:
            found.setdefault(work.directory, work)
    return list(found.values())


def on_cards(candidates: Sequence[Candidate]) -> bool:
    """Whether the screen was measured on a card, as far as its table says."""
    known = backend.available()
    return any(item.backend not in known or not known[item.backend].deviceless for item in candidates)
