"""For all tests: Ctrl-C reaches the processes that a test starts, and what one test leaves is not the next one's.

A script's shell starts its background jobs with SIGINT ignored, and so would be every process below. A test that starts
processes in here, as a driver does, makes this process the parent of their orphans: in the tests after it, a driver
that is killed would leave its children to us, who do not wait for them.

No test hangs on time: an example of hypothesis may take as long as a busy machine makes it. Where several processes
share the tests, files that take long go first, so that none of them works alone on the last one.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator

import pytest

_PR_SET_CHILD_SUBREAPER = 36

# Slow folders first; what is not named comes last.
_ORDER = ("real", "e2e", "sessions", "plugins")

# The interpreters of builds, in which tests/engine runs, do not have it.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put files that take long first, in the processes of pytest-xdist."""
    if hasattr(config, "workerinput"):
        folders = {name: place for place, name in enumerate(_ORDER)}
        items.sort(key=lambda item: folders.get(item.path.parent.name, len(folders)))


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
