"""Which rows time their Torch baseline too, and whether that baseline tells anything apart from the operator.

The baseline does not pass through the compiler under test, so a few of its times on both sides show how the card
drifted between them. Which rows they are hangs on nothing that a side can change: both sides take the same.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from zlbench.cells import CellSpec

MARKER = "BASELINE_NOT_INDEPENDENT"


def wants_baseline(spec: CellSpec, dtype_index: int, row_index: int) -> bool:
    """Whether a row's baseline is timed: of every row, of none, or as a canary of the first row of each dtype.

    The first that is planned, not the first that succeeds: a row that one side loses must not move the canary there.

    Args:
        dtype_index: place of the dtype among those of the benchmark, from 0.
        row_index: place of the row among those of its dtype, from 0.
    """
    if dtype_index < 0 or row_index < 0:
        raise ValueError(f"no such row: dtype {dtype_index}, row {row_index}")
    return spec.baseline == "all" or (spec.baseline == "canary" and row_index == 0)


def baseline_is_independent(bench: Any, package: str, *, launched: bool) -> bool:
    """Whether the baseline is another implementation than the one under test.

    It is not where the benchmark gives the operator itself, or any other function of the suite's package, or where
    the call launched a Triton kernel, which the compiler under test has then compiled. A lambda, a function of the
    benchmark's own file and a missing one tell nothing by their name; for them `launched` alone decides.

    Args:
        package: the suite's package, such as ``flag_gems``.
        launched: whether Triton kernels were seen while the baseline ran.
    """
    baseline = getattr(bench, "torch_op", None)
    if launched:
        return False
    if baseline is None:
        return True
    origin = _origin(baseline)
    operator = getattr(bench, "gems_op", None)
    if operator is not None and origin is _origin(operator):
        return False
    module = getattr(origin, "__module__", None) or type(origin).__module__
    return not (module == package or module.startswith(f"{package}."))


def _origin(function: Any) -> Any:
    """The function that is really called: behind ``functools.partial``, a bound method and decorators."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return inspect.unwrap(function) if callable(function) else function
