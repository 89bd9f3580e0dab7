"""Attributes that say nothing about the code: an axis's own stamps, and neutral ones of known releases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownStamp:
    """An attribute that, with exactly this value, means the same as its absence."""

    name: str
    value: str
    seen: str
    module: bool = True


KNOWN_STAMPS: tuple[KnownStamp, ...] = (
    KnownStamp(name="ttng.two-ctas", value="false", seen="triton 3.9.0: every cuda module"),
    KnownStamp(name="ttg.cluster-dim-x", value="1 : i32", seen="fbtriton 3.7.4: every cuda module"),
    KnownStamp(name="ttg.cluster-dim-y", value="1 : i32", seen="fbtriton 3.7.4: every cuda module"),
    KnownStamp(name="ttg.cluster-dim-z", value="1 : i32", seen="fbtriton 3.7.4: every cuda module"),
    # Options of its TMA lowering and automatic warp specialisation, both at their defaults; what they do to a
    # kernel is visible in its operations.
    KnownStamp(name="ttg.early_tma_store_lowering", value="true", seen="fbtriton 3.7.4: every cuda module"),
    KnownStamp(name="ttg.min_reg_auto_ws", value="24 : i32", seen="fbtriton 3.7.4: every cuda module"),
    KnownStamp(name="reduction_ordering", value='"unordered"', seen="fbtriton 3.7.4: every tt.reduce", module=False),
    # Not here: ttg.maxnreg. All releases stamp it when a configuration asks for it, and it limits registers.
)

_NAME = r"[\w$.\-]+"
_ENTRY = re.compile(rf'\s*(?:"(?P<quoted>[^"]+)"|(?P<bare>{_NAME}))\s*(?:=\s*(?P<value>.*?)\s*)?\Z')
# `->`, `>=` and `<=` occur in affine maps and integer sets and open or close nothing.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<>]=|[{}()\[\]<>,]')
_CLOSES = {"}": "{", ")": "(", "]": "[", ">": "<"}
_ALIAS_LINE = re.compile(r"^#([A-Za-z_]\w*) = ", re.MULTILINE)
_ALIAS_USE = re.compile(r'"(?:[^"\\]|\\.)*"|#([A-Za-z_]\w*)(?![\w.])')

Test = Callable[[str, str], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    """Which attributes go.

    A line with such an attribute contains one of `words`, or stands above the first function and contains one
    of `module_words`: looking for a word in all of a text costs 7 us in 25 kB, and there are many texts.
    """

    words: tuple[str, ...]
    module_words: tuple[str, ...]
    test: Test


@lru_cache(maxsize=64)
def _rule(stamps: tuple[str, ...]) -> _Rule:
    neutral = {(stamp.name, stamp.value) for stamp in KNOWN_STAMPS}
    globs = [stamp.strip().strip('"') for stamp in stamps]

    def is_stamp(name: str, value: str) -> bool:
        return (name, value) in neutral or any(fnmatchcase(name, glob) for glob in globs)

    words = [re.split(r"[*?\[]", glob, maxsplit=1)[0] for glob in globs]
    words += [stamp.name for stamp in KNOWN_STAMPS if not stamp.module]
    module_words = tuple(stamp.name for stamp in KNOWN_STAMPS if stamp.module)
    return _Rule(words=tuple(dict.fromkeys(words)), module_words=module_words, test=is_stamp)


def drop_stamps(text: str, stamps: Sequence[str]) -> str:
    """Remove declared attributes of any value, and known ones of neutral value, from every dictionary.

    Removing leaves well-formed text in the order MLIR prints (sorted by name): nothing tells a cleaned text
    from one that never had the attribute. Lines whose brackets do not match stay as they are.
    """
    rule = _rule(tuple(stamps))
    out: list[str] = []
    gone: list[str] = []
    done = 0
    for start, end in _lines_with(text, rule):
        line, values = _clean(text[start:end], rule)
        if values:
            out += (text[done:start], line)
            gone += values
            done = end
    if not out:
        return text
    text = "".join(out) + text[done:]
    return _prune_aliases(text, gone) if any("#" in value for value in gone) else text


def _lines_with(text: str, rule: _Rule) -> Iterator[tuple[int, int]]:
    """Spans of the lines that contain one of the words, in order, each once."""
    body = text.find(".func ")
    starts = set(_line_starts(text, rule.module_words, len(text) if body < 0 else body))
    starts |= set(_line_starts(text, rule.words, len(text)))
    for start in sorted(starts):
        end = text.find("\n", start)
        yield start, len(text) if end < 0 else end


def _line_starts(text: str, words: Sequence[str], limit: int) -> Iterator[int]:
    for word in words:
        at = text.find(word, 0, limit)
        while at >= 0:
            yield text.rfind("\n", 0, at) + 1
            # One hit a line is enough, also for the pattern `*`, whose word is empty.
            at = text.find("\n", at)
            at = text.find(word, at + 1, limit) if at >= 0 else -1


@lru_cache(maxsize=4096)
def _clean(line: str, rule: _Rule) -> tuple[str, tuple[str, ...]]:
    """The line without stamps, and the values that went. Cached: module lines repeat from file to file."""
    values: list[str] = []
    while (found := _first_stamp(line, rule.test)) is not None:
        line, value = found
        values.append(value)
    return line, tuple(values)


def _first_stamp(line: str, test: Test) -> tuple[str, str] | None:
    for start, entries in _dictionaries(line):
        for index, (first, last) in enumerate(entries):
            match = _ENTRY.match(line[first:last])
            if match is None:
                continue
            value = match["value"] or ""
            if test(match["quoted"] or match["bare"], value):
                return _without(line, start, entries, index), value
    return None


def _dictionaries(line: str) -> list[tuple[int, list[tuple[int, int]]]]:
    """Every attribute dictionary that closes on this line: where it opens, and the span of each entry."""
    stack: list[tuple[str, int, list[int]]] = []
    dictionaries: list[tuple[int, list[tuple[int, int]]]] = []
    for match in _TOKEN.finditer(line):
        found = match.group()
        if found == ",":
            if stack and stack[-1][0] == "{":
                stack[-1][2].append(match.start())
        elif found in "{([<":
            stack.append((found, match.start(), []))
        elif found in _CLOSES:
            if not stack:
                continue  # closes what an earlier line opened: `}) {a = 1} : (i32) -> i32`
            if stack[-1][0] != _CLOSES[found]:
                return []
            opener, start, commas = stack.pop()
            if opener == "{" and not _is_parameter_list(line, start):
                edges = [start, *commas, match.start()]
                dictionaries.append((start, [(a + 1, b) for a, b in pairwise(edges)]))
    return dictionaries


def _is_parameter_list(line: str, start: int) -> bool:
    """Whether the brace belongs to an attribute's own syntax (`#ttg.blocked<{…}>`), not to an operation."""
    return line[max(start - 1, 0) : start] == "<" and line[max(start - 2, 0) : start - 1].isalnum()


