"""What rounds say of rows while they go on: the report's own comparison, and nothing laxer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.run_dirs import direct, row, write_run

from zlbench.report.reading.collect import Collected
from zlbench.rounds.names import Metric
from zlbench.rounds.names import Metric as Reported
from zlbench.rounds.records import cell_dir, differences
from zlbench.run_rows import RunRows


def write(folder: Path, number: int, a: Sequence[dict[str, Any]], b: Sequence[dict[str, Any]], **more: Any) -> None:
    for side, rows in (("A", a), ("B", b)):
        first = (number, side) == (1, "A")
        write_run(cell_dir(folder, number, side), list(rows), side=side,
                  **{"autotune_mode": "record" if first else "replay", **more})  # fmt: skip


def test_each_row_has_its_difference_in_each_round(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path, number, [row("r1", 1.0), row("r2", 1.0)], [row("r1", 1.0 + number), row("r2", 0.5)])
    assert differences(tmp_path, (1, 2), Metric.LATENCY) == {
        "r1": {1: pytest.approx(math.log(2)), 2: pytest.approx(math.log(3))},
        "r2": {1: pytest.approx(-math.log(2)), 2: pytest.approx(-math.log(2))},
    }
    assert differences(tmp_path, (2,), Metric.LATENCY)["r1"].keys() == {2}
    assert differences(tmp_path, (), Metric.LATENCY) == {}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([row("r1", 1.0)], [direct("r1", 1.0)]),
        ([row("r1", 1.0)], [row("r1", 1.0, replay_fallback="key_missing")]),
        ([row("r1", 1.0, config="x")], [row("r1", 1.0, config="y")]),
        ([row("r1", 1.0, l2="warm")], [row("r1", 1.0, l2="flushed")]),
        ([row("r1", 1.0), row("r1", 2.0)], [row("r1", 1.0)]),
        ([row("r1", 1.0)], [row("r2", 1.0)]),
        ([row("r1", 1.0)], [row("r1", 0.0)]),
        ([row("r1", 1.0)], []),
    ],
    ids=["timer", "fallback", "config", "cache", "twice", "other", "zero", "lost"],
)
def test_what_a_report_leaves_out_has_no_difference(
    tmp_path: Path, a: list[dict[str, Any]], b: list[dict[str, Any]]
) -> None:
    good = row("good", 1.0)
    write(tmp_path, 1, [*a, good], [*b, good])
    assert differences(tmp_path, (1,), Metric.LATENCY) == {"good": {1: 0.0}}


def test_rounds_of_two_timers_are_not_put_together(tmp_path: Path) -> None:
    for number in (1, 2, 3, 4, 5):
        one = row if number <= 3 else direct
        write(tmp_path, number, [one("r1", 1.0)], [one("r1", 2.0)])
    assert differences(tmp_path, range(1, 6), Metric.LATENCY)["r1"].keys() == {1, 2, 3}
    assert differences(tmp_path, range(3, 6), Metric.LATENCY)["r1"].keys() == {4, 5}


def test_compile_times_are_compared_kernel_by_kernel(tmp_path: Path) -> None:
    def kernel(name: str, value: float, metric: str = "cpu_ms") -> dict[str, Any]:
        return row(name, None, timer="compile", metric=metric, value=value, dtype="-")

    write(tmp_path, 1, [kernel("k1", 2.0), kernel("k2", 0.0)], [kernel("k1", 4.0), kernel("k2", 1.0)], timer="compile")
    assert differences(tmp_path, (1,), Metric.COMPILE) == {"k1": {1: pytest.approx(math.log(2))}}


@pytest.mark.parametrize("metric", list(Metric))
def test_a_report_of_the_same_rounds_has_the_same_readings(tmp_path: Path, metric: Metric) -> None:
    assert Reported(metric.value)  # one set of words
    rows = [row("r1", 1.0, value=3.0), row("r2", 2.0, value=1.0, replay_fallback="key_missing"), direct("r3", 1.5)]
    write(tmp_path, 1, rows, [{**one, "latency_ms": 2.5, "value": 2.5} for one in rows])
    into = Collected(op="toy", directory="toy")
    add = into.add if metric is Metric.LATENCY else into.add_values
    add(1, RunRows.read(cell_dir(tmp_path, 1, "A")), RunRows.read(cell_dir(tmp_path, 1, "B")), a_first=True)
    expected = {one.name: {item.round: item.difference for item in one.readings} for one in into.value().rows}
    assert differences(tmp_path, (1,), metric) == {name: found for name, found in expected.items() if found}
