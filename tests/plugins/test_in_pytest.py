"""The plugins as a cell loads them: real pytest in a process of its own, on a suite of a few lines and no compiler."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fakes.suites import PATHS, lines
from zlbench_plugins.worker import pytest_arguments

from zlbench.cells import CellSpec
from zlbench.errors import DISK_FULL_EXIT
from zlbench.plugin_plan import plan

pytest_plugins = ["pytester"]

BASE = """\
import random

class Tensor:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), dtype
    def stride(self):
        return (self.shape[1], 1)

class Benchmark:
    DEFAULT_SHAPES = [(1, 8), (2, 8), (3, 8)]
    def __init__(self, op_name, op, dtypes=("float16",), bad_inputs=()):
        self.op_name, self.torch_op, self.gems_op = op_name, op, None
        self.is_backward, self.dtypes, self.bad_inputs = False, dtypes, bad_inputs
    def init_user_config(self):
        self.to_bench_dtypes, self.shapes = list(self.dtypes), self.DEFAULT_SHAPES
    def get_input_iter(self, dtype):
        for shape in self.shapes:
            if shape[0] in self.bad_inputs:
                raise RuntimeError("no memory for this one: out of memory")
            yield Tensor(shape, dtype), {"draw": random.randrange(10**9)}
    def unpack_to_args_kwargs(self, given):
        return [given[0]], given[1]
    def get_latency(self, op, *args, **kwargs):
        op(*args, **kwargs)
        return args[0].shape[0] / 100
    def run(self):
        print("the suite's own loop")
"""
CONFTEST = """\
def pytest_addoption(parser):
    for name in ("--level", "--mode", "--shape_file", "--warmup", "--iter"):
        parser.addoption(name)
    parser.addoption("--dtypes", action="append")
"""
PLAIN = """\
from . import base
def op(x, **_):
    pass
def test_mini():
    base.Benchmark("mini", op).run()
"""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What one cell left."""

    code: int
    log: str
    out: Path

    @property
    def rows(self) -> list[dict[str, Any]]:
        return lines(self.out / "rows.jsonl")

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in lines(self.out / "events.jsonl") if event["event"] == kind]

    def markers(self) -> dict[str, str]:
        found = {event["marker"]: event["text"] for event in self.events("marker")}
        assert all(f"{marker} {text}" in self.log for marker, text in found.items())
        # There is no Triton here, which a cell survives.
        assert "no knobs module" in found.pop("IR_HOOKS_MISSING")
        return found


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a benchmark file; `files` are further files of the suite, the keywords change the cell's request."""
    suite, out = pytester.path / "suite", pytester.path / "out"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*PATHS, str(suite / "src")]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("GEMS_VENDOR", raising=False)

    def run(test: str = PLAIN, *, files: dict[str, str] | None = None, **changed: Any) -> Ran:
        texts = {
            "src/mini/__init__.py": "", "benchmark/__init__.py": "", "benchmark/base.py": BASE,
            "benchmark/conftest.py": CONFTEST, "benchmark/test_mini.py": test, **(files or {}),
        }  # fmt: skip
        for name, text in texts.items():
            path = suite / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        out.mkdir()
        spec = CellSpec(
            cell="mini/A", op="mini", side="A", node=f"{suite}/benchmark/test_mini.py::test_mini",
            suite_root=str(suite), package="mini", out_dir=str(out), backend="compile", timer="compile",
            plugins=plan(autotune="policy"), autotune="policy", seed=7,
        )  # fmt: skip
        spec = replace(spec, **changed)
        if changed.get("timer"):
            spec = replace(spec, plugins=plan(autotune="record"), autotune="record")
        request = pytester.path / "cell.json"
        request.write_text(json.dumps(spec.to_json()))
        monkeypatch.setenv("ZL_CELL_SPEC", str(request))
        ended = pytester.run(sys.executable, "-m", "pytest", *pytest_arguments(spec))
        return Ran(code=int(ended.ret), log=f"{ended.stdout}\n{ended.stderr}", out=out)

    return run


def test_rows_events_and_the_table(run: Callable[..., Ran]) -> None:
    ran = run(backend="cuda", timer="direct", baseline="all")
    assert ran.code == 0
    assert [(row["status"], row["latency_ms"], row["baseline_ms"], row["timer"]) for row in ran.rows] == [
        ("SUCCESS", number / 100, number / 100, "direct") for number in (1, 2, 3)
    ]  # fmt: skip
    assert [(row["shape"], row["shape_index"], row["origin"]) for row in ran.rows] == [
        ([number, 8], number - 1, "upstream") for number in (1, 2, 3)
    ]  # fmt: skip
    assert len({row["row"] for row in ran.rows}) == 3
    (planned,) = ran.events("planned")
    assert (planned["dtypes"], planned["shapes"]) == (["float16"], [[1, 8], [2, 8], [3, 8]])
    assert len(ran.events("started")) == 3
    assert ran.events("completed") == [{"event": "completed", "op": "mini"}]
    assert "Operator: mini  Performance Test (dtype=torch.float16, mode=kernel,level=core)" in ran.log
    assert "SUCCESS               0.020000            0.020000               1.000" in ran.log
    assert "the suite's own loop" not in ran.log
    assert ran.markers() == {}


