"""TTGIR text without everything that is not the program: source locations, SSA spelling, declared stamps."""

from __future__ import annotations

import hashlib
import re
from itertools import chain, count
from typing import TYPE_CHECKING

from zlbench.ir.errors import IrError
from zlbench.ir.spelling import unify
from zlbench.ir.stamps import drop_stamps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: Part of every stored fingerprint: two fingerprints of different versions say nothing about each other.
NORMALISER_VERSION = 2

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LOC_LINE = re.compile(r"\n#loc\d* = loc\(.*\)[ \t]*(?=\n|\Z)")
# The forms that make up nearly all inline locations; what is left goes through the bracket counter.
_LOC_SIMPLE = re.compile(
    r' loc\((?:#loc\d*|unknown|callsite\(#loc\d* at #loc\d*\)|"[^"\\\n]*"(?:\(#loc\d*\))?)\)', re.ASCII
)
_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"|[()]|\n')
_PREDECESSORS = re.compile(r":  // [^\n]*")  # the comment in `^bb3:  // 2 preds: ^bb1, ^bb2`
_FUNCTION = re.compile(r"(?=\n[ ]*[a-z_]+\.func )")

# A value's name, and what follows it where it is being defined: `%a = `, `%a:2 = `, `(%a: type`.
# A group that may be empty, not an optional one: the difference is a third of the time.
_VALUE = re.compile(r"%([A-Za-z0-9_$.\-]+)( = |: |:\d+ = |)")
# A list of results, `%a, %b:2 = op`: its earlier members get such a mark too. Nothing else starts a line so.
_RESULT_LIST = re.compile(r"\n +%[^ ]+, [^=\n]* = ")
_LIST_MARK = " = \x01"
_MASK = re.compile("\x00(\\d+)\x00")
_NUMBERS = tuple(f"%{number}" for number in range(4096))


def normalise(text: str, stamps: Sequence[str] = ()) -> str:
    """The program in a TTGIR text, the same for every spelling of it.

    Drops source locations (paths differ between checkouts and prefixes), numbers SSA values in order of
    definition (their names come from Python variables, or not: `TRITON_DISABLE_LINE_INFO`), removes the
    attributes that match a glob pattern in `stamps` and the neutral ones of `KNOWN_STAMPS`, and writes what
    releases spell differently in one way. Idempotent.

    Block labels stay: MLIR numbers them by position, which is canonical already.

    Raises:
        IrError: the text is empty, is cut off inside a location, or holds control characters that MLIR
            never prints.
    """
    if not text.strip():
        raise IrError("empty IR text")
    if "\x00" in text or "\x01" in text:
        raise IrError("not an IR text: it holds control characters")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    text = _LOC_LINE.sub("", "\n" + text)
    text, masked = _mask_strings(text)
    text = _drop_locations(text)
    text = _PREDECESSORS.sub(":", text)
    text = drop_stamps(unify(text), stamps)
    text = _renumber(text)
    if masked:
        text = _MASK.sub(lambda match: masked[int(match[1])], text)
    return text.strip("\n") + "\n"


def fingerprint_text(text: str, stamps: Sequence[str] = ()) -> str:
    """SHA-256 (hex) of the normalised text."""
    return hashlib.sha256(normalise(text, stamps).encode("utf-8", "surrogateescape")).hexdigest()


def _mask_strings(text: str) -> tuple[str, list[str]]:
    """Hide the strings whose text looks like IR (`"val %x loc("`), which the patterns below must not see."""
    risky = {text for text in _STRING.findall(text) if "%" in text or " loc(" in text or "//" in text}
    if not risky:
        return text, []
    masked: list[str] = []

    def hide(match: re.Match[str]) -> str:
        if match[0] not in risky:
            return match[0]
        masked.append(match[0])
        return f"\x00{len(masked) - 1}\x00"

    return _STRING.sub(hide, text), masked


def _drop_locations(text: str) -> str:
    text = _LOC_SIMPLE.sub("", text)
    start = text.find(" loc(")
    if start < 0:
        return text
    out: list[str] = []
    done = 0
    while start >= 0:
        out.append(text[done:start])
        done = _closing_bracket(text, start + len(" loc"))
        start = text.find(" loc(", done)
    return "".join(out) + text[done:]


def _closing_bracket(text: str, start: int) -> int:
    depth = 0
    for match in _BRACKET.finditer(text, start):
        found = match.group()
        if found == "\n":
            break
        depth += (found == "(") - (found == ")")
        if depth == 0:
            return match.end()
    raise IrError(f"cut off inside a source location: {text[start - 4 : start + 40]!r}")


def _renumber(text: str) -> str:
    """Give every *definition* its number.

    Not every name: MLIR uses a printed name again once the region that defined it is closed, and which names
    are used again depends on the spelling. A use means the latest definition before it; a use before any
    definition (blocks are not always printed in order of dominance) means the next one. Functions are closed
    to each other's values.
    """
    text = _RESULT_LIST.sub(lambda match: match[0].replace(",", f"{_LIST_MARK},"), text)
    numbers = chain(_NUMBERS, map("%{}".format, count(len(_NUMBERS))))
    functions = _FUNCTION.split(text) if text.count(".func ") > 1 else [text]
    text = "".join([_renumber_function(function, numbers) for function in functions])
    return text.replace(_LIST_MARK, "") if "\x01" in text else text


def _renumber_function(text: str, numbers: Iterator[str]) -> str:
    pieces = _VALUE.split(text)
    pieces[1::3] = _numbered(pieces[1::3], pieces[2::3], numbers)
    return "".join(pieces)


def _numbered(names: Iterable[str], definitions: Iterable[str], numbers: Iterator[str]) -> list[str]:
    table: dict[str, str] = {}
    early: set[str] = set()
    out: list[str] = []
    for name, defines in zip(names, definitions, strict=True):
        if defines:
            if name in early:
                early.remove(name)
            else:
                table[name] = next(numbers)
        elif name not in table:
            early.add(name)
            table[name] = next(numbers)
        out.append(table[name])
    return out
