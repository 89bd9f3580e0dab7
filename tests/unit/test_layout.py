"""What a cell left behind becomes readable, whatever the moment at which its process died."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from zlbench import layout
from zlbench.cells import CellState
from zlbench.errors import UsageError
from zlbench.judge import read_index
from zlbench.layout import CellRecords, lay_out
from zlbench.shapes import load_shape_file

TTGIR = "module {\n  tt.func @k() {\n    %0 = ttg.convert_layout %x : t -> t\n  }\n}\n"


def kernel(number: int, *, copy: int = 1, **more: Any) -> dict[str, Any]:
    name = f"k-{number:016x}" + ("" if copy == 1 else f"-{copy}")
    return {
        "kernel": name, "name": "k", "constexprs": {"BLOCK": number}, "signature": {"x": "*fp16"},
        "specialisation": {"x": "div16"}, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None, "shared": 16,
        "compile_ms": 1.23456, "hash": "h", "code": "c", **more,
    }  # fmt: skip


def row(index: int, *kernels: str, status: str = "SUCCESS", **more: Any) -> dict[str, Any]:
    return {
        "op": "mm", "dtype": "float16", "shape": [2**index, 64], "shape_index": index, "origin": "upstream",
        "label": f"{2**index}x64", "row": f"mm|float16|{index}", "status": status,
        "kernels": [{"kernel": name, "launches": 2, "grids": []} for name in kernels], **more,
    }  # fmt: skip


def write(path: Path, records: list[dict[str, Any]], *, cut: int = 0) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text[: len(text) - cut])


def planned(*shapes: list[int], dtypes: tuple[str, ...] = ("float16",), op: str = "mm") -> dict[str, Any]:
    return {"event": "planned", "op": op, "dtypes": list(dtypes), "shapes": list(shapes)}


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """Two rows, three kernels: one launched by both, one by the second alone, one that lost its sweep."""
    kernels = [kernel(1), kernel(2), kernel(3)]
    (tmp_path / "kernels").mkdir()
    for record in kernels:
        (tmp_path / "kernels" / f"{record['kernel']}.ttgir").write_text(TTGIR)
    write(tmp_path / "kernels.jsonl", kernels)
    first, second, _ = (record["kernel"] for record in kernels)
    write(tmp_path / "rows.jsonl", [row(0, first), row(1, first, second)])
    write(tmp_path / "events.jsonl", [planned([1, 64], [2, 64])])
    return tmp_path


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_tree_index_and_legend(cell: Path) -> None:
    lay_out(cell, CellRecords.read(cell))
    found = sorted(path for path in tree(cell / "ttgir") if path.endswith(".ttgir"))
    assert found == ["1x64/k/w4s3.ttgir", "2x64/k/BLOCK1_w4s3.ttgir", "2x64/k/BLOCK2_w4s3.ttgir"]
    used, also, loser = read_index(cell / "ttgir" / "index.tsv")
    assert used.files == ("1x64/k/w4s3.ttgir", "2x64/k/BLOCK1_w4s3.ttgir")
    assert (used.launches, also.launches, loser.launches) == (4, 2, 0)
    assert (used.shared, used.compile_ms, used.code) == (16, 1.235, "c")
    assert loser.files == ()
    text = (cell / "ttgir" / "index.tsv").read_text()
    assert [line.split("\t")[2] for line in text.splitlines()] == ["status", "used", "used", "sweep loser"]
    assert "BLOCK=1" in text
    assert "BLOCK=2" in (cell / "ttgir" / "naming.md").read_text()


def test_laying_out_again_changes_nothing(cell: Path) -> None:
    lay_out(cell, CellRecords.read(cell))
    before = tree(cell)
    lay_out(cell, CellRecords.read(cell))
    assert tree(cell) == before


def test_laying_out_again_without_the_first_links_changes_nothing(cell: Path) -> None:
    lay_out(cell, CellRecords.read(cell))
    before = tree(cell / "ttgir")
    for path in (cell / "kernels").iterdir():
        path.unlink()
    lay_out(cell, CellRecords.read(cell))
    assert tree(cell / "ttgir") == before


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_line_that_a_crash_cut_off_costs_that_line_alone(cell: Path, cut: int) -> None:
    rows = [row(0, kernel(1)["kernel"]), row(1, kernel(1)["kernel"], kernel(2)["kernel"])]
    write(cell / "rows.jsonl", rows, cut=cut)
    records = CellRecords.read(cell)
    lay_out(cell, records)
    assert [line["row"] for line in records.rows] == ["mm|float16|0"]
    assert [path for path in tree(cell / "ttgir") if path.endswith(".ttgir")] == ["1x64/k/w4s3.ttgir"]
    assert [line["shape_index"] for line in layout.missing_rows(records)] == [1]


def test_a_kernel_whose_line_was_cut_off_is_left_out(cell: Path) -> None:
    write(cell / "kernels.jsonl", [kernel(1), kernel(2)], cut=3)
    lay_out(cell, CellRecords.read(cell))
    assert [found.id for found in read_index(cell / "ttgir" / "index.tsv")] == [kernel(1)["kernel"]]
    assert sorted(path for path in tree(cell / "ttgir") if path.endswith(".ttgir")) == [
        "1x64/k/w4s3.ttgir", "2x64/k/w4s3.ttgir",
    ]  # fmt: skip


def test_an_empty_cell_leaves_nothing(tmp_path: Path) -> None:
    lay_out(tmp_path, CellRecords.read(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_kernels_that_are_equal_in_all_that_is_known_stay_apart(cell: Path) -> None:
    twins = [kernel(1), kernel(1, copy=2)]
    for number, record in enumerate(twins):
        (cell / "kernels" / f"{record['kernel']}.ttgir").write_text(f"module {{ // {number}\n}}\n")
    write(cell / "kernels.jsonl", twins)
    write(cell / "rows.jsonl", [row(0, *(record["kernel"] for record in twins))])
    (cell / "ttgir").mkdir()
    lay_out(cell, CellRecords.read(cell))
    first, second = read_index(cell / "ttgir" / "index.tsv")
    assert first.files != second.files
    assert "// 0" in (cell / "ttgir" / first.files[0]).read_text()
    assert "// 1" in (cell / "ttgir" / second.files[0]).read_text()


def test_what_a_field_of_the_index_holds_never_breaks_its_line(cell: Path) -> None:
    odd = kernel(1, signature={"x": "a\tb\nc"}, constexprs={"f": None, "s": '"'}, maxnreg=None, shared=None)
    write(cell / "kernels.jsonl", [odd])
    lay_out(cell, CellRecords.read(cell))
    (found,) = read_index(cell / "ttgir" / "index.tsv")
    assert (found.shared, found.launches) == (None, 4)
    assert len((cell / "ttgir" / "index.tsv").read_text().splitlines()) == 2


def test_a_row_without_a_label_stands_under_its_shape(cell: Path) -> None:
    nameless = {**row(0, kernel(1)["kernel"], status="FAILED"), "label": None}
    write(cell / "rows.jsonl", [nameless])
    lay_out(cell, CellRecords.read(cell))
    (file,) = read_index(cell / "ttgir" / "index.tsv")[0].files
    assert "64" in file
    assert (cell / "ttgir" / file).is_file()


def test_the_shapes_that_ran_can_be_given_back(cell: Path) -> None:
    nested = [[16, 1024, 256], 256]
    rows = [row(0), row(0, dtype="float32"), row(1, shape=nested, origin="inline"), row(2, shape=[8, 1.5])]
    write(cell / "rows.jsonl", rows)
    lay_out(cell, CellRecords.read(cell))
    text = (cell / "shapes.yaml").read_text()
    assert yaml.safe_load(text)["mm"]["origin"] == ["inline", "upstream"]
    sets = load_shape_file(cell / "shapes.yaml", known=("mm",))
    assert sets["mm"].shapes == ((1, 64), ((16, 1024, 256), 256), (8, 1.5))


def test_an_operator_with_inputs_of_its_own_spoils_no_shape_file(cell: Path) -> None:
    own = row(0, op="fft", shape=None, shape_index=-1, origin="hard-coded")
    write(cell / "rows.jsonl", [own, row(1)])
    lay_out(cell, CellRecords.read(cell))
    assert list(load_shape_file(cell / "shapes.yaml", known=("mm", "fft"))) == ["mm"]
    assert "fft" in (cell / "shapes.yaml").read_text()
    write(cell / "rows.jsonl", [own])
    lay_out(cell, CellRecords.read(cell))
    with pytest.raises(UsageError, match="no operators in it"):
        load_shape_file(cell / "shapes.yaml")


def records(rows: list[dict[str, Any]], *events: dict[str, Any]) -> CellRecords:
    return CellRecords(rows=rows, kernels=[], events=list(events))


def test_rows_planned_and_missing() -> None:
    plan = planned([1, 64], [2, 64], dtypes=("float16", "float32"))
    found = records([row(0), row(1)], plan)
    assert [(line["dtype"], line["shape_index"], line["shape"]) for line in layout.missing_rows(found)] == [
        ("float32", 0, [1, 64]), ("float32", 1, [2, 64]),
    ]  # fmt: skip
    assert len(layout.missing_rows(records([], plan))) == 4


def test_a_benchmark_that_came_to_its_end_misses_nothing() -> None:
    found = records([row(0)], planned([1, 64], [2, 64]), {"event": "completed", "op": "mm"})
    assert layout.missing_rows(found) == []
    other = planned([1, 64], op="bmm")
    assert [line["op"] for line in layout.missing_rows(records([row(0)], *found.events, other))] == ["bmm"]


def test_rows_of_hard_coded_inputs_cannot_be_told_missing() -> None:
    assert layout.missing_rows(records([row(0, shape=None, shape_index=-1)], planned([1, 64], [2, 64]))) == []


def test_the_row_in_progress_has_the_reason_and_the_others_never_began(tmp_path: Path) -> None:
    plan = planned([1, 64], [2, 64], [4, 64])
    started = [{"event": "started", **{key: row(index)[key] for key in ("op", "dtype", "shape", "shape_index")}}
               for index in (0, 1)]  # fmt: skip
    found = records([row(0)], plan, *started)
    current = layout.row_in_progress(found)
    assert current is not None
    assert current["shape_index"] == 1
    layout.write_not_measured(tmp_path, found, state=CellState.CRASH, detail="signal 11")
    lines = [json.loads(line) for line in (tmp_path / "not_measured.jsonl").read_text().splitlines()]
    assert [(line["shape_index"], line["status"], line.get("detail")) for line in lines] == [
        (1, "CRASH", "signal 11"), (2, "NOT_MEASURED", None),
    ]  # fmt: skip
    assert layout.row_in_progress(records([row(0), row(1)], plan, *started)) is None


def test_nothing_missing_writes_nothing(tmp_path: Path) -> None:
    layout.write_not_measured(tmp_path, records([row(0)], planned([1, 64])), state=CellState.OK, detail="")
    assert list(tmp_path.iterdir()) == []


def test_what_plugins_said_is_kept_once_each_on_one_line() -> None:
    said = [{"event": "marker", "marker": "A_WORD", "text": text} for text in ("two\nlines", "two lines", "more")]
    assert layout.markers(records([], planned(), *said)) == ("A_WORD two lines", "A_WORD more")


def test_an_outcome_counts_each_kernel_once(cell: Path) -> None:
    write(cell / "rows.jsonl", [row(0, kernel(1)["kernel"]), row(1, kernel(1)["kernel"], status="FAILED")])
    write(cell / "events.jsonl", [planned([1, 64], [2, 64], [4, 64]), {"event": "foreign_cache_hit", "hash": "h"}])
    found = layout.outcome(
        cell, CellRecords.read(cell), state=CellState.CRASH, returncode=-11, signal=11, elapsed_s=1.23456, detail="d"
    )
    assert (found.rows_ok, found.rows_failed, found.rows_not_measured) == (1, 1, 1)
    assert (found.kernels, found.convert_layouts, found.foreign_cache_hits) == (1, 1, 1)
    assert (found.elapsed_s, found.signal, found.detail) == (1.235, 11, "d")
