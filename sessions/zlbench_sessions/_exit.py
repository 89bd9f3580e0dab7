"""Let nox end with the real exit code where one session ran; nox itself knows only 0, 1, 2, 3 and 130.

A child's code is never passed on by nox, and raising SystemExit inside a session would end nox without its summary.
So the code is remembered, the session fails in nox's own way, and the process's exit status is set last of all.
"""

from __future__ import annotations

import atexit
import os
import sys

import nox

_failed: list[int] = []


def end(session: nox.Session, code: int) -> None:
    """End a session whose command returned `code`."""
    if code == 0:
        return
    if code == 130:
        raise KeyboardInterrupt
    if not _failed:
        atexit.register(_leave)
    _failed.append(code)
    session.error(f"exit {code}")


def _leave() -> None:
    """Runs after nox's summary and report are written."""
    if len(_failed) == 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_failed[0])
