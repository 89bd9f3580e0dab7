"""The cells of a lane: the pair of every operator as a screen would measure it, and from it the cell of any round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from zlbench.cells import CellSpec
from zlbench.measure.request import Request, make_cells
from zlbench.partition_plan import Piece
from zlbench.rounds.order import Slot
from zlbench.rounds.records import cell_dir, record_dir


@dataclass(frozen=True, kw_only=True, slots=True)
class PairSpec:
    """Both cells of an operator, as they would be measured once."""

    a: CellSpec
    b: CellSpec
    folder: Path
    own_record: bool
    """Whether the first side A records what all others replay; else all replay a record that somebody gave."""

    @property
    def records(self) -> bool:
        """Whether the first side A of it records."""
        return self.own_record and self.a.autotune == "record"

    def cell(self, slot: Slot, rows: Iterable[str] | None) -> CellSpec:
        """The cell of a round: the first side A as it is, all others as side B, which replays. The first one does so,
        too, where it is measured again and others hang on what it recorded before.
        """
        path = cell_dir(self.folder, slot.round, slot.side)
        source = record_dir(self.folder)
        spec = self.a if slot.records and source == path else self.b
        if spec.autotune == "replay" and self.own_record:
            spec = replace(spec, replay_from=str(source))
        return replace(
            spec, side=slot.side, cell=f"{self.folder.name}/{path.name}", out_dir=str(path),
            rows=None if rows is None else tuple(rows), placement=slot.round,
        )  # fmt: skip


def pair_specs(request: Request, folder: Path, pieces: Iterable[Piece]) -> dict[str, PairSpec]:
    """The pairs of a lane's operators, by directory."""
    by_directory: dict[str, dict[str, CellSpec]] = {}
    for spec in make_cells(request, folder):
        by_directory.setdefault(spec.cell.rpartition("/")[0], {})[spec.side] = spec
    own = request.resolved.path("replay_from") is None
    return {
        piece.directory: PairSpec(
            a=by_directory[piece.directory]["A"], b=by_directory[piece.directory]["B"],
            folder=folder / piece.directory, own_record=own,
        )
        for piece in pieces
    }  # fmt: skip
