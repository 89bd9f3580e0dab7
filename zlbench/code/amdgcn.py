"""Costs of an AMD kernel from its assembly text: the Triton wheel has no tool for AMD binaries."""

from __future__ import annotations

import re
from collections import Counter

from zlbench.code.model import Costs, CostsUnavailableError, sorted_mix

_VALUE = re.compile(r"^[ -]+\.(\w+):\s+(\d+)\s*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\t([a-z][a-z0-9_]+)(?=\s|$)", re.MULTILINE)
_DETAILS = {
    "sgpr_count": "sgpr",
    "agpr_count": "agpr",
    "vgpr_spill_count": "vgpr_spills",
    "sgpr_spill_count": "sgpr_spills",
}


def amdgcn_costs(text: str) -> Costs:
    """Costs of one `.amdgcn` text, from its metadata and its instruction lines.

    Where a text holds several kernels, each number is the largest one; instructions are all of them.

    Raises:
        CostsUnavailableError: there is no kernel metadata in it.
    """
    code, _, metadata = text.partition("\t.amdgpu_metadata")
    values: dict[str, int] = {}
    for name, value in _VALUE.findall(metadata):
        values[name] = max(int(value), values.get(name, 0))
    if "vgpr_count" not in values:
        raise CostsUnavailableError(
            "no kernel metadata in this AMDGCN text", hint="It is cut off, or not assembly that Triton wrote."
        )
    mix = Counter(_INSTRUCTION.findall(code))
    stack = values.get("private_segment_fixed_size", 0)
    return Costs(
        registers=values["vgpr_count"],
        spills=stack // 4,
        stack_bytes=stack,
        shared_static=values.get("group_segment_fixed_size", 0),
        instructions=sum(mix.values()),
        mix=sorted_mix(mix),
        details={short: values[name] for name, short in _DETAILS.items() if name in values},
    )
