"""The default screen: two released compilers, every built-in operator, a verdict and exact costs for each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Everything
from driving import NEW, OLD, TOUCHED, Zlbench, read_json, read_table, verdicts

pytestmark = pytest.mark.triton

S2 = (
    "op op_file dtypes rows_before rows_after kernels_before kernels_after cvt_before cvt_after elapsed_before "
    "elapsed_after verdict backend device timer bench_level shape_mode tuner_cache direct_repeat "
)
COSTS = ("registers", "spills", "shared", "instructions")


def test_the_screen_ends_well_and_says_so_for_scripts(everything: Everything) -> None:
    assert everything.done.code == 0, everything.done.text
    status = read_json(everything.done.root / "status.json")
    assert (status["state"], status["exit_code"], status["exit"]) == ("finished", 0, "ok")
    assert {side["state"] for side in status["sides"].values()} == {"OK"}
    assert "\x1b" not in everything.done.text


def test_the_predecessors_columns_come_first_and_in_order(everything: Everything) -> None:
    header = (everything.done.root / "screen.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert " ".join(header).startswith(S2)
    assert {"machine_code", *(f"{cost}_{when}" for cost in COSTS for when in ("before", "after"))} <= set(header)


def test_every_operator_of_the_suite_runs_on_both_compilers_without_a_failed_row(everything: Everything) -> None:
    table = everything.done.table()
    assert len(table) >= 14
    for op, row in table.items():
        assert (row["state_before"], row["state_after"]) == ("OK", "OK"), (op, row)
        assert int(row["rows_before"]) == int(row["rows_after"]) == int(row["rows_matched"]) >= 1, (op, row)


def test_topk_and_fft_have_machine_code_and_exact_costs_of_both_sides(everything: Everything) -> None:
    table = everything.done.table()
    for op in ("topk", "fft"):
        row = table[op]
        assert row["verdict"] in ("IR_CHANGED", "NO_IR_DIFF")
        assert row["machine_code"] in ("same", "changed")
        for when in ("before", "after"):
            assert int(row[f"registers_{when}"]) > 0
            assert int(row[f"instructions_{when}"]) > 0
            assert int(row[f"spills_{when}"]) >= 0
            assert int(row[f"shared_{when}"]) >= 0


def test_no_operator_is_left_without_a_word_on_its_machine_code(everything: Everything) -> None:
    unknown = [op for op, row in everything.done.table().items() if row["machine_code"] not in ("same", "changed")]
    assert unknown == []


def test_the_two_sides_are_two_compilers(everything: Everything) -> None:
    a, b = (read_json(everything.done.root / "topk" / side / "run_identity.json")["build"] for side in "AB")
    versions = [name.removeprefix("triton-") for name in (OLD, NEW)]
    assert [a["version"], b["version"]] == versions
    for key in ("native_sha256", "python_sha256", "import_path"):
        assert a[key] != b[key]
    process = [read_json(everything.done.root / "topk" / side / "process.json")["triton"] for side in "AB"]
    assert process == versions


def test_both_kinds_of_verdict_occur(everything: Everything) -> None:
    found = verdicts(everything.done.root)
    assert set(found.values()) == {"IR_CHANGED", "NO_IR_DIFF"}
    assert found[TOUCHED] == "IR_CHANGED"
    assert [found[op] for op in ("embedding", "rms_norm")] == ["NO_IR_DIFF"] * 2


def test_equal_ir_under_other_machine_code_is_work_for_a_measurement(everything: Everything) -> None:
    """Two releases bring two assemblers: the IR alone would send these operators home as equal."""
    below = [row for row in everything.done.table().values() if row["machine_code"] == "changed"]
    below = [row for row in below if row["verdict"] == "NO_IR_DIFF"]
    assert below
    assert {row["next"] for row in below} == {"code differs: ab_repeat"}


@pytest.mark.skipif(NEW != "triton-3.9.0", reason="the fence came with 3.9.0, which Python 3.10 has no wheel of")
def test_the_matmuls_diff_names_the_fence(zl: Zlbench, everything: Everything) -> None:
    text = zl.fine("diff", "mm", "--screen", str(everything.done.root)).out
    assert "fence_async_shared" in text
    assert "0 -> 1" in text
    equal = zl.fine("diff", "embedding", "--screen", str(everything.done.root)).out
    assert "fence" not in equal
    assert "machine code of 1 file differs" in equal


def test_nothing_is_written_into_the_compilers(everything: Everything) -> None:
    for name, before in everything.before.items():
        assert len(before) > 100
        assert everything.after[name] == before, name


def test_nothing_is_written_into_the_home_directory(everything: Everything) -> None:
    """Triton's own cache is below it, and would be shared by everything that a person runs."""
    assert list(everything.person.rglob("*")) == []


def test_rescoring_agrees_and_keeps_the_first_table(zl: Zlbench, everything: Everything, tmp_path: Path) -> None:
    root = tmp_path / "screen_copy"
    shutil.copytree(everything.done.root, root)
    original = (root / "screen.tsv").read_text(encoding="utf-8")
    done = zl.fine("rescore", str(root))
    assert "no verdict changed" in done.out
    assert (root / "screen.tsv.before-rescore").read_text(encoding="utf-8") == original
    assert read_table(root) == read_table(everything.done.root)
