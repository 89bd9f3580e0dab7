"""Plugins for one vendor or one fault: they act where they are meant, and nowhere else."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from fakes.suites import PATHS, lines
from zlbench_plugins import context, mm_cluster

from zlbench.cells import CellSpec

pytest_plugins = ["pytester"]

GATED = """\
import pytest
no_cuda = True
@pytest.mark.skipif(no_cuda, reason="CUDA is not available")
def test_gated():
    pass
@pytest.mark.skipif(no_cuda, reason="CUDA is not available, and never was")
def test_other_words():
    pass
@pytest.mark.skipif(no_cuda, reason="CUDA is not available")
@pytest.mark.skipif(True, reason="Low Pytorch Version.")
def test_two_gates():
    pass
"""
MODULE_GATED = """\
import pytest
pytestmark = pytest.mark.skipif(True, reason="CUDA device required")
def test_gated():
    pass
"""


def spec(out: Path, suite: Path, *, package: str = "mini") -> CellSpec:
    return CellSpec(
        cell="mini/A", op="mini", side="A", node="", suite_root=str(suite), package=package, out_dir=str(out),
        backend="musa", timer="direct",
    )  # fmt: skip


@pytest.mark.parametrize("vendor", ["mthreads", "nvidia"])
def test_gates_are_lifted_by_file_and_exact_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, vendor: str
) -> None:
    suite, out = pytester.path / "suite", pytester.path / "out"
    (suite / "benchmark").mkdir(parents=True)
    (suite / "elsewhere").mkdir()
    (suite / "mini.py").write_text(f"vendor_name = {vendor!r}\n")
    (suite / "benchmark" / "conftest.py").write_text("import mini\n")
    files = {"benchmark/test_fft.py": GATED, "benchmark/test_mean.py": GATED, "elsewhere/test_fft.py": GATED,
             "benchmark/test_top_k_per_row_prefill.py": MODULE_GATED}  # fmt: skip
    for name, text in files.items():
        (suite / name).write_text(text)
    request = pytester.path / "cell.json"
    request.write_text(json.dumps(spec(out, suite).to_json()))
    monkeypatch.setenv("ZL_CELL_SPEC", str(request))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*PATHS, str(suite)]))
    ended = pytester.run(
        sys.executable, "-m", "pytest", "-q", "-p", "zlbench_plugins.mthreads_compat", "--import-mode=importlib",
        "-p", "no:cacheprovider", str(suite),
    )  # fmt: skip
    lifted = {"test_fft.py: CUDA is not available", "test_top_k_per_row_prefill.py: CUDA device required"}
    if vendor == "mthreads":
        # One gate of three in each file lifted; the copy elsewhere is not the suite's.
        ended.assert_outcomes(passed=2, skipped=8)
        assert {event["text"] for event in lines(out / "events.jsonl")} == lifted
    else:
        ended.assert_outcomes(skipped=10)
        assert not (out / "events.jsonl").exists()


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[context.CellContext]:
    current = context.CellContext(spec(tmp_path, tmp_path))
    monkeypatch.setattr(context, "_current", current)
    yield current
    current.patches.undo()
    if current.events._stream is not None:
        current.events._stream.close()


def hopper(monkeypatch: pytest.MonkeyPatch, name: str, *, scenario: bool = True) -> ModuleType:
    module = ModuleType(name)
    if scenario:
        code = (
            "def cluster_remote_mm_scenario(*args):\n    return True\n"
            "def mm(a, b):\n    return 'cluster' if cluster_remote_mm_scenario(a, b) else 'general'\n"
        )
        exec(code, vars(module))
    monkeypatch.setitem(sys.modules, name, module)
    return module


def marked(cell: context.CellContext) -> list[str]:
    return [event["text"] for event in lines(cell.out_dir / "events.jsonl")]


def test_mm_goes_past_the_cluster_kernel_in_every_copy(
    cell: context.CellContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("hopper.ops.mm", "flag_gems.runtime.backend._nvidia.hopper.ops.mm")
    copies = [hopper(monkeypatch, name) for name in names]
    other = hopper(monkeypatch, "ampere.ops.mm")
    mm_cluster.pytest_collection_modifyitems()
    assert [copy.mm(1, 2) for copy in copies] == ["general", "general"]
    assert other.mm(1, 2) == "cluster"
    mm_cluster.pytest_sessionfinish()
    assert marked(cell) == []
    assert len(cell.patches.labels()) == 2
    cell.patches.undo()
    assert copies[0].mm(1, 2) == "cluster"


def test_what_is_not_in_force_is_said(cell: context.CellContext, monkeypatch: pytest.MonkeyPatch) -> None:
    hopper(monkeypatch, "hopper.ops.mm", scenario=False)
    mm_cluster.pytest_collection_modifyitems()
    hopper(monkeypatch, "late.hopper.ops.mm")
    (cell.out_dir / "kernels.jsonl").write_text('{"name": "_cluster_remote_gemm_kernel"}\n')
    mm_cluster.pytest_sessionfinish()
    assert marked(cell) == [
        "mm_cluster: hopper.ops.mm has no cluster_remote_mm_scenario",
        "mm_cluster: _cluster_remote_gemm_kernel was launched all the same",
        "mm_cluster: late.hopper.ops.mm.cluster_remote_mm_scenario is not ours",
    ]


def test_another_card_has_no_such_kernel(cell: context.CellContext, capsys: pytest.CaptureFixture[str]) -> None:
    mm_cluster.pytest_collection_modifyitems()
    mm_cluster.pytest_sessionfinish()
    assert marked(cell) == []
    assert "nothing to do" in capsys.readouterr().err
