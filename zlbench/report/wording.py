"""How numbers and sums of a report are said, in text and in Markdown alike."""

from __future__ import annotations

from zlbench.report.model import Metric
from zlbench.report.summary import Counts, OpSummary, RowSummary, Summary
from zlbench.text import latency, plural

UNITS = {"ms": "latency", "cpu_ms": "CPU time", "wall_ms": "wall time", "instructions": "instructions"}
_SCALES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
CONVENTION = "+ takes longer, − is shorter (B against A); change: of the mean of ln B − ln A over rounds"


def value(number: float | None, unit: str) -> str:
    """A median in the unit that suits it."""
    if number is None:
        return "-"
    if unit != "instructions":
        return latency(number)
    scale, name = next(((scale, name) for scale, name in _SCALES if number >= scale), (1.0, ""))
    return f"{number / scale:.4g} {name}".rstrip()


def percent(fraction: float | None, *, sign: bool = True) -> str:
    """``+2.04``, ``−0.31``, ``+12.3``: percent without its sign, which stands in the head."""
    if fraction is None:
        return "-"
    number = 100 * fraction
    text = f"{abs(number):.2f}" if abs(number) < 9.995 else f"{abs(number):.1f}"
    if not sign or not float(text):
        return text
    return f"{'+' if number > 0 else '−'}{text}"


def span(low: float | None, high: float | None) -> str:
    """``−0.4…+0.5``."""
    return "-" if low is None or high is None else f"{percent(low)}…{percent(high)}"


def noise(row: RowSummary) -> str:
    """``0.31/0.28``: one side over rounds, A then B."""
    return f"{percent(row.noise_a, sign=False)}/{percent(row.noise_b, sign=False)}"


def signs(row: RowSummary) -> str:
    """``5/6``."""
    return f"{row.same_sign}/{row.n}" if row.n else "-"


def name_of(row: RowSummary) -> str:
    """What people find a row by."""
    return f"{row.row.dtype} {row.row.label}" if row.row.dtype != "-" else row.row.label


def why_empty(row: RowSummary) -> str:
    """Why a row has no reading."""
    return ", ".join(dict.fromkeys(item.reason for item in row.row.left_out)) or "no valid round has it on both sides"


def counts_line(counts: Counts) -> str:
    """The counts that come first."""
    return (
        f"lost rows {counts.lost} · replay fallbacks {counts.replay_fallback} · "
        f"graph fallbacks {counts.no_cudagraph} · captures poisoned {counts.poisoned} · "
        f"invalid pairs {counts.invalid} (re-run {counts.rerun}) · failed cells {counts.failed}"
    )


def operator_line(op: OpSummary) -> str:
    """``mm +1.20 (+0.90…+1.40 over 6 rounds)``."""
    if op.change is None:
        return f"{op.op.op}: no sum: {op.why_not}"
    return f"{op.op.op} {percent(op.change)} % ({span(op.low, op.high)} over {plural(op.rounds, 'round')})"


def missing_lines(summary: Summary) -> list[str]:
    """What is not in the table, each with its reason."""
    found = []
    for op in (*summary.subjects, *summary.controls):
        found += [f"{op.op.op}: {text}" for text in (*op.op.failed, *op.op.notes)]
        found += [f"{op.op.op}: invalid pair, {text}" for text in op.op.invalid]
        found += [f"{op.op.op}: lost row {text}" for text in op.op.lost]
    return found


def what(summary: Summary) -> str:
    """What the values are."""
    units = {row.row.unit for op in (*summary.subjects, *summary.controls) for row in op.rows}
    said = " and ".join(sorted(UNITS.get(unit, unit) for unit in units)) or "values"
    return f"{said} of compiling a kernel" if summary.header.metric is Metric.COMPILE else said
