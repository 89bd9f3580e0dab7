"""report.json: what the schema says is what is written, every number is there, and nothing that is no number."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from fakes.every_verdict import compiled, judged, nothing
from fakes.measured import EVIL, campaign

from zlbench.report.exports.data import SCHEMA_VERSION, schema, to_data, to_json
from zlbench.report.model import Measured
from zlbench.report.summary import Summary, summarise

SUMMARIES = pytest.mark.parametrize("make", [judged, nothing, compiled, lambda: summarise(campaign())])


def valid(data: Any) -> None:
    validator = jsonschema.Draft202012Validator(schema(), format_checker=jsonschema.FormatChecker())
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(data)] == []


def rows(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{op['directory']} {row['name']}": row for op in data["operators"] for row in op["rows"]}


@SUMMARIES
def test_it_is_what_the_schema_says(make: Callable[[], Summary]) -> None:
    data = json.loads(to_json(make()))
    valid(data)
    assert data["schema_version"] == SCHEMA_VERSION == 2


def test_the_schema_is_one_and_refuses_what_it_does_not_know() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    data = to_data(judged())
    for wrong in (data | {"more": 1}, data | {"schema_version": 3}, {key: data[key] for key in list(data)[1:]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema())
    data["operators"][0]["rows"][0]["median_a"] = "1"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema())


def properties(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        for name, value in node.get("properties", {}).items():
            yield f"{path}/{name}", value
        for name, value in node.items():
            yield from properties(value, f"{path}/{name}")
    if isinstance(node, list):
        for number, value in enumerate(node):
            yield from properties(value, f"{path}/{number}")


def test_every_key_is_described_and_every_object_is_closed_or_says_that_it_is_open() -> None:
    found = dict(properties(schema()))
    assert len(found) > 150
    assert [path for path, value in found.items() if not value.get("description")] == []
    objects = [value for value in found.values() if "object" in str(value.get("type"))]
    assert all("additionalProperties" in value for value in objects)


@pytest.mark.parametrize(
    ("ending", "unit"),
    [("_log", "logarithm"), ("_pct", "percent"), ("_bytes", "bytes"), ("_mhz", "MHz"), ("_s", "seconds")],
)
def test_a_key_that_ends_in_a_unit_says_so(ending: str, unit: str) -> None:
    known = ("noise_a_pct", "noise_b_pct")
    described = {path: value for path, value in properties(schema()) if path.endswith(ending)}
    assert described
    missing = [path for path, value in described.items() if unit not in value["description"]]
    assert [path for path in missing if not path.endswith(known)] == []


def test_a_row_has_its_readings_and_its_verdict_with_every_figure() -> None:
    data = json.loads(to_json(judged()))
    row = rows(data)["mm float16|4096x4096"]
    source = campaign().ops[0].rows[0]
    assert row["readings"] == [
        {"round": item.round, "order": "AB" if item.a_first else "BA", "a": item.before, "b": item.after}
        for item in source.readings
    ]
    assert (row["timer"], row["l2"], row["unit"], row["n"]) == ("cuda_graph", "warm", "ms", 6)
    assert row["result"]["why"] == "FEW_PAIRS"
    result = rows(data)["mm float16|1024x1024"]["result"]
    assert result == {
        "verdict": "slower", "why": None, "what": "slower", "n": 6,
        "estimate_log": 0.02, "estimate_pct": pytest.approx(2.020134),
        "low_log": 0.01, "low_pct": pytest.approx(1.005017), "high_log": 0.035, "high_pct": pytest.approx(3.561971),
        "median_log": 0.021, "median_pct": pytest.approx(2.122205),
        "smallest_log": -0.03, "smallest_pct": pytest.approx(-2.955447),
        "largest_log": 0.04, "largest_pct": pytest.approx(4.081077), "p": 0.001, "q": 0.004,
        "sd_log": 0.005, "moderated_sd_log": 0.006, "mde_log": 0.012, "mde_pct": pytest.approx(1.207229),
        "rounds_needed": None, "same_sign": 5, "floor_log": 0.007, "floor_pct": pytest.approx(0.702456),
        "order": {"slope_log": 0.0015, "slope_pct": pytest.approx(0.1501126), "p": 0.6},
        "flags": ["order-effect", "mean≠median"],
    }  # fmt: skip


def test_what_holds_for_all_rows() -> None:
    found = to_data(judged())["statistics"]
    assert found["settings"]["looks"][1] == {"rounds": 8, "weight": 0.3}
    assert found["settings"]["delta_pct"] == 1.0
    assert found["calibration"]["biased"] is True
    assert found["calibration"]["operators"][0]["directory"] == "softmax"
    assert sum(found["verdicts"].values()) == sum(len(op.rows) for op in judged().subjects)
    assert found["prior"] == {"df": None, "df_infinite": True, "variance_log2": 1e-5}


def test_what_is_left_out_lost_and_invalid_is_there() -> None:
    data = to_data(compiled())
    (op,) = data["operators"]
    assert (op["failed"], op["invalid_pairs"]) == (["round 2 B: CELL_TIMEOUT"], ["round 4: PAIR_THROTTLED"])
    assert op["lost_rows"] == ["fft_row_kernel w8s3: no value on B"]
    assert rows(data)["fft k-2"]["left_out"] == [{"round": 1, "reason": "LOST", "note": "no value on B", "lost": True}]
    sort = next(op for op in to_data(judged())["operators"] if op["op"] == "sort")
    assert sort["markers"][0]["marker"] == "BENCHMARK_DIRECT_NO_CUDAGRAPH"
    assert sort["fallbacks"] == [{"marker": "BENCHMARK_DIRECT_NO_CUDAGRAPH", "cells": 6}]


def test_both_sides_their_conditions_and_kernels() -> None:
    data = to_data(judged())
    assert data["sides"]["B"]["identity"]["build"]["native_sha256"] == "9ab2" * 16
    timer = next(item for item in data["caliber"] if item["condition"] == "timer")
    assert timer == {"condition": "timer", "a": "cuda_graph", "b": "cuda_graph", "same": True, "compared": True}
    (kernel,) = data["operators"][0]["kernels"]
    assert (kernel["a"]["registers"], kernel["b"]["shared_bytes"], kernel["a"]["code_id"]) == (38, 4096, "a" * 16)
    assert kernel["histogram"][0] == {"operation": "ttg.convert_layout", "a": 9, "b": 6}
    assert "diff" not in kernel


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1e308])
def test_what_is_no_number_is_null(number: float) -> None:
    summary = judged()
    op = summary.subjects[0]
    row = op.rows[1]
    assert row.result is not None
    bad = replace(row, mean=number, noise_a=number, result=replace(row.result, estimate=number, mde=number, q=number))
    identity = {"A": {"card_settings": {"clock": number, "set": {1}}, "odd": (number,)}, "B": {}}
    source = replace(summary.source or Measured(header=summary.header), sides=identity)
    changed = replace(summary, subjects=(replace(op, rows=(bad,)), *summary.subjects[1:]), source=source)
    text = to_json(changed)
    assert "NaN" not in text
    assert "Infinity" not in text
    found = rows(json.loads(text))["mm float16|1024x1024"]
    assert found["result"]["estimate_pct"] is None
    assert found["measured_mean_pct"] is None


def test_equal_input_gives_equal_bytes_apart_from_a_time_that_is_given() -> None:
    assert to_json(judged()) == to_json(judged())
    assert '"created": null' in to_json(judged())
    stamped = json.loads(to_json(judged(), created="2026-11-29T10:10:10+00:00", directory="runs/x", exit_code=7))
    valid(stamped)
    assert (stamped["created"], stamped["exit_code"]) == ("2026-11-29T10:10:10+00:00", 7)


def test_a_row_has_a_line_of_its_own_and_names_are_text() -> None:
    text = to_json(judged())
    (line,) = [line for line in text.splitlines() if '"name": "float16|4096x4096"' in line]
    assert json.loads(line.rstrip(","))["label"] == "4096x4096"
    assert json.loads(text)["operators"][4]["op"] == EVIL
