"""Costs of kernels: parsers on recorded output of the real tools, and the tools replaced by scripts."""

from __future__ import annotations

import re
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_code_elf import elf

from zlbench.code.costs import (
    CostsUnavailableError,
    amdgcn_costs,
    cubin_costs,
    cubin_costs_many,
    nvidia_bindir,
    parse_resource_usage,
)
from zlbench.code.sass import parse_sass, without_padding
from zlbench.code.tools import run_tool
from zlbench.process import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = Path(__file__).parent / "data" / "tools"
NOP, EXIT, IADD, UNKNOWN = 0x918, 0x94D, 0x210, 0x777
NAMES = {NOP: "NOP", EXIT: "EXIT", IADD: "IADD3.X"}


def test_recorded_resource_usage_of_a_spilling_kernel() -> None:
    assert parse_resource_usage((DATA / "cuobjdump-res-usage.txt").read_text()) == (255, 792, 1024)


def test_resource_usage_of_several_functions_is_the_largest() -> None:
    text = "Function f:\n REG:10 STACK:8 SHARED:0 LOCAL:0\nFunction g:\n REG:9 STACK:16 SHARED:4 LOCAL:0\n"
    assert parse_resource_usage(text) == (10, 16, 4)


@given(st.text(max_size=80))
def test_resource_usage_of_anything_else_is_unknown(text: str) -> None:
    assert parse_resource_usage(text) is None or "REG:" in text


def test_recorded_listing() -> None:
    listing = parse_sass((DATA / "nvdisasm-softmax-sm90.txt").read_text())
    assert [address for address, _ in listing] == list(range(0, 16 * len(listing), 16))
    codes = [opcode for _, opcode in listing]
    assert codes[:2] == ["LDC", "S2R"]
    assert codes.count("NOP") == 11
    assert without_padding(codes) == codes[:-11]
    assert without_padding(codes)[-2:] == ["EXIT", "BRA"]
    assert codes.count("STG") == 8


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "@P0 ", "@!P6 ", "@UP1 ", "@!UPT "]),
            st.sampled_from(["IADD3", "LDG.E.U16", "HFMA2.MMA", "R2UR", "BAR.SYNC.DEFER_BLOCKING"]),
        )
    )
)
def test_listings_with_predicates_and_modifiers(rows: list[tuple[str, str]]) -> None:
    lines = [f"        /*{16 * at:04x}*/    {guard}{code} R1, R2 ;" for at, (guard, code) in enumerate(rows)]
    text = '\t.headerflags @"X"\n.text.k:\n.L_x_0:\n' + "\n".join(lines)
    assert parse_sass(text) == [(16 * at, code.split(".")[0]) for at, (_, code) in enumerate(rows)]


@given(st.lists(st.sampled_from(["NOP", "MOV"])))
def test_only_nops_at_the_end_are_padding(codes: list[str]) -> None:
    kept = without_padding(codes)
    assert kept == codes[: len(kept)]
    assert not kept or kept[-1] != "NOP"
    assert set(codes[len(kept) :]) <= {"NOP"}


def test_recorded_amd_assembly() -> None:
    costs = amdgcn_costs((DATA / "softmax-gfx942.amdgcn").read_text())
    assert (costs.registers, costs.spills, costs.stack_bytes, costs.shared_static) == (21, 0, 0, 0)
    assert costs.details == {"sgpr": 21, "agpr": 0, "vgpr_spills": 0, "sgpr_spills": 0}
    assert costs.mix["s_endpgm"] == 1
    assert costs.instructions == sum(costs.mix.values())
    assert all(re.match(r"[svdgb]", opcode) for opcode in costs.mix)


