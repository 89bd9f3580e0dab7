"""Everything that a report leaves out, one entry each, with the word for why and the text beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zlbench.inference.types import Verdict
from zlbench.markers import MARKERS, Kind
from zlbench.report.model import OpReadings, RowReadings
from zlbench.report.prose.wording import name_of
from zlbench.report.summary import OpSummary
from zlbench.text import plural

_WORD = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
KINDS: Mapping[str, str] = {
    "row": "row left out",
    "invalid": "row without a verdict",
    "lost": "row lost",
    "pair": "pair invalidated",
    "cell": "cell failed",
    "operator": "operator without a figure",
    "missing": "rounds not finished",
    "rerun": "pair measured again",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Exclusion:
    """One thing that is left out.

    Args:
        kind: a key of KINDS; op, row: numbers in the page's lists, row -1 where no row is meant.
        word: in capitals, where one is known.
        text: what differs or what happened.
        rounds: those it concerns; none where it concerns all.
    """

    kind: str
    op: int
    row: int = -1
    word: str = ""
    text: str = ""
    rounds: tuple[int, ...] = ()


def exclusions(ops: Sequence[OpSummary]) -> list[Exclusion]:
    """All of them, operator by operator."""
    found: list[Exclusion] = []
    first = 0
    for number, op in enumerate(ops):
        found += _of_operator(number, op)
        found += _lost(number, op)
        for index, row in enumerate(op.rows, first):
            found += _left_out(number, index, row.row)
            result = row.result
            # Without a single reading, what was left out above says why.
            if result is not None and result.verdict is Verdict.INVALID and (row.n or not row.row.left_out):
                word = result.why.value if result.why else ""
                text = plural(row.n, "valid pair")
                found.append(Exclusion(kind="invalid", op=number, row=index, word=word, text=text))
        first += len(op.rows)
    return found


def _of_operator(number: int, op: OpSummary) -> Iterator[Exclusion]:
    read: OpReadings = op.op
    for kind, texts in (("cell", read.failed), ("pair", read.invalid)):
        for text in texts:
            yield Exclusion(kind=kind, op=number, word=word_of(text), text=text)
    if read.missing:
        yield Exclusion(kind="missing", op=number, text=f"{plural(read.missing, 'round')} of the plan not finished")
    if read.nothing:
        yield Exclusion(kind="operator", op=number, word=read.nothing, text=read.nothing_note)
    again = read.rerun - len(read.invalid)
    if again > 0:
        yield Exclusion(kind="rerun", op=number, text=f"{again} invalidated, measured again and made good")
    if op.why_not and not read.nothing:
        yield Exclusion(kind="operator", op=number, word=word_of(op.why_not), text=op.why_not)


def _lost(number: int, op: OpSummary) -> Iterator[Exclusion]:
    """Rows that were lost and are not among the operator's rows, which have their reasons themselves."""
    known = tuple(f"{name_of(row)}:" for row in op.rows if any(item.lost for item in row.row.left_out))
    for text in op.op.lost:
        if not text.startswith(known):
            yield Exclusion(kind="lost", op=number, word=word_of(text), text=text)


def _left_out(number: int, index: int, row: RowReadings) -> Iterator[Exclusion]:
    """What is the same in several rounds is one entry."""
    rounds: dict[tuple[str, str, str], list[int]] = {}
    for item in row.left_out:
        rounds.setdefault(("lost" if item.lost else "row", item.reason, item.note), []).append(item.round)
    for (kind, reason, note), numbers in rounds.items():
        yield Exclusion(kind=kind, op=number, row=index, word=reason, text=note, rounds=tuple(numbers))


def word_of(text: str) -> str:
    """The first word in capitals that is explained or looks so: PAIR_THROTTLED, OOM; empty where there is none."""
    return next((word for word in _WORD.findall(text) if "_" in word or _is_cause(word)), "")


def _is_cause(word: str) -> bool:
    marker = MARKERS.get(word)
    return marker is not None and marker.kind not in {Kind.COLUMN, Kind.TERM}


def by_reason(found: Sequence[Exclusion]) -> list[tuple[tuple[str, str], list[Exclusion]]]:
    """Kind and word with what was left out by them: kinds in their order, the most frequent words first."""
    groups: dict[tuple[str, str], list[Exclusion]] = {}
    for item in found:
        groups.setdefault((item.kind, item.word), []).append(item)
    order = list(KINDS)
    return sorted(groups.items(), key=lambda entry: (order.index(entry[0][0]), -len(entry[1]), entry[0][1]))
