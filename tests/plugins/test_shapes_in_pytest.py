"""Shapes from outside in every kind of benchmark class that suites have, from the request to what the rows say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_in_pytest import BASE, PLAIN, Ran, run  # noqa: F401 - a fixture is found by its name
from zlbench_plugins.worker import pytest_arguments

from zlbench.cells import CellSpec
from zlbench.layout import CellRecords, lay_out

pytest_plugins = ["pytester"]

HARNESS = (
    BASE.replace("import random\n", "import random\nfrom .conftest import Config\n")
    .replace(
        """    def init_user_config(self):
        self.to_bench_dtypes, self.shapes = list(self.dtypes), self.DEFAULT_SHAPES
""",
        """    DEFAULT_METRICS = ["latency"]
    shape_desc = "M, N"
    def init_user_config(self):
        self.to_bench_dtypes = list(self.dtypes)
        self.metrics.append("gbps")
        Config.shape_file = "a vendor's own"
        self.set_shapes(Config.shape_file)
    def set_shapes(self, path):
        self.shapes = list(self.DEFAULT_SHAPES)
""",
    )
    .replace(
        "self.is_backward, self.dtypes", "self.metrics = self.DEFAULT_METRICS\n        self.is_backward, self.dtypes"
    )
)
CONFTEST = """\
class Config:
    shape_file = "core_shapes.yaml"
def pytest_addoption(parser):
    for name in ("--level", "--mode", "--shape_file", "--warmup", "--iter"):
        parser.addoption(name)
    parser.addoption("--dtypes", action="append")
