"""How numbers, verdicts and sums of a report are said, in text and in Markdown alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from zlbench.inference import words
from zlbench.inference.types import DELTA, FEWEST_CONTROLS, Calibration, OpResult, RowResult, Why
from zlbench.report.standing import ALIKE, CHANGED, Standing, counts, judged, standing
from zlbench.report.summary import Counts, OpSummary, RowSummary, Summary
from zlbench.rounds.names import Metric
from zlbench.text import latency, plural

UNITS = {"ms": "latency", "cpu_ms": "CPU time", "wall_ms": "wall time", "instructions": "instructions"}
_SCALES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
_LONGER, _SHORTER = "takes longer", "is shorter"
_WHY = {
    Why.FEW_PAIRS: "few pairs",
    Why.ORDER_CONFOUNDED: "order",
    Why.PAIRS_DISTURBED: "disturbed",
    Why.NO_LOOK: "no look yet",
    Why.CALIBER: "caliber",
}
COMPILING = "What compiling takes says nothing of how kernels run."
"""Said wherever compile times leave the house: alone they read like a regression of kernels."""
_UNCALIBRATED = "UNCALIBRATED"
_NOT_TAKEN_OFF = (
    "What differs between the sides besides the change is not taken off: differences of some tenths of a percent mean "
    "little."
)
_TAKEN_OFF = "It is taken off every row; find out what the sides differ in besides the change."
NOTHING = "nothing was measured: no row has a valid round"
NOBODY = "no operator may be summed up"
NO_STATISTICS = "nobody asked the statistics"


def clean(text: str) -> str:
    """Text from data in one line, without what moves a terminal's cursor or turns its direction."""
    return "".join(char if char.isprintable() else "�" for char in " ".join(text.split()))


def grouped(count: int) -> str:
    """``20,000``."""
    return f"{count:,}"


def value(number: float | None, unit: str) -> str:
    """A median in the unit that suits it."""
    if number is None:
        return "-"
    if unit != "instructions":
        return latency(number)
    scale, name = next(((scale, name) for scale, name in _SCALES if number >= scale), (1.0, ""))
    return f"{number / scale:.4g} {name}".rstrip()


def percent(fraction: float | None, *, sign: bool = True) -> str:
    """``+2.04``, ``−0.31``, ``+12.3``, ``+510``: percent without its sign, which stands in the head."""
    if fraction is None or not math.isfinite(fraction):
        return "-"
    number = 100 * fraction
    digits = 2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0
    text = f"{abs(number):.{digits}f}"
    if not sign or not float(text):
        return text
    return f"{'+' if number > 0 else '−'}{text}"


def change(log: float | None) -> str:
    """A difference of logarithms as percent."""
    return "-" if log is None else percent(_fraction(log))


def span(low: float | None, high: float | None) -> str:
    """``−0.40…+0.50``, of fractions."""
    return "-" if low is None or high is None else f"{percent(low)}…{percent(high)}"


def interval(result: RowResult | OpResult | None) -> str:
    """``−0.40…+0.50``."""
    if result is None or result.low is None or result.high is None:
        return "-"
    return span(_fraction(result.low), _fraction(result.high))


def size(log: float | None) -> str:
    """``3.1 %``: how large something is that has no sign."""
    return "?" if log is None else words.percent(abs(log))


def noise(row: RowSummary) -> str:
    """``0.31/0.28``: one side over rounds, A then B."""
    return f"{percent(row.noise_a, sign=False)}/{percent(row.noise_b, sign=False)}"


def signs(row: RowSummary) -> str:
    """``5/6``."""
    if not row.n:
        return "-"
    return f"{row.same_sign if row.result is None else row.result.same_sign}/{row.n}"


def estimate(row: RowSummary) -> str:
    """What changed; ``~`` where nothing was found, ``-`` where nothing may be said.

    In brackets what too few rounds show, so that one pair can be read: nobody claims it.
    """
    found = standing(row)
    if row.result is not None and found is Standing.INVALID and row.result.why is Why.FEW_PAIRS:
        return "-" if row.result.estimate is None else f"({change(row.result.estimate)})"
    if row.result is None or found not in (*CHANGED, *ALIKE):
        return "-"
    return change(row.result.estimate) if found in CHANGED else "~"


def verdict(found: Standing, metric: Metric | None) -> str:
    """The word itself; what compiling takes is longer or shorter, nothing runs slower by it."""
    if metric is Metric.COMPILE:
        return {Standing.SLOWER: _LONGER, Standing.FASTER: _SHORTER}.get(found, found.value)
    return found.value


def short(result: RowResult | OpResult | None, metric: Metric | None, delta: float = DELTA) -> str:
    """The verdict with its figure, for a narrow column."""
    found = judged(result)
    if result is None or found in CHANGED:
        return verdict(found, metric)
    if found is Standing.NO_DIFFERENCE:
        return f"no difference (±{100 * delta:g} %)"
    if found is Standing.INVALID:
        why = result.why if isinstance(result, RowResult) else None
        return f"invalid: {_WHY[why]}" if why is not None else "invalid"
    word = "undetected" if found is Standing.NOT_DETECTABLE else "inconclusive"
    return f"{word}, MDE {size(result.mde)}" if result.mde is not None else word


