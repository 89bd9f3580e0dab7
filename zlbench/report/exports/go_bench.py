"""The Go benchmark format (Go design document 14313), one file a side: benchstat and its like read our rounds. Pure.

One line a row and round. Configuration lines hold what both sides share: benchstat makes a table of its own of every
configuration, so a line that differed would keep the sides apart. What differs stands in lines that begin with ``#``,
which readers of the format pass over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus

from zlbench import __version__
from zlbench.report.exports.machine import SIDES, first, identity, operator_names, operators
from zlbench.report.model import Reading, RowReadings
from zlbench.report.summary import Summary

UNITS = {"ms": ("ns/op", 1e6), "cpu_ms": ("cpu-ns/op", 1e6), "wall_ms": ("wall-ns/op", 1e6)}
"""The unit of a value and what it is multiplied by; any other stays, as ``instructions/op``."""
_SAFE = ":,.=*()[]<>@!"
_PROCESSORS = re.compile(r"-(?=\d+\Z)")
"""Go names the number of processors so at the end of a name: ``-8``."""


def to_go(summary: Summary) -> dict[str, str]:
    """The texts of both files, by side."""
    head = [f"zlbench: {__version__}", *_shared(summary)]
    own = zip(SIDES, (summary.header.a, summary.header.b), strict=True)
    return {side: "".join(f"{line}\n" for line in _file(summary, side, described, head)) for side, described in own}


def _file(summary: Summary, side: str, described: str, head: list[str]) -> Iterator[str]:
    yield from head
    yield f"# side {side}: {_value(described)}"
    for key, value in _own(identity(summary, side)):
        yield f"# {key}: {_value(value)}"
    yield ""
    ops = operators(summary)
    for op_name, op in zip(operator_names(ops), ops, strict=True):
        alike = Counter((row.row.dtype, row.row.label) for row in op.rows)
        for row in op.rows:
            name = benchmark_name(op_name, row.row, alone=alike[row.row.dtype, row.row.label] == 1)
            for reading in row.row.readings:
                yield f"{name} 1 {_measured(row.row.unit, reading, side)}"


def benchmark_name(op: str, row: RowReadings, *, alone: bool = True) -> str:
    """``BenchmarkMm/dtype=float16/row=4096x4096``: other operators and rows have other names, and none has a blank.

    Args:
        alone: whether no other row of the operator has this dtype and label; else its own name is added as ``id``.
    """
    # The format wants no small letter behind Benchmark. What does not begin with one is told apart by the stroke.
    first_letter, rest = op[:1], op[1:]
    titled = first_letter.upper() + rest if first_letter.isascii() and first_letter.islower() else f"_{op}"
    parts = [f"Benchmark{_word(titled)}", f"dtype={_word(row.dtype)}", f"row={_word(row.label)}"]
    parts += [] if alone else [f"id={_word(row.name)}"]
    return _PROCESSORS.sub("%2D", "/".join(parts))


def _word(text: str) -> str:
    """A word that can be turned back: a blank is ``+``, what is not plain is ``%`` and two digits a byte of UTF-8."""
    return quote_plus(text, safe=_SAFE, errors="surrogatepass")


def _measured(unit: str, reading: Reading, side: str) -> str:
    name, scale = UNITS.get(unit, (f"{_word(unit)}/op", 1.0))
    value = scale * (reading.before if side == "A" else reading.after)
    return f"{value:.9g} {name}"


def _shared(summary: Summary) -> Iterator[str]:
    """Configuration lines: what both sides have, and the axis."""
    if summary.header.axis:
        yield f"axis: {_value(summary.header.axis)}"
    a, b = (dict(_facts(identity(summary, side))) for side in SIDES)
    for key, value in a.items():
        if b.get(key) == value:
            yield f"{key}: {_value(value)}"


def _own(known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    build = known.get("build") or {}
    for key in ("version", "commit", "native_sha256"):
        if build.get(key) is not None:
            yield f"toolchain-{key.replace('_', '-')}", str(build[key])
    for switch, value in sorted((known.get("switches") or {}).items()):
        yield f"switch {switch}", "unset" if value is None else str(value)


def _facts(known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    values = {
        "backend": known.get("backend"),
        "device": first((known.get("device_name"), known.get("device"))),
        "device-uuid": known.get("device_uuid"),
        "driver": known.get("driver"),
        "suite": first((known.get("provider"), known.get("suite"))),
        "suite-commit": known.get("suite_commit"),
        "torch": known.get("torch"),
        "python": known.get("python"),
        "timer": known.get("timer"),
        "l2": known.get("l2"),
    }
    for key, value in values.items():
        if value not in (None, ""):
            yield key, str(value)


def _value(text: str) -> str:
    """A value in one line, with nothing that UTF-8 cannot hold."""
    return " ".join(text.split()).encode("utf-8", "backslashreplace").decode("utf-8")
