"""One cell of a round as it lies on the disk. What thousands of cells say alike, their identity, is taken in once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from zlbench import guard, store
from zlbench.axis import Axis
from zlbench.cells import CellOutcome
from zlbench.identity import FILE_NAME, RunIdentity, parse_identity
from zlbench.pair import unfit_shapes
from zlbench.run_rows import RunRows
from zlbench.telemetry.read import OF_CELL

_MOST_S = 1e12
"""Seconds since the epoch beyond which nobody measures."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A cell: how it ended (None where it has not) and what it was."""

    path: Path
    outcome: CellOutcome | None
    identity: RunIdentity | None

    def rows(self) -> RunRows:
        """Its rows, read anew at each call: nobody needs them twice, and there may be a hundred thousand."""
        return RunRows.read(self.path, self.identity, self.outcome)

    @property
    def started(self) -> float | None:
        """Seconds since the epoch; None where nobody looked."""
        seen = store.read_json(self.path / OF_CELL)
        started = seen.get("started") if isinstance(seen, dict) else None
        return float(started) if isinstance(started, int | float) and abs(started) < _MOST_S else None


@dataclass(kw_only=True)
class CellReader:
    """Reads cells, and asks the guard once about each pair of identities."""

    axis: Axis | None
    _identities: dict[bytes, RunIdentity | None] = field(default_factory=dict)
    _complaints: dict[tuple[int, int, str], tuple[guard.Complaint, ...]] = field(default_factory=dict)

    def read(self, path: Path) -> Cell:
        """A cell, finished or not."""
        outcome = CellOutcome.told(store.read_json(path / store.RESULT))
        return Cell(path=path, outcome=outcome, identity=self._identity(path))

    def complaints(self, a: Cell, b: Cell, *, op: str) -> tuple[guard.Complaint, ...]:
        """Why the two answer different questions."""
        key = (id(a.identity), id(b.identity), op)
        if key not in self._complaints:
            self._complaints[key] = tuple(guard.complaints(a.identity, b.identity, self.axis, op=op))
        return (*self._complaints[key], *unfit_shapes(op, a.outcome, b.outcome))

    def forget(self) -> None:
        """Another operator's cells are others."""
        self._identities.clear()
        self._complaints.clear()

    def _identity(self, path: Path) -> RunIdentity | None:
        try:
            data = (path / FILE_NAME).read_bytes()
        except OSError:
            return None
        if data not in self._identities:
            try:
                self._identities[data] = parse_identity(data.decode("utf-8"))
            except UnicodeDecodeError:
                self._identities[data] = None
        return self._identities[data]
