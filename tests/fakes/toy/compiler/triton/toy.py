"""Kernels that are compiled once per variant, through an on-disk cache, and launched into nothing."""

import itertools
import struct
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
    from triton import compiler

    src = SimpleNamespace(
        name=name,
        fn=SimpleNamespace(__module__="toygems", arg_names=["x", *constants], params=[]),
        constants={(number,): value for number, value in enumerate(constants.values(), start=1)},
        attrs={},
        signature={"x": f"*{dtype}", **dict.fromkeys(constants, "constexpr")},
        given=dict(constants),
        dtype=dtype,
    )
    kernel = compiler.compile(src, target=None, options={"folded": folded})
    handle = next(_HANDLES)
    knobs.runtime.kernel_load_end_hook(None, handle, name, kernel.metadata_group, kernel.hash)
    return handle


def assemble(text):
    """An ELF file whose instructions are the operations of this text."""
    code = "".join(line for line in text.splitlines() if " = arith." in line).encode()
    names = b"\0.text\0.names\0"
    headers = [(0, 0, 0, 0), (1, 1, 64, len(code)), (7, 3, 64 + len(code), len(names))]
    table = [struct.pack("<IIQQQQIIQQ", at, kind, 0, 0, offset, size, 0, 0, 1, 0) for at, kind, offset, size in headers]
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", head, 0x28, 64 + len(code) + len(names))
    struct.pack_into("<HHH", head, 0x3A, 64, len(headers), 2)
    return bytes(head) + code + names + b"".join(table)


def emit(name, constants, dtype, folded):
    adds = 1 if folded else 2
    lines = [f"    %{2 + i} = arith.addi %0, %1 : i32\n" for i in range(adds)]
    lines += [f"    %{2 + adds + i} = arith.muli %0, %1 : i32\n" for i, _ in enumerate(triton.PASSES.split())]
    short = {"float16": "f16", "float32": "f32"}[dtype]
    return _TTGIR.format(
        name=name, dtype=short, block=constants["BLOCK"], scale=constants["SCALE"], body="".join(lines)
    )
