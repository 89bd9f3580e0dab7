"""The one error of this package: a text that cannot be judged."""

from __future__ import annotations

from zlbench.errors import ZlbenchError


class IrError(ZlbenchError):
    """An IR text that is empty, cut off or not IR at all. It must never compare as equal to anything."""

    def __init__(self, message: str, *, hint: str = "", marker: str = "IR_UNREADABLE") -> None:
        super().__init__(message, hint=hint, marker=marker)
