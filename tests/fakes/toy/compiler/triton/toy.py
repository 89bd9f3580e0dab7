"""Kernels that are compiled once per variant, through an on-disk cache, and launched into nothing."""

import hashlib
import itertools
import json
import os
from pathlib import Path
from types import SimpleNamespace

import triton
from triton import knobs

_HANDLES = itertools.count(1)
_TTGIR = """\
#blocked = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}} {{
  tt.func public @{name}(%x: !tt.ptr<{dtype}>) attributes {{noinline = false}} {{
    %0 = arith.constant {block} : i32
    %1 = arith.constant {scale} : i32
{body}    tt.return
  }}
}}
"""


class LazyDict:
    def __init__(self, data):
        self._data = data

    def get(self):
        return self._data


class Kernel:
    def __init__(self, name):
        self.name = name
        self._handles = {}

    def launch(self, grid, constants, dtype, *, folded):
        variant = (tuple(constants.items()), dtype)
        if variant not in self._handles:
            self._handles[variant] = _compile(self.name, constants, dtype, folded)
        knobs.runtime.launch_enter_hook(LazyDict({"name": self.name, "function": self._handles[variant], "stream": 0}))


def _compile(name, constants, dtype, folded):
    # As compilers do that forget one of their switches: `folded` decides the code and is not part of the key.
    key = hashlib.sha256(json.dumps([triton.NAME, name, constants, dtype]).encode()).hexdigest()
    path = Path(os.environ["TRITON_CACHE_DIR"], key, f"{name}.ttgir")
    hit = path.exists()
    if not hit:
        path.parent.mkdir(parents=True)
        path.write_text(_emit(name, constants, dtype, folded))
    group = {path.name: str(path)}
    src = SimpleNamespace(
        name=name,
        fn=SimpleNamespace(__module__="toygems", arg_names=["x", *constants], params=[]),
        constants={(number,): value for number, value in enumerate(constants.values(), start=1)},
        attrs={},
        signature={"x": f"*{dtype}", **dict.fromkeys(constants, "constexpr")},
    )
    metadata = {"name": name, "hash": key, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "shared": 0}
    if knobs.compilation.listener:
        times = SimpleNamespace(ir_initialization=100, lowering_stages=[("ttgir", 900)], store_results=10)
        knobs.compilation.listener(src=src, metadata=metadata, metadata_group=group, times=times, cache_hit=hit)
    handle = next(_HANDLES)
    knobs.runtime.kernel_load_end_hook(None, handle, name, group, key)
    return handle


def _emit(name, constants, dtype, folded):
    adds = 1 if folded else 2
    lines = [f"    %{2 + i} = arith.addi %0, %1 : i32\n" for i in range(adds)]
    lines += [f"    %{2 + adds + i} = arith.muli %0, %1 : i32\n" for i, _ in enumerate(triton.PASSES.split())]
    short = {"float16": "f16", "float32": "f32"}[dtype]
    return _TTGIR.format(
        name=name, dtype=short, block=constants["BLOCK"], scale=constants["SCALE"], body="".join(lines)
    )
