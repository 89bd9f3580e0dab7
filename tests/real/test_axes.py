"""What differs between A and B: nothing but the prefix, one compiler pass, one switch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import OLD, Done, Zlbench, copy_tree, raw_ir, read_json, read_table, snapshot, verdicts

from zlbench.builds.manifest import Manifest

pytestmark = pytest.mark.triton

QUICK = ("--quick", "--dtypes", "float16")


def test_one_release_at_two_prefixes_shows_nothing(zl: Zlbench) -> None:
    """The raw files differ by where the compiler's own library lies; what is compared must not."""
    done = zl.fine("screen", "mm", "softmax", "embedding", "argmax", "--null-test", "--build", OLD, *QUICK)
    table = done.table()
    assert len(table) == 4
    for op, row in table.items():
        assert (row["verdict"], row["machine_code"], row["next"]) == ("NO_IR_DIFF", "same", "control"), op
        for cost in ("registers", "spills", "shared", "instructions"):
            assert row[f"{cost}_before"] == row[f"{cost}_after"] != ""
    for op in ("mm", "softmax"):
        a, b = (raw_ir(done.root / op / side) for side in "AB")
        assert a.keys() == b.keys()
        assert a
        assert all(a[name] != b[name] for name in a), op
    places = {read_json(done.root / "mm" / side / "run_identity.json")["build"]["import_path"] for side in "AB"}
    assert len(places) == 2
    # Where the twin is made for this run, pip is spoken of first.
    assert any(line.startswith(f"A/A noise run  A {OLD}  →  B {OLD}-twin ") for line in done.err.splitlines())


@pytest.fixture(scope="module")
def patched(zl: Zlbench, builds: dict[str, Manifest], tmp_path_factory: pytest.TempPathFactory) -> tuple[Zlbench, Path]:
    """A project whose build `cut` is a copy of the wheel's tree that lacks one pass, and half of its targets."""
    folder = tmp_path_factory.mktemp("patched")
    old = builds[OLD]
    site = Path(old.triton_path).parent
    before = snapshot(site)
    tree = copy_tree(
        site, folder / "tree", without="backends/amd",
        edit=("backends/nvidia/compiler.py", "passes.ttgpuir.add_reduce_data_duplication(pm)"),
    )  # fmt: skip
    assert snapshot(site) == before
    (folder / "zlbench.toml").write_text(
        f"[build.cut]\ntree = {json.dumps(str(tree))}\npython = {json.dumps(old.interpreter)}\n", encoding="utf-8"
    )
    # A home of its own: what is made for the copy must not outlive it.
    home = folder / "home"
    (home / "builds").mkdir(parents=True)
    made = next(path.parent for path in zl.home.glob(f"builds/{OLD}-*/manifest.json") if _is(path, old))
    (home / "builds" / made.name).symlink_to(made, target_is_directory=True)
    return Zlbench(home=home, out=folder / "runs", env={"ZLBENCH_ROOT": str(folder)}), tree


def _is(path: Path, manifest: Manifest) -> bool:
    return bool(read_json(path)["triton_path"] == manifest.triton_path)


def test_a_pass_removed_changes_the_operators_that_it_touches_and_no_other(patched: tuple[Zlbench, Path]) -> None:
    zlbench, tree = patched
    done = zlbench.fine("screen", "mm_w4a16", "mm", "softmax", "embedding", "--a", OLD, "--b", "cut", *QUICK)
    expected = {"mm_w4a16": "IR_CHANGED", "mm": "NO_IR_DIFF", "softmax": "NO_IR_DIFF", "embedding": "NO_IR_DIFF"}
    assert verdicts(done.root) == expected
    table = done.table()
    assert {op: row["machine_code"] for op, row in table.items() if op != "mm_w4a16"} == dict.fromkeys(
        ("mm", "softmax", "embedding"), "same"
    )
    a, b = (read_json(done.root / "mm" / side / "run_identity.json")["build"] for side in "AB")
    assert a["native_sha256"] == b["native_sha256"]
    assert a["python_sha256"] != b["python_sha256"]
    assert b["import_path"] == str(tree / "triton")
    # Version and native library are equal: the lines on top must still say what is compared.
    assert f"A {OLD}  →  B cut (triton 3.6.0)" in done.err
    assert f"python {b['python_sha256'][:8]}" in done.err


