"""What is kept of every compiled variant, from stand-ins of the objects that Triton hands to its hooks."""

from __future__ import annotations

import hashlib
import json
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from zlbench_plugins.ir_meta import IrRecorder, describe, stage_times

META = {"name": "k", "num_warps": 8, "num_stages": 2, "num_ctas": 1, "maxnreg": None, "hash": "h1", "shared": 512}
TTGIR = "module {\n}\n"


def source(**changed: Any) -> SimpleNamespace:
    """What Triton calls ASTSource: argument paths to constants and attributes."""
    params = [SimpleNamespace(name=name, is_constexpr=name == "BLOCK") for name in ("x", "n", "t", "BLOCK")]
    values: dict[str, Any] = {
        "name": "k",
        "fn": SimpleNamespace(__module__="gems.ops", arg_names=["x", "n", "t", "BLOCK"], params=params),
        "constants": {(1,): 1, (3,): 64},
        "attrs": {(0,): [["tt.divisibility", 16]], (2, 1): [["tt.pointer_range", 32]]},
        "signature": {"x": "*fp16", "n": "constexpr", "t": "i32", "BLOCK": "constexpr"},
    }
    return SimpleNamespace(**{**values, **changed})


def test_everything_that_makes_a_variant() -> None:
    assert describe(source(), META) == {
        "name": "k",
        "module": "gems.ops",
        "constexprs": {"BLOCK": 64},
        "signature": {"x": "*fp16", "t": "i32"},
        "specialisation": {"n": "eq1", "x": "div16", "t.1": "range32"},
        "num_warps": 8,
        "num_stages": 2,
        "num_ctas": 1,
        "maxnreg": None,
    }


def test_a_source_that_declares_nothing_has_only_constexprs() -> None:
    found = describe(source(fn=SimpleNamespace(arg_names=["x", "n"])), {})
    assert (found["constexprs"], found["specialisation"]["x"]) == ({"n": 1, "3": 64}, "div16")
    assert describe(SimpleNamespace(), {}) == {
        "name": "kernel", "module": "", "constexprs": {}, "signature": {}, "specialisation": {},
        "num_warps": None, "num_stages": None, "num_ctas": None, "maxnreg": None,
    }  # fmt: skip


def test_values_are_the_same_in_every_process() -> None:
    class Layout:
        pass

    def activation() -> None:
        pass

    found = describe(source(constants={(3,): (activation, Layout(), [1, None])}), META)
    name, layout, rest = found["constexprs"]["BLOCK"]
    assert (name, rest) == ("activation", [1, None])
    assert " at 0x" not in layout
    assert json.dumps(found)


def test_stages_are_milliseconds() -> None:
    times = SimpleNamespace(ir_initialization=1500, lowering_stages=[("ttir", 500), ("ttgir", 2000)], store_results=250)
    assert stage_times(times) == {
        "stages_ms": {"frontend": 1.5, "ttir": 0.5, "ttgir": 2.0, "store": 0.25}, "compile_ms": 4.25,
    }  # fmt: skip


@pytest.mark.parametrize("times", [None, SimpleNamespace()])
def test_times_that_a_triton_does_not_tell_are_unknown(times: Any) -> None:
    assert stage_times(times) == {"stages_ms": {}, "compile_ms": None}


class Cell:
    """A cell's context as the recorder uses it, with lists for files."""

    def __init__(self, out_dir: Path) -> None:
        self.out_dir = out_dir
        self.spec = SimpleNamespace(keep_binaries=False)
        self.sweeping, self.doing = False, "row"
        self.kernels: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.launches: list[tuple[str, Any]] = []
        self.grid = (4, 1, 1)

    def launched(self, kernel: str, grid: Any) -> None:
        self.launches.append((kernel, grid))


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ZL_CACHE_OWNER", "A")
    return Cell(tmp_path / "cell")


def compiled(recorder: IrRecorder, folder: Path, *, triton_hash: str = "h1", hit: bool = False, **files: bytes) -> None:
    folder.mkdir(exist_ok=True)
    group = {}
    for suffix, content in (files or {"ttgir": TTGIR.encode()}).items():
        (folder / f"k.{suffix}").write_bytes(content)
        group[f"k.{suffix}"] = str(folder / f"k.{suffix}")
    times = SimpleNamespace(ir_initialization=1000, lowering_stages=[("ttgir", 1000)], store_results=0)
    meta = {**META, "hash": triton_hash}
    recorder.compiled(src=source(), metadata=meta, metadata_group=group, times=times, cache_hit=hit)


