"""Plain text for people: columns that line up, times, and a fall-back where the terminal knows only ASCII."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

_ASCII = str.maketrans({"→": "->", "·": "-", "…": "...", "−": "-", "±": "+-", "×": "x", "µ": "u", "✓": "ok"})
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\[)", re.MULTILINE)
"""To a CI runner that reads along, a line that begins so is a command, and data must not give one."""
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Categories of characters that move a cursor, turn the direction of text or end a line for some readers."""


def columns(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: frozenset[int] = frozenset(),
    paint: Mapping[int, Callable[[str], str]] | None = None,
) -> list[str]:
    """Lay out a table with two blanks between columns and no blanks at the end of a line.

    Args:
        right: columns that are aligned to the right.
        paint: what colours the cells of a column, below its head; widths are those of the plain text.
    """
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[index]) for line in table) for index in range(len(head))]

    def line(cells: Sequence[str], paint: Mapping[int, Callable[[str], str]]) -> str:
        padded = []
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            shown, blanks = paint.get(index, str)(cell), " " * (width - len(cell))
            padded.append(blanks + shown if index in right else shown + blanks)
        return "  ".join(padded).rstrip()

    return [line(table[0], {}), *(line(cells, paint or {}) for cells in table[1:])]


def folded(labels: Sequence[str]) -> tuple[list[str], str]:
    """Take the words ``name=value`` that are the same in every label out of them, and return them as well.

    A row without a label (its inputs could not be made) counts for nothing. What has no name stays where it is: above
    the table nobody would know what it is.

    >>> folded(["64x64 0.1 k=5 dim=0", "128x64 0.1 k=5 dim=1"])
    (['64x64 0.1 dim=0', '128x64 0.1 dim=1'], 'k=5')
    """
    split = [label.split(" ") for label in labels if label]
    if len(split) < 2:
        return list(labels), ""
    same = [word for word in split[0] if "=" in word and all(word in words for words in split)]
    if any(set(words) <= set(same) for words in split):
        return list(labels), ""
    return [" ".join(word for word in label.split(" ") if word not in same) for label in labels], " ".join(same)


def counted(count: int, noun: str) -> str:
    """``   1 kernel `` and ``  13 kernels``: as `plural` has it, at one width for lines that stand below each other."""
    return f"{count:>4} {noun if count == 1 else noun + 's':<{len(noun) + 1}}"


def relative(path: Path, cwd: Path) -> Path:
    """The path as one would type it from `cwd`, where it lies below."""
    return path.relative_to(cwd) if path.is_relative_to(cwd) else path


def seconds(value: float) -> str:
    """``8.1 s``, ``3 min 20 s``."""
    if round(value) < 60:
        return f"{value:.1f} s" if value < 20 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def latency(value_ms: float) -> str:
    """A measured time in the unit that suits it: ``1.23 µs``, ``233.1 µs``, ``4.512 ms``.

    Differences of a tenth of a percent stay visible.
    """
    if value_ms >= 1000:
        return f"{value_ms / 1000:.3f} s"
    if value_ms >= 1:
        return f"{value_ms:.3f} ms" if value_ms < 10 else f"{value_ms:.2f} ms"
    micro = value_ms * 1000
    return f"{micro:.1f} µs" if micro >= 10 else f"{micro:.2f} µs" if micro >= 0.1 else f"{micro:.2g} µs"


def change(fraction: float) -> str:
    """A relative change as percent, with its sign: ``+2.0 %``, ``−0.3 %``, ``0.0 %``."""
    percent = round(100 * fraction, 1)
    sign = "+" if percent > 0 else "−" if percent < 0 else ""
    return f"{sign}{abs(percent):.1f} %"


def plural(count: int, noun: str) -> str:
    """``1 operator``, ``3 operators``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def in_words(names: Sequence[str]) -> str:
    """``0``, ``0 and 1``, ``0, 1 and 2``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def tail(path: Path, count: int) -> list[str]:
    """Return the last lines of a log; none where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
    except OSError:
        return []


def without_commands(text: str) -> str:
    """Text that no CI runner takes for a command.

    >>> without_commands("::error::mm")
    ': :error::mm'
    """
    return _COMMAND.sub(r"\1: ", text)


def harmless(text: str) -> str:
    """Lines of a text that may hold data from anywhere: they move no cursor and give no command."""
    seen = (
        "\N{REPLACEMENT CHARACTER}" if char not in "\n\t" and unicodedata.category(char) in _UNSEEN else char
        for char in text.replace("\r\n", "\n")
    )
    return without_commands("".join(seen))


def say(text: str = "", *, to: TextIO | None = None, command: bool = False) -> None:
    """Write a line, at once, in whatever characters the stream can take. Results go to stdout, talk to stderr.

    Talk names what stands in files and on the command line; whatever that is, it stays text.

    Args:
        command: the line is meant for a CI runner, and what it holds of data is escaped.

    Never raises: what a measurement ends with must not hang on somebody who reads along (`… | head`, a full disk).
    """
    stream = to or sys.stderr
    if stream is None:  # closed by the caller, `2>&-`
        return
    if stream is sys.stderr and not command:
        text = harmless(text)
    encoding = (stream.encoding or "ascii").lower()
    if "utf" not in encoding:
        text = text.translate(_ASCII)
    # Even UTF-8 has no form for half of a surrogate pair, which a file name that is no UTF-8 leaves in a message.
    text = text.encode(encoding, "replace").decode(encoding)
    try:
        stream.write(text + "\n")
        stream.flush()
    except (OSError, ValueError) as error:
        _give_up(stream)
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            say(f"zlbench: the result could not be written to standard output: {error}")


def _give_up(stream: TextIO) -> None:
    """Lead a broken stream nowhere: what its buffer holds would fail once more at exit, and change the exit code."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
