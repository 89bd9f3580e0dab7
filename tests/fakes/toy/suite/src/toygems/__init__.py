"""Operators of the toy suite. What they do, and where they fail, stands in table.json beside this suite's src."""

import json
import os
import random
import sys
from pathlib import Path

import triton
from triton.toy import Kernel

from toygems import troubles

ROOT = Path(__file__).resolve().parents[2]
SCALE = 1
"""Part of every kernel: an operator that changes it would change those measured after it."""


class Array:
    """As much of a tensor as a harness looks at."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), dtype

    def stride(self):
        return (self.shape[1], 1)


def table():
    return json.loads((ROOT / "table.json").read_text())


def reference(*_args, **_kwargs):
    """Stands in for Torch's operator."""


def fold():
    """The switch; how its value is read is said by the table. (TOY_FLOD is how people mistype it.)"""
    return os.environ.get("TOY_FOLD") == table()["fold_is"]


def operator(name):
    kernel = Kernel(f"{name}_kernel")

    def call(array, **_kwargs):
        if troubles.lost:
            raise RuntimeError(troubles.LOST)
        trouble("call", name, array.dtype, array.shape[0])
        journal(name, array)
        kernel.launch(array.shape[0], {"BLOCK": array.shape[1], "SCALE": SCALE}, array.dtype, folded=fold())

    return call


def poison(array, **_kwargs):
    """Leave everything changed that an operator could leave changed for those after it."""
    global SCALE  # noqa: PLW0603
    operator("poison")(array)
    SCALE = 2
    random.seed(0)
    os.environ["TOY_FOLD"] = "1"
    conftest = sys.modules["benchmark.conftest"]
    conftest.Config.dtypes = ["float32"]
    sys.modules["benchmark.base"].Benchmark.init_user_config = lambda self: None


def journal(name, array):
    line = {
        "op": name,
        "row": f"{array.dtype}:{array.shape[0]}",
        "compiler": triton.NAME,
        "fold": os.environ.get("TOY_FOLD"),
        "pid": os.getpid(),
    }
    with (ROOT / "journal.jsonl").open("a") as stream:
        stream.write(json.dumps(line) + "\n")


def trouble(at, op=None, dtype=None, shape=None):
    """Do what the table asks for at this place, if anything."""
    for entry in table()["troubles"]:
        here = {"at": at, "op": op, "dtype": dtype, "shape": shape, "compiler": triton.NAME}
        if all(here[key] == value for key, value in entry.items() if key != "do"):
            getattr(troubles, entry["do"])(ROOT)


def before_compile(src):
    """A place for troubles: where a variant is compiled for the first time in its process, and where once more."""
    variant = (src.name, src.dtype, str(src.given))
    at = "compiled_again" if variant in compiled else "compiled"
    compiled.add(variant)
    trouble(at, src.name.removesuffix("_kernel"), src.dtype, None)


compiled = set()
triton.before_compile = before_compile

if table().get("opens_card"):
    import torch

    torch.fakecard.init()
