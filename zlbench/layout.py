"""From what a cell left behind to its readable form: `ttgir/<row>/<kernel>/<variant>.ttgir`, index, shapes, outcome.

Runs in the driver after the measured process is gone, so a crash costs no file that was already there.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from zlbench import store, tuning
from zlbench.cells import KERNEL_DIGEST, CellOutcome, CellState, read_json_lines
from zlbench.ir.histogram import cvt_count
from zlbench.ir.naming import VariantParams, legend, row_dirname, variant_stems

INDEX_COLUMNS = (
    "kernel", "id", "status", "launches", "files", "num_warps", "num_stages", "num_ctas", "maxnreg", "shared",
    "compile_ms", "constexprs", "signature", "specialisation", "hash", "code", "ttgir_sha256",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class CellRecords:
    """The append-only files of one cell, read once."""

    rows: Sequence[Mapping[str, Any]]
    kernels: Sequence[Mapping[str, Any]]
    events: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, cell_dir: Path) -> CellRecords:
        """Read the files of a finished or crashed cell."""
        names = ("rows", "kernels", "events")
        return cls(**{name: read_json_lines(cell_dir / f"{name}.jsonl") for name in names})


def lay_out(cell_dir: Path, records: CellRecords) -> None:
    """Write `ttgir/`, its index and legend, and `shapes.yaml`; doing it again gives the same."""
    kernels = {record["kernel"]: record for record in records.kernels}
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    launches: dict[str, int] = defaultdict(int)
    files: dict[str, list[str]] = defaultdict(list)
    for row in records.rows:
        where = row_dirname((row.get("label") or str(row.get("shape"))).replace(" ", "_"))
        for use in row["kernels"]:
            kernel = use["kernel"]
            if kernel not in kernels:
                continue
            launches[kernel] += use["launches"]
            group = groups[where, row_dirname(kernels[kernel]["name"])]
            if kernel not in group:
                group.append(kernel)
    named: dict[str, list[VariantParams]] = {}
    for (where, name), members in sorted(groups.items()):
        params = [variant_params(kernels[member]) for member in members]
        stems = variant_stems(params)
        named[f"{where}/{name}"] = params
        for member, stem in zip(members, stems, strict=True):
            file = f"{where}/{name}/{stem}.ttgir"
            files[member].append(file)
            _link(cell_dir / "kernels" / f"{member}.ttgir", cell_dir / "ttgir" / file)
    _write_index(cell_dir / "ttgir", kernels, launches, files)
    if named:
        store.write_text(cell_dir / "ttgir" / "naming.md", legend(named))
    _write_shapes(cell_dir / "shapes.yaml", records.rows)


def variant_params(record: Mapping[str, Any]) -> VariantParams:
    """What names a variant, from its line in kernels.jsonl."""
    copy = record["kernel"].rpartition("-")[2]
    return VariantParams(
        constexprs=record["constexprs"],
        signature=record["signature"],
        specialisation=record["specialisation"],
        num_warps=record.get("num_warps") or 0,
        num_stages=record.get("num_stages") or 0,
        num_ctas=record.get("num_ctas") or 1,
        maxnreg=record.get("maxnreg"),
        # Equal in everything that is known of it: a kernel defined twice, told apart by its order.
        options={"copy": copy} if len(copy) < KERNEL_DIGEST else {},
    )


def _link(source: Path, target: Path) -> None:
    """Put a file into the tree; one variant stands under every row that launched it."""
    if not source.is_file() or target.exists():
        return
    with store.clear_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(source, target)


def _write_index(
    ttgir: Path,
    kernels: Mapping[str, Mapping[str, Any]],
    launches: Mapping[str, int],
    files: Mapping[str, Sequence[str]],
) -> None:
    if not kernels:
        return
    lines = ["\t".join(INDEX_COLUMNS)]
    for name, record in kernels.items():
        used = launches.get(name, 0)
        values = {
            **record,
            "kernel": record["name"],
            "id": name,
            "status": "used" if used else _UNUSED.get(str(record.get("during")), "sweep loser"),
            "launches": used,
            "files": " ".join(files.get(name, ())),
        }
        lines.append("\t".join(_field(values.get(column)) for column in INDEX_COLUMNS))
    with store.clear_errors(ttgir):
        ttgir.mkdir(exist_ok=True)
    store.write_text(ttgir / "index.tsv", "\n".join(lines) + "\n")


_UNUSED = {"inputs": "inputs", "baseline": "baseline", "row": "not launched"}
"""Status of a kernel that no row launched, by what was going on when it was compiled."""


def _field(value: Any) -> str:
    if isinstance(value, Mapping):
        value = " ".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, float):
        value = f"{value:.3f}"
    return "" if value is None else " ".join(str(value).split())


def _write_shapes(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Keep the shapes that really ran, with their origin; the file can be given back as ``--shape-file``."""
    shapes: dict[str, list[Any]] = defaultdict(list)
    origins: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        origins[row["op"]].add(str(row.get("origin")))
        if row.get("shape") is not None and row["shape"] not in shapes[row["op"]]:
            shapes[row["op"]].append(row["shape"])
    data = {op: {"origin": sorted(origins[op]), "shapes": shapes[op]} for op in origins if shapes[op]}
    # An entry without shapes would be refused when the file is given back.
    text = "".join(f"# {op}: inputs of its own, not by shape\n" for op in origins if not shapes[op])
    text += yaml.safe_dump(data, default_flow_style=None, sort_keys=False) if data else ""
    if text:
        store.write_text(path, text)


