"""The embedded suite computes what torch computes, its files follow one form, a bad row costs only itself."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.triton

HERE = Path(__file__).resolve().parent
SUITE = HERE.parents[1] / "ops" / "builtin"
FILES = sorted((SUITE / "benchmark").glob("test_*.py"))
OPERATORS = [path.stem.removeprefix("test_") for path in FILES]
SHAPES = HERE / "builtin_shapes.yaml"


def run_suite(tmp_path, *args, fail="", interpret="1", hide_gpu=False):
    """The suite in a child process: TRITON_INTERPRET must be set before a kernel is decorated."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "TRITON_"))}
    env |= {
        "TRITON_INTERPRET": interpret,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [env.get("PYTHONPATH")])]),
        "BUILTIN_CHECK_FAIL": fail,
        # Two small cores: threads of numpy and torch only get in each other's way on such shapes.
        "OMP_NUM_THREADS": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        os.devnull,
        f"--rootdir={SUITE}",
        "-p",
        "no:cacheprovider",
    ]
    return subprocess.run(
        [*command, "-p", "builtin_check", *args],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """One interpreted run over every operator: {operator: entry of the JSON report}."""
    tmp_path = tmp_path_factory.mktemp("builtin")
    done = run_suite(
        tmp_path, str(SUITE / "benchmark"), f"--shape_file={SHAPES}", "--record=json", "--output=r.json", "-q"
    )
    assert (tmp_path / "r.json").exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads((tmp_path / "r.json").read_text())


@pytest.mark.parametrize("op", OPERATORS)
def test_wrapper_agrees_with_torch_for_every_dtype_and_edge(checked, op):
    entry = checked[op]
    assert entry["result"] == "passed", entry["reason"]
    shapes = yaml.safe_load(SHAPES.read_text())[op]["shapes"]
    assert entry["details"], "no table"
    for table in entry["details"]:
        assert len(table["result"]) == len(shapes), f"{table['dtype']}: rows are missing"


def test_half_and_single_precision_are_covered(checked):
    complex_only, half_only = {"fft"}, {"attention", "mm_w4a16", "mm_w8a8"}
    for op, entry in checked.items():
        dtypes = {table["dtype"].removeprefix("torch.") for table in entry["details"]}
        if op in complex_only:
            assert dtypes == {"complex64"}
        else:
            assert dtypes >= {"float16", "bfloat16"}
            assert ("float32" in dtypes) == (op not in half_only)


def test_suite_has_at_least_fourteen_operators():
    assert len(OPERATORS) >= 14


@pytest.mark.parametrize("path", FILES, ids=OPERATORS)
def test_file_names_its_operator_once_and_literally(path):
    """What a static reader needs: one op_name literal, test and marker, all of the file's name."""
    op = path.stem.removeprefix("test_")
    tree = ast.parse(path.read_text())
    names = [
        keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "op_name" and isinstance(keyword.value, ast.Constant)
    ]
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    markers = [ast.unparse(decorator) for function in functions for decorator in function.decorator_list]
    assert names == [op]
    assert len(functions) == 1
    assert markers == [f"pytest.mark.{op}"]


def test_markers_and_core_shapes_name_every_operator():
    consts = ast.parse((SUITE / "benchmark" / "consts.py").read_text())
    (listed,) = [
        ast.literal_eval(node.value)
        for node in consts.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "OPERATORS"
    ]
    assert list(listed) == OPERATORS
    assert sorted(yaml.safe_load((SUITE / "benchmark" / "core_shapes.yaml").read_text())) == OPERATORS
    assert sorted(yaml.safe_load(SHAPES.read_text())) == OPERATORS


def test_a_failing_row_costs_only_itself(tmp_path):
    shapes = tmp_path / "shapes.yaml"
    # [3] has no column to make inputs of; 7 rows fail in the operator; the last one must still be measured.
    shapes.write_text("softmax: {shapes: [[2, 5], [3], [7, 5], []]}\nsum: {shapes: [[2, 5], [4, 4, 0]]}\n")
    done = run_suite(
        tmp_path,
        str(SUITE / "benchmark" / "test_softmax.py"),
        str(SUITE / "benchmark" / "test_sum.py"),
        f"--shape_file={shapes}",
        "--dtypes=float32",
        "-s",
        fail="softmax",
    )
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("SUCCESS", "FAILED "))]
    assert done.returncode == 1
    assert "softmax: 2 of 4 rows failed" in done.stdout, done.stdout
    assert "RuntimeError: injected: this row must fail … and nothing else" in done.stdout
    assert "sum: 1 of 2 rows failed" in done.stdout
    assert "shape (2, 5) of sum has 2 numbers, its inputs take 3" in done.stdout
    assert rows.count("SUCCESS") == 3
    assert rows.count("FAILED") >= 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("softmax: [1, 2", "not YAML"),
        ("- 1\n", "want a mapping"),
        ("softmax: {shapes: 3}", "softmax: want `shapes:`"),
        (None, "No such file"),
    ],
)
def test_bad_shape_file_is_one_clear_line(tmp_path, text, message):
    shapes = tmp_path / "shapes.yaml"
    if text is not None:
        shapes.write_text(text)
    done = run_suite(tmp_path, str(SUITE / "benchmark" / "test_softmax.py"), f"--shape_file={shapes}")
    said = [line for line in done.stderr.splitlines() if message in line]
    assert done.returncode == 4
    assert len(said) == 1, done.stderr
    assert str(shapes) in said[0]
    assert "Traceback" not in done.stderr + done.stdout


def test_dtype_that_an_operator_lacks_is_one_clear_line(tmp_path):
    done = run_suite(tmp_path, str(SUITE / "benchmark" / "test_mm_w8a8.py"), "--dtypes=float32")
    said = [line for line in done.stdout.splitlines() if line.startswith("usage error:")]
    assert done.returncode == 1
    wanted = "Given dtype(s) 'torch.float32' can't be supported by this op 'mm_w8a8'"
    assert said == [f"usage error: {wanted} (it has torch.float16, torch.bfloat16)"]
    assert "Traceback" not in done.stdout


def test_no_device_is_one_clear_line(tmp_path):
    done = run_suite(tmp_path, str(SUITE / "benchmark" / "test_gelu.py"), interpret="0", hide_gpu=True)
    said = [line for line in done.stdout.splitlines() if line.startswith("usage error: zlbench_builtin: no card")]
    assert done.returncode == 1
    assert len(said) == 1, done.stdout
    assert "FAILED  " not in done.stdout