def _without(line: str, start: int, entries: Sequence[tuple[int, int]], index: int) -> str:
    kept = [line[first:last].strip() for at, (first, last) in enumerate(entries) if at != index]
    head, tail = line[:start], line[entries[-1][1] + 1 :]
    if kept:
        return f"{head}{{{', '.join(kept)}}}{tail}"
    if head.endswith(" <") and tail.startswith(">"):
        return head[:-2] + tail[1:]
    if head.endswith((" attributes ", ")attributes ")):
        return head[: -len("attributes ")].rstrip(" ") + tail
    # A dictionary that is itself a value stays, empty.
    return f"{head}{{}}{tail}" if head.rstrip().endswith(("=", "[", ",", "(")) else head.rstrip(" ") + tail


def _prune_aliases(text: str, gone: Sequence[str]) -> str:
    """Drop the `#map = …` lines that only a removed value used, and close the gap in the numbering.

    MLIR prints an affine map or a layout as an alias; a stamp with such a value would otherwise leave its
    alias behind and shift the numbers of the others.
    """
    candidates = {match[1] for value in gone for match in _ALIAS_USE.finditer(value) if match[1]}
    while candidates:
        used = {match[1] for match in _ALIAS_USE.finditer(_ALIAS_LINE.sub("", text))}
        unused = candidates - used
        if not unused:
            break
        freed: set[str] = set()
        kept = []
        for line in text.split("\n"):
            match = _ALIAS_LINE.match(line)
            if match and match[1] in unused:
                freed |= {use[1] for use in _ALIAS_USE.finditer(line[match.end() :]) if use[1]}
            else:
                kept.append(line)
        text = "\n".join(kept)
        candidates = freed
    return _renumber_aliases(text)


def _renumber_aliases(text: str) -> str:
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for match in _ALIAS_LINE.finditer(text):
        base = match[1].rstrip("0123456789")
        number = counts.get(base, 0)
        counts[base] = number + 1
        names[match[1]] = f"{base}{number or ''}"
    if all(old == new for old, new in names.items()):
        return text
    return _ALIAS_USE.sub(lambda use: f"#{names.get(use[1], use[1])}" if use[1] else use[0], text)