"""
FILES = {"benchmark/base.py": HARNESS, "benchmark/conftest.py": CONFTEST}


def with_class(body: str, *, made: str = 'Own("mini", op)') -> str:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    test = PLAIN.replace("def test_mini", f"class Own(base.Benchmark):\n{lines}def test_mini")
    return test.replace('base.Benchmark("mini", op)', made)


@pytest.fixture
def measure(run: Callable[..., Ran]) -> Callable[..., Ran]:  # noqa: F811
    def measure(body: str, *shapes: Any, files: dict[str, str] | None = None, **changed: Any) -> Ran:
        if shapes:
            changed |= {"shape_mode": "inline", "shapes": shapes}
        return run(with_class(body), files={**FILES, **(files or {})}, **changed)

    return measure


def shapes_of(ran: Ran) -> list[Any]:
    return [row["shape"] for row in ran.rows]


@pytest.mark.parametrize(
    "body",
    [
        "def set_shapes(self, path):\n    self.shapes = [(7, 8)]",
        "def set_shapes(self, path):\n    super().set_shapes(path)\n    self.shapes += [(64, 8), (6, 8)]",
        "def init_user_config(self):\n    self.to_bench_dtypes, self.shapes = ['float16'], [(7, 8)]",
        "def init_user_config(self):\n    super().init_user_config()\n    self.later = True",
    ],
)
def test_a_class_that_sets_its_own_shapes_runs_those_given(measure: Callable[..., Ran], body: str) -> None:
    ran = measure(body, (5, 8), (6, 8))
    assert (shapes_of(ran), ran.code) == ([[5, 8], [6, 8]], 0)
    assert ran.markers() == {}
    (event,) = ran.events("shapes_injected")
    assert (event["class"], event["how"]) == ("Own", "shapes")


RECORDS = "[{'m': 1, 'sparse': True, 'pages': None, 'kind': 'x'}, {'m': 2, 'sparse': False, 'pages': 3, 'kind': 'y'}]"
SMALL = "    self.shapes = [shape for shape in self.shapes if shape[0] < 6]"
READING = "def get_input_iter(self, dtype):\n    for m, n in self.shapes:\n        yield base.Tensor((m, n), dtype), {}"


@pytest.mark.parametrize(
    "body",
    [
        "def init_user_config(self):\n    super().init_user_config()\n" + SMALL,
        "def set_shapes(self, path):\n    super().set_shapes(path)\n" + SMALL,
        READING.replace("    yield", "    if m < 6:\n            yield"),
    ],
)
def test_what_a_class_leaves_out_stays_out_and_is_said(measure: Callable[..., Ran], body: str) -> None:
    ran = measure(body, (5, 8), (6, 8), (7, 8))
    assert shapes_of(ran) == [[5, 8]]
    said = "Own (benchmark/test_mini.py) leaves out 2 of 3 shapes given: 6x8, 7x8"
    assert ran.markers() == {"SHAPES_LEFT_OUT": said}


def test_a_class_that_leaves_out_all_of_them_fails_before_any_row(measure: Callable[..., Ran]) -> None:
    ran = measure("def set_shapes(self, path):\n    super().set_shapes(path)\n    self.shapes = [(1, 8)]", (5, 8))
    assert (ran.rows, ran.code) == ([], 1)
    assert "the class leaves out every shape given" in ran.events("failed")[0]["text"]


def test_a_class_that_builds_no_input_of_any_shape_has_nothing_to_measure(measure: Callable[..., Ran]) -> None:
    ran = measure(READING.replace("    yield", "    if m < 6:\n            yield"), (7, 8))
    said = "Own (benchmark/test_mini.py) leaves out 1 of 1 shapes given: 7x8"
    assert (ran.rows, ran.markers()) == ([], {"SHAPES_LEFT_OUT": said})


@pytest.mark.parametrize(
    ("own", "read", "first"),
    [
        ("[4, 8]", "base.Tensor((entry, 8), dtype)", [[4]]),
        (RECORDS, "base.Tensor((entry['m'], 8), dtype)", [[1, 1, 0]]),
    ],
)
def test_a_list_of_numbers_or_records_takes_shapes_as_well(
    measure: Callable[..., Ran], pytester: pytest.Pytester, own: str, read: str, first: list[Any]
) -> None:
    body = f"def set_shapes(self, path):\n    self.shapes = {own}\n"
    body += f"def get_input_iter(self, dtype):\n    for entry in self.shapes:\n        yield {read}, {{}}"
    plain = measure(body)
    assert shapes_of(plain)[:1] == first
    plain.out.rename(pytester.path / "plain")
    ran = measure(body, (5,), (6,))
    assert [row["input"]["args"][0]["shape"] for row in ran.rows] == [[5, 8], [6, 8]]
    assert ran.markers() == {}


def test_more_numbers_than_an_entry_has_are_refused(measure: Callable[..., Ran]) -> None:
    body = "def set_shapes(self, path):\n    self.shapes = [4, 8]\n"
    body += "def get_input_iter(self, dtype):\n    for m in self.shapes:\n        yield base.Tensor((m, 8), dtype), {}"
    text = measure(body, (5, 6)).events("failed")[0]["text"]
    assert text.endswith("(Own, benchmark/test_mini.py): wanted one number. Its own are like 4 or 8 (M, N)")


HARD_CODED = """
def get_input_iter(self, dtype):
    shapes = [(7, 8), (9, 8)]
    for m, n in shapes:
        if m == 13:
            raise RuntimeError("no memory")
        yield base.Tensor((m, n), dtype), {}
