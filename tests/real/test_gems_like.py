"""A suite that needs a device, of FlagGems' structure, screened and run with none: unmodified, by real compilers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from driving import NEW, ROOT, Done, Zlbench, read_json, read_lines

pytestmark = pytest.mark.triton
SUITE = ROOT / "tests" / "fakes" / "gems_like"
ONE_DTYPE = ("--suite", str(SUITE), "--dtypes", "float16")


@pytest.fixture(scope="module")
def screened(zl: Zlbench) -> Done:
    return zl.fine("screen", "--all", *ONE_DTYPE)


def rows(done: Done, op: str, side: str = "B") -> list[dict[str, Any]]:
    return read_lines(done.root / op / side / "rows.jsonl")


def kernels(done: Done, op: str, side: str = "B") -> list[list[str]]:
    return [[kernel["kernel"] for kernel in row["kernels"]] for row in rows(done, op, side)]


def test_every_operator_ends_with_a_verdict_and_every_shape_compiles(screened: Done) -> None:
    table = screened.table()
    assert set(table) == {"relu", "view", "masked_select", "tanh_backward", "rand_like", "selu", "aten"}
    assert table.pop("aten")["verdict"] == "NO_TRITON"
    for op, row in table.items():
        assert row["verdict"] in ("NO_IR_DIFF", "IR_CHANGED"), (op, row)
        assert [one["status"] for one in rows(screened, op)] == ["SUCCESS", "SUCCESS"]
        assert all(one["latency_ms"] is None for one in rows(screened, op))


def test_torchs_names_reach_the_suites_kernels(screened: Done) -> None:
    assert [len(used) for used in kernels(screened, "relu")] == [1, 1]
    # Torch composes selu of other operators, and the suite has it whole.
    assert [len(used) for used in kernels(screened, "selu")] == [1, 1]
    assert [len(used) for used in kernels(screened, "aten")] == [0, 0]


def test_a_backward_benchmark_runs_the_suites_gradient(screened: Done) -> None:
    assert [len(used) for used in kernels(screened, "tanh_backward")] == [2, 2]


def test_a_view_that_begins_inside_is_not_taken_for_aligned(screened: Done) -> None:
    hints = {}
    for op in ("relu", "view"):
        texts = [path.read_text(encoding="utf-8") for path in (screened.root / op / "B").rglob("*.ttgir")]
        hints[op] = {text.count("tt.divisibility") for text in texts}
    assert max(hints["view"]) < min(hints["relu"]), hints


def test_what_only_a_device_can_tell_is_said_to_be_made_up(screened: Done) -> None:
    assert [row["made_up"] for row in rows(screened, "masked_select")] == [{"_local_scalar_dense": 1}] * 2
    assert not any("made_up" in row for row in rows(screened, "relu"))
    assert "VALUES_MADE_UP 2 rows" in (screened.root / "masked_select" / "B" / "run.log").read_text()


def test_what_was_put_in_is_in_the_identity(screened: Done) -> None:
    process = read_json(screened.root / "relu" / "B" / "process.json")
    assert {"torch.cuda.get_device_properties", "FakeTensor.data_ptr", "Library.impl"} <= set(process["patches"])
    assert process["patches_not_in_force"] == []


def test_a_suite_that_does_not_know_the_compiler_is_compiled_with_a_note(screened: Done) -> None:
    (note,) = [line for line in screened.text.splitlines() if "can be compiled, not measured, on side " in line]
    assert f"(triton {NEW.removeprefix('triton-')})" in note


def test_on_a_card_that_pairing_is_refused_before_anything_starts(zl: Zlbench) -> None:
    done = zl("run", "relu", *ONE_DTYPE, "--build", NEW, "--backend", "cuda")
    assert done.code == 3
    assert "PREFLIGHT_FAILED check=suite-suits-compiler" in done.text
    assert "--force-pairing" in done.text


@pytest.mark.parametrize("targets", ["cuda:80,cuda:90"])
def test_the_target_decides_which_operator_the_suite_chooses(zl: Zlbench, targets: str) -> None:
    done = zl.fine("run", "relu", *ONE_DTYPE, "--target", targets, "--quick")
    used = {path.parent.name for path in zl.out.rglob("relu*/**/*.ttgir")}
    assert {"plain_kernel", "hopper_kernel"} <= used, done.text


def test_a_suite_that_cannot_be_imported_is_refused_before_the_first_cell(zl: Zlbench, tmp_path: Path) -> None:
    suite = shutil.copytree(SUITE, tmp_path / "suite")
    (suite / "src" / "gemslike" / "ops.py").write_text("import not_installed_anywhere\n", encoding="utf-8")
    for targets in ("cuda:90", "cuda:80,cuda:90"):
        done = zl("run", "relu", "--suite", str(suite), "--target", targets)
        assert done.code == 3
        assert "PREFLIGHT_FAILED check=suite-imports" in done.text
        assert "No module named 'not_installed_anywhere'" in done.text
        assert "pip install not-installed-anywhere" in done.text
