"""Which operations a TTGIR text holds, and how often: it explains a change, it never decides one."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

CONVERT_LAYOUT = "ttg.convert_layout"

# An operation starts its line, after its results; `"tt.reduce"(` is the generic form.
_OPERATION = re.compile(
    r'^[ \t]*(?:%[\w$.\-]+(?::\d+)?(?:, %[\w$.\-]+(?::\d+)?)* = )?"?([A-Za-z_]\w*(?:\.\w+)+)"?(?![\w.]*\s*=)',
    re.MULTILINE,
)


class CountChange(NamedTuple):
    """One operation with its count on both sides."""

    op: str
    a: int
    b: int


def histogram(text: str) -> dict[str, int]:
    """Operation name to count, most frequent first, then by name. Takes raw or normalised text."""
    counts = Counter(_OPERATION.findall(text))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def cvt_count(text: str) -> int:
    """How many layout conversions a text holds."""
    return Counter(_OPERATION.findall(text))[CONVERT_LAYOUT]


def histogram_diff(a: Mapping[str, int], b: Mapping[str, int]) -> list[CountChange]:
    """The operations whose count differs: layout conversions first, then the largest change."""
    changes = [CountChange(op, a.get(op, 0), b.get(op, 0)) for op in a.keys() | b.keys()]
    return sorted(
        (change for change in changes if change.a != change.b),
        key=lambda change: (change.op != CONVERT_LAYOUT, -abs(change.b - change.a), change.op),
    )
