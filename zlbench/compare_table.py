"""A comparison of latencies for people, in 100 columns, and as data. Pure: values in, text out."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zlbench.axis import shown
from zlbench.caliber import COMPARED, column_text
from zlbench.compare import DRIFT_BOUND, Comparison, Exclusion
from zlbench.errors import ExitCode
from zlbench.identity import RunIdentity
from zlbench.run_rows import Row
from zlbench.text import change, columns, folded, latency, plural

WIDTH = 100
CONVENTION = "+ is slower, − is faster (B against A)"
ONE_PAIR = "One pair is one observation: nothing is called faster or slower by it; repeated rounds decide."
_DIGEST = 12
_BY_THEMSELVES = frozenset({"device", "timer"})
"""Conditions whose values say what they are."""
_MARGIN = "         "
_NO_BREAK = "\u00a0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """An operator's comparison with what it was made of."""

    comparison: Comparison
    before: RunIdentity | None
    after: RunIdentity | None
    directories: tuple[str, str]
    warnings: tuple[str, ...] = ()
    """What the guard said and was allowed to pass."""
    markers: tuple[str, ...] = ()
    """What the plugins of either side said."""


def to_text(items: Sequence[Compared]) -> list[str]:
    """The whole comparison: what was compared, what is missing, then rows, then operators."""
    comparisons = [item.comparison for item in items]
    lines = [*dict.fromkeys(warning for item in items for warning in item.warnings)]
    lines += [*_head(items), *_counts(comparisons), *_joined(_caliber(items)), ""]
    for comparison in comparisons:
        lines += _legend(comparison, several=len(items) > 1)
    if any(comparison.rows for comparison in comparisons):
        lines += [*_row_table(comparisons), ""]
    left_out = [line for comparison in comparisons for line in _left_out(comparison)]
    lines += [*left_out, *([""] if left_out else [])]
    lines += [*_operator_table(comparisons), ""]
    lines += [line for item in items for note in (*notes(item.comparison), *item.markers) for line in _wrapped(note)]
    return [*lines, *_wrapped(ONE_PAIR)]


def notes(comparison: Comparison) -> list[str]:
    """What must be known about one operator's numbers, each with the word that `zlbench explain` knows."""
    found = []
    if comparison.marker:
        found.append(f"{comparison.marker} op={comparison.op} {nothing(comparison)}")
    found += drift_notes(comparison)
    if not comparison.baseline_independent:
        found.append(f"BASELINE_NOT_INDEPENDENT op={comparison.op} its baseline is no canary")
    return found


def drift_notes(comparison: Comparison) -> list[str]:
    """Said where the baseline, which the change cannot reach, moved by more than its own noise."""
    canary = comparison.canary
    if canary is None or not canary.beyond:
        return []
    bound = f"more than {100 * DRIFT_BOUND:.0f} %"
    return [f"BASELINE_DRIFT op={comparison.op} the Torch baseline moved by {change(canary.drift)} ({bound})"]


def nothing(comparison: Comparison) -> str:
    """Why nothing of an operator can be compared, in words."""
    if not comparison.measured_before or not comparison.measured_after:
        both = not comparison.measured_before and not comparison.measured_after
        side = "either side" if both else f"side {'B' if comparison.measured_before else 'A'}"
        return f"no row was measured on {side}"
    if not comparison.excluded:
        a, b = comparison.measured_before, comparison.measured_after
        return f"none of {plural(a, 'row')} of A has a counterpart among {plural(b, 'row')} of B"
    return f"none of {plural(comparison.matched, 'matched row')} can be compared"


def _head(items: Sequence[Compared]) -> list[str]:
    """Compilers and switches."""
    names = [_only(_compiler(side) for side in sides) for sides in _sides(items)]
    if names[0] == names[1]:
        names = [_only(_compiler(side, with_hash=True) for side in sides) for sides in _sides(items)]
    start = f"compare  A {names[0]}  →  B {names[1]}"
    gap = "        " if len(start) + 8 + len(CONVENTION) <= WIDTH else f"\n{_MARGIN}"
    lines = f"{start}{gap}{CONVENTION}".splitlines()
    lines += [f"{_MARGIN}{text}" for text in _switches(items)]
    if names[0] == names[1] and not _switches(items):
        lines.append(f"{_MARGIN}one compiler with equal switches: what differs is noise")
    return lines


