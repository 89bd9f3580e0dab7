"""JSON for pytest-benchmark: the keys that its compare reads, the same names on both sides, values in seconds."""

from __future__ import annotations

import json
import statistics
from datetime import datetime
from typing import Any

import pytest
from fakes.every_verdict import compiled, judged, nothing
from fakes.measured import campaign
from hypothesis import given
from hypothesis import strategies as st

from zlbench.report.exports.pytest_benchmark import stats_of, to_pytest_benchmark
from zlbench.report.summary import Summary

FILE = {"machine_info", "commit_info", "benchmarks", "datetime", "version"}
BENCHMARK = {"group", "name", "fullname", "params", "param", "extra_info", "options", "stats"}
STATS = {
    "min", "max", "mean", "stddev", "rounds", "median", "iqr", "q1", "q3", "iqr_outliers", "stddev_outliers",
    "outliers", "ld15iqr", "hd15iqr", "ops", "total", "data", "iterations",
}  # fmt: skip


def files(summary: Summary) -> dict[str, dict[str, Any]]:
    return {side: json.loads(text) for side, text in to_pytest_benchmark(summary).items()}


def test_files_have_the_keys_that_compare_reads() -> None:
    found = files(judged())
    assert list(found) == ["A", "B"]
    for data in found.values():
        assert set(data) == FILE
        assert data["benchmarks"]
        for benchmark in data["benchmarks"]:
            assert set(benchmark) == BENCHMARK
            assert set(benchmark["stats"]) == STATS
            assert benchmark["stats"]["rounds"] == 6


def test_both_files_hold_the_same_benchmarks_under_names_of_their_own() -> None:
    names = {side: [item["fullname"] for item in data["benchmarks"]] for side, data in files(judged()).items()}
    assert names["A"] == names["B"]
    assert len(set(names["A"])) == len(names["A"]) == 11
    assert names["A"][0] == "mm::mm[float16 4096x4096]"


def test_values_are_seconds() -> None:
    source = campaign().ops[0].rows[0].readings
    for side, data in files(judged()).items():
        stats = data["benchmarks"][0]["stats"]
        values = [1e-3 * (item.before if side == "A" else item.after) for item in source]
        assert stats["data"] == pytest.approx(values)
        assert stats["median"] == pytest.approx(statistics.median(values))
        assert stats["ops"] == pytest.approx(1 / stats["mean"])


@pytest.mark.parametrize(("unit", "seconds"), [("instructions", 1e-9), ("cpu_ms", 1e-3), ("wall_ms", 1e-3)])
def test_compile_rounds_say_their_unit(unit: str, seconds: float) -> None:
    (benchmark,) = files(compiled(unit))["B"]["benchmarks"]
    assert benchmark["stats"]["median"] == pytest.approx(1_020_000 * seconds)
    assert benchmark["extra_info"]["unit"] == unit
    assert benchmark["extra_info"]["seconds_per_unit"] == seconds


def test_each_side_is_named() -> None:
    found = files(judged())
    assert found["A"]["commit_info"]["id"] == "1f3c" * 16
    assert found["B"]["commit_info"]["id"] == "9ab2" * 16
    assert found["B"]["commit_info"]["project"] == "triton 3.6.0 (relayout) TOY_FOLD=1"
    assert found["A"]["machine_info"]["processor"] == "NVIDIA H200"


def test_nothing_to_measure_gives_files_without_benchmarks() -> None:
    assert [data["benchmarks"] for data in files(nothing()).values()] == [[], []]
    assert datetime.fromisoformat(files(nothing())["A"]["datetime"]).timestamp() == 0


def test_the_time_is_that_of_the_first_cell_unless_one_is_given() -> None:
    started = min(cell.start for cell in campaign().cells)
    assert datetime.fromisoformat(files(judged())["A"]["datetime"]).timestamp() == started
    stamp = "2026-11-29T10:10:10+00:00"
    assert json.loads(to_pytest_benchmark(judged(), created=stamp)["B"])["datetime"] == stamp
    assert to_pytest_benchmark(judged()) == to_pytest_benchmark(judged())


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=40))
def test_figures_of_any_values(values: list[float]) -> None:
    found = stats_of(values)
    close = {"rel": 1e-9, "abs": 1e-15}
    assert found["min"] <= found["ld15iqr"] <= found["hd15iqr"] <= found["max"]
    assert found["median"] == pytest.approx(statistics.median(values), **close)
    assert found["q1"] - 1e-12 <= found["median"] <= found["q3"] + 1e-12
    assert found["iqr"] == pytest.approx(found["q3"] - found["q1"], **close)
    assert found["outliers"] == f"{found['stddev_outliers']};{found['iqr_outliers']}"
    assert found["stddev"] == pytest.approx(statistics.stdev(values) if len(values) > 1 else 0.0, rel=1e-6, abs=1e-12)
    assert found["total"] == pytest.approx(sum(values))


@pytest.mark.parametrize(("last", "outliers", "highest"), [(1.55, 0, 1.55), (1.65, 1, 1.3), (9.0, 1, 1.3)])
def test_an_outlier_is_beyond_one_and_a_half_quartile_distances(last: float, outliers: int, highest: float) -> None:
    found = stats_of([1.0, 1.1, 1.2, 1.3, last])
    assert (found["q1"], found["q3"]) == (pytest.approx(1.1), pytest.approx(1.3))
    assert found["iqr_outliers"] == outliers
    assert (found["ld15iqr"], found["hd15iqr"]) == (1.0, highest)
