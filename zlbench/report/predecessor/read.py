"""Read what the predecessor left, so that its results are not lost: a pair of runs, rounds, verdicts of a screen.

runs/<op>_<time>/run.log             one run; two of them are a pair
<root>/r<k>_<A|B>/run.log            rounds of one operator
<root>/<op>/r<k>_<A|B>/run.log       rounds of several, with status.tsv and telemetry.tsv; with cards a level deeper
<root>/screen.tsv                    verdicts
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from zlbench.errors import UsageError
from zlbench.report.model import Measured
from zlbench.report.predecessor.cell import OURS, OldCell, is_run
from zlbench.report.predecessor.rounds import OldRounds
from zlbench.report.predecessor.tables import OldTables
from zlbench.rounds.names import CELL
from zlbench.rounds.order import sides_of

_STAMPED = re.compile(r"(.+?)_(\d{8}-?\d{6})(?:-\d+)?")
_OUR_ROOTS = frozenset({"repeat.json", "campaign.json", "plan.json", "partition.json", "screen.json"})
_HOW = "Give a root of its rounds (with r1_A and r1_B in it, or in a folder for each operator), or two run directories."


def recognise(root: Path) -> bool:
    """Whether a directory is one of the predecessor's: a run, a root of rounds or a screen. Ours never is."""
    if not root.is_dir() or _is_ours(root):
        return False
    return is_run(root) or next(_operators(root), None) is not None or bool(OldTables.read(root).verdicts)


def read_predecessor(paths: Sequence[Path], *, allow: bool = False) -> Measured:
    """Read one root of rounds, or two runs as A and B.

    Args:
        allow: let differences of caliber, and a missing identity, stand as warnings.

    Raises:
        UsageError: it is neither, or a log cannot be read.
        NotComparableError: the sides answer different questions.
    """
    for path in paths:
        if not recognise(path):
            raise UsageError(f"{path} holds nothing of the predecessor", hint=_HOW)
    if len(paths) == 2 and all(map(is_run, paths)):
        return _pair(*paths).measured(f"report of {paths[0].name} and {paths[1].name}", allow=allow)
    if len(paths) != 1:
        raise UsageError(f"{len(paths)} directories are given that are no pair of runs", hint=_HOW)
    root = paths[0]
    if is_run(root):
        raise UsageError(f"{root} is one run; with what is it compared?", hint=_HOW)
    rounds = OldRounds(screen=OldTables.read(root))
    for folder in _operators(root):
        # A card's folder above an operator's tells two lanes of one operator apart.
        _read_operator(rounds, folder, directory=_name(folder) if folder == root else str(folder.relative_to(root)))
    return rounds.measured(f"report of {root.name}", allow=allow)


def _is_ours(path: Path) -> bool:
    return any((path / name).exists() for name in (*_OUR_ROOTS, *OURS))


def _operators(root: Path, depth: int = 2) -> Iterator[Path]:
    """Directories that hold rounds: the root itself, or folders in it, or in those of its cards."""
    if any(CELL.fullmatch(path.name) and is_run(path) for path in _folders(root)):
        yield root
        return
    for path in _folders(root) if depth else ():
        if not _is_ours(path):
            yield from _operators(path, depth - 1)


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


def _name(path: Path) -> str:
    """The operator of a run, or of a directory of rounds."""
    named = path.resolve()
    named = named.parent if CELL.fullmatch(named.name) else named
    stamped = _STAMPED.fullmatch(named.name)
    return stamped[1] if stamped else named.name


def _pair(a: Path, b: Path) -> OldRounds:
    """Two runs, as the one round that they are; the one that was started first by their names came first."""
    rounds = OldRounds(titles=(a.name, b.name))
    cells = (OldCell.read(a, op=_name(a)), OldCell.read(b, op=_name(b)))
    stamps = [match[2] if (match := _STAMPED.fullmatch(path.name)) else "" for path in (a, b)]
    rounds.take(rounds.begin(_name(a), _name(a)), 1, cells, a_first=not (stamps[1] and stamps[1] < stamps[0]))
    return rounds


def _read_operator(rounds: OldRounds, folder: Path, *, directory: str) -> None:
    """Read all rounds of an operator."""
    name = _name(folder)
    into, tables = rounds.begin(name, directory), rounds.tables_of(folder)
    into.verdict = tables.verdicts.get(name) or rounds.screen.verdicts.get(name, "")
    numbers = {int(match[1]) for path in _folders(folder) if (match := CELL.fullmatch(path.name))}
    for number in sorted(numbers):
        cells = []
        for side in "AB":
            path, ended = folder / f"r{number}_{side}", tables.ended.get((name, number, side))
            if ended is not None and ended.switch != "-":
                rounds.switches.setdefault(side, ended.switch)
            # Without a line, in a table that has the operator, a run did not come to its end.
            lost = ended is None and tables.knows(name)
            rc = ended.rc if ended is not None else None
            cells.append(OldCell(path=path) if lost else OldCell.read(path, op=name, rc=rc))
        first = tables.status.first((name,), number) or sides_of(number)[0]
        rounds.take(into, number, (cells[0], cells[1]), a_first=first == "A")