def _sides(items: Sequence[Compared]) -> tuple[list[RunIdentity | None], list[RunIdentity | None]]:
    return [item.before for item in items], [item.after for item in items]


def _only(values: Iterable[str]) -> str:
    found = list(dict.fromkeys(values))
    return found[0] if len(found) == 1 else f"{len(found)} compilers"


def _compiler(identity: RunIdentity | None, *, with_hash: bool = False) -> str:
    build = identity.build if identity else {}
    version, name = (str(build.get(key) or "") for key in ("version", "name"))
    text = f"triton {version}" if version else name or "an unknown compiler"
    if not with_hash:
        return text
    own = f" {name}" if name and version not in name else ""
    return f"{text}{own} ({str(build.get('identity') or build.get('native_sha256') or 'unknown')[:8]})"


def _switches(items: Sequence[Compared]) -> list[str]:
    found = dict.fromkeys(
        f"switch {name}: A {shown(a)}, B {shown(b)}"
        for item in items
        if item.before is not None and item.after is not None
        for name in sorted({*item.before.switches, *item.after.switches})
        for a, b in [(item.before.switches.get(name), item.after.switches.get(name))]
        if a != b
    )
    return list(found)


def _caliber(items: Sequence[Compared]) -> list[str]:
    """Conditions of all operators; one that is each operator's own (its dtypes) stands in the identities."""
    known = [item.before.caliber for item in items if item.before is not None]
    found = []
    for name in COMPARED:
        values = {getattr(caliber, name) for caliber in known}
        value = values.pop() if len(values) == 1 else None
        if value not in (None, False):
            text = _short(column_text(value))
            found.append(text if name in _BY_THEMSELVES else f"{name} {text}")
    modes = [_only(str(side.caliber.autotune_mode) for side in sides if side) for sides in _sides(items) if any(sides)]
    return [*found, f"configs {' → '.join(modes)}"] if modes and modes != ["None", "None"] else found


def _short(text: str) -> str:
    """A digest in few digits; anything else is shown whole."""
    return text[:_DIGEST] if len(text) >= 40 and text.isalnum() else text


def _counts(comparisons: Sequence[Comparison]) -> list[str]:
    """What is compared and what is not, in the first lines."""
    excluded = Counter(item.reason for comparison in comparisons for item in comparison.excluded)
    lost = Counter(item.reason for comparison in comparisons for item in comparison.lost)
    pairs = [pair for comparison in comparisons for pair in comparison.rows]
    fallbacks = excluded.pop(Exclusion.REPLAY_FALLBACK, 0)
    parts = [
        f"{len(pairs)} of {plural(sum(comparison.expected for comparison in comparisons), 'row')} compared",
        f"lost {_breakdown(lost)}",
        f"excluded {_breakdown(Counter({reason.value: count for reason, count in excluded.items()}))}",
        f"replay fallbacks {fallbacks}{' (excluded)' if fallbacks else ''}",
        f"direct on both sides {_uncounted(pairs)}",
    ]
    incomplete = sum(not comparison.complete for comparison in comparisons)
    if incomplete:
        parts.append(f"{plural(incomplete, 'operator')} incomplete")
    return _joined(parts)


def _uncounted(pairs: Sequence[Any]) -> str:
    count = sum(not pair.counted for pair in pairs)
    return f"{count} (not in the aggregate)" if count else "0"


