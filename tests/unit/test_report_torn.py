"""Files that a crash tore, or another version wrote: a report lacks what it cannot read, and does not fall over it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.report_roots import write_pair, write_pairs_tsv, write_plan
from fakes.run_dirs import row, write_run

from zlbench import store
from zlbench.cells import CellOutcome, CellState
from zlbench.errors import UsageError
from zlbench.report.model import Measured
from zlbench.report.outputs import Told, write
from zlbench.report.reading.load import load, source_of
from zlbench.report.summary import summarise

KERNEL = "mm-0123456789abcdef"
HEAD = "id\tkernel\tfiles\tlaunches\tcode\tshared\tcompile_ms\tttgir_sha256"
ODD = (
    b"", b"null", b"[]", b"{}", b'"x"', b"3", b"\xff\xfe\x00\x01\n", b"[[1],null]\n", b'{"a":\n', b"{}\n{}\n",
    b"a\tb\nc\n", b"[" * 100_000, b'{"' + b"x" * 50 + b'": NaN}\n',
)  # fmt: skip
VALUES: tuple[Any, ...] = (None, "x", [], {}, [1], {"x": 1}, -1, 10**400, True)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign with every file that a report looks into."""
    root = tmp_path / "campaign_20261129-120000"
    rounds = root / "rounds"
    write_plan(rounds, {"0": [("toy", "subject")]}, rounds=4)
    store.write_json(root / "campaign.json", {
        "schema_version": 1, "words": {"ops": ["toy"]}, "cwd": str(tmp_path),
        "steps": [{"name": "ab_repeat", "state": "finished", "note": ""}],
    })  # fmt: skip
    for number in range(1, 5):
        write_pair(rounds / "toy", number, {"r1": (0.1, 0.11), "r2": (0.2, 0.2)})
        for index, side in enumerate("AB"):
            start = 1000.0 + 10 * number + 5 * index
            told = {"started": start, "ended": start + 4, "samples": 1, "busy": 1, "throttle": [], "foreign": []}
            store.write_json(rounds / "toy" / f"r{number}_{side}" / "telemetry.json", told)
    for side in "AB":
        kernels(rounds / "toy" / f"r1_{side}")
    write_pairs_tsv(rounds, *(("toy", number, 1, "-", 1) for number in range(1, 5)))
    store.write_json(
        rounds / "toy" / "first_pair.json", {"verdict": "IR_CHANGED", "machine_code": "changed", "notes": []}
    )
    store.write_json(rounds / "toy" / "settled.json", {"rows": {}, "rounds": 4})
    (root / "screen").mkdir()
    store.write_json(root / "screen" / "plan.json", {"axis": {"describe": "build"}})
    (root / "screen" / "screen.tsv").write_text("op\tverdict\ntoy\tIR_CHANGED\n")
    return root


def kernels(cell: Path) -> None:
    """Let a cell have launched one kernel in each row."""
    (cell / "ttgir").mkdir()
    (cell / "ttgir" / "index.tsv").write_text(
        f"{HEAD}\n{KERNEL}\tmm\tmm.ttgir\t1\t{cell.name}\t1024\t5.0\t{'a' * 64}\n"
    )
    record = {"kernel": KERNEL, "name": "mm", "shared": 1024, "code": cell.name, "constexprs": {"B": 1}, "num_warps": 4}
    (cell / "kernels.jsonl").write_text(json.dumps(record) + "\n")
    store.write_json(cell / "costs.json", {KERNEL: {"registers": 32, "spills": 0, "instructions": 100}})
    rows = [json.loads(line) for line in (cell / "rows.jsonl").read_text().splitlines()]
    used = [{**one, "kernels": [{"kernel": KERNEL, "launches": 1}]} for one in rows]
    (cell / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in used))


def told(root: Path) -> Measured:
    """Read and write everything; an error that is no refusal fails the test."""
    measured = load(source_of([root]), allow=True)
    write(root, Told(summary=summarise(measured)))
    return measured


def test_the_campaign_is_whole(campaign: Path) -> None:
    (op,) = told(campaign).ops
    assert ([len(one.readings) for one in op.rows], len(op.kernels), op.failed) == ([4, 4], 1, ())


@pytest.mark.parametrize("result", [{}, {"state": "PAUSED", "returncode": 0}, {"state": None}, {"state": []}])
def test_a_cell_whose_state_nobody_knows_is_not_finished(campaign: Path, result: dict[str, Any]) -> None:
    store.write_json(campaign / "rounds" / "toy" / "r4_B" / "result.json", result)
    (op,) = told(campaign).ops
    assert (op.rounds, op.missing, op.failed) == ((1, 2, 3), 1, ())