def full(result: RowResult | OpResult | None, metric: Metric | None) -> str:
    """The verdict as the statistics word it."""
    found = judged(result)
    if result is None or found in CHANGED:
        return verdict(found, metric)
    return result.what or found.value


def short_dtype(dtype: str) -> str:
    """``fp16`` for ``float16``; a kernel, which has none, gets none."""
    return "" if dtype == "-" else _SHORT.get(dtype, dtype)


def name_of(row: RowSummary, *, label: str | None = None, dtype: str | None = None) -> str:
    """What people find a row by; a row that its run was not meant to time so, and that counts in no mean, is marked.

    Args:
        label, dtype: said instead of the row's own.
    """
    own = row.row.dtype.replace("-", "") if dtype is None else dtype
    named = f"{own} {row.row.label if label is None else label}".strip()
    return named if row.row.counted else f"{named} [{row.row.timer or 'not counted'}]"


def why_empty(row: RowSummary) -> str:
    """``not comparable: TIMER_MISMATCH (cuda_graph on A, direct on B)``."""
    found = standing(row)
    said = [item for item in row.row.left_out if item.lost == (found is Standing.LOST)]
    reasons = dict.fromkeys(f"{item.reason} ({item.note})" if item.note else item.reason for item in said)
    return f"{found.value}: {', '.join(reasons) or 'no valid round has it on both sides'}"


def counts_line(found: Counts) -> str:
    """The counts that come first."""
    rows = f"rows compared {found.compared} of {found.rows} · excluded {found.excluded} · " if found.rows else ""
    return (
        f"{rows}lost rows {found.lost} · replay fallbacks {found.replay_fallback} · "
        f"graph fallbacks {found.no_cudagraph} · captures poisoned {found.poisoned} · "
        f"invalid pairs {found.invalid} · re-run {found.rerun} · failed cells {found.failed}"
    )


def causes(summary: Summary) -> str:
    """``disturbed pairs: throttle 2``: why pairs were measured again or left out; empty where nothing says so."""
    cells = summary.source.cells if summary.source is not None else ()
    pairs = {(cell.lane, cell.op, cell.round, cell.invalid) for cell in cells if cell.invalid}
    found = Counter(cause for *_, cause in pairs)
    listed = ", ".join(
        f"{cause} {number}" for cause, number in sorted(found.items(), key=lambda item: (-item[1], item))
    )
    return f"disturbed pairs by cause: {listed}" if listed else ""


def overview(rows: Iterable[RowSummary], metric: Metric | None) -> str:
    """``2 slower · 1 faster``."""
    return " · ".join(f"{grouped(number)} {verdict(found, metric)}" for found, number in counts(rows).items())


def convention(metric: Metric | None) -> str:
    """What the signs mean."""
    compiling = metric is Metric.COMPILE
    return f"+ {_LONGER if compiling else 'is slower'}, − {_SHORTER if compiling else 'is faster'} (B against A)"


def meaning(summary: Summary) -> str:
    """What the columns are."""
    inference = summary.inference
    if inference is None:
        return "noise: standard deviation of one side over rounds, in %"
    less = ", less what the controls show" if inference.calibration.used else ""
    shown = (estimate(row) for op in (*summary.subjects, *summary.controls) for row in op.rows)
    few = "; in brackets: seen in too few rounds, and not claimed" if any(text[0] == "(" for text in shown) else ""
    return (
        f"columns, in %: change of the geometric mean of B/A over rounds{less} (~: none found{few}); its "
        f"{100 * (1 - inference.settings.alpha):g} % interval; noise: standard deviation of one side over rounds. "
        "signs: rounds with the sign of the change, of all valid ones. MDE: smallest difference that would be seen"
    )


def what(summary: Summary) -> str:
    """What the values are."""
    units = {row.row.unit for op in (*summary.subjects, *summary.controls) for row in op.rows}
    said = " and ".join(sorted(UNITS.get(unit, unit) for unit in units)) or "values"
    return f"{said} of compiling a kernel" if summary.header.metric is Metric.COMPILE else said


def missing_lines(summary: Summary) -> list[str]:
    """What is not in the table, each with its reason."""
    found = []
    for op in (*summary.subjects, *summary.controls):
        found += [f"{op.op.op}: {op.op.nothing}: {op.op.nothing_note}".removesuffix(": ")] if op.op.nothing else []
        found += [f"{op.op.op}: {plural(op.op.missing, 'round')} of the plan not finished"] if op.op.missing else []
        found += [f"{op.op.op}: {text}" for text in (*op.op.failed, *op.op.notes)]
        found += [f"{op.op.op}: invalid pair, {text}" for text in op.op.invalid]
        found += [f"{op.op.op}: lost row {text}" for text in op.op.lost]
        found += [f"{op.op.op}: {name_of(row)}: {text}" for row in op.rows for text in _in_part(row)]
        found += [f"{op.op.op}: {word} {text}" for word, text in op.op.markers]
    return found


