"""Colour of the words that say how something went: for a terminal, and never the only sign."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TextIO

Paint = Callable[[str], str]

_GREEN, _YELLOW, _RED = "32", "33", "31"
_WORD = re.compile(r"(?:ok|slower|takes longer|faster|is shorter|inconclusive|invalid|not comparable)\b|[A-Z][A-Z_]+\b")
# A finding and what needs a look are yellow; every other word in capitals, and
# slower, says that something went wrong.
_CODES: Mapping[str, str] = {
    **dict.fromkeys(("ok", "OK", "SUCCESS", "NO_IR_DIFF", "faster", "is shorter"), _GREEN),
    **dict.fromkeys(("IR_CHANGED", "NO_TRITON", "SKIPPED", "NOT_MEASURED", "NOT_RUN", "INTERRUPTED"), _YELLOW),
    **dict.fromkeys(("inconclusive", "invalid", "not comparable"), _YELLOW),
}


def plain(text: str) -> str:
    """Return the text as it is."""
    return text


def painted(text: str) -> str:
    """Colour the word in capitals (or ``ok``, or a verdict of a report) that a text begins with.

    >>> painted("OOM: out of memory")
    '\\x1b[31mOOM\\x1b[0m: out of memory'
    """
    found = _WORD.match(text)
    if not found:
        return text
    return f"\x1b[{_CODES.get(found[0], _RED)}m{found[0]}\x1b[0m{text[found.end() :]}"


def painter(when: str, *, asked: bool, env: Mapping[str, str], stream: TextIO) -> Paint:
    """Return what paints, or what leaves a text alone.

    Args:
        when: auto, always or never.
        asked: somebody said so for this call, on the command line or by our own variable, which is stronger than
            NO_COLOR and FORCE_COLOR; the project's file is weaker.
        stream: where the text will go.
    """
    if when != "auto" and asked:
        return painted if when == "always" else plain
    if env.get("NO_COLOR"):
        return plain
    if env.get("FORCE_COLOR", "0") not in ("", "0"):
        return painted
    if when != "auto":
        return painted if when == "always" else plain
    return painted if stream.isatty() and env.get("TERM") != "dumb" else plain