@pytest.mark.parametrize("field", ["returncode", "markers", "elapsed_s", "rows_ok", "detail"])
@pytest.mark.parametrize("value", VALUES)
def test_an_outcome_of_odd_values_is_none_or_whole(field: str, value: Any) -> None:
    data = {**CellOutcome(state=CellState.OK, returncode=0).to_json(), field: value}
    outcome = CellOutcome.told(data)
    assert outcome is None or (outcome.marked() is not None and outcome.complete)
    assert CellOutcome.told({key: kept for key, kept in data.items() if key != "state"}) is None


def test_kernels_that_cannot_be_read_are_not_shown_and_that_is_said(campaign: Path) -> None:
    index = campaign / "rounds" / "toy" / "r1_A" / "ttgir" / "index.tsv"
    index.write_text(index.read_text() + "other-0123456789abcdef\toth")
    (op,) = told(campaign).ops
    assert (op.kernels, [note.partition(":")[0] for note in op.notes]) == ((), ["its kernels are not shown"])
    assert [len(one.readings) for one in op.rows] == [4, 4]


def test_a_screen_that_cannot_be_read_is_said(campaign: Path) -> None:
    (campaign / "screen" / "screen.tsv").write_bytes(b"\xff\xfe\x00\x01\n")
    measured = told(campaign)
    assert measured.header.screen == ("the screen's table cannot be read",)
    assert measured.ops[0].rounds == (1, 2, 3, 4)


OPTIONAL = (
    "rounds/toy/r1_A/ttgir/index.tsv", "rounds/toy/r1_A/kernels.jsonl", "rounds/toy/r1_B/costs.json",
    "rounds/toy/r2_A/telemetry.json", "rounds/toy/settled.json", "rounds/toy/first_pair.json",
    "rounds/telemetry.tsv", "rounds/status.tsv", "rounds/pairs.tsv", "screen/screen.tsv", "screen/plan.json",
    "rounds/toy/r2_B/result.json", "rounds/toy/r2_A/run_identity.json", "rounds/toy/r2_A/rows.jsonl",
    "campaign.json",
)  # fmt: skip


def mutants(data: bytes) -> list[bytes]:
    """The file in other forms: of other kinds, cut, with other values."""
    found = [*ODD, data[: len(data) // 2], data.replace(b"1", b'"q"'), data + b"\x00garbage"]
    first, *rest = data.split(b"\n") if data.count(b"\n") and b"\n " not in data else [data]
    try:
        known = json.loads(first)
    except ValueError:
        return found
    for name in known if isinstance(known, dict) else ():
        others = [{**known, name: value} for value in VALUES]
        others.append({key: value for key, value in known.items() if key != name})
        found += [b"\n".join((json.dumps(other).encode(), *rest)) for other in others]
    return found


@pytest.mark.parametrize("name", OPTIONAL)
def test_no_file_can_make_a_report_fall_over(campaign: Path, name: str) -> None:
    path = campaign / name
    data = path.read_bytes() if path.is_file() else b""
    faults = {}
    for mutant in mutants(data):
        path.write_bytes(mutant)
        try:
            load(source_of([campaign]), allow=True)
        except Exception as error:
            faults[f"{type(error).__name__}: {error}"[:200]] = mutant[:80]
    assert faults == {}


@pytest.mark.parametrize("plan", [{"metric": "joules"}, {"metric": []}, {"lanes": 3}, {"rounds": {"looks": "x"}}])
def test_a_plan_that_nobody_can_read_is_refused_by_name(campaign: Path, plan: dict[str, Any]) -> None:
    path = campaign / "rounds" / "repeat.json"
    store.write_json(path, {**store.read_json(path), **plan})
    with pytest.raises(UsageError, match=r"repeat\.json cannot be read"):
        load(source_of([campaign]))


def test_a_pair_with_a_side_of_which_nothing_is_known_has_its_rows(tmp_path: Path) -> None:
    for side in "AB":
        write_run(tmp_path / side, [row("r1", 1.0)], side=side)
    store.write_json(tmp_path / "B" / "result.json", {"state": "PAUSED"})
    (op,) = load(source_of([tmp_path / "A", tmp_path / "B"]), allow=True).ops
    assert len(op.rows) == 1