def test_a_row_that_fails_costs_itself_alone(run: Callable[..., Ran]) -> None:
    test = PLAIN.replace("    pass\n", "    if x.shape[0] == 2:\n        raise ValueError('odd\\nline')\n")
    ran = run(test.replace('"mini", op', '"mini", op, ("float16", "float32"), (3,)'))
    assert ran.code == 1
    assert [row["status"] for row in ran.rows] == ["SUCCESS", "FAILED", "FAILED"] * 2
    _, middle, last = ran.rows[:3]
    assert (middle["failure"], middle["phase"], middle["error"]) == ("ERROR", "measure", "ValueError: odd line")
    assert middle["label"].startswith("2x8 ")
    assert (last["failure"], last["phase"], last["shape"]) == ("OOM", "inputs", [3, 8])
    assert "row" not in last
    assert "FAILED                     N/A" in ran.log
    (failed,) = ran.events("failed")
    assert "4 rows of mini failed; see rows.jsonl" in failed["text"]
    assert len(ran.events("completed")) == 1


def test_inputs_are_the_same_behind_a_shape_that_failed(run: Callable[..., Ran], pytester: pytest.Pytester) -> None:
    whole = run()
    drawn = {tuple(row["shape"]): row["input"]["kwargs"]["draw"] for row in whole.rows}
    whole.out.rename(pytester.path / "whole")
    broken = run(PLAIN.replace('"mini", op', '"mini", op, bad_inputs=(1, 2)'))
    (row,) = [row for row in broken.rows if row["status"] == "SUCCESS"]
    assert row["input"]["kwargs"]["draw"] == drawn[3, 8]
    assert len(set(drawn.values())) == 3


def test_equal_inputs_in_one_table_are_told_apart_by_their_order(run: Callable[..., Ran]) -> None:
    base = BASE.replace("yield Tensor(shape, dtype), {", "yield Tensor((9, 9), dtype), {} or {").replace(
        '"draw": random.randrange(10**9)', ""
    )
    names = [row["row"] for row in run(files={"benchmark/base.py": base}).rows]
    assert [name.partition("#")[2] for name in names] == ["", "2", "3"]
    assert len({name.partition("#")[0] for name in names}) == 1


def test_a_dtype_that_the_operator_does_not_take_is_said_in_its_words(run: Callable[..., Ran]) -> None:
    refusal = """    def init_user_config(self):
        raise ValueError("Given dtype(s) can't be supported by this op 'mini'")
"""
    base = BASE.replace("    def init_user_config(self):\n", refusal + "    def kept(self):\n")
    test = PLAIN.replace('"mini", op', '"mini", op, ("complex64", "float32")')
    ran = run(test, files={"benchmark/base.py": base}, dtypes=("float16", "float32", "bfloat16"))
    assert ran.code == 1
    said = "mini does not take float16, bfloat16 (takes complex64, float32)"
    assert [(row["dtype"], row["shape"], row["failure"], row["error"]) for row in ran.rows] == [
        (dtype, None, "DTYPE_NOT_SUPPORTED", said) for dtype in ("float16", "bfloat16")
    ]
    assert ran.events("failed")[0]["text"].endswith(said)
    assert "Traceback" not in ran.log


def test_a_first_look_takes_one_dtype_and_one_shape(run: Callable[..., Ran]) -> None:
    ran = run(PLAIN.replace('"mini", op', '"mini", op, ("float16", "float32")'), quick=True)
    assert [(row["dtype"], row["shape"]) for row in ran.rows] == [("float16", [1, 8])]


def test_a_full_disk_ends_the_cell(run: Callable[..., Ran]) -> None:
    ran = run(PLAIN.replace("    pass\n", "    import errno\n    raise OSError(errno.ENOSPC, 'full')\n"))
    assert ran.code == DISK_FULL_EXIT
    assert ran.rows == []
    assert len(ran.events("started")) == 1


