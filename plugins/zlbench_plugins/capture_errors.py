"""What an error costs, a graph, a process or a row: by the exact wordings of the backend, checked by asking the card.

Lines that Torch appends to every error are left out before: "… to enable device-side assertions" stands below each
failed capture and says nothing about it. A context counts as lost only when the card no longer answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from zlbench.backend import Backend


class Phase(str, Enum):
    """Where a measurement by graph failed."""

    WARMUP = "warmup"
    CAPTURE = "capture"
    REPLAY = "replay"


class Severity(str, Enum):
    """What the words of an error say."""

    FATAL = "fatal"
    """The context on the card is lost: nothing of this process can run there again."""
    POISONED = "poisoned"
    """An earlier failed capture left the process unusable; a fresh one can measure."""
    CAPTURE = "capture"
    """A graph was refused."""
    OTHER = "other"
    """No matter of the card or of capturing."""


class DeviceLostError(RuntimeError):
    """The context on the card is lost; the cause is what the card said. A fresh process goes on behind this row."""


class CapturePoisonedError(RuntimeError):
    """A failed capture, and not the operator, made this process unusable: a fresh one can time the row directly."""

    of = "operator"
    """Which of a row's two implementations was captured: operator or baseline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fallback:
    """Why a row that was to be timed by graph was timed directly."""

    phase: Phase
    reason: str
    repeat: int = 1

    def to_json(self) -> dict[str, Any]:
        """Plain data for rows.jsonl."""
        return {"phase": self.phase.value, "reason": self.reason, "repeat": self.repeat}

    def __str__(self) -> str:
        return f"phase={self.phase.value} reason={self.reason} repeat={self.repeat}"


def severity(backend: Backend, error: BaseException) -> Severity:
    """Classify an error, together with everything that it came from, by the wordings of the backend."""
    return _of_text(backend, "\n".join(_said(backend, link) for link in _chain(error)))


def reason(backend: Backend, error: BaseException, limit: int = 200) -> str:
    """The oldest telling error of a chain on one line: the newest often says only that the capture was not ended."""
    links = list(_chain(error))
    telling = (link for link in reversed(links) if _of_text(backend, _said(backend, link)) is not Severity.OTHER)
    link = next(telling, links[0])
    text = " ".join(_said(backend, link).split())
    return f"{type(link).__name__}: {text}"[:limit]


def raise_if_unusable(
    backend: Backend,
    error: BaseException,
    answers: Callable[[], BaseException | None],
    *,
    phase: Phase | None,
    captured: bool = True,
) -> None:
    """Raise when the process cannot go on after `error`.

    Args:
        answers: runs something small on the card; the error that it met, None where the card answers.
        phase: of a measurement by graph; None where the error came from an ordinary call.
        captured: whether this process may have captured anything: else no capture can be blamed, and a fresh process
            would only meet the same again.

    Raises:
        DeviceLostError: the card does not answer, and its words say that the context is gone; so, too, where nothing
            was captured that could have been the reason.
        CapturePoisonedError: an earlier or this capture is the reason.
    """
    if captured and severity(backend, error) is Severity.POISONED:
        raise CapturePoisonedError(reason(backend, error)) from error
    silent = answers()
    if silent is None:
        return
    words = {severity(backend, error), severity(backend, silent)}
    if Severity.FATAL not in words and phase in (Phase.CAPTURE, Phase.REPLAY):
        raise CapturePoisonedError(f"{reason(backend, error)}; then {reason(backend, silent)}") from error
    raise DeviceLostError(reason(backend, error if severity(backend, error) is Severity.FATAL else silent)) from error


def _of_text(backend: Backend, text: str) -> Severity:
    folded = text.casefold()
    for wordings, found in (
        (backend.fatal_errors, Severity.FATAL),
        (backend.poison_errors, Severity.POISONED),
        (backend.capture_errors, Severity.CAPTURE),
    ):
        if any(wording.casefold() in folded for wording in wordings):
            return found
    return Severity.OTHER


def _said(backend: Backend, error: BaseException) -> str:
    lines = (line.strip() for line in str(error).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(backend.error_hints))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, newest first."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__
