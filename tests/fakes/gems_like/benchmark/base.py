"""The harness: a `Benchmark` of FlagGems' shape over tensors on the device."""

import torch

from . import conftest


class Benchmark:
    def __init__(self, op_name, torch_op, inputs=None, is_backward=False):
        self.op_name, self.torch_op, self.inputs, self.is_backward = op_name, torch_op, inputs, is_backward
        self.gems_op = None
        self.shapes, self.to_bench_dtypes = [], []

    def init_user_config(self):
        self.to_bench_dtypes = [getattr(torch, name) for name in conftest.Config.dtypes]
        self.shapes = [(1 << 20,), (1024, 1024, 1024)]

    def get_input_iter(self, dtype):
        for shape in self.shapes:
            x = torch.randn(shape, dtype=dtype, device=conftest.Config.device, requires_grad=self.is_backward)
            yield (x, *(self.inputs(x) if self.inputs else ()))

    def unpack_to_args_kwargs(self, given):
        return list(given), {}

    def get_latency(self, op, *args, **kwargs):
        raise AssertionError("nothing may be timed with no device")

    def run(self):
        raise NotImplementedError("the rows are measured by whoever drives this suite")