def test_shapes_given_inline(run: Callable[..., Ran]) -> None:
    ran = run(shape_mode="inline", shapes=((5, 8), (6, 8)))
    assert [(row["shape"], row["origin"]) for row in ran.rows] == [([5, 8], "inline"), ([6, 8], "inline")]
    (injected,) = ran.events("shapes_injected")
    assert (injected["op"], injected["count"], injected["class"], injected["how"]) == ("mini", 2, "Benchmark", "shapes")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Benchmark:\n  shapes: [[5, 8]]\nmini:\n  shapes: [[6, 8]]\n", 6),
        ("Benchmark:\n  shapes: [[5, 8]]\nother:\n  shapes: [[7, 8]]\n", 5),
        ("mini:\n  origin: [upstream]\n  shapes: [[4, 8]]\n", 4),
    ],
)
def test_shapes_from_a_file_by_operator_then_by_class(
    run: Callable[..., Ran], tmp_path: Path, text: str, first: int
) -> None:
    (tmp_path / "shapes.yaml").write_text(text)
    ran = run(shape_mode="file", shape_file=str(tmp_path / "shapes.yaml"))
    assert [(row["shape"], row["origin"]) for row in ran.rows] == [([first, 8], "file")]


def test_a_file_without_the_operator_is_no_reason_for_default_shapes(run: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "shapes.yaml").write_text("other:\n  shapes: [[7, 8]]\n")
    ran = run(shape_mode="file", shape_file=str(tmp_path / "shapes.yaml"))
    assert (ran.code, ran.rows) == (1, [])
    assert "has no shapes for mini (looked for mini, Benchmark)" in ran.events("failed")[0]["text"]


def test_a_benchmark_that_ignores_its_shapes_is_said(run: Callable[..., Ran]) -> None:
    base = BASE.replace("for shape in self.shapes:", "for shape in [(7, 8)] if True else 0:\n            yield from ()")
    base = base.replace("        for shape in [", "        yield Tensor((7, 8), dtype), {}\n        for shape in [")
    ran = run(files={"benchmark/base.py": base}, shape_mode="inline", shapes=((5, 8),))
    assert {(row["shape"], row["shape_index"], row["origin"]) for row in ran.rows} == {(None, -1, "hard-coded")}
    said = ran.markers()["SHAPES_NOT_IN_FORCE"]
    assert said.startswith(f"{len(ran.rows)} rows come from Benchmark (benchmark/base.py), which ran the suite's own")


def test_a_skip_and_a_file_that_cannot_be_imported(run: Callable[..., Ran], pytester: pytest.Pytester) -> None:
    ran = run("import pytest\ndef test_mini():\n    pytest.skip('needs a card')\n")
    assert (ran.code, [event["reason"] for event in ran.events("skipped")]) == (0, ["needs a card"])
    ran.out.rename(pytester.path / "skipped")
    ran = run("import a_module_that_is_not_there\ndef test_mini():\n    pass\n")
    assert ran.code != 0
    assert "a_module_that_is_not_there" in ran.events("not_collected")[0]["text"]


def test_a_suite_without_the_harness_is_said(run: Callable[..., Ran]) -> None:
    ran = run("def test_mini():\n    pass\n", files={"benchmark/base.py": ""})
    assert "no benchmark.base.Benchmark" in ran.markers()["HARNESS_NOT_FOUND"]
    assert ran.rows == []


def test_whoever_replaces_a_hook_after_us_is_said(run: Callable[..., Ran]) -> None:
    test = PLAIN + "    base.Benchmark.init_user_config = lambda self: None\n"
    assert run(test).markers()["PATCH_NOT_IN_FORCE"] == "Benchmark.init_user_config"


def test_what_the_process_turned_out_to_be(run: Callable[..., Ran]) -> None:
    vendors = {f"src/mini/backend/{name}.py": "" for name in ("__init__", "_nvidia", "_ascend")}
    test = "import mini.backend._nvidia, mini.backend._ascend, os\n" + PLAIN
    ran = run(test + "    print('vendor', os.environ['GEMS_VENDOR'])\n", files=vendors, backend="cuda", timer="direct")
    assert "vendor nvidia" in ran.log
    assert ran.markers() == {"FOREIGN_VENDOR_MODULE": "active=nvidia loaded=ascend"}
    facts = json.loads((ran.out / "process.json").read_text())
    assert (facts["triton"], facts["torch"], facts["pytest"]) == (None, None, pytest.__version__)
    assert facts["hooks"] == {"autotuner": False, "knobs": False, "loaded_costs": False}
    assert facts["patches"] == ["Benchmark.init_user_config", "Benchmark.run", "Benchmark.measured_by_zlbench"]
    assert facts["patches_not_in_force"] == []
    assert facts["plugins"] == list(plan(autotune="record"))


def test_a_suite_that_can_do_without_a_device_is_told_to(run: Callable[..., Ran]) -> None:
    runtime = "def use_device(name):\n    print('device', name)\n"
    assert "device meta" in run(files={"src/mini/runtime.py": runtime}).log


def test_plugins_without_a_cell_say_what_they_need(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(PATHS))
    monkeypatch.delenv("ZL_CELL_SPEC", raising=False)
    ended = pytester.run(sys.executable, "-m", "pytest", "-p", "zlbench_plugins.device")
    assert ended.ret != 0
    assert "zlbench plugins need a cell" in f"{ended.stdout}{ended.stderr}"