"""


def test_shapes_reach_a_loop_over_a_list_of_the_class(measure: Callable[..., Ran], tmp_path: Path) -> None:
    ran = measure(HARD_CODED, (5, 8), (13, 8), (6, 8))
    assert [(row["shape"], row["origin"], row["status"]) for row in ran.rows] == [
        ([5, 8], "inline, loop", "SUCCESS"), ([13, 8], "inline, loop", "FAILED"), ([6, 8], "inline, loop", "SUCCESS"),
    ]  # fmt: skip
    assert ran.rows[0]["input"]["args"][0]["shape"] == [5, 8]
    assert ran.markers() == {}
    lay_out(ran.out, CellRecords.read(ran.out))
    kept = yaml.safe_load((ran.out / "shapes.yaml").read_text())
    assert kept == {"mini": {"origin": ["inline, loop"], "shapes": [[5, 8], [13, 8], [6, 8]]}}


def test_without_shapes_given_a_list_of_the_class_is_told_apart_by_place(measure: Callable[..., Ran]) -> None:
    ran = measure(HARD_CODED.replace("(9, 8)", "(13, 8), (9, 8)"))
    assert [(row["shape"], row["shape_index"], row["origin"], row["status"]) for row in ran.rows] == [
        ([7, 8], 0, "hard-coded", "SUCCESS"),
        ([13, 8], 1, "hard-coded", "FAILED"),
        ([9, 8], 2, "hard-coded", "SUCCESS"),
    ]
    assert ran.events("planned")[0]["shapes"] == [[7, 8], [13, 8], [9, 8]]


def test_a_first_look_at_a_list_of_the_class_is_one_row(measure: Callable[..., Ran]) -> None:
    assert shapes_of(measure(HARD_CODED, quick=True)) == [[7, 8]]


@pytest.mark.parametrize(
    ("body", "shape", "said"),
    [
        (HARD_CODED, (5, 8, 3), "wanted 2 numbers. Its own are like 7x8 or 9x8 (M, N)"),
        (
            READING,
            (5, 8, 3),
            "[5x8x3] cannot be taken apart: too many values to unpack (expected 2). Its own are like 1x8 or 2x8 or 3x8",
        ),
    ],
)
def test_wrong_arity_is_an_error_before_any_row(
    measure: Callable[..., Ran], body: str, shape: tuple[int, ...], said: str
) -> None:
    ran = measure(body, (5, 8), shape)
    assert (ran.rows, ran.code) == ([], 1)
    text = ran.events("failed")[0]["text"]
    assert text.startswith("Failed: the shapes given are not those of mini (Own, benchmark/test_mini.py): ")
    assert said in text.replace(", got 3)", ")")


def test_inputs_that_no_shape_describes_are_said(measure: Callable[..., Ran]) -> None:
    body = "def get_input_iter(self, dtype):\n    yield base.Tensor((1, 8), dtype), {}"
    ran = measure(body, (5, 8))
    assert shapes_of(ran) == [None]
    assert ran.markers()["SHAPES_NOT_IN_FORCE"].startswith(
        "1 row comes from Own (benchmark/test_mini.py), which ran the suite's own inputs"
    )


@pytest.mark.parametrize("shapes", [((5, 8), (6, 8)), ((5, 10),)])
def test_inputs_that_do_not_follow_their_shape_are_said(measure: Callable[..., Ran], shapes: Any) -> None:
    body = (
        "def get_input_iter(self, dtype):\n    for shape in self.shapes:\n        yield base.Tensor((1, 1), dtype), {}"
    )
    assert measure(body, *shapes).markers() == {
        "SHAPES_NOT_IN_FORCE": "the inputs of Own (benchmark/test_mini.py) are the same whatever the shape"
    }


@pytest.mark.parametrize(("vendor", "option"), [("kunlunxin", "--fg_mode=kernel"), ("nvidia", "--mode=kernel")])
def test_the_mode_is_asked_for_by_the_name_that_the_suite_has_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, vendor: str, option: str
) -> None:
    monkeypatch.setenv("GEMS_VENDOR", vendor)
    spec = CellSpec(
        cell="x/A",
        op="x",
        side="A",
        node="n",
        suite_root=str(tmp_path),
        package="p",
        out_dir="",
        backend="b",
        timer="t",
    )
    assert option in pytest_arguments(spec)


def test_what_the_suite_changes_for_all_its_benchmarks_is_kept_to_one(run: Callable[..., Ran]) -> None:  # noqa: F811
    test = PLAIN + (
        "    assert base.Benchmark.DEFAULT_METRICS == ['latency']\n"
        "    assert base.Config.shape_file == 'core_shapes.yaml'\n"
    )
    ran = run(test, files=FILES)
    assert (ran.code, len(ran.rows)) == (0, 3)
