"""Which kind of failure an exception is: the kinds mean different things and have different next steps."""

from __future__ import annotations

from enum import Enum

from zlbench.errors import DISK_FULL_ERRNOS


class FailureKind(str, Enum):
    """Kinds of failing rows, as written into rows.jsonl."""

    OOM = "OOM"
    OUT_OF_RESOURCES = "OUT_OF_RESOURCES"
    COMPILE_ERROR = "COMPILE_ERROR"
    DTYPE = "DTYPE_NOT_SUPPORTED"
    DISK_FULL = "DISK_FULL"
    DEVICE_LOST = "DEVICE_LOST"
    ERROR = "ERROR"


_COMPILER_ERRORS = ("CompilationError", "CompileTimeAssertionFailure", "PTXASError", "UnsupportedLanguageConstruct")


def classify(error: BaseException) -> FailureKind:
    """Classify by type, then by the exact words that Torch, Triton and the kernel use."""
    chain = _chain(error)
    for link in chain:
        if isinstance(link, OSError) and link.errno in DISK_FULL_ERRNOS:
            return FailureKind.DISK_FULL
    names = {type(link).__name__ for link in chain}
    if "DeviceLostError" in names:
        return FailureKind.DEVICE_LOST
    text = str(error)
    if "No space left on device" in text:
        return FailureKind.DISK_FULL
    if names & {"MemoryError", "OutOfMemoryError"} or "out of memory" in text.lower():
        return FailureKind.OOM
    if "OutOfResources" in names:
        return FailureKind.OUT_OF_RESOURCES
    if names & set(_COMPILER_ERRORS) or "PassManager::run failed" in text:
        return FailureKind.COMPILE_ERROR
    if "can't be supported by this op" in text:
        return FailureKind.DTYPE
    return FailureKind.ERROR


def one_line(error: BaseException, limit: int = 300) -> str:
    """Type and message of an exception on one line.

    A compiler's message is its place, an excerpt of the source with a caret below, and the reason: the reason comes
    first here, and the excerpt, which would take all the room, not at all.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    carets = [number for number, line in enumerate(lines) if line.strip("^~") == ""]
    if carets and lines[carets[-1] + 1 :]:
        place = f" ({lines[0].rstrip(':')})" if carets[-1] > 0 and lines[0].startswith("at ") else ""
        message = " ".join(lines[carets[-1] + 1 :]) + place
    else:
        message = " ".join(lines)
    return f"{type(error).__name__}: {' '.join(message.split())}"[:limit]


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in found:
        found.append(link)
        link = link.__cause__ or link.__context__
    return found
