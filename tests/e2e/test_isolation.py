"""An operator gives the same rows and the same IR alone and after others, whatever those leave behind."""

from __future__ import annotations

from pathlib import Path

from fakes.suites import ToyProject, lines


def facts(cell: Path) -> tuple[list, dict[str, str]]:
    """Rows without what a clock said, and the text of every kernel by its place."""
    clocks = ("compile_ms", "elapsed_s")
    rows = [{key: value for key, value in row.items() if key not in clocks} for row in lines(cell / "rows.jsonl")]
    ttgir = {str(path.relative_to(cell)): path.read_text() for path in sorted((cell / "ttgir").rglob("*.ttgir"))}
    return rows, ttgir


def test_rows_and_ir_do_not_depend_on_what_ran_before(project: ToyProject) -> None:
    alone = project.run("screen", "toy", "--jobs", "1")
    together = project.run("screen", "poison", "other", "poison", "toy", "--jobs", "1")
    assert (alone.code, together.code) == (0, 0)
    first, second = project.screens()
    assert [line["op"] for line in project.journal()][20] == "poison"  # it ran first in the second screen
    for side in ("A", "B"):
        rows, ttgir = facts(second / "toy" / side)
        assert (rows, ttgir) == facts(first / "toy" / side)
        assert len(rows) == 10
        # The poison works: within its own process it changed what its later rows compiled.
        assert (
            len({use["kernel"] for row in lines(second / "poison" / side / "rows.jsonl") for use in row["kernels"]})
            == 3
        )


def test_inputs_are_the_same_on_both_sides_although_a_row_failed_on_one(project: ToyProject) -> None:
    project.trouble({"compiler": "y", "op": "toy", "dtype": "float16", "shape": 2, "at": "inputs", "do": "error"})
    project.run("screen", "toy")
    a, b = (lines(project.screen / "toy" / side / "rows.jsonl") for side in ("A", "B"))
    names = [row.get("row") for row in a]
    assert len(set(names)) == 10
    assert [row.get("row") for row in b] == [names[0], None, *names[2:]]
