"""Costs of cells: each machine code is looked at once, with tools replaced by a script that counts its calls."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from test_code_elf import elf

from zlbench import store
from zlbench.code.elf import code_identity
from zlbench.costing import COSTS_FILE, LOADED_FILE, Coster

AMDGCN = (Path(__file__).parent / "data" / "tools" / "softmax-gfx942.amdgcn").read_text()
USAGE = "REG:40 STACK:8 SHARED:0"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with cuobjdump and nvdisasm; a binary that holds BAD is refused, every call is noted."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "calls"
    cuobjdump = f'#!/bin/sh\necho cuobjdump >>{log}\ngrep -q BAD "$2" && exit 1\necho "Function k: {USAGE} LOCAL:0"\n'
    nvdisasm = f"#!/bin/sh\necho nvdisasm >>{log}\necho '  .text.k:'\necho '        /*0000*/  IADD3 R1, R1, R1 ;'\n"
    nvdisasm += "echo '        /*0010*/  EXIT ;'\n"
    for name, text in (("cuobjdump", cuobjdump), ("nvdisasm", nvdisasm)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def calls(tools: Path, name: str) -> int:
    log = tools.parent / "calls"
    return log.read_text().split().count(name) if log.exists() else 0


def cell(folder: Path, *codes: bytes, state: str = "OK", suffix: str = ".cubin", link: bool = True) -> Path:
    """A cell with one kernel for each code."""
    (folder / "kernels").mkdir(parents=True)
    records: list[dict[str, Any]] = []
    for number, content in enumerate(codes):
        name = f"k-{number}"
        data = elf([(".text.k", content + b"\0" * (32 - len(content)))])
        (folder / "kernels" / f"{name}{suffix}").write_bytes(data)
        (folder / "kernels" / f"{name}.ttgir").write_text("module {\n}\n")
        if suffix == ".hsaco":
            (folder / "kernels" / f"{name}.amdgcn").write_text(AMDGCN)
        if link:
            os.link(folder / "kernels" / f"{name}.ttgir", folder / f"{name}.ttgir")
        identity = code_identity(data, "cubin")
        records.append({"kernel": name, "code": identity, "binary": f"{name}{suffix}"})
    (folder / "kernels.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    store.write_json(folder / store.RESULT, {"state": state, "returncode": 0})
    return folder


def read(folder: Path) -> dict[str, Any]:
    return store.read_json(folder / COSTS_FILE) or {}


def test_equal_code_of_both_sides_is_looked_at_once(tmp_path: Path, tools: Path) -> None:
    a, b = cell(tmp_path / "A", b"one", b"two"), cell(tmp_path / "B", b"one")
    coster = Coster(tools)
    coster.add([a, b, tmp_path / "absent"], keep_binaries=False)
    assert coster.unavailable == ""
    assert calls(tools, "cuobjdump") == 2
    assert list(read(a)) == ["k-0", "k-1"]
    assert read(a)["k-0"] == read(b)["k-0"]
    assert (read(b)["k-0"]["registers"], read(b)["k-0"]["spills"], read(b)["k-0"]["instructions"]) == (40, 2, 2)
    coster.add([cell(tmp_path / "C", b"two")], keep_binaries=False)
    assert calls(tools, "cuobjdump") == 2


def test_a_finished_cell_gives_up_its_binaries_but_not_its_costs(tmp_path: Path, tools: Path) -> None:
    a = cell(tmp_path / "A", b"one")
    Coster(tools).add([a], keep_binaries=False)
    assert not (a / "kernels").exists()
    assert (a / "k-0.ttgir").is_file()
    before = read(a)
    Coster(tools).add([a], keep_binaries=False)
    assert read(a) == before != {}


def test_binaries_stay_where_they_were_asked_for(tmp_path: Path, tools: Path) -> None:
    a = cell(tmp_path / "A", b"one")
    Coster(tools).add([a], keep_binaries=True)
    assert (a / "kernels" / "k-0.cubin").is_file()


def test_a_crashed_cell_keeps_the_ir_that_stands_nowhere_else(tmp_path: Path, tools: Path) -> None:
    a = cell(tmp_path / "A", b"one", state="CRASH", link=False)
    b = cell(tmp_path / "B", b"one", state="CRASH")
    Coster(tools).add([a, b], keep_binaries=False)
    assert [path.name for path in (a / "kernels").iterdir()] == ["k-0.ttgir"]
    assert list((b / "kernels").iterdir()) == []


def test_missing_tools_cost_the_costs_alone(tmp_path: Path) -> None:
    a = cell(tmp_path / "A", b"one")
    coster = Coster(tmp_path / "nowhere")
    coster.add([a], keep_binaries=False)
    assert "cuobjdump" in coster.unavailable
    assert read(a) == {}


def test_one_binary_that_no_tool_reads_costs_its_own_costs_alone(tmp_path: Path, tools: Path) -> None:
    a, b = cell(tmp_path / "A", b"BAD", b"one"), cell(tmp_path / "B", b"two")
    coster = Coster(tools)
    coster.add([a, b], keep_binaries=False)
    assert "k-0.cubin" in coster.unavailable
    assert coster.unavailable.startswith("COSTS_UNAVAILABLE of 1 kernel: ")
    assert (list(read(a)), list(read(b))) == (["k-1"], ["k-0"])


def test_amd_needs_no_tools(tmp_path: Path) -> None:
    a = cell(tmp_path / "A", b"one", suffix=".hsaco")
    coster = Coster(tmp_path / "nowhere")
    coster.add([a], keep_binaries=False)
    assert coster.unavailable == ""
    assert read(a)["k-0"]["registers"] > 0


def test_one_odd_assembly_costs_its_own_costs_alone(tmp_path: Path) -> None:
    a = cell(tmp_path / "A", b"one", b"two", b"three", suffix=".hsaco")
    for name in ("k-0", "k-2"):
        (a / "kernels" / f"{name}.amdgcn").write_bytes(b"\tnothing \xff here\n")
    coster = Coster(tmp_path / "nowhere")
    coster.add([a], keep_binaries=False)
    assert list(read(a)) == ["k-1"]
    assert coster.unavailable.startswith("COSTS_UNAVAILABLE of 2 kernels: ")
    assert "k-0.amdgcn" in coster.unavailable


def test_a_kernel_whose_code_is_unknown_has_no_costs(tmp_path: Path, tools: Path) -> None:
    a = cell(tmp_path / "A", b"one")
    record = {"kernel": "k-9", "code": None, "code_error": "not an ELF file", "binary": "k-9.cubin"}
    with (a / "kernels.jsonl").open("a") as stream:
        stream.write(json.dumps(record) + "\n" + json.dumps({"kernel": "k-8", "code": None}) + "\n")
    Coster(tools).add([a], keep_binaries=False)
    assert list(read(a)) == ["k-0"]


def test_costs_of_the_loaded_binary_stand_beside_those_of_the_file(tools: Path, tmp_path: Path) -> None:
    path = cell(tmp_path / "c", b"one", b"two")
    lines = [{"kernel": "k-0", "registers": 40, "spills": 2}, {"kernel": "k-1", "registers": 41, "spills": 2}]
    (path / LOADED_FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    coster = Coster(tools)
    coster.add([path], keep_binaries=False)
    costs = json.loads((path / COSTS_FILE).read_text())
    assert costs["k-0"]["loaded"] == {"registers": 40, "spills": 2}
    assert coster.notes == [
        "COSTS_DISAGREE of 1 kernel: k-1: registers 40 in the file, 41 loaded, spills 2 in the file, 2 loaded"
    ]


def test_a_kernel_that_was_never_loaded_has_the_costs_of_its_file_alone(tools: Path, tmp_path: Path) -> None:
    path = cell(tmp_path / "c", b"one")
    coster = Coster(tools)
    coster.add([path], keep_binaries=False)
    assert "loaded" not in json.loads((path / COSTS_FILE).read_text())["k-0"]
    assert coster.notes == []
