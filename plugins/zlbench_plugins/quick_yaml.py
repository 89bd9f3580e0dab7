"""A suite's shape file in a tenth of the time: the same parser in C, while a benchmark reads its configuration.

FlagGems parses its whole file of shapes for every benchmark, 0.2 s of a cell that takes two seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zlbench_plugins._patch import PatchSet


@contextmanager
def parsed_in_c() -> Iterator[None]:
    """Let `yaml.safe_load` use libyaml, where PyYAML has been built with it; its answers are the same."""
    yaml = sys.modules.get("yaml")
    loader = getattr(yaml, "CSafeLoader", None)
    if yaml is None or loader is None:
        yield
        return

    def safe_load(stream: Any) -> Any:
        return yaml.load(stream, Loader=loader)

    patches = PatchSet()
    patches.set(yaml, "safe_load", safe_load)
    try:
        yield
    finally:
        patches.undo()
