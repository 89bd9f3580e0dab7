"""The tables of a lane: `status.tsv`, a line a cell as it ends, and `pairs.tsv`, a line a pair once it is judged.

A line is appended at once, whole; one that replaces another (a cell that was measured again) rewrites the file. Both
are read back when a lane goes on, without what a crash tore.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zlbench import store, tuning
from zlbench.axis import Side
from zlbench.cells import CellOutcome
from zlbench.rounds.names import MARKER_COLUMNS, MARKERS, PAIRS_TSV, STATUS_TSV

STATUS_COLUMNS = (
    "round", "op", "side", "switch", "rc", "elapsed_s", "success", "failed", *MARKER_COLUMNS,
)  # fmt: skip
"""The predecessor's; over several lanes the card comes first."""
PAIR_COLUMNS = ("op", "round", "valid", "cause", "tries", "note")


@dataclass(kw_only=True)
class Table:
    """A file of lines that are told apart by a key."""

    path: Path
    columns: tuple[str, ...]
    key: tuple[str, ...]
    lines: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)

    @classmethod
    def status(cls, folder: Path, *, repair: bool = True) -> Table:
        """``status.tsv`` of a lane, as far as there is one."""
        return cls._read(folder / STATUS_TSV, STATUS_COLUMNS, ("op", "round", "side"), repair=repair)

    @classmethod
    def pairs(cls, folder: Path, *, repair: bool = True) -> Table:
        """``pairs.tsv`` of a lane, as far as there is one."""
        return cls._read(folder / PAIRS_TSV, PAIR_COLUMNS, ("op", "round"), repair=repair)

    @classmethod
    def _read(cls, path: Path, columns: tuple[str, ...], key: tuple[str, ...], *, repair: bool) -> Table:
        table = cls(path=path, columns=columns, key=key)
        for line in read_lines(path, columns):
            table.lines[tuple(line[name] for name in key)] = line
        if repair and path.is_file():
            table.write()  # less what a crash tore, on which nothing may be appended
        return table

    def put(self, line: Mapping[str, object]) -> None:
        """Add a line, or replace the one of the same key."""
        words = {name: _word(line.get(name, "")) for name in self.columns}
        key = tuple(words[name] for name in self.key)
        new = key not in self.lines
        self.lines.pop(key, None)
        self.lines[key] = words
        if new and self.path.is_file():
            with store.clear_errors(self.path), self.path.open("ab") as stream:
                stream.write((self._text(words) + "\n").encode())
        else:
            self.write()

    def drop(self, **key: object) -> None:
        """Forget a line, in memory and in the file."""
        if self.lines.pop(tuple(_word(key[name]) for name in self.key), None) is not None:
            self.write()

    def get(self, **key: object) -> dict[str, str] | None:
        """The line of a key."""
        return self.lines.get(tuple(_word(key[name]) for name in self.key))

    def write(self) -> None:
        """Write the file whole."""
        head = "\t".join(self.columns)
        store.write_text(self.path, "\n".join((head, *map(self._text, self.lines.values()))) + "\n")

    def _text(self, line: Mapping[str, str]) -> str:
        return "\t".join(line[name] for name in self.columns)


def _word(value: object) -> str:
    return " ".join(str(value).split())


def read_lines(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Whole lines of a table by column; what was torn by a crash, or has other columns, is left out."""
    try:
        text = path.read_bytes().decode(errors="replace")
    except OSError:
        return []
    head, *lines = text.rpartition("\n")[0].split("\n")
    if tuple(head.split("\t")) != tuple(columns):
        return []
    found = [line.split("\t") for line in lines]
    return [dict(zip(columns, words, strict=True)) for words in found if len(words) == len(columns)]


def status_line(cell_dir: Path, outcome: CellOutcome, *, op: str, number: int, side: Side) -> dict[str, object]:
    """The line of one finished cell, from its files."""
    counts = marker_counts(cell_dir, outcome)
    return {
        "round": number,
        "op": op,
        "side": side.label,
        "switch": ",".join(f"{name}={'unset' if value is None else value}" for name, value in side.switches) or "-",
        "rc": outcome.returncode,
        "elapsed_s": f"{outcome.elapsed_s:.1f}",
        "success": outcome.rows_ok,
        "failed": outcome.rows_failed + outcome.rows_not_measured,
        "replay_fallback": counts[0],
        "no_cudagraph": counts[1],
        "capture_poisoned": counts[2],
    }


def marker_counts(cell_dir: Path, outcome: CellOutcome) -> tuple[int, int, int]:
    """Choices that were not replayed; rows of the operator that fell back to direct timing; captures that poisoned.

    A baseline that fell back says nothing of the operator, and is not counted.
    """
    marked = outcome.marked()
    replayed = tuning.read_choices(cell_dir).missed
    direct = sum(word == MARKERS[1] and " of=baseline" not in f" {text}" for word, text in marked)
    return replayed, direct, sum(word == MARKERS[2] for word, _ in marked)


def merged(folders: Iterable[tuple[str, Path]]) -> list[dict[str, str]]:
    """The lines of several lanes, each with its card in front."""
    return [
        {"card": card, **line} for card, folder in folders for line in read_lines(folder / STATUS_TSV, STATUS_COLUMNS)
    ]


def write_merged(root: Path, folders: Iterable[tuple[str, Path]]) -> None:
    """Write the root's status.tsv over several lanes."""
    columns = ("card", *STATUS_COLUMNS)
    lines = ["\t".join(line[name] for name in columns) for line in merged(folders)]
    store.write_text(root / STATUS_TSV, "\n".join(("\t".join(columns), *lines)) + "\n")
