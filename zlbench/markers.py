"""Every word in capitals that zlbench prints: its cause, what it means for the numbers, and the next step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from zlbench.errors import UsageError
from zlbench.nearest import unknown
from zlbench.words.causes import CAUSES
from zlbench.words.checks import CHECKS
from zlbench.words.columns import COLUMNS
from zlbench.words.exits import EXITS
from zlbench.words.notes import NOTES
from zlbench.words.refusals import REFUSALS
from zlbench.words.report import REPORT
from zlbench.words.states import STATES
from zlbench.words.terms import TERMS
from zlbench.words.verdicts import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zlbench.words.entry import Entry


class Kind(str, Enum):
    """What sort of word it is."""

    VERDICT = "verdict of a screen"
    STATE = "state of a cell or a row"
    REFUSAL = "refusal"
    MARKER = "marker"
    CAUSE = "cause for measuring a pair again"
    CHECK = "check before the first cell"
    COLUMN = "word in the table of a screen"
    REPORT = "word of a report"
    TERM = "word for what is asked"
    EXIT = "exit code"


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """One word of the closed list."""

    word: str
    kind: Kind
    cause: str
    meaning: str
    next_step: str

    def __str__(self) -> str:
        return (
            f"{self.word}  ({self.kind.value})\n"
            f"  cause    {self.cause}\n"
            f"  meaning  {self.meaning}\n"
            f"  next     {self.next_step}"
        )


def _made(entries: Mapping[str, Entry], kind: Kind) -> dict[str, Marker]:
    return {
        word: Marker(word=word, kind=kind, cause=cause, meaning=meaning, next_step=step)
        for word, (cause, meaning, step) in entries.items()
    }


MARKERS: dict[str, Marker] = {
    **_made(VERDICTS, Kind.VERDICT),
    **_made(STATES, Kind.STATE),
    **_made(REFUSALS, Kind.REFUSAL),
    **_made(NOTES, Kind.MARKER),
    **_made(CAUSES, Kind.CAUSE),
    **_made(CHECKS, Kind.CHECK),
    **_made(COLUMNS, Kind.COLUMN),
    **_made(REPORT, Kind.REPORT),
    **_made(TERMS, Kind.TERM),
    **_made({f"{code.value} {code.label}": entry for code, entry in EXITS.items()}, Kind.EXIT),
}


def find(word: str) -> Marker:
    """Return what a word means: a marker in any case, a check's name, or an exit code, as a number or as it is called.

    Raises:
        UsageError: no such word; the nearest are named.
    """
    asked = word.strip().strip("!:,. ").removeprefix("check=")
    by_fold = {name.casefold(): marker for name, marker in MARKERS.items()}
    by_fold |= {name.partition(" ")[0]: marker for name, marker in MARKERS.items() if marker.kind is Kind.EXIT}
    called = {name.partition(" ")[2].casefold(): marker for name, marker in MARKERS.items() if marker.kind is Kind.EXIT}
    by_fold = {**called, **by_fold}
    found = by_fold.get(asked.casefold()) or by_fold.get(asked.casefold().replace("-", "_"))
    if found is None and asked.casefold().endswith("_no_evict"):
        found = MARKERS["AUTOTUNE_REPLAY_FALLBACK"]
    if found is None:
        raise UsageError(unknown("word", asked[:60], MARKERS), hint="All of them: zlbench explain")
    return found


def explain(word: str) -> str:
    """Return the text of ``zlbench explain WORD``."""
    return str(find(word))


def overview() -> str:
    """Return every word with its cause, by kind, for ``zlbench explain`` without a word."""
    lines: list[str] = []
    for kind in Kind:
        lines += ["", f"{kind.value}:"]
        lines += [f"  {word:<32} {marker.cause}" for word, marker in MARKERS.items() if marker.kind is kind]
    return "\n".join(lines).lstrip("\n")