@given(st.integers(0, 512), st.integers(0, 4096).map(lambda words: 4 * words), st.integers(0, 65536))
def test_amd_metadata(registers: int, stack: int, shared: int) -> None:
    text = (
        "k:\n\ts_nop 0\n\tv_add_u32_e32 v0, v1, v2\n.LBB0_1:\n\ts_endpgm\n\t.p2align 8\n\t.amdgpu_metadata\n---\n"
        f"  - .agpr_count:     3\n    .group_segment_fixed_size: {shared}\n"
        f"    .private_segment_fixed_size: {stack}\n    .vgpr_count:     {registers}\n    .vgpr_spill_count: 2\n"
    )
    costs = amdgcn_costs(text)
    assert (costs.registers, costs.spills, costs.shared_static) == (registers, stack // 4, shared)
    assert costs.mix == {"s_endpgm": 1, "s_nop": 1, "v_add_u32_e32": 1}
    assert costs.details == {"agpr": 3, "vgpr_spills": 2}


@pytest.mark.parametrize("text", ["", "k:\n\ts_endpgm\n", "\t.amdgpu_metadata\n---\n"])
def test_assembly_without_metadata_has_no_costs(text: str) -> None:
    with pytest.raises(CostsUnavailableError, match="metadata"):
        amdgcn_costs(text)


def cubin(codes: list[int], *, architecture: int = 90) -> bytes:
    code = b"".join(struct.pack("<QQ", op | number << 16, number << 41) for number, op in enumerate(codes))
    data = bytearray(elf([(".text.k", code)]))
    struct.pack_into("<I", data, 0x30, architecture)
    return bytes(data)


class Tools:
    """The two tools: nvdisasm knows three opcodes, and alone reads what is marked so."""

    def __init__(self, folder: Path) -> None:
        self.bindir = folder / "bin"
        self.bindir.mkdir()
        for name in ("cuobjdump", "nvdisasm"):
            (self.bindir / name).touch(mode=0o755)
        self.calls: list[list[str]] = []

    def run(self, command: Sequence[str]) -> Outcome:
        self.calls.append([Path(command[0]).name, *command[1:]])
        data = Path(command[-1]).read_bytes()
        if "-res-usage" in command:
            out = "" if b"nousage" in data else "REG:32 STACK:8 SHARED:1024"
        elif "-b" in command:
            out = "" if "SM80a" in command else self.listing(data)
        else:
            out = "        /*0000*/  ODD ;\n" if b"alone" in data else ""
        return Outcome(
            returncode=0 if out else 1, signal=None, timed_out=False, interrupted=False, elapsed_s=0.0, stdout=out,
            stderr="" if out else "cannot read it\nmore",
        )  # fmt: skip

    @staticmethod
    def listing(code: bytes) -> str:
        ops = [low & 0xFFF for low, _ in struct.iter_unpack("<QQ", code)]
        return "".join(f"        /*{16 * at:04x}*/  {NAMES[op]} ;\n" for at, op in enumerate(ops) if op in NAMES)


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def write(folder: Path, files: dict[str, bytes]) -> list[Path]:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def test_many_kernels_take_one_run_of_the_disassembler_an_architecture(tmp_path: Path, tools: Tools) -> None:
    files = {f"{n}.cubin": cubin([IADD] * n + [EXIT, NOP, NOP], architecture=a) for n, a in ((1, 90), (2, 90), (3, 80))}
    found = cubin_costs_many(write(tmp_path, files), tools.bindir, run=tools.run)
    assert [costs.mix for costs in found.values()] == [
        {"EXIT": 1, "IADD3": 1},
        {"IADD3": 2, "EXIT": 1},
        {"IADD3": 3, "EXIT": 1},
    ]
    first = found[tmp_path / "1.cubin"]
    assert (first.registers, first.spills, first.stack_bytes, first.shared_static, first.instructions) == (
        32,
        2,
        8,
        1024,
        2,
    )
    assert [call[3] for call in tools.calls if "-b" in call] == ["SM90a", "SM80a", "SM80"]


def test_a_kernel_that_the_common_image_does_not_tell_is_read_alone(tmp_path: Path, tools: Tools) -> None:
    files = {
        "good.cubin": cubin([IADD, EXIT]),
        "odd.cubin": cubin([IADD, UNKNOWN]) + b"alone",
    }
    good, odd = cubin_costs_many(write(tmp_path, files), tools.bindir, run=tools.run).values()
    assert good.instructions == 2
    assert odd.mix == {"ODD": 1}


def test_one_bad_file_does_not_take_the_others_with_it(tmp_path: Path, tools: Tools) -> None:
    files = {
        "good.cubin": cubin([IADD, EXIT]),
        "cut.cubin": cubin([IADD, EXIT])[:70],
        "unknown.cubin": cubin([UNKNOWN]),
        "nousage.cubin": cubin([EXIT]) + b"nousage",
    }
    paths = [*write(tmp_path, files), tmp_path / "none.cubin"]
    failed: dict[str, str] = {}
    found = cubin_costs_many(
        paths,
        tools.bindir,
        run=tools.run,
        on_failure=lambda path, error: failed.update({path.name: error.message}),
    )
    assert [path.name for path in found] == ["good.cubin"]
    assert list(failed) == ["cut.cubin", "unknown.cubin", "nousage.cubin", "none.cubin"]
    assert "cut off" in failed["cut.cubin"]
    assert failed["unknown.cubin"].endswith("unknown.cubin: cannot read it")
    with pytest.raises(CostsUnavailableError, match=r"cut\.cubin"):
        cubin_costs_many(paths, tools.bindir, run=tools.run)


def test_no_files_need_no_run(tools: Tools) -> None:
    assert cubin_costs_many([], tools.bindir, run=tools.run) == {}
    assert tools.calls == []


def test_a_missing_tool_says_where_it_comes_from(tmp_path: Path, tools: Tools) -> None:
    (tools.bindir / "nvdisasm").unlink()
    with pytest.raises(CostsUnavailableError, match="no nvdisasm in") as caught:
        cubin_costs(tmp_path / "k.cubin", tools.bindir)
    assert "wheel" in caught.value.hint


def test_a_tool_that_cannot_start(tmp_path: Path, tools: Tools) -> None:
    paths = write(tmp_path, {"k.cubin": cubin([EXIT])})
    (tools.bindir / "nvdisasm").write_text("not a program")
    with pytest.raises(CostsUnavailableError, match=r"cannot start .*nvdisasm"):
        cubin_costs(paths[0], tools.bindir)


def test_where_a_triton_package_keeps_the_tools() -> None:
    assert nvidia_bindir(Path("/x/triton")) == Path("/x/triton/backends/nvidia/bin")


def script(folder: Path, text: str) -> str:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_tools_run_side_by_side_and_keep_their_output_apart(tmp_path: Path) -> None:
    tool = script(tmp_path, 'echo "$1"; echo "no $1" >&2; exit "$1"')
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda number: run_tool([tool, str(number)]), range(60)))
    assert [(one.returncode, one.stdout, one.stderr) for one in done] == [(n, f"{n}\n", f"no {n}\n") for n in range(60)]


def test_a_tool_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zlbench.code.tools._SECONDS", 0.2)
    tool = script(tmp_path, "echo $$ >pid; exec sleep 600")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CostsUnavailableError, match="did not end"):
        run_tool([tool])
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
