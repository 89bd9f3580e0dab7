"""The kernels of a pair in a report: which are the same, what differs, what it costs to find out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from zlbench import layout, store
from zlbench.report.model import KernelPair
from zlbench.report.reading import kernels
from zlbench.report.reading.kernels import kernel_dirs, kernel_pairs

DATA = Path(__file__).parent / "data" / "ttgir"
SOFTMAX, OTHER_PATH, RELEASE = "softmax-3.6.0", "softmax-3.6.0-otherpath", "softmax-3.9.0"
"""One kernel; the same from another checkout; the same of a later compiler."""
MATMUL, MATMUL_RELEASE = "matmul-3.6.0", "matmul-3.9.0"


def kernel(name: str, text: str | None = SOFTMAX, *, rows: tuple[str, ...] = ("4096x4096",), **more: Any) -> Any:
    """A kernel for `write_cell`: its line in kernels.jsonl, its text and the rows that launch it."""
    data = None if text is None else (DATA / f"{text}.ttgir").read_bytes() if text in _KNOWN else text.encode()
    record = {
        "kernel": f"{name}-0123456789abcdef", "name": name, "module": "toy", "constexprs": {"BLOCK": 1024},
        "signature": {"x_ptr": "*fp16", "n": "i32"}, "specialisation": {"x_ptr": "div16"}, "num_warps": 4,
        "num_stages": 3, "num_ctas": 1, "maxnreg": None, "hash": "h", "code": "c0de" * 16, "shared": 2048,
        "compile_ms": 1.0, "ttgir_sha256": hashlib.sha256(data or b"").hexdigest(), **more,
    }  # fmt: skip
    return record, data, rows


_KNOWN = {path.stem for path in DATA.glob("*.ttgir")}


def write_cell(cell: Path, *compiled: Any, lay_out: bool = True, costs: bool = True, dtype: str = "float16") -> Path:
    """Write what a cell leaves about kernels, by hand but for the readable tree, which `layout` makes of it."""
    (cell / "kernels").mkdir(parents=True)
    rows: dict[str, list[dict[str, Any]]] = {}
    for record, data, labels in compiled:
        if data is not None:
            (cell / "kernels" / f"{record['kernel']}.ttgir").write_bytes(data)
        for label in labels:
            rows.setdefault(label, []).append({"kernel": record["kernel"], "launches": 1, "grids": [[1, 1, 1]]})
    lines = [
        {"op": "toy", "dtype": dtype, "shape": None, "label": label, "row": f"toy|{label}", "status": "SUCCESS",
         "kernels": uses}
        for label, uses in rows.items()
    ]  # fmt: skip
    for name, records in (("kernels", [record for record, _, _ in compiled]), ("rows", lines)):
        (cell / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in records))
    if lay_out:
        layout.lay_out(cell, layout.CellRecords.read(cell))
    if costs:
        known = {record["kernel"]: {"registers": 40, "spills": 0, "instructions": 300} for record, _, _ in compiled}
        store.write_json(cell / "costs.json", known)
    return cell


def pair(folder: Path, a: Any, b: Any, **more: Any) -> KernelPair:
    """One kernel on both sides, compared."""
    (found,) = kernel_pairs(write_cell(folder / "A", a), write_cell(folder / "B", b), **more)
    return found


def test_what_stands_of_a_kernel_that_is_equal(tmp_path: Path) -> None:
    found = pair(tmp_path, kernel("softmax", rows=("64x64", "8x8")), kernel("softmax", rows=("8x8", "16x16")))
    assert (found.id, found.name, found.variant) == ("softmax-0123456789abcdef", "softmax", "w4s3")
    assert found.constexprs == {"BLOCK": 1024}
    assert found.signature == {"x_ptr": "*fp16", "n": "i32"}
    assert (found.num_warps, found.num_stages) == (4, 3)
    assert found.rows == ("64x64", "8x8", "16x16")
    assert (found.ir, found.code, found.histogram, found.diff, found.cut) == ("same", "same", (), "", False)
    assert found.a is not None
    assert (found.a.registers, found.a.spills, found.a.shared, found.a.instructions) == (40, 0, 2048, 300)
    assert found.a == found.b


def test_equal_bytes_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "normalised", lambda *_: pytest.fail("normalised"))
    assert pair(tmp_path / "recorded", kernel("softmax"), kernel("softmax")).ir == "same"
    bare = kernel("softmax", ttgir_sha256="")
    assert pair(tmp_path / "by_bytes", bare, bare).ir == "same"
    judged = pair(tmp_path / "judged", kernel("softmax"), kernel("softmax", OTHER_PATH), judged_equal=True)
    assert judged.ir == "same"


def test_the_same_program_from_another_path_is_the_same(tmp_path: Path) -> None:
    found = pair(tmp_path, kernel("softmax"), kernel("softmax", OTHER_PATH, code="0ther" * 8))
    assert (found.ir, found.code, found.diff, found.histogram) == ("same", "changed", "", ())
    assert found.a is not None
    assert found.b is not None
    assert found.a.ttgir == found.b.ttgir != ""


def test_a_changed_kernel_is_counted_and_shown(tmp_path: Path) -> None:
    found = pair(tmp_path, kernel("mm", MATMUL), kernel("mm", MATMUL_RELEASE, code=""))
    assert (found.ir, found.code) == ("changed", "unknown")
    assert found.a is not None
    assert found.b is not None
    assert found.a.ttgir != found.b.ttgir
    assert found.histogram
    for name, before, after in found.histogram:
        assert before != after
        assert f"{name}  " in found.diff
        assert f"{before} -> {after}" in found.diff
    assert found.diff.startswith("--- A\n+++ B\n")
    assert not found.cut


def test_a_long_diff_is_cut_and_says_so(tmp_path: Path) -> None:
    sides = kernel("mm", MATMUL), kernel("mm", MATMUL_RELEASE)
    whole = pair(tmp_path / "whole", *sides)
    lines = whole.diff.splitlines()
    short = pair(tmp_path / "short", *sides, max_diff_lines=5)
    assert short.diff.splitlines() == lines[:5]
    assert short.cut
    exact = pair(tmp_path / "exact", *sides, max_diff_lines=len(lines))
    assert (exact.diff, exact.cut) == (whole.diff, False)
    none = pair(tmp_path / "none", *sides, diffs=False)
    assert (none.ir, none.diff, none.cut, none.histogram) == ("changed", "", False, whole.histogram)


def test_stamps_of_the_change_itself_are_no_change(tmp_path: Path) -> None:
    text = (DATA / f"{SOFTMAX}.ttgir").read_text()
    stamped = text.replace("module attributes {", 'module attributes {"ttg.rlc-depth" = 3 : i32, ', 1)
    assert stamped != text
    assert pair(tmp_path / "1", kernel("softmax"), kernel("softmax", stamped)).ir == "changed"
    assert pair(tmp_path / "2", kernel("softmax"), kernel("softmax", stamped), stamps=("ttg.rlc-*",)).ir == "same"


@pytest.mark.parametrize("text", [None, "", "module {\n  tt.func @cut_off(", "no IR at all"])
def test_what_cannot_be_read_is_unknown_never_equal(tmp_path: Path, text: str | None) -> None:
    found = pair(tmp_path, kernel("softmax"), kernel("softmax", text))
    assert (found.ir, found.diff) == ("unknown", "")
    assert found.code == "same"


def test_a_kernel_of_one_side(tmp_path: Path) -> None:
    a = write_cell(tmp_path / "A", kernel("both"), kernel("gone"), kernel("loser", rows=()))
    b = write_cell(tmp_path / "B", kernel("new"), kernel("both"))
    found = {item.name: item for item in kernel_pairs(a, b)}
    assert list(found) == ["both", "gone", "new"]
    assert (found["gone"].ir, found["gone"].code, found["gone"].b) == ("only A", "only A", None)
    assert (found["new"].ir, found["new"].code, found["new"].a) == ("only B", "only B", None)
    assert found["new"].rows == ("4096x4096",)
    assert found["new"].constexprs == {"BLOCK": 1024}
    nothing = kernel_pairs(a, tmp_path / "never")
    assert [(item.name, item.ir) for item in nothing] == [("both", "only A"), ("gone", "only A")]


def test_texts_are_found_in_either_place(tmp_path: Path) -> None:
    """On a card the kernels' own folder is tidied away; before a cell is laid out there is nothing else."""
    a = write_cell(tmp_path / "A", kernel("mm", MATMUL))
    for path in (a / "kernels").iterdir():
        path.unlink()
    b = write_cell(tmp_path / "B", kernel("mm", MATMUL_RELEASE), lay_out=False)
    (found,) = kernel_pairs(a, b)
    assert found.ir == "changed"
    assert found.rows == ("4096x4096",)
    (other,) = kernel_pairs(b, a)
    assert other.variant == found.variant == "w4s3"


