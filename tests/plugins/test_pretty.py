"""The table in run.log is upstream's, to the blank: people and scripts grep it."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from zlbench_plugins.pretty import table

from zlbench.cells import CellSpec

# As FlagGems' scripts read it.
ROW = re.compile(r"^(SUCCESS|FAILED)\s+(\S+)\s+(\S+)\s+(\S+)")
SPEC = CellSpec(
    cell="softmax/A", op="softmax", side="A", node="n", suite_root="/s", package="p", out_dir="/o",
    backend="compile", timer="compile",
)  # fmt: skip
BENCH = SimpleNamespace(op_name="softmax")
TENSOR = {"shape": [64, 64], "stride": [64, 1], "dtype": "float16"}


def row(status: str = "SUCCESS", **more: Any) -> dict[str, Any]:
    return {"status": status, "shape": [64, 64], "input": {"args": [TENSOR, 1], "kwargs": {}}, **more}


def failed(**more: Any) -> dict[str, Any]:
    return row("FAILED", failure="OOM", phase="inputs", error="RuntimeError: out of memory", **more)


def test_the_table_of_upstream_to_the_blank() -> None:
    assert table(BENCH, "torch.float16", SPEC, [row(latency_ms=1.0, baseline_ms=1.0)]) == (
        "\n"
        "Operator: softmax  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n"
        "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          Size Detail\n"
        "-----------------------------------------------------------------------------------------------\n"
        "SUCCESS               1.000000            1.000000               1.000          [torch.Size([64, 64]), 1]\n"
    )


def parsed(line: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """What FlagGems' scripts make of a row: its numbers, and Size Detail from the first bracket."""
    text = table(BENCH, "float16", SPEC, [line]).splitlines()[-1]
    match = ROW.match(text)
    assert match is not None
    start = min(at for bracket in "[({" if (at := text.find(bracket)) >= 0)
    return match.groups(), text[start:]


def test_numbers_that_were_not_measured_are_not_made_up() -> None:
    assert parsed(row())[0] == ("SUCCESS", "N/A", "N/A", "N/A")
    assert parsed(row(latency_ms=0.0234567, baseline_ms=None))[0] == ("SUCCESS", "N/A", "0.023457", "N/A")
    assert parsed(row(latency_ms=2.0, baseline_ms=3.0))[0] == ("SUCCESS", "3.000000", "2.000000", "1.500")


def test_size_detail_in_upstream_s_three_forms() -> None:
    kwargs = {"dim": -1, "x": TENSOR}
    assert parsed(row(input={"args": [[TENSOR, TENSOR], "mean"], "kwargs": {}}))[1] == (
        "[[torch.Size([64, 64]), torch.Size([64, 64])], mean]"
    )
    assert parsed(row(input={"args": [], "kwargs": kwargs}))[1] == "{'dim': -1, 'x': torch.Size([64, 64])}"
    assert parsed(row(input={"args": [TENSOR], "kwargs": {"dim": 0}}))[1] == "([torch.Size([64, 64])], {'dim': 0})"


def test_a_failed_row_says_why_behind_its_inputs() -> None:
    assert parsed(failed())[1].endswith("1] OOM: RuntimeError: out of memory")
    without = table(BENCH, "float16", SPEC, [failed(input=None)])
    assert "shape=[64, 64] OOM phase=inputs: RuntimeError: out of memory" in without
    assert ROW.match(without.splitlines()[-1])


latencies = st.none() | st.floats(1e-6, 1e6)


@given(st.lists(st.tuples(st.sampled_from(["SUCCESS", "FAILED"]), latencies, latencies), max_size=4))
def test_every_row_parses(rows: list[tuple[str, float | None, float | None]]) -> None:
    lines = [row(status, latency_ms=latency, baseline_ms=baseline) for status, latency, baseline in rows]
    found = table(BENCH, "float16", SPEC, lines).splitlines()[4:]
    assert [match[1] for text in found if (match := ROW.match(text))] == [status for status, *_ in rows]
