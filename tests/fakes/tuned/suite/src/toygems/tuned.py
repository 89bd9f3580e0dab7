"""An operator with six configs; how long each takes, and which does not fit, stands in table.json by compiler."""

import math

import triton
from toygems import fold, journal, table, trouble
from toygems.utils.libentry import LibEntry, LibTuner
from triton.runtime.autotuner import Autotuner, Config, OutOfResources
from triton.toy import Kernel

BLOCKS = (16, 32, 64, 128, 256, 512)


class TunedKernel:
    arg_names = ["n", "dtype"]

    def __init__(self, name):
        self.__name__ = name
        self.kernel = Kernel(name)
        self.block = None

    def run(self, n, dtype, **meta):
        self.block = meta["BLOCK"]
        if self.block in table().get("too_large", {}).get(triton.NAME, []):
            raise OutOfResources(f"BLOCK {self.block} needs more shared memory than there is")
        self.kernel.launch(n, {"BLOCK": self.block, "SCALE": 1}, dtype, folded=fold())

    def times(self):
        by_card = table().get("tune_by_card")
        if by_card:
            import torch

            own = by_card.get(torch.fakecard.get_device_properties().uuid)
            if own:
                return own
        return table()["tune_ms"][triton.NAME]

    def bench(self, call, quantiles):
        call()
        time = self.times()[BLOCKS.index(self.block)]
        return [math.inf if time == "inf" else time] * len(quantiles)


def operator(name, tuner, wrap=lambda tuned: tuned):
    kernel = TunedKernel(f"{name}_kernel")
    configs = [Config({"BLOCK": block}) for block in BLOCKS]
    tuned = wrap(tuner(kernel, kernel.arg_names, configs, ["n", "dtype"], kernel.bench))

    def call(array, **_kwargs):
        trouble("call", name, array.dtype, array.shape[0])
        journal(name, array)
        tuned.run(array.shape[0], array.dtype)

    return call


OPERATORS = {
    "tuned": operator("tuned", LibTuner),
    "stock": operator("stock", Autotuner),
    "entry": operator("entry", LibTuner, LibEntry),
}