def test_an_index_alone_tells_what_it_knows(tmp_path: Path) -> None:
    a, b = (write_cell(tmp_path / side, kernel("mm", MATMUL)) for side in "AB")
    for cell in (a, b):
        (cell / "kernels.jsonl").unlink()
    (found,) = kernel_pairs(a, b)
    assert (found.name, found.ir, found.code, found.rows) == ("mm", "same", "same", ("4096x4096",))
    assert found.a is not None
    assert found.a.shared == 2048


def test_a_torn_last_line_and_broken_costs_cost_only_themselves(tmp_path: Path) -> None:
    a, b = (write_cell(tmp_path / side, kernel("mm", MATMUL)) for side in "AB")
    (a / "costs.json").write_text("{")
    with (a / "kernels.jsonl").open("a") as stream:
        stream.write('{"kernel": "mm-')
    (found,) = kernel_pairs(a, b)
    assert found.a is not None
    assert found.b is not None
    assert (found.a.registers, found.b.registers) == (None, 40)


def test_prepared_cells_have_the_costs_of_the_screen_where_the_code_is_the_same(tmp_path: Path) -> None:
    screened, op = tmp_path / "screen" / "mm", tmp_path / "rounds" / "mm"
    for side in "AB":
        write_cell(screened / side, kernel("mm", MATMUL), kernel("other", code="0ld"))
        write_cell(op / f"prepare_{side}", kernel("mm", MATMUL), kernel("other"), lay_out=False, costs=False)
    dirs = kernel_dirs(tmp_path / "rounds", "mm")
    assert dirs == (op / "prepare_A", op / "prepare_B")
    same, other = kernel_pairs(*dirs)
    assert same.a is not None
    assert other.a is not None
    assert (same.a.registers, same.a.instructions) == (40, 300)
    assert (other.a.registers, other.a.shared) == (None, 2048)


