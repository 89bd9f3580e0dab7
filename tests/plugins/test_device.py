"""What a cell's process was: vendors by path segment, kinds of failures, launches of a row."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.fake_card import NAME, FakeCards, uuid
from fakes.suites import PATHS
from zlbench_plugins import context, device_answers
from zlbench_plugins.context import Launches
from zlbench_plugins.failures import FailureKind, classify, one_line
from zlbench_plugins.seed import seed_all

# The plugin works at import, for the cell of its process.
PLUGIN = """\
import json, os, sys
from types import SimpleNamespace
from zlbench_plugins import context
spec = SimpleNamespace(backend=sys.argv[1], timer=sys.argv[2], target=None, out_dir=".", plugins=())
context.activate(SimpleNamespace(spec=spec, hooks={}, patches=context.PatchSet()))
from zlbench_plugins import device
"""
VENDORS = """\
print(sorted(device.vendors_loaded(["gems.runtime.backend._nvidia.ops", "gems.runtime.backend._kunlunxin",
    "backend._mthreads", "gems.backend.nvidia", "gems.my_backend._ascend", "gems.backend.__init__",
    "gems._cambricon.backend", "backend", "_metax", "_hygon.ops.mm", "_io.x", "_thread", "hopper.ops.mm"])))
"""


def in_plugin(code: str, backend: str = "compile", timer: str = "compile", **variables: str) -> str:
    names = ("GEMS_VENDOR", "FLAGGEMS_VENDOR", "PPU_SDK")
    kept = {key: value for key, value in os.environ.items() if key not in names}
    env = {**kept, "PYTHONPATH": os.pathsep.join(PATHS), **variables}
    command = [sys.executable, "-c", PLUGIN + code, backend, timer]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def test_vendors_are_told_by_path_segment() -> None:
    assert in_plugin(VENDORS) == "['hygon', 'kunlunxin', 'mthreads', 'nvidia']\n"


@pytest.mark.parametrize(
    ("backend", "variables", "vendor"),
    [
        ("cuda", {}, "nvidia"),
        ("musa", {}, "mthreads"),
        ("cuda", {"GEMS_VENDOR": "iluvatar"}, "iluvatar"),
        ("rocm", {}, "amd"),
    ],
)
def test_the_vendor_is_named_before_the_suite_is_imported(backend: str, variables: dict[str, str], vendor: str) -> None:
    code = "print(os.environ['GEMS_VENDOR'], device.facts(context.current())['vendor'])"
    assert in_plugin(code, backend, "direct", **variables).split() == [vendor, vendor]


def test_the_card_is_described_by_the_device_module_of_its_family(tmp_path: Path) -> None:
    cards = FakeCards(tmp_path / "cards", count=3)
    code = "print(json.dumps(device.facts(context.current())['device']))"
    variables = {
        "PYTHONPATH": cards.pythonpath(), "FAKECARD_VISIBLE_DEVICES": "2", "FAKECARD_DEVICE_ORDER": "TOOL",
    }  # fmt: skip
    found = json.loads(in_plugin(code, "fakecard", "direct", **variables))
    assert (found["name"], found["uuid"]) == (NAME, uuid(2))
    cards.remove()
    assert in_plugin(code, "fakecard", "direct", **variables) == "null\n"
    assert in_plugin(code, "cuda", "direct", **variables) == "null\n"  # a torch without that device


@pytest.mark.parametrize(
    ("module", "torch", "said"),
    [
        ("cuda", "__version__ = '2.9+cpu'; version = SimpleNamespace(cuda=None)", "torch 2.9+cpu is a build for CPUs"),
        ("cuda", "version = SimpleNamespace(hip='6'); cuda = object()", "torch.cuda is not available in torch of an"),
        ("musa", "__version__ = '2.9'", "torch 2.9 has no torch.musa"),
        ("cuda", "raise ImportError('libcudart.so.12')", "torch cannot be imported: libcudart.so.12"),
    ],
)
def test_why_a_torch_has_no_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, torch: str, said: str
) -> None:
    (tmp_path / "torch.py").write_text(f"from types import SimpleNamespace\n{torch}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    try:
        assert device_answers.why_none(module).startswith(said)
    finally:
        sys.modules.pop("torch", None)


class CompilationError(Exception):
    pass


class OutOfResources(Exception):
    pass


class OutOfMemoryError(RuntimeError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "full"), FailureKind.DISK_FULL),
        (OSError(errno.EDQUOT, "quota"), FailureKind.DISK_FULL),
        (RuntimeError("ptxas: No space left on device"), FailureKind.DISK_FULL),
        (OSError(errno.EACCES, "no"), FailureKind.ERROR),
        (MemoryError(), FailureKind.OOM),
        (OutOfMemoryError("x"), FailureKind.OOM),
        (RuntimeError("CUDA error: Out of Memory"), FailureKind.OOM),
        (OutOfResources("shared memory"), FailureKind.OUT_OF_RESOURCES),
        (CompilationError("at 1:2"), FailureKind.COMPILE_ERROR),
        (RuntimeError("PassManager::run failed"), FailureKind.COMPILE_ERROR),
        (RuntimeError("bool can't be supported by this op"), FailureKind.DTYPE),
        (ValueError("anything else"), FailureKind.ERROR),
    ],
)
def test_kinds_of_failures(error: Exception, kind: FailureKind) -> None:
    assert classify(error) is kind


def test_a_failure_is_told_by_its_cause() -> None:
    failed = CompilationError("writing the cache")
    failed.__cause__ = OSError(errno.ENOSPC, "full")
    assert classify(failed) is FailureKind.DISK_FULL
    looped = ValueError("a")
    looped.__cause__ = looped
    assert classify(looped) is FailureKind.ERROR


def test_an_error_fits_a_line() -> None:
    assert one_line(ValueError("two\nlines\tand  blanks")) == "ValueError: two lines and blanks"
    assert len(one_line(ValueError("x" * 999))) == 300


def test_grids_are_kept_once_in_the_order_of_their_first_use() -> None:
    launches = Launches()
    for grid in ((4, 1, 1), (2, 1, 1), (4, 1, 1), None):
        launches.add(grid)
    assert launches.to_json() == {"launches": 4, "grids": [[4, 1, 1], [2, 1, 1]]}


def test_launches_belong_to_the_row_and_not_to_a_sweep(tmp_path: Path) -> None:
    cell = context.CellContext(SimpleNamespace(out_dir=str(tmp_path)))  # type: ignore[arg-type]
    cell.launched("k", (1, 1, 1))
    cell.sweeping = True
    cell.launched("loser", (1, 1, 1))
    assert {name: launch.count for name, launch in cell.launches.items()} == {"k": 1}
    cell.begin_row()
    assert cell.launches == {}


def test_one_seed_gives_one_sequence() -> None:
    drawn = []
    for seed in (7, 7, 2**40):
        seed_all(seed)
        drawn.append(random.random())
    assert drawn[0] == drawn[1] != drawn[2]
