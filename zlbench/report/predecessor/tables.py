"""The tables beside the predecessor's rounds: status.tsv, telemetry.tsv, screen.tsv. One that is missing is empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zlbench.caliber import SCREEN_COLUMNS
from zlbench.errors import UsageError
from zlbench.report.reading.tables import Tables
from zlbench.rounds.names import STATUS_TSV
from zlbench.rounds.status import STATUS_COLUMNS, read_lines
from zlbench.screen.candidates import read_table
from zlbench.screen.table import COLUMNS
from zlbench.smi import TELEMETRY_COLUMNS
from zlbench.telemetry.lines import Reading
from zlbench.telemetry.lines import read as read_line
from zlbench.telemetry.read import TELEMETRY
from zlbench.text import plural

SCREEN = "screen.tsv"
_SCREEN_COLUMNS = (*COLUMNS, *SCREEN_COLUMNS[:7])
"""All 19 that the predecessor's screens have; ours have more."""
_OLD_TELEMETRY = TELEMETRY_COLUMNS[:7]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """One line of status.tsv.

    Args:
        rc: exit status, None where it is none; switch: as the table has it.
    """

    rc: int | None
    switch: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OldTables:
    """The tables of one directory.

    Args:
        ended: by operator, round and side; status: the same as any lane's.
        telemetry: readings by card.
        verdicts: by operator.
    """

    ended: Mapping[tuple[str, int, str], Ended] = field(default_factory=dict)
    status: Tables = field(default_factory=Tables)
    telemetry: Mapping[str, Sequence[Reading]] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> OldTables:
        """Read what is there."""
        ended = {
            (line["op"], int(line["round"]), line["side"]): Ended(rc=_integer(line["rc"]), switch=line["switch"])
            for line in _status(folder)
            if line["round"].isdecimal()
        }
        return cls(
            ended=ended, status=Tables.read(folder) if ended else Tables(), telemetry=_telemetry(folder / TELEMETRY),
            verdicts=_verdicts(folder / SCREEN),
        )  # fmt: skip

    @property
    def known(self) -> bool:
        """Whether there is any."""
        return bool(self.ended or self.telemetry or self.verdicts)

    def knows(self, op: str) -> bool:
        """Whether runs of an operator have ended by status.tsv."""
        return any(name == op for name, _, _ in self.ended)


def verdict_lines(verdicts: Mapping[str, str]) -> tuple[str, ...]:
    """``screen: 24 operators · 17 IR_CHANGED · 7 NO_IR_DIFF``, then the operators of each verdict."""
    if not verdicts:
        return ()
    counts = Counter(verdicts.values()).most_common()
    listed = " · ".join(f"{number} {verdict}" for verdict, number in counts)
    named = (f"{verdict}: {', '.join(op for op, one in verdicts.items() if one == verdict)}" for verdict, _ in counts)
    return (f"screen: {plural(len(verdicts), 'operator')} · {listed}", *named)


def _status(folder: Path) -> list[dict[str, str]]:
    """Lines of status.tsv; over several cards the card comes first."""
    found = read_lines(folder / STATUS_TSV, STATUS_COLUMNS)
    return found or read_lines(folder / STATUS_TSV, ("card", *STATUS_COLUMNS))


def _verdicts(path: Path) -> dict[str, str]:
    """Verdicts of a screen of the predecessor; one of ours, or something else, has none of them."""
    try:
        rows = read_table(path)
    except (OSError, ValueError, UsageError):
        return {}
    if not rows or tuple(rows[0]) != _SCREEN_COLUMNS:
        return {}
    return {row["op"]: row["verdict"] for row in rows if row["op"] and row["verdict"]}


def _telemetry(path: Path) -> dict[str, list[Reading]]:
    """Readings by card, in the order of time. Its times have no offset, and are taken for UTC."""
    try:
        head, *lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    except (OSError, ValueError):
        return {}
    found: dict[str, list[Reading]] = {}
    if tuple(head.split("\t")) == _OLD_TELEMETRY:
        for line in lines:
            stamp, tab, rest = line.partition("\t")
            reading = read_line(f"{stamp}+00:00{tab}{rest}" + "\t" * (len(TELEMETRY_COLUMNS) - len(_OLD_TELEMETRY)))
            if reading is not None:
                found.setdefault(reading.index, []).append(reading)
    return {index: sorted(readings, key=lambda reading: reading.at) for index, readings in sorted(found.items())}


def _integer(word: str) -> int | None:
    return int(word) if word.lstrip("-").isdecimal() else None