def _breakdown(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{total} ({', '.join(f'{count} {word}' for word, count in sorted(counts.items()))})" if total else "0"


def _legend(comparison: Comparison, *, several: bool) -> list[str]:
    _, legend = folded([pair.row.label for pair in comparison.rows])
    of = f" of {comparison.op}" if several else ""
    return _wrapped(f"every row{of}: {legend}") if legend else []


def _row_table(comparisons: Sequence[Comparison]) -> list[str]:
    head = ("op", "dtype", "row", "A", "B", "change", "")
    cells = []
    for comparison in comparisons:
        labels, _ = folded([pair.row.label for pair in comparison.rows])
        for pair, label in zip(comparison.rows, labels, strict=True):
            times = (latency(pair.before_ms), latency(pair.after_ms), change(pair.change))
            cells.append([comparison.op, pair.row.dtype, label, *times, " ".join(pair.markers)])
    room = WIDTH - sum(
        max(map(len, column)) for index, column in enumerate(zip(head, *cells, strict=True)) if index != 2
    )
    room -= 2 * (len(head) - 1)
    return columns(head, [[*line[:2], cut(line[2], room), *line[3:]] for line in cells], right=frozenset({3, 4, 5}))


def cut(text: str, room: int) -> str:
    """Take the middle out of a text that is too long: inputs differ at their ends."""
    room = max(room, 12)
    if len(text) <= room:
        return text
    return f"{text[: (room - 1) // 2]}…{text[-(room - 1 - (room - 1) // 2) :]}"


def _left_out(comparison: Comparison) -> Iterator[str]:
    """One line for each row that is not compared, with its reason first."""
    for item in comparison.excluded:
        yield from _wrapped(f"{item.reason.value} row={_who(comparison.op, item.row)}: {item.note}", hang="  ")
    for lost in comparison.lost:
        said = f": {lost.note}" if lost.note else ""
        yield from _wrapped(f"{lost.reason} side={lost.sides} row={_who(comparison.op, lost.row)}{said}", hang="  ")


def _who(op: str, row: Row) -> str:
    return f"{row.name or '-'} ({op} {row.dtype} {row.label})"


def _operator_table(comparisons: Sequence[Comparison]) -> list[str]:
    rows = [
        [
            comparison.op,
            f"{len(comparison.rows)} of {comparison.expected}",
            "-" if comparison.change is None else change(comparison.change),
            "-" if comparison.canary is None else change(comparison.canary.drift),
            _remark(comparison),
        ]
        for comparison in comparisons
    ]
    return columns(("op", "rows", "geomean", "canary", ""), rows, right=frozenset({2, 3}))


def _remark(comparison: Comparison) -> str:
    """Why there is no geometric mean, or over how many rows it is."""
    if not comparison.complete:
        return f"incomplete: {comparison.matched} of {comparison.expected} rows matched, no geomean"
    if comparison.change is None:
        return f"no row was timed by {comparison.timer} on both sides" if comparison.rows else "nothing to compare"
    counted = len(comparison.counted)
    return (
        "" if counted == comparison.expected else f"over {counted} of {comparison.expected} rows ({comparison.timer})"
    )


def _wrapped(text: str, *, indent: str = "", hang: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + hang, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _joined(parts: Sequence[str]) -> list[str]:
    """Parts of the head in as few lines as they need, each whole."""
    lines = _wrapped(" · ".join(part.replace(" ", _NO_BREAK) for part in parts), indent=_MARGIN)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def to_data(items: Sequence[Compared], code: ExitCode) -> dict[str, Any]:
    """The same as data: changes as fractions, times in milliseconds, null where there is no number."""
    return {
        "schema_version": 1,
        "convention": f"change = B / A - 1: {CONVENTION}",
        "claim": ONE_PAIR,
        "exit_code": int(code),
        "operators": [_operator_data(item) for item in items],
    }


def _operator_data(item: Compared) -> dict[str, Any]:
    found = item.comparison
    canary = found.canary
    return {
        "op": found.op,
        "directories": list(item.directories),
        "exit_code": int(found.code),
        "marker": found.marker,
        "timer": found.timer,
        "caliber": dict(item.before.caliber.items()) if item.before else None,
        "rows_compared": len(found.rows),
        "rows_matched": found.matched,
        "rows_expected": found.expected,
        "complete": found.complete,
        "geomean_change": found.change,
        "geomean_rows": len(found.counted) if found.change is not None else 0,
        "canary": {"drift": canary.drift, "rows": canary.rows, "beyond_bound": canary.beyond} if canary else None,
        "baseline_independent": found.baseline_independent,
        "rows": [
            {**_row_data(pair.row), "timer": pair.timer, "a_ms": pair.before_ms, "b_ms": pair.after_ms,
             "change": pair.change, "counted": pair.counted, "markers": list(pair.markers)}
            for pair in found.rows
        ],
        "excluded": [
            {**_row_data(row.row), "reason": row.reason.value, "note": row.note} for row in found.excluded
        ],
        "lost": [
            {**_row_data(row.row), "sides": row.sides, "reason_a": row.before, "reason_b": row.after, "note": row.note}
            for row in found.lost
        ],
        "warnings": list(item.warnings),
        "notes": [*notes(found), *item.markers],
    }  # fmt: skip


def _row_data(row: Row) -> dict[str, str]:
    return {"row": row.name, "dtype": row.dtype, "label": row.label}
