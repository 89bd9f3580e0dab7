"""fft of complex rows."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.fft import fft

from . import consts
from .base import Benchmark


class FftBenchmark(Benchmark):
    def set_more_shapes(self):
        return [(1024, 512), (4096, 256), (1, 1048576)]

    def make_input(self, shape, dtype):
        return (inputs.randn(shape, dtype),)


@pytest.mark.fft
def test_perf_fft() -> None:
    bench = FftBenchmark(
        op_name="fft",
        torch_op=torch.fft.fft,
        gems_op=fft,
        dtypes=consts.COMPLEX_DTYPES,
    )
    bench.run()
