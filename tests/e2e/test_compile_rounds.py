"""Compile rounds with toy compilers and real processes: whole cells, nothing twice, a killed side costs its item."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.rounds import compile_rounds
from fakes.suites import ToyProject, data, lines

from zlbench.engine.compile_rounds import CompileRounds, Round, finished_round
from zlbench.identity import read_identity

AGAIN = {"at": "compiled_again", "op": "toy", "dtype": "float16", "shape": None}
FIRST = {**AGAIN, "at": "compiled"}


class Lab:
    """Rounds of one operator of a toy project, below `directory`."""

    def __init__(self, project: ToyProject) -> None:
        self.project = project
        self.directory = project.root / "rounds" / "toy"
        self.notes: list[str] = []

    @contextmanager
    def rounds(self, *, quick: bool = True, **more: Any) -> Iterator[CompileRounds]:
        """A driver with both sides ready for the operator."""
        env = {key: value for key, value in self.project.env().items() if key != "PYTHONPATH"}
        words = ["toy", *(["--quick"] if quick else [])]
        with compile_rounds(
            words, root=self.project.root, home=self.project.home, env=env, folder=self.project.root,
            note=self.notes.append, **more,
        ) as (rounds, cells):  # fmt: skip
            rounds.prepare(cells["toy"]["A"], cells["toy"]["B"], self.directory)
            yield rounds

    def rows(self, number: int, side: str) -> list[dict[str, Any]]:
        return lines(self.directory / f"r{number}_{side}" / "rows.jsonl")

    def state(self, number: int, side: str) -> str:
        return str(data(self.directory / f"r{number}_{side}" / "result.json")["state"])


@pytest.fixture
def lab(project: ToyProject) -> Lab:
    return Lab(project)


def names(done: Round) -> list[str]:
    return [f"{one.side}:{one.item}" for one in done.taken]


def test_a_round_is_two_ordinary_cells(lab: Lab) -> None:
    with lab.rounds() as rounds:
        (item,) = rounds.items.common
        done = [rounds.round(number) for number in (1, 2)]
    assert [names(one) for one in done] == [[f"A:{item}", f"B:{item}"], [f"B:{item}", f"A:{item}"]]
    for number in (1, 2):
        for side in "AB":
            (row,) = lab.rows(number, side)
            assert (row["row"], row["op"], row["status"], row["dtype"]) == (item, "toy", "SUCCESS", "-")
            assert row["label"].startswith("toy_kernel")
            assert row["value"] == pytest.approx(sum(row["turns"]) / len(row["turns"]))
            assert row["value"] == pytest.approx(sum(row["stages"].values()))
            assert row["metric"] in ("cpu_ms", "instructions")
            assert row["first"] is (side == ("B", "A")[number % 2])
            cell = lab.directory / f"r{number}_{side}"
            assert lab.state(number, side) == "OK"
            identity = read_identity(cell)
            assert identity is not None
            assert (identity.side, identity.caliber.timer, identity.problems) == (side, "compile", ())
    a, b = (read_identity(lab.directory / f"r1_{side}") for side in "AB")
    assert a is not None
    assert b is not None
    assert a.caliber == b.caliber
    assert a.build != b.build


def test_both_sides_compile_in_one_process_each_and_leave_no_cache(lab: Lab) -> None:
    with lab.rounds() as rounds:
        for number in (1, 2, 3):
            rounds.round(number)
        assert list((lab.project.root / "work").glob("*/triton/fresh-*")) == []
    pids = {line["pid"] for line in lab.project.journal()}
    assert len(pids) == 2


def test_what_is_complete_is_not_measured_again(lab: Lab) -> None:
    with lab.rounds() as rounds:
        rounds.round(1)
        rounds.round(2)
    (lab.directory / "r2_B" / "result.json").unlink()
    before = {path: path.read_bytes() for path in (lab.directory / "r1_A").iterdir()}
    with lab.rounds() as rounds:
        assert rounds.round(1).reused
        assert set(rounds.round(1).outcomes) == {"A", "B"}
        assert finished_round(lab.directory, 2) is None
        assert not rounds.round(2).reused
    assert {path: path.read_bytes() for path in (lab.directory / "r1_A").iterdir()} == before
    assert finished_round(lab.directory, 2) is not None
    assert len(lab.rows(2, "A")) == len(lab.rows(2, "B")) == 1


def test_renewed_sides_go_on_in_fresh_processes(lab: Lab) -> None:
    with lab.rounds() as rounds:
        before = rounds.items
        rounds.round(1)
        assert rounds.renew() == before
        done = rounds.round(2)
    assert all(one.readings for one in done.taken)
    assert len({line["pid"] for line in lab.project.journal()}) == 4


def test_settled_items_are_left_out(lab: Lab) -> None:
    with lab.rounds(quick=False) as rounds:
        half, single = rounds.items.common
        assert len(set(rounds.items.labels.values())) == 2
        assert names(rounds.round(1)) == [f"A:{half}", f"B:{half}", f"A:{single}", f"B:{single}"]
        assert names(rounds.round(2, items=[single])) == [f"B:{single}", f"A:{single}"]
    assert [row["row"] for row in lab.rows(2, "A")] == [single]


@pytest.mark.parametrize("how", ["kill_cell", "kill_worker", "segv"])
def test_a_side_that_dies_in_a_measurement_costs_its_item_and_comes_back(lab: Lab, how: str) -> None:
    with lab.rounds() as rounds:
        lab.project.trouble({**AGAIN, "compiler": "y", "do": how})
        first = rounds.round(1)
        lab.project.trouble()
        second = rounds.round(2)
    assert [one.side for one in first.taken if not one.readings] == ["B"]
    assert (lab.state(1, "A"), lab.state(1, "B")) == ("OK", "OP_FAILED")
    (row,) = lab.rows(1, "B")
    assert (row["status"], row["failure"]) == ("FAILED", "CRASH")
    assert all(one.readings for one in second.taken)
    assert (lab.directory / "prepare_B.before1").is_dir(), "what the lost one left is kept"
    assert any(note.startswith("side B was lost at toy_kernel") for note in lab.notes)


def test_a_measurement_that_hangs_is_ended_with_its_grandchild(lab: Lab) -> None:
    with lab.rounds(measure_timeout_s=1.0) as rounds:
        lab.project.trouble({**AGAIN, "compiler": "x", "do": "hang"})
        rounds.round(1)
    (row,) = lab.rows(1, "A")
    assert row["failure"] == "CELL_TIMEOUT"
    assert (lab.state(1, "A"), lab.state(1, "B")) == ("OP_FAILED", "OK")
    grandchildren = (lab.project.suite / "grandchildren").read_text().split()
    assert grandchildren
    assert not [pid for pid in grandchildren if Path("/proc", pid).exists()]


def test_a_kernel_that_the_compiler_refuses_costs_itself(lab: Lab) -> None:
    with lab.rounds() as rounds:
        lab.project.trouble({**AGAIN, "compiler": "y", "do": "error"})
        rounds.round(1)
    (row,) = lab.rows(1, "B")
    assert "this operator is broken" in row["error"]
    assert row["failure"] == "OP_FAILED"
    assert not (lab.directory / "prepare_B.before1").exists()


def test_a_side_that_dies_while_prepared_is_named_and_its_rounds_can_be_made_up_for(lab: Lab) -> None:
    lab.project.trouble({**FIRST, "compiler": "y", "do": "kill_cell"})
    with lab.rounds() as rounds:
        assert set(rounds.items.lost) == {"B"}
        rounds.round(1)
    assert (lab.state(1, "A"), lab.state(1, "B")) == ("NOT_RUN", "CRASH")
    assert finished_round(lab.directory, 1) is None
    assert len(list(lab.directory.glob("prepare_B*"))) == 2, "it was tried twice"
    lab.project.trouble()
    with lab.rounds() as rounds:
        assert not rounds.items.lost
        rounds.round(1)
    assert finished_round(lab.directory, 1) is not None


def test_kernels_of_one_side_are_listed(lab: Lab, tmp_path: Path) -> None:
    package = tmp_path / "z" / "triton"
    shutil.copytree(lab.project.builds / "y", package.parent)
    toy = package / "compiler" / "compiler.py"
    toy.write_text(toy.read_text().replace('"num_stages": 3', '"num_stages": 2'))
    lab.project.toml(y=f"tree = {json.dumps(str(package.parent))}")
    with lab.rounds() as rounds:
        items = rounds.items
        done = rounds.round(1)
    assert items.common == ()
    assert {side: len(found) for side, found in items.only.items()} == {"A": 1, "B": 1}
    assert done.outcomes["A"].markers == (f"KERNEL_ON_ONE_SIDE side=A kernel={items.only['A'][0]}",)
    assert lab.state(1, "A") == "NOTHING_MEASURED"
    assert data(lab.directory / "items.json")["only"]["B"] == list(items.only["B"])
