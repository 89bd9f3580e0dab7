"""For all tests: Ctrl-C reaches the processes that a test starts, and what one test leaves is not the next one's.

A script's shell starts its background jobs with SIGINT ignored, and so would be every process below. A test that starts
processes in here, as a driver does, makes this process the parent of their orphans: in the tests after it, a driver
that is killed would leave its children to us, who do not wait for them.

No test hangs on time: an example of hypothesis may take as long as a busy machine makes it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

_PR_SET_CHILD_SUBREAPER = 36

_SLOW = ("real", "e2e")

# The interpreters of builds, in which tests/engine runs, do not have it.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In the processes of pytest-xdist: compilers, which keep a processor busy, among what waits; short files last."""
    if not hasattr(config, "workerinput"):
        return
    folders: dict[str, dict[Path, None]] = {}
    for item in items:
        folders.setdefault(item.path.parent.name, {})[item.path] = None
    place = {
        path: (name not in _SLOW, number / len(paths))
        for name, paths in folders.items()
        for number, path in enumerate(paths)
    }
    items.sort(key=lambda item: place[item.path])


@pytest.fixture(autouse=True)
def orphans_are_nobody_s() -> Iterator[None]:
    """Take no orphans any more, and bury those that have come."""
    yield
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return
