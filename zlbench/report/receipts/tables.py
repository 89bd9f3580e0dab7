"""Tables of the receipts: what changed in time, and what each kernel is made of on both sides. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from zlbench.report import exact
from zlbench.report.exports.machine import operators
from zlbench.report.model import KernelCosts, KernelPair
from zlbench.report.prose import wording
from zlbench.report.prose.markup import escaped
from zlbench.report.receipts.text import paragraph, table, values
from zlbench.report.summary import OpSummary, RowSummary, Summary

_SHORT = 12
"""Characters of a hash that tell two codes apart in a table; the CSV has all of it."""
CONVERSIONS = "convert_layout"
"""Part of the names of operations that move a tensor into another layout."""
_COSTS = ("shared", "registers", "spills", "instructions")
_SIGNS = (
    "One value where both sides have it, A → B where they differ, ? where it is not known. "
    "Layout conversions are those of the TTGIR; = where both sides have equally many."
)

PERFORMANCE = (
    "row", "n", "A", "B", "change %", "interval %", "noise A / B %", "signs", "MDE", "verdict",
)  # fmt: skip
KERNELS = (
    "op", "rows", "kernel", "variant", "constexprs", "signature", "num_warps", "num_stages", "shared_bytes_a",
    "shared_bytes_b", "registers_a", "registers_b", "spills_a", "spills_b", "instructions_a", "instructions_b",
    "layout_conversions_a", "layout_conversions_b", "ir", "code", "code_id_a", "code_id_b", "ttgir_id_a",
    "ttgir_id_b", "id",
)  # fmt: skip
_KERNELS_SHOWN = (
    "kernel", "rows", "configuration", "signature", "shared bytes", "registers", "spills", "instructions",
    "layout conversions", "IR", "code", "code of A", "code of B",
)  # fmt: skip


def performance_md(summary: Summary) -> str:
    """One table an operator, controls last."""
    signs = paragraph(wording.convention(summary.header.metric))
    what = [values(summary)] if summary.measured else []
    parts = ["# Performance", *what, signs, paragraph(wording.meaning(summary))]
    for op in operators(summary):
        parts += [_heading(op), _operator(op, summary)]
        parts += [table(PERFORMANCE, (_performance(row, summary) for row in op.rows))] if op.rows else []
    if not operators(summary):
        parts.append(paragraph(summary.reason or wording.NOTHING))
    return "\n\n".join(parts) + "\n"


def kernels_md(summary: Summary) -> str:
    """One table an operator."""
    parts = [
        "# Kernels",
        _SIGNS,
    ]
    with_kernels = [op for op in operators(summary) if op.op.kernels]
    for op in with_kernels:
        parts += [_heading(op), table(_KERNELS_SHOWN, map(_kernel, op.op.kernels))]
    if not with_kernels:
        parts.append("No kernel was recorded.")
    return "\n\n".join(parts) + "\n"


def kernels_csv(summary: Summary) -> str:
    """One line a kernel, with all of every hash."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(KERNELS)
    for op in operators(summary):
        writer.writerows(_line(op, pair) for pair in op.op.kernels)
    return stream.getvalue()


def conversions(pair: KernelPair) -> tuple[int, int] | None:
    """Layout conversions in the IR of A and B; None where they are equally many, or not known."""
    found = [(a, b) for name, a, b in pair.histogram if CONVERSIONS in name]
    return (sum(a for a, _ in found), sum(b for _, b in found)) if found else None


def _heading(op: OpSummary) -> str:
    return f"## {'control ' if op.op.control else ''}{escaped(op.op.op)}"


def _operator(op: OpSummary, summary: Summary) -> str:
    if op.result is None:
        return paragraph(f"no sum: {op.why_not or wording.NO_STATISTICS}")
    told = wording.full(op.result, summary.header.metric)
    if op.result.estimate is None:
        return paragraph(told)
    return paragraph(f"{told}: {wording.change(op.result.estimate)} % ({wording.interval(op.result)})")


def _performance(row: RowSummary, summary: Summary) -> Sequence[str]:
    name, unit, found = wording.name_of(row), row.row.unit, row.result
    if not row.n:
        return (name, "0", *["-"] * (len(PERFORMANCE) - 3), wording.why_empty(row))
    return (
        name, str(row.n), wording.value(row.median_a, unit), wording.value(row.median_b, unit), wording.estimate(row),
        wording.interval(found), wording.noise(row), wording.signs(row),
        wording.size(found.mde) if found and found.mde is not None else "-",
        wording.full(found, summary.header.metric),
    )  # fmt: skip


def _kernel(pair: KernelPair) -> Sequence[str]:
    costs = (_both(exact.value(pair.a, cost), exact.value(pair.b, cost)) for cost in _COSTS)
    return (
        pair.name, ", ".join(pair.rows), _configuration(pair), _assigned(pair.signature), *costs, _converted(pair),
        pair.ir, pair.code, *((side.code[:_SHORT] if side and side.code else "?") for side in (pair.a, pair.b)),
    )  # fmt: skip


def _configuration(pair: KernelPair) -> str:
    launch = {"num_warps": pair.num_warps, "num_stages": pair.num_stages}
    return _assigned({**pair.constexprs, **{key: value for key, value in launch.items() if value is not None}})


def _assigned(values: object) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items()) if isinstance(values, dict) else ""


def _converted(pair: KernelPair) -> str:
    found = conversions(pair)
    if found is not None:
        return _both(*found)
    return "=" if pair.ir in ("same", "changed") else "?"


def _line(op: OpSummary, pair: KernelPair) -> Iterator[str]:
    yield from (op.op.op, "; ".join(pair.rows), pair.name, pair.variant)
    yield from (_assigned(pair.constexprs), _assigned(pair.signature), _known(pair.num_warps), _known(pair.num_stages))
    for cost in _COSTS:
        yield from (_known(exact.value(pair.a, cost)), _known(exact.value(pair.b, cost)))
    yield from map(_known, conversions(pair) or (None, None))
    yield from (pair.ir, pair.code)
    for name in ("code", "ttgir"):
        yield from (_hash(pair.a, name), _hash(pair.b, name))
    yield pair.id


def _both(a: int | None, b: int | None) -> str:
    texts = ["?" if value is None else str(value) for value in (a, b)]
    return texts[0] if a == b else " → ".join(texts)


def _known(value: int | None) -> str:
    return "" if value is None else str(value)


def _hash(costs: KernelCosts | None, name: str) -> str:
    return str(getattr(costs, name)) if costs is not None else ""
