"""The rows of a run: constant inputs stand once above the table."""

from __future__ import annotations

from typing import Any

import pytest

from zlbench.cells import CellSpec
from zlbench.cli.rows import row_lines
from zlbench.text import folded

SPEC = CellSpec(
    cell="dropout/A", op="dropout", side="A", node="/s/test_dropout.py::test_dropout", suite_root="/s", package="gems",
    out_dir="/out", backend="compile", timer="compile", target="cuda:90",
)  # fmt: skip


def row(label: str | None, **more: Any) -> dict[str, Any]:
    return {"dtype": "float16", "label": label, "shape": [3, 4], "status": "SUCCESS", "kernels": [], **more}


def test_constant_inputs_are_a_line_above_the_table() -> None:
    failed = row(None, status="FAILED", failure="OOM", error="out of memory")
    lines = row_lines(SPEC, [row("64x64 0.1 seed=3"), row("128x64 0.1 seed=3"), failed])
    assert lines[:2] == ["dropout · cuda:90 · timer compile", "every row: seed=3"]
    assert [line.split()[1:3] for line in lines[3:5]] == [["64x64", "0.1"], ["128x64", "0.1"]]
    assert "[3, 4]" in lines[5]
    assert lines[5].endswith("OOM: out of memory")


@pytest.mark.parametrize(
    ("labels", "short", "legend"),
    [
        ([], [], ""),
        (["64x64 8"], ["64x64 8"], ""),
        (["64x64 8", "64x64 8"], ["64x64 8", "64x64 8"], ""),
        (["64x64 8", "32x64 16"], ["64x64 8", "32x64 16"], ""),
        (["64x64 8", "32x64"], ["64x64 8", "32x64"], ""),
        (["64x64 8 a=1", "32x64 8 a=2"], ["64x64 8 a=1", "32x64 8 a=2"], ""),
        (["64x64 k=5 dim=-1", "32x64 k=5 dim=-1", ""], ["64x64", "32x64", ""], "k=5 dim=-1"),
        (["8 k=5", "8 1 k=5 a=1"], ["8", "8 1 a=1"], "k=5"),
        (["k=5", "8 k=5"], ["k=5", "8 k=5"], ""),
    ],
)
def test_what_is_folded(labels: list[str], short: list[str], legend: str) -> None:
    assert folded(labels) == (short, legend)
