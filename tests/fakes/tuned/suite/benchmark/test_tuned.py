"""Benchmarks of the tuned operators."""

import toygems
from toygems.tuned import OPERATORS

from . import base


def test_tuned():
    base.Benchmark(op_name="tuned", torch_op=toygems.reference, gems_op=OPERATORS["tuned"]).run()


def test_stock():
    base.Benchmark(op_name="stock", torch_op=toygems.reference, gems_op=OPERATORS["stock"]).run()


def test_entry():
    base.Benchmark(op_name="entry", torch_op=toygems.reference, gems_op=OPERATORS["entry"]).run()
