"""Finished run directories, written by hand in the format on the disk: what `zlbench run` leaves on a card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.caliber import Caliber
from zlbench.cells import CellOutcome, CellState
from zlbench.identity import RunIdentity

CALIBER = Caliber(
    backend="cuda", device="NVIDIA H200", timer="cuda_graph", bench_level="core", shape_mode="upstream",
    tuner_cache="isolated", direct_repeat=1, shapes_hash="0123456789ab", mode="kernel", l2="warm", baseline="canary",
    quick=False, autotune_source="feedfeedfeed", use_flagtune=False, suite="toy", suite_hash="ab" * 32,
    torch="2.13.0", python="3.11.7", driver="575.57", seeds="20240229", plugins="ffffffffffff",
)  # fmt: skip
BUILDS = {
    side: {
        "name": f"triton-3.6.0-{side.lower()}", "kind": "wheel", "version": "3.6.0", "identity": side.lower() * 64,
        "native_sha256": side.lower() * 64, "python_sha256": "0" * 64, "tools_sha256": "0" * 64, "env": {},
    }
    for side in "AB"
}  # fmt: skip


def row(name: str, latency_ms: float | None, **more: Any) -> dict[str, Any]:
    """A measured row; its shape's number is the one that its name ends with, as far as there is one."""
    number = int(name[-1]) if name[-1].isdigit() else 0
    record: dict[str, Any] = {
        "op": "toy", "dtype": "float16", "shape": [number, 64], "shape_index": number - 1, "origin": "upstream",
        "label": f"{number}x64", "input": {"args": [], "kwargs": {}}, "row": name, "timer": "cuda_graph",
        "latency_ms": latency_ms, "baseline_ms": None, "l2": "warm", "baseline_timer": None, "fallback": None,
        "compile_ms": 12.5, "status": "SUCCESS", "kernels": [],
    }  # fmt: skip
    return {**record, **more}


def direct(name: str, latency_ms: float, **more: Any) -> dict[str, Any]:
    """A row that could not be captured as a graph."""
    fallback = {"phase": "capture", "reason": "operation not permitted when stream is capturing", "repeat": 1}
    return row(name, latency_ms, timer="direct", fallback=fallback, **more)


def failed(name: str, failure: str, **more: Any) -> dict[str, Any]:
    """A row that raised an error."""
    what = {"status": "FAILED", "failure": failure, "phase": "measure", "error": f"{failure}: no luck", "timer": None}
    return row(name, None, **{**what, **more})


def not_measured(name: str, status: str = "NOT_MEASURED", **more: Any) -> dict[str, Any]:
    """A row that was planned and has no result."""
    known = row(name, None)
    return {**{key: known[key] for key in ("op", "dtype", "shape", "shape_index")}, "status": status, **more}


def write_run(
    folder: Path, rows: Sequence[dict[str, Any]], *, side: str = "A", missing: Sequence[dict[str, Any]] = (),
    state: CellState = CellState.OK, markers: Iterable[str] = (), caliber: Caliber = CALIBER, op: str = "toy",
    identity: bool = True, build: str = "", switches: dict[str, str | None] | None = None, **conditions: Any,
) -> Path:  # fmt: skip
    """Write a complete run directory: A recorded its autotune choices, B replayed them.

    Args:
        build: which of BUILDS it ran on; that of its side where empty.
        conditions: fields of the caliber that differ from `caliber`.
    """
    folder.mkdir(parents=True)
    for name, records in (("rows.jsonl", rows), ("not_measured.jsonl", missing)):
        if records or name == "rows.jsonl":
            (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    mode = {"autotune_mode": "record" if side == "A" else "replay"}
    dtypes = list(dict.fromkeys(record["dtype"] for record in (*rows, *missing)))
    shapes = sorted({tuple(record["shape"]) for record in (*rows, *missing)})
    planned = {"event": "planned", "op": op, "dtypes": dtypes, "shapes": shapes}
    (folder / "events.jsonl").write_text(json.dumps(planned) + "\n")
    (folder / "run.log").write_text("")
    if identity:
        RunIdentity(
            op=op, side=side, caliber=replace(caliber, **{**mode, **conditions}), build=BUILDS[build or side],
            provider="toy", switches=switches or {}, device_uuid="GPU-5d1e", device_name="NVIDIA H200", zlbench="0",
        ).write(folder)  # fmt: skip
    measured = sum(record["status"] == "SUCCESS" for record in rows)
    outcome = CellOutcome(
        state=state, returncode=0 if state is CellState.OK else 1, elapsed_s=8.0, rows_ok=measured,
        rows_failed=len(rows) - measured, rows_not_measured=len(missing), markers=tuple(markers),
    )  # fmt: skip
    store.write_json(folder / store.RESULT, outcome.to_json())
    return folder
