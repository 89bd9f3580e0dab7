"""For all tests: Ctrl-C reaches the processes that a test starts, and what one test leaves is not the next one's.

A script's shell starts its background jobs with SIGINT ignored, and so would be every process below. A test that starts
processes in here, as a driver does, makes this process the parent of their orphans: in the tests after it, a driver
that is killed would leave its children to us, who do not wait for them.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator

import pytest

_PR_SET_CHILD_SUBREAPER = 36

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
