"""Benchmarks of the faulty operators, on shapes around the one that fails."""

import pytest
import torch
from zlbench_builtin import faulty, inputs

from .base import Benchmark


class FaultyBenchmark(Benchmark):
    DEFAULT_SHAPES = ((8, 1024), (13, 1024), (16, 1024), (4096, 4096))

    def make_input(self, shape, dtype):
        return (inputs.randn(shape, dtype),)


def _run(name, operator):
    FaultyBenchmark(op_name=name, torch_op=lambda x: x * 2, gems_op=operator, dtypes=[torch.float16]).run()


@pytest.mark.host_sync
def test_host_sync():
    _run("host_sync", faulty.host_sync)


@pytest.mark.illegal
def test_illegal():
    _run("illegal", faulty.illegal)


@pytest.mark.greedy
def test_greedy():
    _run("greedy", faulty.greedy)


@pytest.mark.killed
def test_killed():
    _run("killed", faulty.killed)


@pytest.mark.random_numbers
def test_random_numbers():
    _run("random_numbers", faulty.random_numbers)


@pytest.mark.hanging
def test_hanging():
    _run("hanging", faulty.hanging)