def test_where_kernels_lie(tmp_path: Path) -> None:
    rounds = tmp_path / "rounds"
    op = rounds / "mm"
    assert kernel_dirs(rounds, "mm") is None
    for side in "AB":
        write_cell(tmp_path / "screen" / "mm" / side, kernel("mm"))
    assert kernel_dirs(rounds, "mm") == (tmp_path / "screen" / "mm" / "A", tmp_path / "screen" / "mm" / "B")
    assert kernel_dirs(tmp_path / "screen" / "mm") == (
        tmp_path / "screen" / "mm" / "A",
        tmp_path / "screen" / "mm" / "B",
    )
    for side in "AB":
        (op / f"r1_{side}").mkdir(parents=True)  # compile-time rounds keep no kernels
        write_cell(op / f"prepare_{side}", kernel("mm"))
    assert kernel_dirs(rounds, "mm") == (op / "prepare_A", op / "prepare_B")
    for number in (10, 2):
        for side in "AB":
            write_cell(op / f"r{number}_{side}", kernel("mm"))
    (op / "r2_B" / "kernels.jsonl").unlink()  # nothing went through the compiler on this side
    write_cell(op / "r1_A.invalid1", kernel("mm"))
    assert kernel_dirs(rounds, "mm") == (op / "r2_A", op / "r2_B")
    assert kernel_dirs(rounds, op) == (op / "r2_A", op / "r2_B")


def test_lanes_have_a_folder_each(tmp_path: Path) -> None:
    op = tmp_path / "rounds" / "1" / "mm"
    (tmp_path / "rounds" / "0").mkdir(parents=True)
    for side in "AB":
        write_cell(op / f"r1_{side}", kernel("mm"))
    assert kernel_dirs(tmp_path / "rounds", "mm") == (op / "r1_A", op / "r1_B")
    for side in "AB":
        write_cell(tmp_path / "screen" / "topk" / side, kernel("topk"))
    lane = tmp_path / "rounds" / "1" / "topk"
    lane.mkdir()
    assert kernel_dirs(tmp_path / "rounds", "topk") == tuple(tmp_path / "screen" / "topk" / side for side in "AB")
    assert kernel_dirs(lane) == tuple(tmp_path / "screen" / "topk" / side for side in "AB")