def _in_part(row: RowSummary) -> list[str]:
    """Rounds of a row that are left out while others count; a lost row is said as such."""
    if not row.n:
        return []
    rounds: dict[str, list[int]] = {}
    for item in row.row.left_out:
        if not item.lost:
            rounds.setdefault(f"{item.reason}{f' ({item.note})' if item.note else ''}", []).append(item.round)
    return [f"left out in {plural(len(numbers), 'round')}: {reason}" for reason, numbers in rounds.items()]


def flagged(ops: Sequence[OpSummary]) -> dict[str, list[str]]:
    """Rows by flag; ``uncalibrated`` is every row's, and said once elsewhere."""
    found: dict[str, list[str]] = {}
    for op in ops:
        for row in op.rows:
            for flag in row.result.flags if row.result is not None else ():
                if flag != "uncalibrated":
                    found.setdefault(flag, []).append(f"{op.op.op} {name_of(row)}")
    return dict(sorted(found.items()))


def controls_line(summary: Summary) -> str:
    """``controls: +0.02 % ± 0.05 (softmax, layer_norm, …)``, or that there is no calibration and what follows."""
    names = {op.op.directory: op.op.op for op in summary.controls}
    calibration = summary.inference.calibration if summary.inference is not None else Calibration(used=False)
    means = ", ".join(f"{names.get(key, key)} {change(mean)}" for key, mean in calibration.operators.items())
    listed = f" ({means or ', '.join(names.values())})" if means or names else ""
    if not calibration.used:
        return f"controls: {plural(len(names), 'operator') if names else 'none'}{listed}"
    return (
        f"controls: {change(calibration.bias)} % ± {percent(calibration.error, sign=False)}{listed}: "
        "mean of equal code and its standard error, taken off every row"
    )


def alarms(summary: Summary) -> list[str]:
    """What weakens every number of the report; said at the top."""
    if summary.inference is None:
        return []
    calibration = summary.inference.calibration
    if not calibration.used:
        default = f"{_UNCALIBRATED}: {_controls(calibration, summary)}, {FEWEST_CONTROLS} are needed. {_NOT_TAKEN_OFF}"
        return [next((note for note in _notes(summary) if note.startswith(_UNCALIBRATED)), default)]
    if calibration.biased:
        apart = f"{change(calibration.bias)} % ± {percent(calibration.error, sign=False)}"
        return [f"BIAS: equal code is {apart} apart. {_TAKEN_OFF}"]
    return []


def notes(summary: Summary) -> list[str]:
    """What the plan had to say and `alarms` does not."""
    said = " ".join(alarms(summary))
    return [note for note in _notes(summary) if note not in said]


def claim(summary: Summary) -> str:
    """What a verdict rests on, in the words of the metric."""
    metric = summary.header.metric
    words_of = f"{verdict(Standing.SLOWER, metric)} or {verdict(Standing.FASTER, metric)}"
    return summary.claim.replace("slower or faster", words_of)


def campaign_line(summary: Summary) -> str:
    """The mean over operators, with its interval."""
    found = summary.inference.campaign if summary.inference is not None else None
    if found is None or found.estimate is None or found.low is None or found.high is None:
        return f"campaign: {NOBODY}"
    return (
        f"campaign: {change(found.estimate)} % ({span(_fraction(found.low), _fraction(found.high))}), "
        f"geometric mean over {plural(found.operators, 'operator')}"
    )


def needed(rows: Iterable[RowSummary]) -> str:
    """How many rounds inconclusive rows would need."""
    found = sorted(row.result.rounds_needed for row in rows if row.result and row.result.rounds_needed)
    if not found:
        return ""
    rounds = f"{found[0]}" if found[0] == found[-1] else f"{found[0]} to {grouped(found[-1])}"
    return f"inconclusive: {plural(len(found), 'row')} would need about {rounds} rounds"


def invalid_rows(rows: Iterable[RowSummary]) -> list[str]:
    """Why rows are invalid, each reason with the number of its rows."""
    found = Counter(full(row.result, None) for row in rows if standing(row) is Standing.INVALID)
    return [f"{reason}: {plural(number, 'row')}" for reason, number in sorted(found.items())]


def _notes(summary: Summary) -> tuple[str, ...]:
    return summary.source.notes if summary.source is not None else ()


def _controls(calibration: Calibration, summary: Summary) -> str:
    number = len(calibration.operators) or sum(any(row.n for row in op.rows) for op in summary.controls)
    return "no control has a reading" if not number else plural(number, "control")


def _fraction(log: float) -> float:
    try:
        return math.expm1(log)
    except OverflowError:
        return math.inf
