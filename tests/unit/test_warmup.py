"""Merging of what cards found, and shapes that are known before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.measure.warmup import merge, with_misses
from zlbench.suite.inventory import Benchmark
from zlbench.suite.provider import Provider, find_provider
from zlbench.suite.shape_entry import ShapeEntry, shape_entry
from zlbench.tuning import digest


def record(kernel: str, key: Any, block: int, row: str = "r") -> dict[str, Any]:
    return {"tuner": "t", "module": "m", "kernel": kernel, "key": key, "config": {"BLOCK": block}, "pre_hook": False,
            "all_failed": False, "row": row}  # fmt: skip


def test_a_key_keeps_the_first_choice_for_all_its_rows() -> None:
    shards = [[record("k", [1], 16, "a"), record("k", [2], 32, "b")], [record("k", [1], 64, "c"), record("l", [1], 8)]]
    merged = merge(shards)
    assert (merged.choices, merged.conflicts) == (3, 1)
    assert [(item["row"], item["config"]["BLOCK"]) for item in merged.records] == [
        ("a", 16),
        ("b", 32),
        ("c", 16),
        ("r", 8),
    ]


def test_what_was_tuned_anew_takes_the_place_of_what_was_not_replayed() -> None:
    merged = [record("k", [1], 64), record("k", [2], 64), record("k", None, 16)]
    lines = [{**record("k", [2], 128), "outcome": "miss", "reason": "compile_failed"},
             {**record("k", [3], 32), "outcome": "miss", "reason": "key_missing"},
             {**record("k", [3], 32, row="r2"), "outcome": "miss", "reason": "key_missing"},
             {**record("k", [4], 32), "config": None, "outcome": "miss", "reason": "key_missing"},
             {**record("k", [1], 64), "outcome": "hit", "reason": ""}]  # fmt: skip
    found, missed = with_misses(merged, lines)
    assert missed == 2
    assert found == [
        merged[0], merged[2], record("k", [2], 128), record("k", [3], 32), record("k", [3], 32, row="r2"),
    ]  # fmt: skip


def test_kernels_without_a_choice_are_kept_and_not_counted() -> None:
    merged = merge([[record("k", None, 16)], [record("k", None, 16)]])
    assert (merged.choices, merged.conflicts, len(merged.records)) == (0, 0, 2)


records = st.builds(record, st.sampled_from("kl"), st.lists(st.integers(0, 2), max_size=1), st.integers(0, 2))


@given(st.lists(st.lists(records, max_size=6), max_size=4))
def test_every_line_stays_and_every_key_has_one_choice(shards: list[list[dict[str, Any]]]) -> None:
    merged = merge(shards)
    assert len(merged.records) == sum(map(len, shards))
    chosen = {(item["kernel"], str(item["key"]), str(item["config"])) for item in merged.records}
    keys = {(item["kernel"], str(item["key"])) for shard in shards for item in shard}
    assert len(chosen) == len(keys) == merged.choices
    assert merged.conflicts <= merged.choices
    assert merge([merged.records]).conflicts == 0
    assert digest(merge([merged.records]).records) == digest(merged.records)


BASE = """\
class Benchmark:
    def set_shapes(self): ...
class Blas(Benchmark): ...
class Own(Benchmark):
    def set_shapes(self): ...
class Mine(Own): ...
class Loops(Benchmark):
    def get_input_iter(self, dtype):
        for shape in self.shapes:
            yield shape
class Fixed(Loops):
    def get_input_iter(self, dtype):
        for shape in [(1, 2)]:
            yield shape
class Adds(Loops):
    def get_input_iter(self, dtype):
        yield from super().get_input_iter(dtype)
"""
TEST = """\
from . import base
from .base import Blas
class Local(base.Blas): ...
def test_mm():
    bench = Blas(op_name="mm")
    bench.run()
def test_local():
    Local(op_name="local").run()
def test_own():
    base.Mine(op_name="own").run()
def test_plain():
    base.Benchmark(op_name="plain").run()
def test_none():
    pass
def test_loops():
    base.Loops(op_name="loops").run()
def test_fixed():
    base.Fixed(op_name="fixed").run()
def test_adds():
    base.Adds(op_name="adds").run()
"""


@pytest.fixture
def suite(tmp_path: Path) -> Provider:
    for name, text in {"src/mini/__init__.py": "", "benchmark/conftest.py": "", "benchmark/base.py": BASE,
                       "benchmark/test_mini.py": TEST}.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return find_provider(str(tmp_path), cwd=tmp_path)


def benchmark(name: str | None, function: str = "") -> Benchmark:
    return Benchmark(op_name=name, markers=(), function=function or f"test_{name}", file="test_mini.py", line=1)


def core(suite: Provider, text: str) -> None:
    (suite.benchmark_dir / "core_shapes.yaml").write_text(text)


def test_the_operator_comes_before_its_classes(suite: Provider) -> None:
    core(suite, "Blas:\n  shapes: [[1, 2], [3, 4]]\nlocal:\n  shapes: [[5, 6]]\n")
    assert shape_entry(suite, benchmark("mm"), None) == ShapeEntry(shapes=((1, 2), (3, 4)), key="Blas")
    assert shape_entry(suite, benchmark("local"), None).key == "local"
    core(suite, "Benchmark:\n  shapes: [[9]]\nBlas:\n  shapes: [[1, 2]]\n")
    assert shape_entry(suite, benchmark("local"), None).key == "Blas"
    assert shape_entry(suite, benchmark("plain"), None).key == "Benchmark"


def test_a_class_that_makes_inputs_up_is_not_known(suite: Provider) -> None:
    core(suite, "common: &common\n  shapes: [[4, 4], [[1, 2], 3]]\nBenchmark:\n  <<: *common\n")
    for name in ("loops", "adds"):
        assert shape_entry(suite, benchmark(name), None) == ShapeEntry(shapes=((4, 4), ((1, 2), 3)), key="Benchmark")
    assert shape_entry(suite, benchmark("fixed"), None).reason == "its class Fixed sets its shapes by itself"


def test_what_is_not_known_has_a_reason(suite: Provider, tmp_path: Path) -> None:
    assert shape_entry(suite, benchmark("mm"), None).reason == "the suite has no core_shapes.yaml"
    core(suite, "Own:\n  shapes: [[1]]\nother:\n  shapes: [[1]]\n")
    assert shape_entry(suite, benchmark("own"), None).reason == "its class Own sets its shapes by itself"
    assert shape_entry(suite, benchmark(None, "test_mm"), None).reason == "its benchmark measures several operators"
    assert (
        shape_entry(suite, benchmark("mm"), None).reason
        == "core_shapes.yaml has no entry for it (tried mm, Blas, Benchmark)"
    )
    assert "tried none" in shape_entry(suite, benchmark("none"), None).reason
    core(suite, "mm: {shapes: [[")
    assert shape_entry(suite, benchmark("mm"), None).reason == "core_shapes.yaml: cannot be read (ParserError)"
    given = tmp_path / "given.yaml"
    given.write_text("Own:\n  shapes: [[7]]\n")
    assert shape_entry(suite, benchmark("own"), given).shapes == ((7,),)  # what is given replaces the class's own
