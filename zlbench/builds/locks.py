"""Lock files, so that two zlbench processes do not make one environment at the same time."""

from __future__ import annotations

import contextlib
import fcntl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextlib.contextmanager
def locked(path: Path, name: str, log: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock file; a second zlbench waits, and says so. The lock ends with its process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"build {name}: another zlbench is making it, waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
