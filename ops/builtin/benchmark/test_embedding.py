"""embedding lookup."""

from __future__ import annotations

import pytest
import torch
from zlbench_builtin import inputs
from zlbench_builtin.vocab import embedding

from .base import Benchmark


class EmbeddingBenchmark(Benchmark):
    DEFAULT_SHAPE_DESC = "TOKENS, VOCABULARY, D"

    def set_more_shapes(self):
        return [(1, 50257, 768), (8192, 32000, 4096)]

    def make_input(self, shape, dtype):
        tokens, vocabulary, d = shape
        return inputs.randint(0, vocabulary, (tokens,)), inputs.randn((vocabulary, d), dtype)


@pytest.mark.embedding
def test_embedding() -> None:
    bench = EmbeddingBenchmark(
        op_name="embedding",
        torch_op=torch.nn.functional.embedding,
        gems_op=embedding,
    )
    bench.run()
