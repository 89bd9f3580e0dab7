"""Mean cross entropy over a vocabulary."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.vocab import cross_entropy

from .base import Benchmark


class CrossEntropyBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "TOKENS, VOCABULARY"

    def set_more_shapes(self):
        return [(256, 152064), (2048, 32000), (1, 50257)]

    def make_input(self, shape, dtype):
        tokens, vocabulary = shape
        return inputs.randn(shape, dtype), inputs.randint(0, vocabulary, (tokens,))


@pytest.mark.cross_entropy
def test_cross_entropy() -> None:
    bench = CrossEntropyBenchmark(
        op_name="cross_entropy",
        torch_op=torch.nn.functional.cross_entropy,
        gems_op=cross_entropy,
    )
    bench.run()
