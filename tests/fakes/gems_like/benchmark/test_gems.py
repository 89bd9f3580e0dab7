"""The benchmarks, unaware of whether there is a device."""

import torch

from . import base


def test_relu():
    base.Benchmark(op_name="relu", torch_op=torch.relu).run()


def test_view():
    base.Benchmark(op_name="view", torch_op=lambda x: torch.relu(x.reshape(-1)[1:])).run()


def test_masked_select():
    base.Benchmark(op_name="masked_select", torch_op=torch.masked_select, inputs=lambda x: (x > 0,)).run()


def test_tanh_backward():
    base.Benchmark(op_name="tanh", torch_op=torch.tanh, is_backward=True).run()


def test_rand_like():
    base.Benchmark(op_name="rand_like", torch_op=torch.rand_like).run()


def test_selu():
    base.Benchmark(op_name="selu", torch_op=torch.selu).run()


def test_aten():
    base.Benchmark(op_name="aten", torch_op=torch.sigmoid).run()
