"""Around a row's measurement: throughputs for the table, and the memory that a failed row held."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from zlbench import backend as backends
from zlbench_plugins.context import CellContext
from zlbench_plugins.timing import Measurement


def rates(
    context: CellContext, bench: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Measurement
) -> dict[str, Any]:
    """Throughputs that the benchmark computes from latencies, where it was asked for them (GB/s, TFLOPS).

    They are for the table: one that cannot be computed costs nothing else.
    """
    wanted = getattr(bench, "to_bench_metrics", None) or ()
    if result.latency_ms is None or not {"gbps", "tflops"} & set(wanted):
        return {}
    found: dict[str, Any] = {}
    before, context.sweeping = context.sweeping, True  # what runs here is no launch of the row
    try:
        if "gbps" in wanted:
            found["gbps"] = float(bench.get_gbps(args, latency=result.latency_ms))
            if result.baseline_ms is not None:
                found["gbps_base"] = float(bench.get_gbps(args, latency=result.baseline_ms))
        if "tflops" in wanted:
            found["tflops"] = float(bench.get_tflops(bench.torch_op, *args, **kwargs)) / result.latency_ms / 1e9
    except Exception:  # noqa: BLE001 - a suite's arithmetic may raise anything; run.log has it
        traceback.print_exc()
    finally:
        context.sweeping = before
    return found


def release_memory(context: CellContext) -> None:
    """Give back what a failed row held: cycles hold its traceback and tensors, and the allocator their blocks."""
    gc.collect()
    module = backends.get(context.spec.backend).device_module
    device = getattr(sys.modules.get("torch"), module, None) if module else None
    if device is not None and hasattr(device, "empty_cache"):
        device.empty_cache()
