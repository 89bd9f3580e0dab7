"""One call compiles one variant, through the on-disk cache, and tells the listener; stages are timed as in Triton."""

import hashlib
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import triton


class CompileTimer:
    def __init__(self):
        self.start, self.ends = time.time(), []

    def finished_ir_initialization(self):
        self.ends.append(("", time.time()))

    def stage_finished(self, name):
        self.ends.append((name, time.time()))

    def end(self):
        return SimpleNamespace(ir_initialization=100, lowering_stages=[("ttgir", 900)], store_results=10)


def compile(src, target=None, options=None):  # noqa: A001
    from triton import toy

    timer = CompileTimer()
    # As compilers do that forget one of their switches: `folded` decides the code and is not part of the key.
    key = hashlib.sha256(json.dumps([triton.NAME, src.name, src.given, src.dtype]).encode()).hexdigest()
    path = Path(os.environ["TRITON_CACHE_DIR"], key, f"{src.name}.ttgir")
    hit = path.exists()
    if not hit:
        if triton.before_compile is not None:
            triton.before_compile(src)
        timer.finished_ir_initialization()
        path.parent.mkdir(parents=True)
        text = toy.emit(src.name, src.given, src.dtype, options["folded"])
        path.write_text(text)
        path.with_suffix(".hsaco").write_bytes(toy.assemble(text))
        timer.stage_finished("ttgir")
    group = {file.name: str(file) for file in (path, path.with_suffix(".hsaco"))}
    metadata = {"name": src.name, "hash": key, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "shared": 0}
    if toy.knobs.compilation.listener:
        toy.knobs.compilation.listener(
            src=src, metadata=metadata, metadata_group=group, times=timer.end(), cache_hit=hit
        )
    return SimpleNamespace(hash=key, name=src.name, metadata_group=group)
