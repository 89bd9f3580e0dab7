"""Roots of repeated rounds, written by hand in the format on the disk: what `zlbench ab_repeat` leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fakes.run_dirs import row, write_run

from zlbench import store

AXIS: dict[str, Any] = {
    "name": "toys", "describe": "build", "stamps": [], "null_test": False,
    "sides": {side: {"build": {"name": side}, "switches": {}} for side in "AB"},
}  # fmt: skip


def write_plan(
    root: Path, lanes: Mapping[str, Sequence[tuple[str, str]]], *, rounds: int, metric: str = "latency_ms"
) -> None:
    """Write repeat.json.

    Args:
        lanes: for each lane its operators, each with its kind.
    """
    root.mkdir(parents=True, exist_ok=True)
    store.write_json(root / "repeat.json", {
        "schema_version": 1, "metric": metric, "rounds": {"fixed": rounds}, "axis": AXIS, "screen": None,
        "lanes": [
            {"lane": lane, "card": lane, "ops": [
                {"op": op, "dir": op, "kind": kind, "rows": None, "seconds": 1.0} for op, kind in ops
            ]}
            for lane, ops in lanes.items()
        ],
    })  # fmt: skip


def write_pair(
    folder: Path, number: int, times: Mapping[str, tuple[float | None, float | None]], *, op: str = "toy", **more: Any
) -> None:
    """Write both cells of a round; a time of None is a row that was not measured on that side."""
    for index, side in enumerate("AB"):
        rows = [row(name, pair[index], op=op) for name, pair in times.items() if pair[index] is not None]
        recorded = side == "A" and number == 1
        mode = {"autotune_mode": "record" if recorded else "replay"}
        write_run(folder / f"r{number}_{side}", rows, side=side, op=op, **{**mode, **more})


def write_pairs_tsv(folder: Path, *lines: tuple[str, int, int, str, int]) -> None:
    """Write pairs.tsv: operator, round, valid, cause, tries."""
    text = ["op\tround\tvalid\tcause\ttries\tnote", *("\t".join(map(str, (*line, ""))) for line in lines)]
    (folder / "pairs.tsv").write_text("\n".join(text) + "\n")
