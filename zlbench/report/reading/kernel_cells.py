"""Where an operator's kernels lie, and what one cell left about those that it launched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.campaign.record import SCREEN
from zlbench.cells import read_json_lines
from zlbench.cost_table import Cost
from zlbench.costing import COSTS_FILE
from zlbench.ir.naming import variant_stems
from zlbench.judge import Kernel, read_index
from zlbench.layout import variant_params
from zlbench.report.model import KernelCosts
from zlbench.run_rows import described

KERNELS = "kernels.jsonl"
_ROUND = re.compile(r"r(\d+)_A")


def kernel_dirs(root_or_pair: Path, op_dir: Path | str = "") -> tuple[Path, Path] | None:
    """Where the kernels of an operator lie, side A and side B; None where no cell kept any.

    Rounds on a card keep them in every cell, and the first pair is taken; compile-time rounds in what they prepared;
    else a campaign's screen has them.

    Args:
        root_or_pair: a root of rounds (or a lane's folder in it), a campaign's ``rounds``, or a folder with A and B.
        op_dir: the operator's directory in it; empty where `root_or_pair` is that already.
    """
    folder = root_or_pair / op_dir
    if not folder.is_dir() and not Path(op_dir).is_absolute():
        # Several lanes have a folder each; an operator in shards is in more than one, and any shows its kernels.
        lanes = sorted(root_or_pair.iterdir()) if root_or_pair.is_dir() else []
        folder = next((lane / op_dir for lane in lanes if (lane / op_dir).is_dir()), folder)
    return next((pair for pair in _pairs(folder) if _kept(*pair)), None)


def _pairs(folder: Path) -> Iterator[tuple[Path, Path]]:
    numbers = sorted(int(match[1]) for path in folder.glob("r*_A") if (match := _ROUND.fullmatch(path.name)))
    yield from ((folder / f"r{number}_A", folder / f"r{number}_B") for number in numbers)
    yield folder / "prepare_A", folder / "prepare_B"
    yield folder / "A", folder / "B"
    yield from ((screened / "A", screened / "B") for screened in _screened(folder))


def _screened(folder: Path) -> Iterator[Path]:
    """The same operator in the campaign's screen, which lies beside its rounds: with lanes one level further up."""
    for root in (folder.parent, folder.parent.parent):
        if root.parent != root:
            yield root.parent / SCREEN / folder.name


def _kept(a: Path, b: Path) -> bool:
    """Whether both cells are there, and one of them compiled something: an operator may do so on one side alone."""
    return a.is_dir() and b.is_dir() and any((side / KERNELS).is_file() for side in (a, b))


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelSide:
    """One cell's launched kernels.

    Args:
        records: lines of kernels.jsonl by id; launched: labels of the rows that launched a kernel, by id.
        files: places of a kernel's TTGIR below the cell, by id, most readable first.
    """

    cell: Path
    records: Mapping[str, Mapping[str, Any]]
    launched: Mapping[str, tuple[str, ...]]
    files: Mapping[str, tuple[str, ...]]
    costs: Mapping[str, Any]

    @classmethod
    def read(cls, cell: Path) -> KernelSide:
        """Read a cell directory; one that is not there has launched nothing."""
        index = {kernel.id: kernel for kernel in read_index(cell / "ttgir" / "index.tsv")}
        kept = {str(record.get("kernel")): record for record in read_json_lines(cell / KERNELS)}
        records = {name: _of_index(kernel) for name, kernel in index.items()} | kept
        labels: dict[str, dict[str, None]] = {name: {} for name, kernel in index.items() if kernel.launches}
        for row in read_json_lines(cell / "rows.jsonl"):
            for use in row.get("kernels") or ():
                # Without an index yet, rows alone tell; a kernel that nothing is known of cannot be shown.
                if use["kernel"] in labels or (not index and use["kernel"] in records):
                    labels.setdefault(use["kernel"], {})[described(row).label] = None
        return cls(
            cell=cell, records=records, launched={name: tuple(found) for name, found in labels.items()},
            files={name: tuple(f"ttgir/{file}" for file in kernel.files) for name, kernel in index.items()},
            costs=_costs(cell, records),
        )  # fmt: skip

    def of(self, name: str) -> KernelCosts | None:
        """Costs of a kernel that was launched; the hash of its normalised IR is not known here."""
        if name not in self.launched:
            return None
        known, record = self.costs.get(name) or {}, self.records[name]
        registers, spills, instructions = (
            whole_number(known.get(cost.value)) for cost in (Cost.REGISTERS, Cost.SPILLS, Cost.INSTRUCTIONS)
        )
        return KernelCosts(
            registers=registers, spills=spills, shared=whole_number(record.get(Cost.SHARED.value)),
            instructions=instructions, code=str(record.get("code") or ""),
        )  # fmt: skip

    def raw(self, name: str) -> str:
        """Hash of the bytes that the compiler wrote; empty where nobody recorded it."""
        return str(self.records[name].get("ttgir_sha256") or "")

    def path(self, name: str) -> Path | None:
        """A kernel's TTGIR."""
        places = (*self.files.get(name, ()), f"kernels/{name}.ttgir")
        return next((path for place in places if (path := self.cell / place).is_file()), None)

    def variant(self, name: str) -> str:
        """Short name: as its file is called, else by its warps and stages."""
        if self.files.get(name):
            return Path(self.files[name][0]).stem
        try:
            return variant_stems([variant_params(self.records[name])])[0]
        except KeyError:
            return ""


def _of_index(kernel: Kernel) -> dict[str, Any]:
    """What index.tsv says of a kernel, under the names of kernels.jsonl."""
    return {
        "kernel": kernel.id, "name": kernel.name, "shared": kernel.shared, "code": kernel.code,
        "ttgir_sha256": kernel.raw,
    }  # fmt: skip


def _costs(cell: Path, records: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """A cell's costs by kernel. Compile-time rounds count none: then those of the screen, for equal machine code."""
    own = store.read_json(cell / COSTS_FILE)
    if isinstance(own, Mapping):
        return own
    side = cell.name.removeprefix("prepare_")
    if side == cell.name:
        return {}
    for screened in (path / side for path in _screened(cell.parent)):
        known = store.read_json(screened / COSTS_FILE)
        if isinstance(known, Mapping):
            codes = {record.get("kernel"): record.get("code") for record in read_json_lines(screened / KERNELS)}
            same = (name for name in known.keys() & records.keys() if codes.get(name) == records[name].get("code"))
            return {name: known[name] for name in same if codes.get(name)}
    return {}


def whole_number(value: object) -> int | None:
    """A count as it stands in JSON; None where it is none."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
