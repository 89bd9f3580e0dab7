"""What goes wrong on a card costs what it must and no more: each fault in one row of four."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from on_card import Card


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]


def states(folder: Path) -> dict[int, str]:
    """What became of each row, by its number of input rows."""
    return {row["shape"][0]: row.get("failure") or row["timer"] for row in rows(folder)}


@pytest.mark.parametrize("op", ["host_sync", "random_numbers"])
def test_a_capture_that_fails_costs_its_row_the_graph(card: Card, op: str) -> None:
    ended = card.zlbench("run", op)
    assert ended.code == 0, ended.text
    found = states(ended.run_dir(op))
    failing = set(found) if op == "host_sync" else {13}
    assert found == {size: "direct" if size in failing else "cuda_graph" for size in (8, 13, 16, 4096)}
    assert "BENCHMARK_DIRECT_NO_CUDAGRAPH" in ended.text
    fallbacks = [row["fallback"] for row in rows(ended.run_dir(op)) if row["fallback"]]
    assert {fallback["phase"] for fallback in fallbacks} == {"capture"}
    assert len({row["row"] for row in rows(ended.run_dir(op))}) == 4


def test_memory_that_is_not_there_costs_its_row(card: Card) -> None:
    ended = card.zlbench("run", "greedy")
    assert ended.code == 1, ended.text
    assert states(ended.run_dir("greedy")) == {8: "cuda_graph", 13: "OOM", 16: "cuda_graph", 4096: "cuda_graph"}


def test_an_illegal_access_costs_its_row_and_a_process(card: Card) -> None:
    ended = card.zlbench("run", "illegal")
    assert ended.code == 1, ended.text
    assert states(ended.run_dir("illegal")) == {
        8: "cuda_graph", 13: "DEVICE_LOST", 16: "cuda_graph", 4096: "cuda_graph",
    }  # fmt: skip
    assert "DEVICE_LOST" in ended.text


def test_a_killed_process_costs_what_it_had_not_measured(card: Card) -> None:
    ended = card.zlbench("run", "killed")
    assert ended.code == 6, ended.text
    folder = ended.run_dir("killed")
    assert states(folder) == {8: "cuda_graph"}
    missing = [json.loads(line) for line in (folder / "not_measured.jsonl").read_text().splitlines()]
    assert [(row["shape"][0], row["status"]) for row in missing] == [
        (13, "CRASH"), (16, "NOT_MEASURED"), (4096, "NOT_MEASURED"),
    ]  # fmt: skip
    assert json.loads((folder / "result.json").read_text())["signal"] == 9


def test_a_null_screen_and_its_replay(card: Card) -> None:
    ended = card.zlbench("screen", "softmax", "mm", "--null-test", "--dtypes", "float16")
    assert ended.code == 0, ended.text
    (root,) = ended.out.glob("screen_*")
    assert {op["op"]: op["verdict"] for op in json.loads((root / "screen.json").read_text())["operators"]} == {
        "softmax": "NO_IR_DIFF", "mm": "NO_IR_DIFF",
    }  # fmt: skip
    assert "AUTOTUNE_REPLAY_FALLBACK" not in ended.text
    for op in ("softmax", "mm"):
        costs = json.loads((root / op / "A" / "costs.json").read_text())
        loaded = [cost for cost in costs.values() if "loaded" in cost]
        assert loaded
        assert all(cost["loaded"] == {name: cost[name] for name in cost["loaded"]} for cost in loaded)


def test_a_cell_that_hangs_ends_with_its_grandchild_and_the_next_finds_a_quiet_card(card: Card) -> None:
    ended = card.zlbench("run", "hanging", "greedy", "--cell-timeout", "40")
    folder = ended.run_dir("hanging")
    assert json.loads((folder / "result.json").read_text())["state"] == "CELL_TIMEOUT"
    assert "CELL_TIMEOUT" in ended.text
    assert states(folder) == {8: "cuda_graph"}
    sleeper = re.search(r"SLEEPER (\d+)", (folder / "run.log").read_text())
    assert sleeper is not None
    assert not Path(f"/proc/{sleeper[1]}/cmdline").exists() or b"sleep" not in read(f"/proc/{sleeper[1]}/cmdline")
    assert states(ended.run_dir("greedy"))[4096] == "cuda_graph"
    assert "CARD_BUSY" not in ended.text


def read(path: str) -> bytes:
    """A file of a process that may be gone by now."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
