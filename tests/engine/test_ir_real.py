"""Acceptance case P2 and its neighbours with a real compiler: kernels compiled for cuda:90 and gfx942, no device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zlbench.code.costs import amdgcn_costs, cubin_costs, cubin_costs_many, nvidia_bindir
from zlbench.code.elf import code_identity
from zlbench.code.sass import opcodes_alone, opcodes_together, read_image
from zlbench.code.tools import run_tool
from zlbench.ir.fingerprint import compare, fingerprint_dir
from zlbench.ir.histogram import cvt_count, histogram
from zlbench.ir.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Mapping

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.triton

ADD_ONE = """\
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(x_ptr + offs, x + 1, mask=mask)
"""
MATMUL = """\
import triton
import triton.language as tl


@triton.jit
def k(a_ptr, b_ptr, c_ptr, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, n, BK):
        a = tl.load(a_ptr + rm[:, None] * n + (start + rk)[None, :])
        b = tl.load(b_ptr + (start + rk)[:, None] * n + rn[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * n + rn[None, :], acc.to(tl.float16))
"""
# A kernel has to live in a file, and switches are read once: each compilation is a process of its own.
COMPILE = """\
import importlib.util, json, sys
from pathlib import Path
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

job = json.loads(sys.argv[1])
spec = importlib.util.spec_from_file_location("k", job["source"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
names = module.k.arg_names
source = ASTSource(
    fn=module.k,
    signature={name: job["signature"].get(name, "constexpr") for name in names},
    constexprs={(names.index(name),): value for name, value in job["constexprs"].items()},
    attrs={(names.index(name),): [["tt.divisibility", 16]] for name in job["signature"]},
)
kernel = triton.compile(source, target=GPUTarget(*job["target"]), options=job["options"])
for extension in ("ttgir", "cubin", "hsaco", "amdgcn"):
    text = kernel.asm.get(extension)
    if text is not None:
        Path(job["out"], f"k.{extension}").write_bytes(text if isinstance(text, bytes) else text.encode())
"""
CUDA = ("cuda", 90, 32)
HIP = ("hip", "gfx942", 64)


def build(
    folder: Path,
    source: str,
    *,
    at: str = "src/k.py",
    switches: Mapping[str, str] | None = None,
    target: tuple[str, object, int] = CUDA,
    options: Mapping[str, object] | None = None,
    block: int = 64,
) -> Path:
    """Compile the kernel saved as `at` below `folder`; its files lie in the folder returned."""
    path = folder / at
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    matmul = "BM" in source
    job = {
        "source": str(path),
        "signature": {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "n": "i32"}
        if matmul
        else {"x_ptr": "*fp32", "n": "i32"},
        "constexprs": {"BM": block, "BN": block, "BK": 32} if matmul else {"BLOCK": 256},
        "target": target,
        "options": {"num_warps": 4, **(options or {})},
        "out": str(path.parent),
    }
    env = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), **(switches or {})}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILE, json.dumps(job)], env=env, check=True, capture_output=True
    )
    return path.parent


@pytest.fixture(scope="module")
def bindir() -> Path:
    return nvidia_bindir(Path(triton.__file__).parent)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("a"), ADD_ONE, at="left/k.py")


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = ADD_ONE.replace("@triton.jit", "\n\n\n@triton.jit")
    return build(tmp_path_factory.mktemp("b"), source, at="right/much/longer/k.py")


@pytest.fixture(scope="module")
def matmul(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("mm"), MATMUL)


def text(folder: Path) -> str:
    return (folder / "k.ttgir").read_text()


def test_p2_one_kernel_at_two_places_is_equal_though_its_bytes_differ(left: Path, right: Path) -> None:
    assert text(left) != text(right)
    assert (left / "k.cubin").read_bytes() != (right / "k.cubin").read_bytes()
    assert compare(fingerprint_dir(left), fingerprint_dir(right)).same
    assert code_identity((left / "k.cubin").read_bytes(), "cubin") == code_identity(
        (right / "k.cubin").read_bytes(), "cubin"
    )


def test_p2_another_constant_is_a_change_though_conversions_are_equal(left: Path, tmp_path: Path) -> None:
    third = build(tmp_path, ADD_ONE.replace("x + 1", "x + 2"))
    assert cvt_count(text(left)) == cvt_count(text(third)) == 0
    assert compare(fingerprint_dir(left), fingerprint_dir(third)).changed == ("k.ttgir",)


def test_p2_a_stamped_attribute_counts_unless_it_is_declared(left: Path, tmp_path: Path) -> None:
    for stamp in ("ttg.rlc-budget = 7", '"ttg.rlc-budget" = 7 : i32'):
        stamped = text(left).replace("module attributes {", f"module attributes {{{stamp}, ")
        assert stamped != text(left)
        (tmp_path / "k.ttgir").write_text(stamped)
        declared = [fingerprint_dir(folder, ["ttg.rlc-*"]) for folder in (left, tmp_path)]
        assert compare(*declared).same
        undeclared = [fingerprint_dir(folder) for folder in (left, tmp_path)]
        assert compare(*undeclared).changed == ("k.ttgir",)


@pytest.mark.parametrize("source", [ADD_ONE, MATMUL], ids=["add", "matmul"])
def test_line_info_makes_no_difference(source: str, tmp_path: Path) -> None:
    with_lines = build(tmp_path / "a", source)
    without = build(tmp_path / "b", source, switches={"TRITON_DISABLE_LINE_INFO": "1"})
    assert text(with_lines) != text(without)
    assert normalise(text(with_lines)) == normalise(text(without))
    assert code_identity((with_lines / "k.cubin").read_bytes(), "cubin") == code_identity(
        (without / "k.cubin").read_bytes(), "cubin"
    )


def test_a_switch_below_ttgir_changes_the_code_under_equal_ir(left: Path, tmp_path: Path) -> None:
    plain = build(tmp_path, ADD_ONE, switches={"DISABLE_LLVM_OPT": "1"})
    assert compare(fingerprint_dir(left), fingerprint_dir(plain)).same
    assert code_identity((left / "k.cubin").read_bytes(), "cubin") != code_identity(
        (plain / "k.cubin").read_bytes(), "cubin"
    )


def test_a_switch_that_changes_the_ir_and_not_the_code(matmul: Path, tmp_path: Path) -> None:
    other = build(tmp_path, MATMUL, switches={"TRITON_F32_DEFAULT": "ieee"})
    assert not compare(fingerprint_dir(matmul), fingerprint_dir(other)).same
    assert code_identity((matmul / "k.cubin").read_bytes(), "cubin") == code_identity(
        (other / "k.cubin").read_bytes(), "cubin"
    )


def test_a_switch_that_changes_both(matmul: Path, tmp_path: Path) -> None:
    other = build(tmp_path, MATMUL, switches={"DISABLE_MMA_V3": "1"})
    assert histogram(text(matmul))["ttng.warp_group_dot"] > 0
    assert "ttng.warp_group_dot" not in histogram(text(other))
    assert code_identity((matmul / "k.cubin").read_bytes(), "cubin") != code_identity(
        (other / "k.cubin").read_bytes(), "cubin"
    )


def test_spills_show_and_common_disassembly_tells_what_single_files_do(
    left: Path, matmul: Path, bindir: Path, tmp_path: Path
) -> None:
    spilling = build(tmp_path, MATMUL, target=("cuda", 80, 32), options={"maxnreg": 64}, block=128)
    paths = [folder / "k.cubin" for folder in (left, matmul, spilling)]
    costs = cubin_costs_many(paths, bindir)
    assert costs[paths[0]].spills == 0
    assert costs[paths[2]].spills > 0
    assert costs[paths[2]].registers <= 64
    assert {"STL", "LDL"} <= costs[paths[2]].mix.keys()
    assert costs[paths[1]].mix.keys() & {"HGMMA", "WGMMA"}
    assert cubin_costs(paths[0], bindir) == costs[paths[0]]
    together = opcodes_together(map(read_image, paths), bindir / "nvdisasm", run_tool)
    assert together == {path: opcodes_alone(path, bindir / "nvdisasm", run_tool) for path in paths}
    assert "maxnreg" in text(spilling)


def test_costs_of_an_amd_kernel(tmp_path: Path) -> None:
    small = build(tmp_path / "a", MATMUL, target=HIP)
    spilling = build(tmp_path / "b", MATMUL, target=HIP, block=128, options={"num_warps": 1})
    costs = amdgcn_costs((small / "k.amdgcn").read_text())
    assert 0 < costs.registers <= 512
    assert costs.spills == 0
    assert any(opcode.startswith("v_mfma") for opcode in costs.mix)
    assert amdgcn_costs((spilling / "k.amdgcn").read_text()).spills > 0
    assert len(code_identity((small / "k.hsaco").read_bytes(), "hsaco")) == 64
