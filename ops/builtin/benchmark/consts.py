"""Closed sets and value types of the harness: modes, levels, metrics, the printed table, the operators."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_WARMUP_TIME = 1000
DEFAULT_ITER_TIME = 100

FLOAT_DTYPES = [torch.float16, torch.float32, torch.bfloat16]
HALF_DTYPES = [torch.float16, torch.bfloat16]
COMPLEX_DTYPES = [torch.complex64]
ALL_DTYPES = [*FLOAT_DTYPES, torch.int16, torch.int32, torch.bool, *COMPLEX_DTYPES]

DEFAULT_SHAPES = [(64, 64), (1024, 1024)]

# One marker per operator; a test compares this list with the files.
OPERATORS = (
    "argmax",
    "attention",
    "bmm",
    "conv2d",
    "cross_entropy",
    "cumsum",
    "dropout",
    "embedding",
    "fft",
    "gelu",
    "layer_norm",
    "masked_select",
    "mm",
    "mm_w4a16",
    "mm_w8a8",
    "rms_norm",
    "softmax",
    "sort",
    "sum",
    "topk",
)


class BenchMode(Enum):
    """How latency is measured."""

    KERNEL = "kernel"
    OPERATOR = "operator"
    WRAPPER = "wrapper"
    CUDAGRAPH = "cudagraph"


class BenchLevel(Enum):
    """How many shapes are measured."""

    COMPREHENSIVE = "comprehensive"
    CORE = "core"


@dataclass
class BenchmarkMetrics:
    """One row. Latencies in ms; None is "not measured"."""

    legacy_shape: int | None = None
    shape_detail: Any = None
    latency_base: float | None = None
    latency: float | None = None
    gbps_base: float | None = None
    gbps: float | None = None
    speedup: float | None = None
    accuracy: float | None = None
    tflops: float | None = None
    utilization: float | None = None
    compared_speedup: float | None = None
    error_msg: str | None = None


ALL_METRICS = [f.name for f in fields(BenchmarkMetrics) if f.name not in {"legacy_shape", "shape_detail"}]
# A tuple: upstream's shared list, once appended to, grows for every later benchmark of the process.
DEFAULT_METRICS = ("latency_base", "latency", "speedup")
METRIC_NEEDS = {
    "speedup": ("latency_base", "latency"),
    "tflops": ("latency",),
    "gbps": ("latency_base", "latency"),
}


def _number(value: float | None, digits: int) -> str:
    return "N/A" if value is None else f"{value:.{digits}f}"


@dataclass
class BenchmarkResult:
    """One table: an operator at one dtype. `str()` is what FlagGems prints, drifting columns included."""

    op_name: str
    dtype: str
    mode: str
    level: str
    result: Sequence[BenchmarkMetrics]

    def __str__(self) -> str:
        first = self.result[0] if self.result else BenchmarkMetrics()
        columns = [
            f"{'Status':<10}",
            f"{'Torch Latency (ms)':>20}",
            f"{'Gems Latency (ms)':>20}",
            f"{'Gems Speedup':>20}",
        ]
        if first.tflops:
            columns.append(f"{'TFLOPS':>20}")
        if first.gbps is not None:
            columns += [f"{'Torch GBPS ':>20}", f"{'Gems GBPS ':>20}"]
        header = " ".join([*columns, f"{'Size Detail':>20}\n"])
        title = (
            f"\nOperator: {self.op_name}  Performance Test (dtype={self.dtype}, mode={self.mode},level={self.level})\n"
        )
        return title + header + "-" * len(header) + "\n" + "".join(_line(row) for row in self.result)


def _line(row: BenchmarkMetrics) -> str:
    status = "SUCCESS" if row.error_msg is None else "FAILED"
    cells = [_number(row.latency_base, 6), _number(row.latency, 6), _number(row.speedup, 3)]
    if row.tflops:
        cells.append(_number(row.tflops, 3))
    if row.gbps is not None:
        cells += [_number(row.gbps_base, 3), _number(row.gbps, 3)]
    detail = "N/A" if row.shape_detail is None else row.shape_detail
    return f"{status:<10}" + "".join(f"{cell:>20}" for cell in cells) + " " * 10 + f"{detail}\n"
