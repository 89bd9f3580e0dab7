"""Markdown for GitHub: text that stays text, tables, and sections that share the room of one comment. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from zlbench.report.prose.wording import clean, grouped

_LONGEST = 160
"""Characters of one piece of data: a label of a thousand would cost the rows that follow it their place."""
_NOTHING = "&#8203;"
"""A space without width. GitHub looks for mentions and references in what it has rendered, so that neither a backslash
nor an entity stops them; a character in between does."""
_TOKENS = re.compile(
    r"(?P<mention>@)|(?P<reference>#(?=\d))|(?P<issue>\bGH-(?=\d))|(?P<url>:(?=//))|(?P<www>\bwww(?=\.))"
    r"|(?P<emoji>:(?=[\w+-]+:))|(?P<math>\$)|(?P<special>[\\`*{}\[\]<>|~&#])"
    r"|(?P<underscore>(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))",
    re.IGNORECASE,
)
_ORDERED = re.compile(r"\d+(?=[.)](?: |$))")
_BULLET = re.compile(r"[-+=](?: |[-=]|$)")
"""What makes a list, a rule or a heading of a line that begins so."""
_CODE = re.compile(r"[^`<>]+")


def shortened(text: str, most: int = _LONGEST) -> str:
    """A text in at most so many characters; the middle goes."""
    if len(text) <= most:
        return text
    left = (most - 1) * 2 // 3
    return f"{text[:left]}…{text[len(text) - (most - 1 - left) :]}"


def escaped(text: str, most: int = _LONGEST) -> str:
    """Text of which GitHub makes nothing: no markup, no HTML, no link, no mention, no reference; in one line."""
    found = _TOKENS.sub(_harmless, shortened(clean(text), most))
    number = _ORDERED.match(found)
    if number:
        return f"{number[0]}\\{found[number.end() :]}"
    return f"\\{found}" if _BULLET.match(found) and found != "-" else found


def _harmless(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "mention" | "issue" | "url" | "www" | "emoji":
            return f"{found[0]}{_NOTHING}"
        case "reference":
            return f"\\#{_NOTHING}"
        case "math":
            return "<span>$</span>"
        case _:
            return f"\\{found[0]}"


def code(text: str) -> str:
    """Text in one width, in which GitHub looks for nothing either; also within a table."""
    own = shortened(clean(text))
    return f"`{own}`".replace("|", "\\|") if _CODE.fullmatch(own) else escaped(own)


def line(cells: Iterable[str]) -> str:
    """A line of a table, of cells that are escaped."""
    return f"| {' | '.join(cells)} |"


def heads(head: Sequence[str], numbers: frozenset[int] = frozenset()) -> str:
    """The first two lines of a table.

    Args:
        numbers: columns that are aligned to the right.
    """
    return "\n".join([line(head), line("--:" if index in numbers else "---" for index in range(len(head)))])


def fence(lines: Iterable[str]) -> str:
    """What a block of code begins and ends with, so that nothing in it can end it."""
    return "`" * max(3, 1 + max((len(run) for text in lines for run in re.findall("`+", text)), default=0))


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a page whose lines are dropped from the end where there is no room.

    Args:
        before, after: frame, kept whenever a single line is.
        lines: each is taken or left as a whole; read no further than there is room.
        total: how many these are.
        noun: what a line is, for ``and 312 more rows``.
        most: bytes that the section may take.
        rank: sections with a low one are given their room first.
    """

    before: str
    lines: Iterable[str]
    total: int
    rank: int
    most: int
    noun: str = "line"
    after: str = ""


def fitted(sections: Sequence[Section], limit: int, *, elsewhere: str) -> str:
    """The page: sections in their order, in at most `limit` bytes.

    Args:
        elsewhere: where the lines are that are dropped.
    """
    done: dict[int, str] = {}
    left = limit
    for index, section in sorted(enumerate(sections), key=lambda item: item[1].rank):
        done[index] = _filled(section, min(left, section.most), elsewhere)
        left -= _bytes(done[index])
    return "".join(done[index] for index in range(len(sections)))


def _filled(section: Section, room: int, elsewhere: str) -> str:
    note = f"\n\n…and {_counted(section, section.total, 'more ')}: {elsewhere}"
    taken = list(_taken(section.lines, room - _bytes(f"{section.before}\n{note}{section.after}\n\n")))
    dropped = section.total - len(taken)
    if not taken:
        told = f"{_counted(section, dropped)}: {elsewhere}\n\n"
        return told if dropped and _bytes(told) <= room else ""
    more = f"\n\n…and {_counted(section, dropped, 'more ')}: {elsewhere}" if dropped else ""
    body = "\n".join(taken)
    return f"{section.before}\n{body}{more}{section.after}\n\n"


def _counted(section: Section, number: int, more: str = "") -> str:
    return f"{grouped(number)} {more}{section.noun}{'' if number == 1 else 's'}"


def _taken(lines: Iterable[str], room: int) -> Iterator[str]:
    for text in lines:
        room -= _bytes(text) + 1
        if room < 0:
            return
        yield text


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
