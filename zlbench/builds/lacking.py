"""Which of a suite's requirements an interpreter lacks. Runs inside it, as a script.

A requirement that is there in another version counts as there: what Torch and the harness run with is not replaced.
What the requirements themselves need is looked at too, all the way down; torch and triton are left out.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import sys
from typing import Any

RESULT = "ZL_LACKING "


def lacking(wanted: list[str], left_out: str) -> list[str]:
    """Return requirements whose package is not installed, of those wanted and of what the installed ones need.

    Args:
        wanted: requirement texts.
        left_out: pattern of names that are never looked for.
    """
    requirement = _reader()
    missing: dict[str, str] = {}
    seen: set[str] = set()
    queue = [requirement(text) for text in wanted]
    while queue:
        item = queue.pop()
        name = re.sub(r"[-_.]+", "-", item.name).lower()
        if name in seen or re.fullmatch(left_out, item.name, re.IGNORECASE):
            continue
        if item.marker is not None and not item.marker.evaluate({"extra": ""}):
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(item.name)
        except importlib.metadata.PackageNotFoundError:
            item.marker = None
            missing[name] = str(item)
            continue
        queue += [requirement(text) for text in found.requires or ()]
    return sorted(missing.values())


def _reader() -> Any:
    for module in ("packaging.requirements", "pip._vendor.packaging.requirements"):
        try:
            return importlib.import_module(module).Requirement
        except ImportError:
            continue
    raise RuntimeError("neither packaging nor pip is installed")


if __name__ == "__main__":
    print(RESULT + json.dumps(lacking(json.loads(sys.argv[1]), sys.argv[2])), flush=True)  # noqa: T201 - the driver reads it