def missing_rows(records: CellRecords) -> list[dict[str, Any]]:
    """Announced (dtype, shape) pairs without a row: what a crash or a time limit kept from being measured."""
    found: list[dict[str, Any]] = []
    done = {(row["op"], row["dtype"], row.get("shape_index")) for row in (*records.rows, *left_out(records))}
    completed = {event["op"] for event in records.events if event["event"] == "completed"}
    for plan in (event for event in records.events if event["event"] == "planned"):
        hard_coded = any(row["op"] == plan["op"] and row.get("shape_index") == -1 for row in records.rows)
        if plan["op"] in completed or hard_coded:
            continue
        for dtype in plan["dtypes"]:
            for index, shape in enumerate(plan["shapes"]):
                if (plan["op"], dtype, index) not in done:
                    found.append({"op": plan["op"], "dtype": dtype, "shape": shape, "shape_index": index})
    return found


def left_out(records: CellRecords) -> list[Mapping[str, Any]]:
    """Rows that were not asked for, and so not measured."""
    return [event for event in records.events if event["event"] == "left_out"]


def write_not_measured(cell_dir: Path, records: CellRecords, *, state: CellState, detail: str) -> None:
    """List the rows without a result: the one that was in progress with its reason, the others as never begun."""
    current = row_in_progress(records)
    lines = []
    for row in missing_rows(records):
        here = current is not None and all(row[key] == current[key] for key in ("op", "dtype", "shape_index"))
        status = {"status": state.value, "detail": detail} if here else {"status": "NOT_MEASURED"}
        lines.append(json.dumps({**row, **status}) + "\n")
    if lines:
        store.write_text(cell_dir / "not_measured.jsonl", "".join(lines))


def row_in_progress(records: CellRecords) -> Mapping[str, Any] | None:
    """The row that was started and never finished: where a process died."""
    started = [event for event in records.events if event["event"] == "started"]
    if not started or "sequence" not in started[-1]:
        return started[-1] if len(started) > len(records.rows) else None
    # A row may be started twice: once more in the process after one that lost its device.
    ended = {row.get("sequence") for row in (*records.rows, *left_out(records))}
    return started[-1] if started[-1]["sequence"] not in ended else None


def markers(records: CellRecords) -> tuple[str, ...]:
    """What the plugins said that people must see, once each."""
    said = (f"{event['marker']} {event['text']}" for event in records.events if event["event"] == "marker")
    return tuple(dict.fromkeys(" ".join(text.split()) for text in said))


def outcome(
    cell_dir: Path, records: CellRecords, *, state: CellState, returncode: int, signal: int | None, elapsed_s: float,
    detail: str,
) -> CellOutcome:  # fmt: skip
    """Count what the cell left."""
    ok = sum(row["status"] == "SUCCESS" for row in records.rows)
    used = {use["kernel"] for row in records.rows for use in row["kernels"]}
    texts = [path for name in used if (path := cell_dir / "kernels" / f"{name}.ttgir").is_file()]
    return CellOutcome(
        state=state,
        returncode=returncode,
        signal=signal,
        elapsed_s=round(elapsed_s, 3),
        rows_ok=ok,
        rows_failed=len(records.rows) - ok,
        rows_not_measured=len(missing_rows(records)),
        rows_left_out=len(left_out(records)),
        kernels=len(used),
        convert_layouts=sum(cvt_count(path.read_text(encoding="utf-8")) for path in texts),
        foreign_cache_hits=sum(event["event"] == "foreign_cache_hit" for event in records.events),
        detail=detail,
        markers=(*markers(records), *tuning.markers(cell_dir)),
    )
