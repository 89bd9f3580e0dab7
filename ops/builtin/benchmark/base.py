"""class Benchmark: one operator, its dtypes and shapes, and the loop that measures them.

The hooks carry FlagGems' names, so that a plugin that wraps one of them serves both suites.
"""

from __future__ import annotations

import gc
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import yaml
from zlbench_builtin import runtime

from . import consts
from .conftest import Config, emit_record_logger, update_result
from .consts import BenchLevel, BenchmarkMetrics, BenchmarkResult, BenchMode

Operator = Callable[..., Any]
_UNPACKING = re.compile(r"values to unpack \(expected (\d+)")


def as_tuple(shape: Any) -> Any:
    """Shapes as hashable values: lists become tuples, at any depth."""
    return tuple(as_tuple(item) for item in shape) if isinstance(shape, list | tuple) else shape


class Benchmark:
    """Compare `gems_op` (the Triton operator) with `torch_op` (the reference) row by row."""

    DEFAULT_METRICS: Sequence[str] = consts.DEFAULT_METRICS
    DEFAULT_DTYPES: Sequence[torch.dtype] = consts.FLOAT_DTYPES
    DEFAULT_SHAPES: Sequence[Any] = consts.DEFAULT_SHAPES
    DEFAULT_SHAPE_DESC = "M, N"

    def __init__(
        self,
        op_name: str,
        torch_op: Operator,
        dtypes: Sequence[torch.dtype] | None = None,
        is_backward: bool = False,
        is_inplace: bool = False,
        gems_op: Operator | None = None,
        **kw: Any,
    ) -> None:
        self.op_name = f"{op_name}_backward" if is_backward and "_backward" not in op_name else op_name
        self.torch_op = torch_op
        self.gems_op = gems_op
        self.is_backward = is_backward
        self.is_inplace = is_inplace
        self.dtypes = list(self.DEFAULT_DTYPES if dtypes is None else dtypes)
        # Copies: no benchmark can change what another one of the process asks for.
        self.metrics = list(self.DEFAULT_METRICS)
        self.shapes: list[Any] = [as_tuple(shape) for shape in self.DEFAULT_SHAPES]
        self.shape_desc = self.DEFAULT_SHAPE_DESC
        self.to_bench_dtypes = list(self.dtypes)
        self.to_bench_metrics = list(self.metrics)
        self.mode = BenchMode.KERNEL
        for name, value in kw.items():
            if not hasattr(self, name):
                raise TypeError(f"Benchmark has no attribute {name!r}")
            setattr(self, name, value)

    @property
    def device(self) -> str:
        """Asked late: a plugin may choose the device after this module was imported."""
        return runtime.device()

    # What is measured.

    def set_dtypes(self, user_desired_dtypes: Sequence[torch.dtype] | None) -> None:
        wrong = [str(dtype) for dtype in user_desired_dtypes or () if dtype not in self.dtypes]
        if wrong:
            raise pytest.UsageError(
                f"Given dtype(s) '{', '.join(wrong)}' can't be supported by this op '{self.op_name}' "
                f"(it has {', '.join(str(dtype) for dtype in self.dtypes)})"
            )
        self.to_bench_dtypes = list(user_desired_dtypes or self.dtypes)

    def set_metrics(self, user_desired_metrics: Sequence[str] | None) -> None:
        wanted = list(user_desired_metrics or self.metrics)
        for metric in wanted:
            missing = [need for need in consts.METRIC_NEEDS.get(metric, ()) if need not in wanted]
            if missing:
                raise pytest.UsageError(f"--metrics {metric} also needs {', '.join(missing)}")
        self.to_bench_metrics = wanted

    def set_shapes(self, shape_file_path: str) -> None:
        """Shapes of the file's entry for op_name, else for the nearest class, else DEFAULT_SHAPES."""
        entries = yaml.safe_load(Path(shape_file_path).read_text(encoding="utf-8"))
        names = [self.op_name, *(cls.__name__ for cls in type(self).__mro__)]
        entry = next((entries[name] for name in names if name in entries), {})
        self.shapes = [as_tuple(shape) for shape in entry.get("shapes", self.DEFAULT_SHAPES)]
        self.shape_desc = entry.get("shape_desc", self.DEFAULT_SHAPE_DESC)
        if Config.bench_level is BenchLevel.COMPREHENSIVE and not Config.query:
            self.shapes = list(dict.fromkeys([*self.shapes, *(as_tuple(s) for s in self.set_more_shapes() or ())]))

    def set_more_shapes(self) -> Sequence[Any] | None:
        """Further shapes of --level=comprehensive."""
        return None

    def init_user_config(self) -> None:
        self.mode = Config.mode
        self.set_dtypes(Config.user_desired_dtypes)
        self.set_metrics(Config.user_desired_metrics)
        self.set_shapes(Config.shape_file)

    def make_input(self, shape: Any, dtype: torch.dtype) -> tuple[Any, ...]:
        """Arguments of the operator for one shape; a dict among them holds keyword arguments."""
        raise NotImplementedError(f"{type(self).__name__}.make_input")

    def get_input_iter(self, dtype: torch.dtype) -> Iterator[tuple[Any, ...]]:
        # `map` and not a generator: an exception ends a generator, but a map goes on with the next shape.
        return map(partial(self._fitting_input, dtype=dtype), self.shapes)

    def _fitting_input(self, shape: Any, dtype: torch.dtype) -> tuple[Any, ...]:
        """`make_input`, which takes a shape apart; a shape of another length is named, not the line that failed."""
        try:
            return self.make_input(shape, dtype=dtype)
        except ValueError as error:
            found = _UNPACKING.search(str(error))
            if found is None or not isinstance(shape, tuple) or len(shape) == int(found[1]):
                raise
            numbers = "1 number" if len(shape) == 1 else f"{len(shape)} numbers"
            raise ValueError(f"shape {shape} of {self.op_name} has {numbers}, its inputs take {found[1]}") from error

    def unpack_to_args_kwargs(self, input_tuple: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        args = [item for item in input_tuple if not isinstance(item, dict)]
        kwargs = {key: value for item in input_tuple if isinstance(item, dict) for key, value in item.items()}
        if self.is_backward:
            args = [a.clone().requires_grad_() if torch.is_tensor(a) and a.is_floating_point() else a for a in args]
        return args, kwargs

    def record_shapes(self, *args: Any, **kwargs: Any) -> Any:
        """Size Detail: a list of arguments, a dict of keyword arguments, or both as a pair."""
        listed, named = _sizes(list(args)), _sizes(kwargs)
        return (listed, named) if listed and named else listed or named

    # How it is measured.

    def get_latency(self, op: Operator, *args: Any, **kwargs: Any) -> float:
        """Median (kernel, cudagraph) or mean (operator, wrapper) latency in ms. All timing is here."""
        fn: Callable[[], Any] = partial(op, *args, **kwargs)
        if self.is_inplace:
            fn = lambda: op(*[a.clone() if torch.is_tensor(a) else a for a in args], **kwargs)  # noqa: E731
        grads = None
        if self.is_backward:
            out = fn()
            grads = [a for a in args if torch.is_tensor(a) and a.requires_grad]
            fn = partial(torch.autograd.grad, (out,), grads, (torch.randn_like(out),), retain_graph=True)
        if self.device == "cpu":
            # Interpreted: the number says nothing about a kernel, one call says that it runs.
            return _mean_ms(fn, 1, synchronize=False)
        if Config.mode is BenchMode.CUDAGRAPH:
            rep = Config.repetition
            return triton.testing.do_bench_cudagraph(fn, rep=rep, return_mode="median", grad_to_none=grads)
        if Config.mode is BenchMode.KERNEL:
            return triton.testing.do_bench(
                fn, warmup=Config.warm_up, rep=Config.repetition, return_mode="median", grad_to_none=grads
            )
        whole = Config.mode is BenchMode.OPERATOR
        estimate = max(_mean_ms(fn, 5, synchronize=whole), 1e-6)
        for _ in range(max(1, int(Config.warm_up / estimate))):
            fn()
        return _mean_ms(fn, max(1, int(Config.repetition / estimate)), synchronize=whole)

    def get_gbps(self, args: Sequence[Any], latency: float) -> float:
        """GB/s: every tensor argument once, and a result as large as the largest."""
        sizes = [a.numel() * a.element_size() for a in args if torch.is_tensor(a)]
        return (sum(sizes) + max(sizes)) / latency / 1e6

    def get_tflops(self, op: Operator, *args: Any, **kwargs: Any) -> float:
        """Floating-point operations of one call (run() divides by the latency)."""
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counter:
            op(*args, **kwargs)
        return float(counter.get_total_flops())

    # The loop.

    def run(self) -> None:
        """Measure every dtype and shape. A row that fails costs itself; the test fails at the end."""
        if Config.query:
            self.set_shapes(Config.shape_file)
            print(f"{'Operator name':<40} |  {self.op_name}")
            print(f"{f'Core shapes [{self.shape_desc}]':<40} |  {self.shapes}")
            return
        if self.gems_op is None:
            raise TypeError(f"{self.op_name}: no gems_op")
        self.init_user_config()
        try:
            _ = self.device
        except RuntimeError as error:
            # Once, instead of in every row.
            raise pytest.UsageError(str(error)) from error
        failed: list[str] = []
        total = 0
        for dtype in self.to_bench_dtypes:
            rows = list(self._rows(dtype))
            total += len(rows)
            failed += [f"{dtype} {row.shape_detail}: {row.error_msg}" for row in rows if row.error_msg is not None]
            result = BenchmarkResult(
                op_name=self.op_name,
                dtype=str(dtype),
                mode=Config.mode.value,
                level=Config.bench_level.value,
                result=rows,
            )
            print(result, flush=True)
            update_result(self.op_name, asdict(result))
            emit_record_logger(json.dumps(asdict(result), default=str))
        if failed:
            listed = "\n  ".join(failed)
            pytest.fail(f"{self.op_name}: {len(failed)} of {total} rows failed\n  {listed}", pytrace=False)
        if not total:
            pytest.fail(f"{self.op_name}: no shape, nothing measured", pytrace=False)

    def _rows(self, dtype: torch.dtype) -> Iterator[BenchmarkMetrics]:
        inputs = self.get_input_iter(dtype)
        # The iterator decides what is measured; the list only names a row whose inputs could not be made.
        for shape in self.shapes:
            row = BenchmarkMetrics(shape_detail=[shape])
            try:
                args, kwargs = self.unpack_to_args_kwargs(next(inputs))
                row.shape_detail = self.record_shapes(*args, **kwargs)
                self._measure(row, args, kwargs)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 - whatever a kernel or compiler raises belongs to this row
                row.error_msg = _one_line(error)
            if row.error_msg is not None:
                # Outside the handler: only cycles still hold the traceback and, with it, the row's tensors.
                gc.collect()
            yield row

    def _measure(self, row: BenchmarkMetrics, args: list[Any], kwargs: dict[str, Any]) -> None:
        wanted = self.to_bench_metrics
        if "latency_base" in wanted:
            row.latency_base = self.get_latency(self.torch_op, *args, **kwargs)
        if "latency" in wanted:
            assert self.gems_op is not None
            row.latency = self.get_latency(self.gems_op, *args, **kwargs)
        if row.latency_base and row.latency:
            if "speedup" in wanted:
                row.speedup = row.latency_base / row.latency
            if "gbps" in wanted:
                row.gbps_base = self.get_gbps(args, row.latency_base)
                row.gbps = self.get_gbps(args, row.latency)
        if "tflops" in wanted and row.latency:
            row.tflops = self.get_tflops(self.torch_op, *args, **kwargs) / row.latency / 1e9


def _mean_ms(fn: Callable[[], Any], count: int, *, synchronize: bool) -> float:
    if synchronize:
        runtime.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        fn()
    if synchronize:
        runtime.synchronize()
    return (time.perf_counter() - start) / count * 1000


def _sizes(item: Any) -> Any:
    if isinstance(item, torch.Tensor):
        return item.size()
    if isinstance(item, dict):
        return {key: _sizes(value) for key, value in item.items()}
    if isinstance(item, list | tuple):
        return [_sizes(part) for part in item]
    return item


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # A compiler's message begins with the place and ends with the reason; between them it quotes the source.
    text = f"{lines[0]} … {lines[-1]}" if len(lines) > 1 else "".join(lines)
    return f"{type(error).__name__}: {text}"