def test_a_target_that_one_compiler_lacks_is_a_preflight_error_of_its_side(patched: tuple[Zlbench, Path]) -> None:
    zlbench, _ = patched
    done = zlbench("screen", "embedding", "--a", OLD, "--b", "cut", "--target", "hip:gfx942", *QUICK)
    assert done.code == 3, done.text
    assert "check=target-compiles" in done.err
    assert "side B" in done.err
    assert "hip:gfx942" in done.err
    assert "Traceback" not in done.text
    root = max(zlbench.out.glob("screen_*"), key=lambda path: path.stat().st_mtime_ns)
    status = read_json(root / "status.json")
    assert (status["state"], status["exit_code"]) == ("failed", 3)
    assert status["sides"]["B"]["state"] == "PREFLIGHT"
    assert not (root / "screen.tsv").exists()  # nothing was judged
    assert not list(root.rglob("run.log"))  # and no cell of the other side has run either


def test_a_switch_that_one_operator_reads(zl: Zlbench) -> None:
    done = zl.fine("screen", "mm", "softmax", "--build", OLD, "--switch", "DISABLE_MMA_V3=unset,1", *QUICK)
    assert verdicts(done.root) == {"mm": "IR_CHANGED", "softmax": "NO_IR_DIFF"}
    assert done.table()["mm"]["machine_code"] == "changed"
    assert done.table()["mm"]["next"] == "ab_repeat"
    assert "SWITCH_NO_IR_DIFF op=softmax switch=DISABLE_MMA_V3" in done.out
    switches = [read_json(done.root / "mm" / side / "run_identity.json")["switches"] for side in "AB"]
    assert switches == [{"DISABLE_MMA_V3": None}, {"DISABLE_MMA_V3": "1"}]  # unset is not "0"


@pytest.fixture(scope="module")
def f32(zl: Zlbench) -> Done:
    return zl("screen", "mm", "--build", OLD, "--switch", "TRITON_F32_DEFAULT=ieee,tf32", *QUICK)


def test_ir_may_change_while_the_machine_code_does_not(f32: Done) -> None:
    assert f32.code == 0, f32.text
    row = f32.table()["mm"]
    assert (row["verdict"], row["machine_code"]) == ("IR_CHANGED", "same")
    assert row["next"] == "same code: control"
    assert "0/1" in next(line for line in f32.out.splitlines() if line.startswith("mm"))
    assert "SWITCH_NO_IR_DIFF" not in f32.text


def test_an_attribute_declared_afterwards_changes_the_verdict(zl: Zlbench, f32: Done) -> None:
    done = zl.fine("rescore", str(f32.root), "--stamps", "inputPrecision")
    assert "IR_CHANGED → NO_IR_DIFF" in done.out
    assert verdicts(f32.root) == {"mm": "NO_IR_DIFF"}
    kept = (f32.root / "screen.tsv.before-rescore").read_text(encoding="utf-8")
    assert "IR_CHANGED" in kept
    zl.fine("rescore", str(f32.root))
    assert verdicts(f32.root) == {"mm": "IR_CHANGED"}
    assert (f32.root / "screen.tsv.before-rescore").read_text(encoding="utf-8") == kept


def test_a_change_below_the_ir_is_not_called_no_difference(zl: Zlbench) -> None:
    done = zl.fine("screen", "embedding", "mm", "--build", OLD, "--switch", "DISABLE_LLVM_OPT=1", *QUICK)
    for op, row in read_table(done.root).items():
        assert (row["verdict"], row["machine_code"]) == ("NO_IR_DIFF", "changed"), op
        assert row["next"] == "code differs: ab_repeat"
    assert "SWITCH_NO_IR_DIFF" not in done.text


def test_a_switch_that_nothing_reads_is_refused(zl: Zlbench) -> None:
    done = zl("screen", "mm", "--build", OLD, "--switch", "DISABLE_MMA_V33=1", *QUICK)
    assert done.code == 3
    assert "PREFLIGHT_FAILED check=switch-known" in done.err
    assert "DISABLE_MMA_V33" in done.err
    assert "Nearest: DISABLE_MMA_V3" in done.err
    assert done.err.rstrip().endswith("exit 3 (preflight)")
    assert "Traceback" not in done.text


def test_a_switch_without_any_effect_ends_as_nothing_measured(zl: Zlbench) -> None:
    done = zl("screen", "embedding", "--build", OLD, "--switch", "DISABLE_MMA_V3=1", *QUICK)
    assert done.code == 5, done.text
    assert "SWITCH_NO_IR_DIFF op=embedding switch=DISABLE_MMA_V3" in done.out
