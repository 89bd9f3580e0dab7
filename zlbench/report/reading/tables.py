"""The tables of a lane, each read once: how pairs were judged, which markers cells had, which side ended first."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zlbench.rounds.names import MARKER_COLUMNS, MARKERS, PAIRS_TSV, STATUS_TSV

_TRUE = frozenset({"1", "yes", "true", "valid"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One line of pairs.tsv."""

    valid: bool
    cause: str
    tries: int


NOT_JUDGED = Judged(valid=False, cause="not judged", tries=1)
"""What takes the place of a line that is not there: whether the pair was disturbed is not known."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """What the tables of one lane say, by operator as they name it: its directory, in older ones its name.

    Args:
        ended: for each round the sides in the order in which their cells ended.
    """

    judged: Mapping[str, Mapping[int, Judged]] = field(default_factory=dict)
    markers: Mapping[str, Counter[str]] = field(default_factory=dict)
    ended: Mapping[str, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Tables:
        """Read a lane's tables; what is missing or torn says nothing."""
        judged: dict[str, dict[int, Judged]] = {}
        for line in _lines(folder / PAIRS_TSV):
            tries = int(line.get("tries", "")) if line.get("tries", "").isdecimal() else 1
            found = Judged(
                valid=line.get("valid", "").lower() in _TRUE, cause=line.get("cause", ""), tries=max(1, tries)
            )
            judged.setdefault(line.get("op", ""), {})[int(line["round"])] = found  # the last one of a pair counts
        markers: dict[str, Counter[str]] = {}
        ended: dict[str, dict[int, tuple[str, ...]]] = {}
        for line in _lines(folder / STATUS_TSV):
            counts = (line.get(column, "") for column in MARKER_COLUMNS)
            markers.setdefault(line.get("op", ""), Counter()).update(
                {word: int(count) for word, count in zip(MARKERS, counts, strict=True) if count.isdecimal()}
            )
            rounds = ended.setdefault(line.get("op", ""), {})
            number, side = int(line["round"]), line.get("side", "")
            rounds[number] = (*(known for known in rounds.get(number, ()) if known != side), side)
        return cls(judged=judged, markers=markers, ended=ended)

    def pair(self, names: tuple[str, ...], number: int) -> Judged | None:
        """How a pair was judged; None where nobody did."""
        found = (self.judged.get(name, {}).get(number) for name in names)
        return next((one for one in found if one is not None), None)

    def reruns(self, names: tuple[str, ...]) -> int:
        """Pairs of an operator that were measured again."""
        pairs = {**self.judged.get(names[-1], {}), **self.judged.get(names[0], {})}
        return sum(one.tries - 1 for one in pairs.values())

    def marked(self, names: tuple[str, ...]) -> Counter[str]:
        """The three markers over all cells of an operator."""
        return sum((self.markers.get(name, Counter()) for name in dict.fromkeys(names)), Counter())

    def first(self, names: tuple[str, ...], number: int) -> str:
        """The side that ended first in a round; empty where that is not known of both."""
        found = (self.ended.get(name, {}).get(number, ()) for name in names)
        sides = next((one for one in found if one), ())
        return sides[0] if sorted(sides) == ["A", "B"] else ""


def _lines(path: Path) -> list[dict[str, str]]:
    """Whole lines of a table with rounds; a last one that a crash cut off is none."""
    try:
        stream = path.open(encoding="utf-8", errors="replace", newline="")
    except (FileNotFoundError, NotADirectoryError):
        return []
    with stream:
        lines = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [line for line in lines if None not in line.values() and line.get("round", "").isdecimal()]
