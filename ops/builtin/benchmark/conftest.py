"""Options and reports of the harness, named and shaped as FlagGems names and shapes them."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import yaml

from . import consts

if TYPE_CHECKING:
    from collections.abc import Iterator

SRC = Path(__file__).resolve().parents[1] / "src"
if str(SRC) not in sys.path:
    # In front: the suite is measured from its checkout, never from something installed under the same name.
    sys.path.insert(0, str(SRC))

CORE_SHAPES = Path(__file__).resolve().parent / "core_shapes.yaml"
REPORT_FILE = "benchmark_result.json"
BUILTIN_MARKS = {"parametrize", "skip", "skipif", "xfail", "usefixtures", "filterwarnings", "timeout"}

record_logger = logging.getLogger("zlbench_builtin_benchmark")
record_logger.propagate = False


@dataclass
class BenchConfig:
    """What the options asked for. One object per session; plugins may set its attributes."""

    mode: consts.BenchMode
    bench_level: consts.BenchLevel
    warm_up: int
    repetition: int
    query: bool
    user_desired_dtypes: list[torch.dtype] | None
    user_desired_metrics: list[str] | None
    shape_file: str
    record_log: bool
    record_json: bool
    output: str


# Made in pytest_configure, as upstream does; benchmark.base imports it by value afterwards.
Config: Any = None
TEST_RESULTS: dict[str, dict[str, Any]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.addoption
    add(
        "--mode",
        default="kernel",
        choices=[m.value for m in consts.BenchMode],
        help="How latency is measured.",
    )
    add("--level", default="core", choices=[v.value for v in consts.BenchLevel], help="How many shapes.")
    add("--warmup", default=consts.DEFAULT_WARMUP_TIME, type=int, help="Warm-up time of a row in ms.")
    add("--iter", default=consts.DEFAULT_ITER_TIME, type=int, help="Measuring time of a row in ms.")
    dtypes = [str(dtype).removeprefix("torch.") for dtype in consts.ALL_DTYPES]
    add("--dtypes", action="append", choices=dtypes, help="Only these dtypes; may be given several times.")
    add("--metrics", action="append", choices=consts.ALL_METRICS, help="Only these metrics.")
    add("--shape_file", default=str(CORE_SHAPES), help="YAML file of shapes.")
    add("--query", action="store_true", help="Print the shapes of each operator; measure nothing.")
    add("--record", default="none", choices=["none", "log", "json"], help="Keep results in a file.")
    add("--output", default=REPORT_FILE, help="File of --record=json.")


def check_shape_file(path: str) -> None:
    """Refuse a shape file that cannot mean anything, in one line and before anything is measured."""
    try:
        shapes = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise pytest.UsageError(f"--shape_file {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise pytest.UsageError(f"--shape_file {path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(shapes, dict):
        raise pytest.UsageError(f"--shape_file {path}: want a mapping from operator or class name to shapes")
    for name, entry in shapes.items():
        listed = entry.get("shapes") if isinstance(entry, dict) else None
        if not isinstance(listed, list) or not listed or not all(isinstance(shape, list) for shape in listed):
            raise pytest.UsageError(f"--shape_file {path}: {name}: want `shapes:` with a list of lists")


def pytest_configure(config: pytest.Config) -> None:
    global Config  # noqa: PLW0603 - plugins made for FlagGems look for this name
    for operator in consts.OPERATORS:
        config.addinivalue_line("markers", f"{operator}: benchmark of the operator {operator}")
    option = config.getoption
    check_shape_file(option("--shape_file"))
    Config = BenchConfig(
        mode=consts.BenchMode(option("--mode")),
        bench_level=consts.BenchLevel(option("--level")),
        warm_up=option("--warmup"),
        repetition=option("--iter"),
        query=option("--query"),
        user_desired_dtypes=[getattr(torch, name) for name in option("--dtypes") or ()] or None,
        user_desired_metrics=option("--metrics"),
        shape_file=option("--shape_file"),
        record_log=option("--record") == "log",
        record_json=option("--record") == "json",
        output=option("--output"),
    )
    if Config.record_log:
        handler = logging.FileHandler("result_builtin.log", mode="w", encoding="utf-8")
        handler.setFormatter(logging.Formatter("[%(levelname)s] %(message)s"))
        record_logger.addHandler(handler)
        record_logger.setLevel(logging.INFO)


def pytest_unconfigure() -> None:
    for handler in list(record_logger.handlers):
        record_logger.removeHandler(handler)
        handler.close()


@pytest.fixture(autouse=True)
def give_memory_back() -> Iterator[None]:
    """What one operator cached must not be what the next one runs out of."""
    yield
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def update_result(op_name: str, table: dict[str, Any]) -> None:
    """Keep one finished table for the JSON report."""
    if Config.record_json:
        TEST_RESULTS.setdefault(op_name, {}).setdefault("details", []).append(table)


def emit_record_logger(message: str) -> None:
    """One line into the log of --record=log."""
    if Config.record_log:
        record_logger.info(message)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    marks = [mark.name for mark in item.iter_markers() if mark.name not in BUILTIN_MARKS]
    report.opid = marks[0] if marks else item.nodeid
    if call.excinfo is not None and call.excinfo.errisinstance(pytest.UsageError):
        # A wrong option is the caller's, so no traceback of the harness.
        report.longrepr = f"usage error: {call.excinfo.value}"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not Config.record_json or not (report.when == "call" or (report.when == "setup" and not report.passed)):
        return
    # longreprtext is the whole text; a skip's text ends in its reason.
    reason = None if report.passed else report.longreprtext
    entry = TEST_RESULTS.setdefault(report.opid, {})  # type: ignore[attr-defined]
    entry.update(result=report.outcome, test_case=report.nodeid, reason=reason)


def pytest_terminal_summary() -> None:
    if not Config.record_json:
        return
    path = Path(Config.output)
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(known | TEST_RESULTS, indent=2, default=str), encoding="utf-8")
