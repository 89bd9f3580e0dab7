"""The harness of the toy suite: a `Benchmark` of FlagGems' shape, whose latencies come from a table."""

import random

import toygems

from . import conftest


class Benchmark:
    """One operator; shapes, dtypes and latencies are those of table.json."""

    def __init__(self, op_name, torch_op, gems_op=None):
        self.op_name, self.torch_op, self.gems_op = op_name, torch_op, gems_op
        self.is_backward = False
        self.shapes, self.to_bench_dtypes = [], []

    def init_user_config(self):
        table = toygems.table()
        self.to_bench_dtypes = list(conftest.Config.dtypes or table["dtypes"])
        self.shapes = [tuple(shape) for shape in table["shapes"]]

    def get_input_iter(self, dtype):
        # A generator, as most benchmarks have: an error while building one input ends it.
        for shape in self.shapes:
            for number in range(toygems.table()["inputs_of_a_shape"]):
                toygems.trouble("inputs", self.op_name, dtype, shape[0])
                yield toygems.Array(shape, dtype), {"number": number, "draw": random.randrange(10**9)}

    def unpack_to_args_kwargs(self, given):
        return [item for item in given if not isinstance(item, dict)], dict(given[-1])

    def get_latency(self, op, *args, **kwargs):
        op(*args, **kwargs)
        return toygems.table()["latency_ms"][args[0].dtype][self.shapes.index(args[0].shape)]

    def run(self):
        raise NotImplementedError("the rows are measured by whoever drives this suite")