def test_a_variant_is_on_the_disk_as_soon_as_it_is_compiled(cell: Any, tmp_path: Path) -> None:
    recorder = IrRecorder(cell)
    compiled(recorder, tmp_path / "group", ttgir=TTGIR.encode(), cubin=b"no ELF", ptx=b"", amdgcn=b"s_endpgm")
    (record,) = cell.kernels
    kept = sorted(path.suffix for path in (cell.out_dir / "kernels").iterdir())
    assert kept == [".amdgcn", ".cubin", ".ttgir"]
    assert record["ttgir_sha256"] == hashlib.sha256(TTGIR.encode()).hexdigest()
    assert (record["binary"], record["code"]) == (f"{record['kernel']}.cubin", None)
    assert "not an ELF file" in record["code_error"]
    assert (record["shared"], record["compile_ms"], record["hash"], record["cache_hit"]) == (512, 2.0, "h1", False)
    assert (recorder.take_compile_ms(), recorder.take_compile_ms()) == (2.0, 0.0)


def test_lower_ir_stays_where_binaries_were_asked_for(cell: Any, tmp_path: Path) -> None:
    cell.spec.keep_binaries = True
    compiled(IrRecorder(cell), tmp_path / "group", ttgir=TTGIR.encode(), ptx=b"", llir=b"")
    assert sorted(path.suffix for path in (cell.out_dir / "kernels").iterdir()) == [".llir", ".ptx", ".ttgir"]


def test_the_name_of_a_variant_is_of_its_parameters_and_not_of_its_build(cell: Any, tmp_path: Path) -> None:
    compiled(IrRecorder(cell), tmp_path / "group", triton_hash="of build A")
    compiled(IrRecorder(cell), tmp_path / "group", triton_hash="of build B")
    assert cell.kernels[0]["kernel"] == cell.kernels[1]["kernel"]


def test_one_compilation_is_told_once_and_an_equal_variant_is_told_apart(cell: Any, tmp_path: Path) -> None:
    recorder = IrRecorder(cell)
    for triton_hash in ("h1", "h1", "h2"):
        compiled(recorder, tmp_path / "group", triton_hash=triton_hash)
    first, second = (record["kernel"] for record in cell.kernels)
    assert second == f"{first}-2"


def test_metadata_may_be_a_named_tuple(cell: Any, tmp_path: Path) -> None:
    compiled(IrRecorder(cell), tmp_path / "group")
    meta = namedtuple("Meta", META)(**META)
    IrRecorder(cell).compiled(src=source(), metadata=meta, metadata_group={}, times=None, cache_hit=False)
    assert cell.kernels[0]["kernel"] == cell.kernels[1]["kernel"]


def test_a_hit_in_our_own_cache_costs_nothing_now_and_says_what_it_cost(cell: Any, tmp_path: Path) -> None:
    compiled(IrRecorder(cell), tmp_path / "group")
    again = IrRecorder(cell)
    compiled(again, tmp_path / "group", hit=True)
    assert (cell.kernels[1]["compile_ms"], cell.kernels[1]["cache_hit"], cell.events) == (2.0, True, [])
    assert again.take_compile_ms() == 0.0


def test_a_hit_in_a_cache_that_somebody_else_filled_is_said(
    cell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(IrRecorder(cell), tmp_path / "group")
    monkeypatch.setenv("ZL_CACHE_OWNER", "B")
    compiled(IrRecorder(cell), tmp_path / "group", hit=True)
    compiled(IrRecorder(cell), tmp_path / "group", triton_hash="unknown", hit=True)
    assert [event["hash"] for event in cell.events] == ["h1", "unknown"]
    assert cell.kernels[1]["compile_ms"] is None


def test_launches_are_joined_to_kernels_by_their_function(cell: Any, tmp_path: Path) -> None:
    recorder = IrRecorder(cell)
    compiled(recorder, tmp_path / "group")
    recorder.loaded(None, 7, "k", {}, "h1")
    recorder.loaded(None, 8, "k", {}, "never compiled here")
    for function in (7, 8, 9, 7):
        recorder.launched(SimpleNamespace(get=lambda function=function: {"function": function}))
    recorder.launched(None)
    assert cell.launches == [(cell.kernels[0]["kernel"], (4, 1, 1))] * 2


@pytest.mark.parametrize(
    ("sweeping", "doing", "during"),
    [(True, "row", "sweep"), (False, "baseline", "baseline"), (False, "inputs", "inputs")],
)
def test_what_a_variant_was_compiled_for(cell: Any, tmp_path: Path, sweeping: bool, doing: str, during: str) -> None:
    cell.sweeping, cell.doing = sweeping, doing
    compiled(IrRecorder(cell), tmp_path / "group")
    assert cell.kernels[-1]["during"] == during
