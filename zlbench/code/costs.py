"""Exact costs of compiled kernels with no device: NVIDIA by tools in the Triton wheel, AMD by assembly."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from zlbench.code.amdgcn import amdgcn_costs
from zlbench.code.model import Costs, CostsUnavailableError, sorted_mix
from zlbench.code.sass import first_line, opcodes_alone, opcodes_together, read_image
from zlbench.code.tools import Run, nvidia_bindir, run_tool, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "Costs",
    "CostsUnavailableError",
    "ResourceUsage",
    "amdgcn_costs",
    "cubin_costs",
    "cubin_costs_many",
    "nvidia_bindir",
    "parse_resource_usage",
]

T = TypeVar("T")

_RESOURCES = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)")


class ResourceUsage(NamedTuple):
    """The line of `cuobjdump -res-usage`: registers, and bytes of stack and static shared memory."""

    registers: int
    stack_bytes: int
    shared_static: int


def cubin_costs(path: Path, bindir: Path, *, run: Run = run_tool) -> Costs:
    """Costs of one cubin. Takes 0.3 s, nearly as long as a thousand with `cubin_costs_many`."""
    return cubin_costs_many([path], bindir, run=run)[path]


def cubin_costs_many(
    paths: Sequence[Path],
    bindir: Path,
    *,
    run: Run = run_tool,
    workers: int = 2,
    on_failure: Callable[[Path, CostsUnavailableError], None] | None = None,
) -> dict[Path, Costs]:
    """Costs of many cubins, in the order given.

    Args:
        bindir: the folder with cuobjdump and nvdisasm, see `nvidia_bindir`.
        workers: tool processes at a time.
        on_failure: told about each file without costs, which the result then lacks. None raises the first.

    Raises:
        CostsUnavailableError: a tool is missing, or (without `on_failure`) a file has no costs.
    """
    cuobjdump, nvdisasm = (tool(bindir, name) for name in ("cuobjdump", "nvdisasm"))
    paths = list(dict.fromkeys(paths))
    failed: dict[Path, CostsUnavailableError] = {}

    def attempt(path: Path, what: Callable[[Path], T]) -> T | None:
        try:
            return what(path)
        except CostsUnavailableError as error:
            failed[path] = error
            return None

    images = [image for path in paths if (image := attempt(path, read_image))]
    with _pool(workers) as pool:
        together = pool.submit(opcodes_together, images, nvdisasm, run)
        usages = pool.map(lambda image: attempt(image.path, lambda path: _usage(path, cuobjdump, run)), images)
        codes = together.result()
        alone = [image.path for image in images if image.path not in codes]
        listings = pool.map(lambda path: attempt(path, lambda path: opcodes_alone(path, nvdisasm, run)), alone)
        codes |= {path: listing for path, listing in zip(alone, listings, strict=True) if listing}
        found = {
            image.path: _costs(usage, codes[image.path])
            for image, usage in zip(images, usages, strict=True)
            if usage and image.path in codes
        }
    for path in paths:
        if path in failed:
            if on_failure is None:
                raise failed[path]
            on_failure(path, failed[path])
    return found


@contextmanager
def _pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that, when somebody presses Ctrl-C, begin nothing more of what they were given."""
    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def parse_resource_usage(text: str) -> ResourceUsage | None:
    """What `cuobjdump -res-usage` printed, the largest of several functions; None if it names none."""
    rows = [tuple(map(int, match.groups())) for match in _RESOURCES.finditer(text)]
    return ResourceUsage(*(max(column) for column in zip(*rows, strict=True))) if rows else None


def _costs(usage: ResourceUsage, codes: Sequence[str]) -> Costs:
    return Costs(
        registers=usage.registers,
        # Spills of a cubin show as stack, not as local memory; the driver counts them in words.
        spills=usage.stack_bytes // 4,
        stack_bytes=usage.stack_bytes,
        shared_static=usage.shared_static,
        instructions=len(codes),
        mix=sorted_mix(Counter(codes)),
    )


def _usage(path: Path, cuobjdump: Path, run: Run) -> ResourceUsage:
    done = run([str(cuobjdump), "-res-usage", str(path)])
    usage = parse_resource_usage(done.stdout)
    if done.returncode != 0 or usage is None:
        raise CostsUnavailableError(f"cuobjdump cannot read {path}: {first_line(done)}")
    return usage
