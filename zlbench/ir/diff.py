"""What changed between two TTGIR texts, for a reader: operation counts on top, then the lines."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from zlbench.ir.histogram import CONVERT_LAYOUT, cvt_count, histogram, histogram_diff
from zlbench.ir.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STRING_OR_VALUE = re.compile(r'"(?:[^"\\\n]|\\.)*"|%(\d+)')
#: Above this many lines the exact matcher takes seconds; difflib's shortcut for frequent lines will do.
_LONG = 3000


def unified_diff(
    a_text: str,
    b_text: str,
    context: int = 3,
    name_a: str = "A",
    name_b: str = "B",
    *,
    stamps: Sequence[str] = (),
) -> str:
    """Unified diff of the normalised texts, under the operations whose count differs; empty if nothing does.

    Values of B carry the numbers of the values of A that they correspond to; values that A does not have are
    called `%n0`, `%n1`, … Otherwise one operation more would renumber, and so change, every line behind it.

    Args:
        context: equal lines shown around a change; the rest is folded into a line that counts them.
    """
    a, b = (normalise(text, stamps) for text in (a_text, b_text))
    if a == b:
        return ""
    a_lines = a.splitlines()
    b_lines = _with_numbers_of(a_lines, b.splitlines())
    lines = [f"--- {name_a}", f"+++ {name_b}", *_counts(a, b), *_hunks(a_lines, b_lines, context)]
    return "\n".join(lines) + "\n"


def _counts(a: str, b: str) -> list[str]:
    changes = histogram_diff(histogram(a), histogram(b))
    width = max((len(change.op) for change in changes), default=0)
    lines = [f"    {change.op:<{width}}  {change.a} -> {change.b}" for change in changes]
    if not any(change.op == CONVERT_LAYOUT for change in changes):
        lines.append(f"    {CONVERT_LAYOUT} {cvt_count(a)} on both sides")
    return lines if changes else ["    the same operations, as often", *lines]


def _with_numbers_of(a_lines: Sequence[str], b_lines: Sequence[str]) -> list[str]:
    """B's lines, with the value numbers of the lines of A that look the same but for the numbers."""
    matcher = _matcher([_skeleton(line) for line in a_lines], [_skeleton(line) for line in b_lines])
    names: dict[str, str] = {}
    taken: set[str] = set()
    for a_start, b_start, size in matcher.get_matching_blocks():
        for a_line, b_line in zip(a_lines[a_start : a_start + size], b_lines[b_start : b_start + size], strict=True):
            for in_a, in_b in zip(_values(a_line), _values(b_line), strict=True):
                # A value of A stands for one of B at most, or a difference could be renamed away.
                if in_b not in names and in_a not in taken:
                    names[in_b] = in_a
                    taken.add(in_a)
    new: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        number = match[1]
        return f"%{names[number] if number in names else new.setdefault(number, f'n{len(new)}')}"

    return [_STRING_OR_VALUE.sub(rename, line) for line in b_lines]


def _hunks(a_lines: Sequence[str], b_lines: Sequence[str], context: int) -> Iterator[str]:
    done = 0
    for group in _matcher(a_lines, b_lines).get_grouped_opcodes(context):
        yield from _folded(group[0][1] - done)
        for tag, a_start, a_end, b_start, b_end in group:
            if tag == "equal":
                yield from (f" {line}" for line in a_lines[a_start:a_end])
            else:
                yield from (f"-{line}" for line in a_lines[a_start:a_end])
                yield from (f"+{line}" for line in b_lines[b_start:b_end])
        done = group[-1][2]
    yield from _folded(len(a_lines) - done)


def _folded(equal: int) -> list[str]:
    return [f"@@ {equal} equal line{'' if equal == 1 else 's'} @@"] if equal > 0 else []


def _matcher(a: Sequence[str], b: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, a, b, autojunk=max(len(a), len(b)) > _LONG)


def _skeleton(line: str) -> str:
    return _STRING_OR_VALUE.sub(lambda match: match[0] if match[1] is None else "%", line)


def _values(line: str) -> list[str]:
    return [match[1] for match in _STRING_OR_VALUE.finditer(line) if match[1] is not None]
