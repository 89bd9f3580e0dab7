"""report.md: the report as a comment on a pull request; everything from data is escaped. Pure: values in, text out.

GitHub takes comments of 65,536 characters. Whatever the size of a campaign, the page stays below `LIMIT` bytes: what
was compared, verdicts and the largest changes come first, details are folded, and what is dropped is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from zlbench.report import exact
from zlbench.report.model import KernelPair
from zlbench.report.prose import wording
from zlbench.report.prose.markup import Section, code, escaped, fence, fitted, heads, line
from zlbench.report.standing import ALIKE, CHANGED, Standing, by_urgency, counts, judged, standing
from zlbench.report.summary import OpSummary, RowSummary, Summary
from zlbench.rounds.names import Metric
from zlbench.text import plural

LIMIT = 60_000
"""Bytes."""
_ELSEWHERE = "report.html and rows.csv have all"
_FEW = 20
"""So many lines are shown without a click."""
_NUMBERS = frozenset({2, 3, 4, 5, 6, 7, 8})
_ROW_HEAD = ("operator", "row", "A", "B", "change %", "interval %", "n", "signs", "noise A / B %", "verdict")
_OP_HEAD = ("operator", "rows", "rounds", "change %", "interval %", "verdict")
_KERNEL_HEAD = ("operator", "kernel", *map(exact.name_of, exact.COSTS), "IR", "machine code", "operations")
_HISTOGRAM = 4
"""Operations that are named of one kernel; report.html has all."""
_DIGEST = 12
_IDENTITY = (
    "zlbench", "suite", "suite_commit", "suite_hash", "torch", "python", "device", "device_name", "device_uuid",
    "driver", "backend", "timer", "l2", "bench_level",
)  # fmt: skip

_Named = tuple[OpSummary, RowSummary]


def to_markdown(summary: Summary, limit: int = LIMIT) -> str:
    """The whole page, in at most `limit` bytes."""
    parts = [_head(summary), _lines("Thresholds", summary.findings, rank=1, most=4_000)]
    if summary.measured:
        rows = [(op, row) for op, ordered in by_urgency(summary.subjects) for row in ordered]
        changed = [pair for pair in rows if standing(pair[1]) in CHANGED]
        others = [pair for pair in rows if standing(pair[1]) not in CHANGED and pair[1].n]
        parts += [_verdicts(summary), *_changes(changed, summary), _operators(summary)]
        parts += [_row_section("Other rows", others, summary, rank=8, most=24_000)]
    else:
        parts += [_lines("", [summary.reason or wording.NOTHING], rank=1, most=2_000)]
    parts += [_missing(summary), _exact(summary)]
    parts += [_controls(summary)] if summary.measured else []
    parts += [_identities(summary), _commands(summary), *([_claims(summary)] if summary.measured else [])]
    return fitted([part for part in parts if part.total], limit, elsewhere=_ELSEWHERE).rstrip("\n") + "\n"


def _head(summary: Summary) -> Section:
    """What was compared and what is missing."""
    header = summary.header
    axis = f" · axis: {escaped(header.axis)}" if header.axis else ""
    controls = plural(len(summary.controls), "control") if summary.controls else ""
    facts = " · ".join(filter(None, [*header.conditions, summary.planned, controls]))
    lines = [f"A {escaped(header.a)} → B {escaped(header.b)}{axis}"]
    if summary.measured:
        lines.append(f"{escaped(wording.what(summary))} · {wording.convention(header.metric)}")
    lines += [escaped(text, 400) for text in (facts, *header.warnings, *header.screen) if text]
    if summary.subjects or summary.controls:
        lines += [escaped(wording.counts_line(summary.counts), 400)]
    lines += [
        escaped(text, 400) for text in (wording.causes(summary), summary.progress, *wording.notes(summary)) if text
    ]
    lines += [f"**{escaped(text, 400)}**" for text in wording.alarms(summary)]
    return Section(
        before=f"# {escaped(header.title)}\n",
        lines=[*(f"{text}\n" for text in lines[:-1]), lines[-1]],
        total=len(lines),
        rank=0,
        most=9_000,
    )


def _verdicts(summary: Summary) -> Section:
    """How many rows and operators are what."""
    rows = counts(row for op in summary.subjects for row in op.rows)
    ops = [judged(op.result) for op in summary.subjects if op.result is not None]
    without = sum(op.result is None for op in summary.subjects)
    metric = summary.header.metric
    lines = [
        line((wording.verdict(one, metric), wording.grouped(rows.get(one, 0)), wording.grouped(ops.count(one))))
        for one in Standing
        if rows.get(one) or ops.count(one)
    ]
    lines += [line(("no mean may be told", "", wording.grouped(without)))] if without else []
    head = heads(("verdict", "rows", "operators"), frozenset({1, 2}))
    return Section(
        before=f"## Verdicts\n\n{head}", lines=lines, total=len(lines), rank=0, most=2_000,
        after=f"\n\n{escaped(wording.campaign_line(summary))}",
    )  # fmt: skip


def _changes(changed: Sequence[_Named], summary: Summary) -> Iterator[Section]:
    """The largest changes both ways, and what there is besides them."""
    metric = summary.header.metric
    for one in CHANGED:
        found = sorted((pair for pair in changed if standing(pair[1]) is one), key=_size)
        word = wording.verdict(one, metric).capitalize()
        yield _row_section(word, found[:_FEW], summary, rank=1, most=7_000, folded=False)
        yield _row_section(f"{word}: further rows", found[_FEW:], summary, rank=6, most=20_000)


def _size(pair: _Named) -> float:
    result = pair[1].result
    return -abs(result.estimate or 0.0) if result is not None else 0.0


def _row_section(
    title: str, rows: Sequence[_Named], summary: Summary, *, rank: int, most: int, folded: bool = True
) -> Section:
    head = heads(_ROW_HEAD, _NUMBERS)
    return _section(
        title, (_row(op, row, summary) for op, row in rows), len(rows), head=head, noun="row", rank=rank, most=most,
        folded=folded,
    )  # fmt: skip


def _row(op: OpSummary, row: RowSummary, summary: Summary) -> str:
    unit, result = row.row.unit, row.result
    flags = [flag for flag in (result.flags if result is not None else ()) if flag != "uncalibrated"]
    said = wording.full(result, summary.header.metric)
    said = f"**{said}**" if standing(row) in CHANGED else escaped(said)
    return line((
        escaped(op.op.op), escaped(wording.name_of(row)), wording.value(row.median_a, unit),
        wording.value(row.median_b, unit), wording.estimate(row), wording.interval(result), str(row.n),
        wording.signs(row), wording.noise(row).replace("/", " / "), " · ".join([said, *map(escaped, flags)]),
    ))  # fmt: skip


def _operators(summary: Summary) -> Section:
    ops = [op for op, _ in by_urgency(summary.subjects)]
    return _section(
        "Operators", (_op(op, summary) for op in ops), len(ops), noun="operator", rank=2, most=9_000,
        head=heads(_OP_HEAD, frozenset({1, 2, 3, 4})), folded=len(ops) > _FEW,
    )  # fmt: skip


def _op(op: OpSummary, summary: Summary) -> str:
    result = op.result
    if result is None:
        rows, why = sum(bool(row.n) for row in op.rows), op.why_not or wording.NO_STATISTICS
        return line((escaped(op.op.op), str(rows), str(op.rounds), "-", "-", f"no mean: {escaped(why)}"))
    found = judged(result)
    change = "~" if found in ALIKE else wording.change(result.estimate)
    said = wording.full(result, summary.header.metric)
    return line((
        escaped(op.op.op), str(result.rows), str(result.rounds), change, wording.interval(result),
        f"**{said}**" if found in CHANGED else escaped(said),
    ))  # fmt: skip


def _missing(summary: Summary) -> Section:
    """Rows without a number, each with its reason, and what else did not end as it should."""
    ops = (*summary.subjects, *summary.controls)
    found = [
        f"{op.op.op}: {wording.name_of(row)}: {wording.why_empty(row)}"
        for op in ops
        for row in op.rows
        if standing(row) in (Standing.NOT_COMPARABLE, Standing.NOT_MEASURED)
    ]
    found += wording.missing_lines(summary)
    return _lines("Excluded, lost and disturbed", found, rank=3, most=8_000, folded=len(found) > _FEW)


def _exact(summary: Summary) -> Section:
    """Kernels whose registers, spills, shared memory, instructions, IR or code differ."""
    pairs = [(op, kernel) for op, kernels in exact.changed(summary.subjects) for kernel in kernels]
    return _section(
        "Exact costs of kernels that differ", (_kernel(op, kernel) for op, kernel in pairs), len(pairs), noun="kernel",
        rank=4, most=8_000, head=heads(_KERNEL_HEAD, frozenset({2, 3, 4, 5})),
        start=f"{escaped(exact.overview(summary.subjects), 400)}\n\n",
    )  # fmt: skip


def _kernel(op: OpSummary, pair: KernelPair) -> str:
    named = [f"{code(name)} {a} → {b}" for name, a, b in pair.histogram[:_HISTOGRAM]]
    more = len(pair.histogram) - _HISTOGRAM
    costs = (exact.said(exact.value(pair.a, cost), exact.value(pair.b, cost)) for cost in exact.COSTS)
    return line((
        escaped(op.op.op), code(f"{pair.name} {pair.variant}".strip()), *costs, escaped(pair.ir), escaped(pair.code),
        ", ".join([*named, *([f"{more} more"] if more > 0 else [])]),
    ))  # fmt: skip


def _controls(summary: Summary) -> Section:
    if not summary.controls:
        told = "No controls were measured: how far equal code is apart here is not known."
        return _lines("Controls", [told], rank=5, most=1_000, folded=False)
    return _section(
        "Controls", (_op(op, summary) for op in summary.controls), len(summary.controls), noun="operator", rank=5,
        most=4_000, head=heads(_OP_HEAD, frozenset({1, 2, 3, 4})),
        start=f"{escaped(wording.controls_line(summary), 1_000)}\n\n",
    )  # fmt: skip


def _identities(summary: Summary) -> Section:
    """Both sides in short; run_identity.json of a cell has all."""
    sides = summary.source.sides if summary.source is not None else {}
    both = [_facts(sides.get(side) or {}) for side in ("A", "B")]
    rows = [
        line((escaped(name), *(code(side[name]) if side.get(name) else "-" for side in both)))
        for name in dict.fromkeys([*both[0], *both[1]])
    ]
    return _section("Identities", rows, len(rows), head=heads(("", "A", "B")), noun="fact", rank=5, most=4_000)


def _facts(identity: Mapping[str, Any]) -> dict[str, str]:
    build = identity.get("build") or {}
    found = {
        f"compiler {key}": build.get(key) for key in ("name", "version", "native_sha256", "python_sha256", "commit")
    }
    found |= {name: identity.get(name) for name in _IDENTITY}
    found |= {f"switch {name}": "unset" if value is None else value for name, value in _switches(identity)}
    digests = {"compiler native_sha256", "compiler python_sha256", "compiler commit", "suite_commit", "suite_hash"}
    return {
        name: str(value)[:_DIGEST] if name in digests else str(value)
        for name, value in found.items()
        if value is not None
    }


def _switches(identity: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    switches = identity.get("switches")
    return switches.items() if isinstance(switches, Mapping) else ()


def _commands(summary: Summary) -> Section:
    """What can be typed to measure it again."""
    commands = [wording.clean(text) for text in (summary.source.commands if summary.source is not None else ())]
    around = fence(commands)
    return Section(
        before=f"<details><summary>Commands</summary>\n\n{around}sh", lines=commands, total=len(commands), rank=5,
        most=2_000, after=f"\n{around}\n\n</details>",
    )  # fmt: skip


def _claims(summary: Summary) -> Section:
    """What the page says and what it does not."""
    lines = [wording.claim(summary)]
    if summary.inference is not None:
        delta = 100 * summary.inference.settings.delta
        none = f"No difference: the whole interval lies within ±{delta:g} %."
        unseen = f"No detectable difference: {2 * delta:g} % would have been seen in 4 of 5 such campaigns."
        lines += [wording.meaning(summary), f"{none} {unseen} Inconclusive: nothing is claimed."]
        lines.append("Rows that are invalid, excluded or lost are in no mean, and nothing is said of them.")
    held = "Numbers hold for the kernels, shapes, builds and machine above; other shapes or another card can differ."
    compiling = summary.header.metric is Metric.COMPILE
    lines.append(f"{held} {wording.COMPILING}" if compiling else held)
    return _lines("What is claimed", lines, rank=1, most=3_000, folded=False)


def _lines(title: str, lines: Sequence[str], *, rank: int, most: int, folded: bool = False) -> Section:
    return _section(
        title, (f"- {escaped(text, 600)}" for text in lines), len(lines), rank=rank, most=most, folded=folded
    )  # fmt: skip


def _section(
    title: str, lines: Iterable[str], total: int, *, rank: int, most: int, head: str = "", noun: str = "line",
    folded: bool = True, start: str = "",
) -> Section:  # fmt: skip
    """A heading and lines; where it is folded, a click shows them."""
    told = f"{title} ({wording.grouped(total)})" if total > 1 and (head or folded) else title
    opened = f"<details><summary>{told}</summary>\n\n" if folded else f"## {told}\n\n" if title else ""
    return Section(
        before=f"{opened}{start}{head}".rstrip("\n") if head else f"{opened}{start}".removesuffix("\n"), lines=lines,
        total=total, noun=noun, rank=rank, most=most, after="\n\n</details>" if folded else "",
    )  # fmt: skip
