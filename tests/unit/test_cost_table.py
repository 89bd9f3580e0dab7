"""Costs of an operator's kernels on both sides: largest or sum, and never a number that is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from zlbench.cost_table import Cost, CostPair, read_costs, side_totals
from zlbench.layout import INDEX_COLUMNS


def side(folder: Path, kernels: dict[str, dict[str, Any]], *, without: tuple[str, ...] = ()) -> Path:
    """A cell with an index and costs; a kernel's `launches` is 1 and its `shared` 0 where they are not given."""
    (folder / "ttgir").mkdir(parents=True)
    lines = ["\t".join(INDEX_COLUMNS)]
    for name, costs in kernels.items():
        values = {"kernel": "k", "id": name, "launches": costs.get("launches", 1), "shared": costs.get("shared", 0)}
        lines.append("\t".join(str(values.get(column, "")) for column in INDEX_COLUMNS))
    (folder / "ttgir" / "index.tsv").write_text("\n".join(lines) + "\n")
    known = {name: costs for name, costs in kernels.items() if name not in without}
    (folder / "costs.json").write_text(json.dumps(known))
    return folder


def costs(registers: int = 32, spills: int = 0, instructions: int = 100, **more: Any) -> dict[str, Any]:
    return {"registers": registers, "spills": spills, "instructions": instructions, **more}


def test_what_limits_occupancy_counts_by_its_largest_and_the_rest_adds_up(tmp_path: Path) -> None:
    kernels = {"k1": costs(32, 1, 100, shared=16), "k2": costs(64, 2, 50, shared=8)}
    assert side_totals(side(tmp_path, kernels)) == {
        Cost.REGISTERS: 64, Cost.SPILLS: 3, Cost.SHARED: 16, Cost.INSTRUCTIONS: 150,
    }  # fmt: skip


def test_kernels_that_lost_a_sweep_cost_nothing(tmp_path: Path) -> None:
    assert side_totals(side(tmp_path, {"k1": costs(32), "k2": costs(255, launches=0)}))[Cost.REGISTERS] == 32


def test_one_unknown_kernel_makes_the_total_unknown(tmp_path: Path) -> None:
    totals = side_totals(side(tmp_path, {"k1": costs(32, shared=8), "k2": costs(64, shared=4)}, without=("k2",)))
    assert totals == {Cost.REGISTERS: None, Cost.SPILLS: None, Cost.SHARED: 8, Cost.INSTRUCTIONS: None}


def test_nothing_is_known_of_a_cell_that_never_ran(tmp_path: Path) -> None:
    assert set(side_totals(tmp_path / "absent").values()) == {None}
    assert read_costs(tmp_path)[Cost.SPILLS] == CostPair(before=None, after=None, differ=0)
    assert not read_costs(tmp_path)[Cost.SPILLS].equal


def test_both_sides(tmp_path: Path) -> None:
    side(tmp_path / "A", {"k1": costs(64), "k2": costs(32), "k3": costs(16)})
    side(tmp_path / "B", {"k1": costs(64), "k2": costs(40), "k4": costs(16)})
    found = read_costs(tmp_path)
    # The largest stays while another kernel moved.
    assert found[Cost.REGISTERS] == CostPair(before=64, after=64, differ=1)
    assert not found[Cost.REGISTERS].equal
    assert found[Cost.SPILLS].equal
    assert found[Cost.SPILLS] == CostPair(before=0, after=0, differ=0)


def test_a_torn_file_of_costs_is_unknown(tmp_path: Path) -> None:
    folder = side(tmp_path, {"k1": costs(32, shared=4)})
    (folder / "costs.json").write_text("{")
    assert side_totals(folder)[Cost.REGISTERS] is None
    assert side_totals(folder)[Cost.SHARED] == 4
