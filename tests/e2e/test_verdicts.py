"""What must never pass as a verdict: rows failed on both sides, kernels that nobody saw, other shapes, a mismatch."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes.suites import ToyProject, data, make_toy_triton

BROKEN = {"at": "call", "op": "toy", "dtype": "float16", "shape": 3, "do": "error"}


def operators(project: ToyProject) -> dict[str, dict[str, Any]]:
    return {item["op"]: item for item in data(project.screen / "screen.json")["operators"]}


def edit_json(path: Path, **changed: Any) -> None:
    path.write_text(json.dumps({**data(path), **changed}))


def same_compilers(project: ToyProject, folder: Path) -> Mapping[str, Path]:
    """Give the project two compilers that emit the same."""
    builds = {name: make_toy_triton(folder / name, name=name) for name in ("x", "y")}
    project.toml(**{name: f"tree = {json.dumps(str(path))}" for name, path in builds.items()})
    return builds


def test_rows_that_fail_on_both_sides(project: ToyProject, tmp_path: Path) -> None:
    same_compilers(project, tmp_path)
    project.trouble(BROKEN)
    ended = project.run("screen", "toy", "other")
    assert ended.code == 1
    assert {op: item["verdict"] for op, item in operators(project).items()} == {
        "toy": "INCOMPLETE",
        "other": "NO_IR_DIFF",
    }
    assert "toy: INCOMPLETE: only 9 of 10 rows exist on both sides; A failed float16 3x64" in ended.out
    assert "this operator is broken" in ended.out


def test_rows_that_fail_on_one_side(project: ToyProject) -> None:
    project.trouble({**BROKEN, "compiler": "y"})
    assert project.run("screen", "toy", "other").code == 6


@pytest.mark.parametrize("which", ["x", "xy"])
def test_a_compiler_without_hooks(project: ToyProject, tmp_path: Path, which: str) -> None:
    for name, folder in same_compilers(project, tmp_path).items():
        if name in which:
            package = folder / "triton"
            (package / "knobs.py").rename(package / "_handles.py")
            (package / "__init__.py").write_text(
                (package / "__init__.py").read_text().replace("from . import knobs as knobs", "")
            )
            toy = package / "toy.py"
            toy.write_text(toy.read_text().replace("from triton import knobs", "from triton import _handles as knobs"))
    ended = project.run("screen", "toy")
    assert ended.code == 6
    (operator,) = operators(project).values()
    assert (operator["verdict"], operator["ir_changed"]) == ("INCOMPLETE", 0)
    sides = "A and B" if which == "xy" else "A"
    assert operator["reason"].startswith(f"IR_HOOKS_MISSING {sides}: this Triton has no knobs module")
    assert f"IR_HOOKS_MISSING op=toy side={'A,B' if which == 'xy' else 'A'} " in ended.out


def deaf_to_shapes(project: ToyProject) -> None:
    path = project.suite / "benchmark" / "base.py"
    text = path.read_text()
    assert "for shape in self.shapes:" in text
    # No loop over anything that could be replaced: the class makes its shape up.
    before, _, after = text.partition("for shape in self.shapes:")
    indent = before.rpartition("\n")[2]
    path.write_text(f"{before}shape = None\n{indent}while shape is None and (shape := (7, 64)):{after}")


def test_shapes_that_a_class_does_not_read(project: ToyProject) -> None:
    deaf_to_shapes(project)
    ended = project.run("screen", "toy", "--shapes", "3x32")
    assert ended.code == 4
    (operator,) = operators(project).values()
    assert operator["verdict"] == "NOT_COMPARABLE"
    assert operator["reason"].startswith("SHAPES_NOT_IN_FORCE A: 2 rows come from Benchmark (benchmark/base.py)")
    assert "SHAPES_NOT_IN_FORCE op=toy side=A,B 2 rows" in ended.out
    assert data(project.screen / "toy" / "A" / "result.json")["markers"][0].startswith("SHAPES_NOT_IN_FORCE ")


def test_a_run_with_shapes_that_a_class_does_not_read(project: ToyProject) -> None:
    deaf_to_shapes(project)
    ended = project.run("run", "toy", "--shapes", "3x32", "--build", "x")
    assert ended.code == 1
    assert "SHAPES_NOT_IN_FORCE 2 rows come from Benchmark (benchmark/base.py)" in ended.out


def test_a_quick_look_says_that_it_is_one(project: ToyProject) -> None:
    ended = project.run("screen", "toy", "--quick")
    assert ended.code == 0
    assert "quick: one shape and one dtype an operator" in ended.err
    (operator,) = operators(project).values()
    assert (operator["quick"], operator["rows_matched"]) == ("1", 1)
    # The other side was not asked the same.
    edit_json(project.screen / "toy" / "B" / "run_identity.json", quick=False)
    assert "[caliber] toy: quick: before=1 after=0" in project.run("rescore").out
    assert "quick: one shape and one dtype" in project.run("run", "toy", "--build", "x", "--quick").err


def test_a_diff_below_equal_ir_knows_unread_code_from_other_code(project: ToyProject, tmp_path: Path) -> None:
    same_compilers(project, tmp_path)
    project.run("screen", "toy")
    assert "machine code" not in project.run("diff", "toy").out
    index = project.screen / "toy" / "B" / "ttgir" / "index.tsv"
    head, *rows = (row.split("\t") for row in index.read_text().splitlines())
    for code, said in (("0" * 64, "machine code of 10 files differs"), ("", "10 files is not known on both sides")):
        changed = [[code if name == "code" else value for name, value in zip(head, row, strict=True)] for row in rows]
        index.write_text("".join("\t".join(row) + "\n" for row in (head, *changed)))
        assert said in project.run("diff", "toy").out


def test_rescoring_withdraws_what_a_screen_would_withdraw(project: ToyProject) -> None:
    assert project.run("screen", "toy").code == 0
    edit_json(project.screen / "toy" / "B" / "run_identity.json", suite_hash="other")
    ended = project.run("rescore")
    assert ended.code == 4
    assert "toy  IR_CHANGED → NOT_COMPARABLE" in ended.out
    assert "[caliber] toy: suite_hash:" in ended.out
    for name in ("screen.json", "status.json"):
        assert data(project.screen / name)["exit_code"] == 4
        assert data(project.screen / name)["rescored"]
        assert any("suite_hash" in note for note in data(project.screen / name)["notes"])
    assert operators(project)["toy"]["verdict"] == "NOT_COMPARABLE"
    allowed = project.run("rescore", "--allow-caliber-mismatch")
    assert allowed.code == 0
    assert "toy  NOT_COMPARABLE → IR_CHANGED" in allowed.out
    assert "[caliber] toy: suite_hash:" in allowed.out
    assert data(project.screen / "status.json")["exit_code"] == 0


def test_rescoring_says_the_same_as_the_screen(project: ToyProject) -> None:
    project.trouble({**BROKEN, "compiler": "y"})
    project.run("screen", "toy", "other")
    table, screen = (project.screen / "screen.tsv").read_text(), data(project.screen / "screen.json")
    ended = project.run("rescore")
    assert ended.code == 0
    assert "no verdict changed" in ended.out
    assert (project.screen / "screen.tsv").read_text() == table
    after = data(project.screen / "screen.json")
    assert after.pop("rescored")
    assert after == screen


def test_a_screen_in_progress_is_not_rescored(project: ToyProject) -> None:
    project.run("screen", "toy")
    with (project.screen / ".lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        ended = project.run("rescore")
    assert ended.code == 2
    assert "another zlbench is writing into" in ended.err


def test_a_side_without_rows_has_no_conditions_to_compare(project: ToyProject) -> None:
    project.trouble({"at": "setup", "compiler": "y", "do": "error"})
    ended = project.run("screen", "toy")
    assert "toy: NO_ROWS: B: " in ended.out
    assert "[caliber]" not in ended.text
    shutil.rmtree(project.screen)


def test_an_operator_that_skips_itself_on_both_sides(project: ToyProject) -> None:
    path = project.suite / "benchmark" / "test_toy.py"
    path.write_text(path.read_text() + '\n\ndef test_skips():\n    import pytest\n    pytest.skip("needs a card")\n')
    ended = project.run("screen", "toy", "skips")
    assert ended.code == 0
    assert "skips: NO_ROWS: A and B: SKIPPED (needs a card)" in ended.out
    assert ended.err.count("SKIPPED needs a card") == ended.err.count("SKIPPED as ") == 1
    assert "0 failed · 1 skipped" in ended.out
    assert "--resume" not in ended.text
    assert operators(project)["skips"]["verdict"] == "NO_ROWS"
    alone = project.run("screen", "skips")
    assert alone.code == 5
    assert "--resume" not in alone.text
