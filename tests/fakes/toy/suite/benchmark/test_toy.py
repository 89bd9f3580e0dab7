"""The benchmarks of the toy suite."""

import toygems

from . import base


def test_toy():
    base.Benchmark(op_name="toy", torch_op=toygems.reference, gems_op=toygems.operator("toy")).run()


def test_other():
    base.Benchmark(op_name="other", torch_op=toygems.reference, gems_op=toygems.operator("other")).run()


def test_third():
    base.Benchmark(op_name="third", torch_op=toygems.reference, gems_op=toygems.operator("third")).run()


def test_poison():
    base.Benchmark(op_name="poison", torch_op=toygems.reference, gems_op=toygems.poison).run()
