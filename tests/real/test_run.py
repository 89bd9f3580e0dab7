"""One compiler: what a run leaves, that an operator is the same alone and after others, what autotuners compile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driving import OLD, Done, Zlbench, raw_ir, read_index, read_json, read_lines

pytestmark = pytest.mark.triton

WORDS = ("--build", OLD, "--quick", "--dtypes", "float16")
TIMES = ("compile_ms", "latency_ms", "baseline_ms", "elapsed_s")


@pytest.fixture(scope="module")
def several(zl: Zlbench) -> dict[str, Path]:
    """`mm`, then `softmax` in the same worker, one after the other."""
    done = zl.fine("run", "mm", "softmax", "--jobs", "1", *WORDS)
    return _directories(done)


def _directories(done: Done) -> dict[str, Path]:
    found = [Path(line) for line in done.out.splitlines() if line.startswith("/")]
    return {path.name.partition("_")[0]: path for path in found}


def test_a_run_leaves_its_directory(several: dict[str, Path]) -> None:
    cell = several["mm"]
    assert cell.name.startswith("mm_20")
    expected = {"run.log", "run_identity.json", "rows.jsonl", "shapes.yaml", "autotune_records", "ttgir"}
    assert expected <= {path.name for path in cell.iterdir()}
    assert (cell / "ttgir" / "index.tsv").is_file()
    assert (cell / "ttgir" / "naming.md").is_file()
    assert raw_ir(cell)
    for line in read_index(cell):
        assert line["status"] == "used"
        assert all((cell / "ttgir" / name).is_file() for name in line["files"].split())
        assert len(line["code"]) > 8
    identity = read_json(cell / "run_identity.json")
    assert identity["build"]["version"] == "3.6.0"
    assert all(identity["hooks"].values()), identity["hooks"]


def test_the_log_keeps_upstreams_table(several: dict[str, Path]) -> None:
    log = (several["mm"] / "run.log").read_text(encoding="utf-8")
    for column in ("Status", "Torch Latency (ms)", "Gems Latency (ms)", "Gems Speedup", "Size Detail"):
        assert column in log
    rows = [line for line in log.splitlines() if line.startswith("SUCCESS")]
    assert len(rows) == len(read_lines(several["mm"] / "rows.jsonl")) == 1
    assert "torch.Size(" in rows[0]
    assert "Operator: mm " in log
    assert "\x1b" not in log


def test_an_operator_is_the_same_alone_and_after_others(zl: Zlbench, several: dict[str, Path]) -> None:
    alone = _directories(zl.fine("run", "softmax", *WORDS))["softmax"]
    after = several["softmax"]
    assert _rows(alone) == _rows(after)
    assert raw_ir(alone) == raw_ir(after)
    assert _index(alone) == _index(after)
    assert read_json(alone / "costs.json") == read_json(after / "costs.json")
    identities = [read_json(cell / "run_identity.json") for cell in (alone, after)]
    assert identities[0] == identities[1]


def _rows(cell: Path) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in TIMES} for row in read_lines(cell / "rows.jsonl")]


def _index(cell: Path) -> list[dict[str, str]]:
    return [{key: value for key, value in line.items() if key not in TIMES} for line in read_index(cell)]


def test_configs_decide_how_much_an_autotuner_compiles(zl: Zlbench, several: dict[str, Path]) -> None:
    compiled = {"first": _compiled(several["mm"], "first")}
    for policy in ("2", "all"):
        cell = _directories(zl.fine("run", "mm", "--configs", policy, *WORDS))["mm"]
        compiled[policy] = _compiled(cell, policy)
    assert (len(compiled["first"]), len(compiled["2"])) == (1, 2)
    assert len(compiled["all"]) > 2
    # A larger policy begins with the same configs: what was seen with `first` stays comparable in kind.
    assert compiled["all"][:2] == compiled["2"]
    assert compiled["2"][:1] == compiled["first"]


def _compiled(cell: Path, policy: str) -> list[str]:
    """Configs that the record says were compiled, which must be as many as there are kernels."""
    records = read_lines(cell / "autotune_records" / "pinned.jsonl")
    assert len(records) == 1
    record = records[0]
    assert (record["kernel"], record["policy"]) == ("mm_kernel", policy)
    assert record["chosen"] in record["compiled"]
    assert record["configs"] >= len(record["compiled"])
    assert len(read_index(cell)) == len(record["compiled"])
    assert read_json(cell / "run_identity.json")["configs"] == policy
    return list(record["compiled"])
