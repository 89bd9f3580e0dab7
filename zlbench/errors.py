"""Every fatal error of zlbench: one class a kind, each with its exit code and the next step for the reader."""

from __future__ import annotations

import errno
from enum import IntEnum
from pathlib import Path

DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where nothing more can be written."""
DISK_FULL_EXIT = int(errno.ENOSPC)
"""Exit status of a measured process that could not write."""
DEVICE_LOST_EXIT = 76
"""Exit status of a measured process whose card context is lost: a fresh process goes on behind the row."""


class ExitCode(IntEnum):
    """What a zlbench command ends with. The same for every command; nox folds them unless it ran one session."""

    OK = 0
    OP_FAILED = 1
    USAGE = 2
    PREFLIGHT = 3
    NOT_COMPARABLE = 4
    NOTHING_MEASURED = 5
    PARTIAL = 6
    REGRESSION = 7
    TIMEOUT = 124
    INTERRUPTED = 130

    @property
    def label(self) -> str:
        """The word shown beside the number, such as ``usage`` for 2."""
        return self.name.lower().replace("_", " ")


class ZlbenchError(Exception):
    """A failure that a person can act on.

    Args:
        message: what happened, naming the thing.
        hint: the next step, one or more lines; may be empty.
        marker: the word in capitals that `zlbench explain` knows, if any.
    """

    code = ExitCode.OP_FAILED
    log: Path | None = None
    """Log of the process that it is about, whose end --debug shows."""

    def __init__(self, message: str, *, hint: str = "", marker: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.marker = marker


class UsageError(ZlbenchError):
    """The request itself cannot be meant: an unknown name, a malformed file, options that contradict each other."""

    code = ExitCode.USAGE


class PreflightError(ZlbenchError):
    """A check before the first cell failed; `check` names it as in ``PREFLIGHT_FAILED check=switch-known``."""

    code = ExitCode.PREFLIGHT

    def __init__(self, message: str, *, check: str, hint: str = "", marker: str = "PREFLIGHT_FAILED") -> None:
        super().__init__(message, hint=hint, marker=marker)
        self.check = check


class BuildMismatchError(PreflightError):
    """The compiler that a side really imports is not the one asked for."""

    def __init__(self, *, side: str, wanted: str, got: str, hint: str = "") -> None:
        super().__init__(
            f"side={side} wanted={wanted} got={got}", check="build-imported", hint=hint, marker="BUILD_MISMATCH"
        )
        self.side = side


class NotComparableError(ZlbenchError):
    """Two runs, or the two sides of one, answer different questions."""

    code = ExitCode.NOT_COMPARABLE


class NothingMeasuredError(ZlbenchError):
    """There is no number to say anything about."""

    code = ExitCode.NOTHING_MEASURED


class PartialError(ZlbenchError):
    """Some cells are complete and some are not."""

    code = ExitCode.PARTIAL
