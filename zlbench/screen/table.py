"""A screen's results as a table for people, as screen.tsv, and as plain data. Pure: values in, text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zlbench.cells import CellOutcome, CellState
from zlbench.colour import Paint, plain
from zlbench.cost_table import Cost, CostPair
from zlbench.judge import Judgement, MachineCode, Verdict
from zlbench.pair_times import LEGEND, TIME_COLUMNS, PairTimes
from zlbench.text import columns, plural

COLUMNS = (
    "op", "op_file", "dtypes", "rows_before", "rows_after", "kernels_before", "kernels_after",
    "cvt_before", "cvt_after", "elapsed_before", "elapsed_after", "verdict",
)  # fmt: skip
"""The predecessor's columns; its caliber columns and ours follow."""
NEW_COLUMNS = (
    "machine_code", "kernels", "ir_changed", "code_changed", "raw_changed",
    *(f"{cost.value}_{when}" for cost in Cost for when in ("before", "after")),
    "rows_matched", "rows_expected", "state_before", "state_after", "next", "reason", "directory",
    *TIME_COLUMNS, "replay_fallbacks",
)  # fmt: skip
_NUMBERS = frozenset(
    {"direct_repeat", "kernels", "ir_changed", "code_changed", "raw_changed", "rows_matched", "rows_expected"}
    | {"replay_fallbacks"}
    | {column for column in TIME_COLUMNS if column != "latency_meaning"}
    | {
        f"{name}_{when}"
        for name in ("rows", "kernels", "cvt", "elapsed", *(cost.value for cost in Cost))
        for when in ("before", "after")
    }
)
"""Columns that hold numbers. A digest that happens to consist of digits is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One operator of a screen on one target."""

    op: str
    op_file: str
    dtypes: str
    target: str
    directory: str
    """Directory of the pair, below the screen's."""
    before: CellOutcome
    after: CellOutcome
    judgement: Judgement
    caliber: Mapping[str, str]
    """Caliber columns, in their order."""
    costs: Mapping[Cost, CostPair] = field(default_factory=dict)
    times: PairTimes | None = None
    """Times of the pair; None with no device."""

    @property
    def skipped(self) -> bool:
        """Whether the operator skipped itself on both sides: nothing failed, and nothing is left to do."""
        return self.before.state is self.after.state is CellState.SKIPPED

    def fields(self) -> dict[str, str]:
        """Every column of screen.tsv as text."""
        judgement = self.judgement
        costs = {
            f"{cost.value}_{when}": "" if value is None else str(value)
            for cost, pair in self.costs.items()
            for when, value in (("before", pair.before), ("after", pair.after))
        }
        return {
            "op": self.op,
            "op_file": self.op_file,
            "dtypes": self.dtypes,
            **_both("rows", self.before.rows_ok, self.after.rows_ok),
            **_both("kernels", self.before.kernels, self.after.kernels),
            **_both("cvt", self.before.convert_layouts, self.after.convert_layouts),
            **_both("elapsed", f"{self.before.elapsed_s:.1f}", f"{self.after.elapsed_s:.1f}"),
            "verdict": judgement.verdict.value,
            **self.caliber,
            "machine_code": judgement.machine_code.value,
            "kernels": str(judgement.kernels),
            "ir_changed": str(judgement.ir_changed),
            "code_changed": str(judgement.code_changed),
            "raw_changed": str(judgement.raw_changed),
            **{f"{cost.value}_{when}": "" for cost in Cost for when in ("before", "after")},
            **costs,
            "rows_matched": str(judgement.rows_matched),
            "rows_expected": str(judgement.rows_expected),
            **_both("state", self.before.state.value, self.after.state.value),
            "next": judgement.next_step,
            "reason": " ".join(judgement.reason.split()),
            "directory": self.directory,
            **(self.times.fields() if self.times is not None else dict.fromkeys(TIME_COLUMNS, "")),
            "replay_fallbacks": str(judgement.replay_fallbacks),
        }


def _both(name: str, before: object, after: object) -> dict[str, str]:
    return {f"{name}_before": str(before), f"{name}_after": str(after)}


def to_tsv(lines: Sequence[Line]) -> str:
    """Screen.tsv as text; every field is one word or phrase without tabs."""
    caliber = tuple(lines[0].caliber) if lines else ()
    head = (*COLUMNS, *caliber, *NEW_COLUMNS)
    body = ["\t".join(fields[column] for column in head) for fields in (line.fields() for line in lines)]
    return "\n".join(["\t".join(head), *body]) + "\n"


def to_data(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The same as data for ``--json`` and screen.json: numbers as numbers."""
    return [
        {key: _number(value) if key in _NUMBERS else value for key, value in line.fields().items()}
        | {"target": line.target, "changed_kernels": list(line.judgement.changed_kernels)}
        for line in lines
    ]


def _number(text: str) -> int | float | str:
    """A number as such; words such as `unset` stay words."""
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() else float(text) if digits.replace(".", "").isdecimal() else text


def to_text(lines: Sequence[Line], *, paint: Paint = plain) -> list[str]:
    """The table that a person reads: changed operators first, 100 columns are enough."""
    several = len({line.target for line in lines}) > 1
    timed = any(line.times is not None for line in lines)
    head = ["op", *(["target"] if several else []), "verdict", "kernels", "IR", "code", "registers", "spills", "shared",
            "cvt", *(["one pair"] if timed else []), "next"]  # fmt: skip
    rows = [_row(line, several=several, timed=timed) for line in by_urgency(lines)]
    verdict = 2 if several else 1
    idle = _idle(rows, head) if timed else []
    kept = [index for index, name in enumerate(head) if name not in idle]
    head, rows = [head[index] for index in kept], [[cells[index] for index in kept] for cells in rows]
    table = columns(head, rows, right=frozenset({verdict + 1}), paint={verdict: paint})
    equal = [f"equal on both sides in every operator compared: {', '.join(idle)}"] if idle else []
    return [*table, "", *equal, LEGEND] if timed else table


def _idle(rows: Sequence[Sequence[str]], head: Sequence[str]) -> list[str]:
    """Costs that are equal wherever they were compared: times need their room."""
    costs = {cost.value for cost in Cost}
    return [
        name
        for index, name in enumerate(head)
        if name in costs
        and {cells[index] for cells in rows} <= {"=", "-"}
        and any(cells[index] == "=" for cells in rows)
    ]


def by_urgency(lines: Sequence[Line]) -> list[Line]:
    """What needs attention first: failures, changed IR, changed code alone, the rest."""
    return sorted(lines, key=_order)


def _order(line: Line) -> tuple[int, int, str]:
    judgement = line.judgement
    rank = {Verdict.IR_CHANGED: 1, Verdict.NO_IR_DIFF: 2, Verdict.NO_TRITON: 3}.get(judgement.verdict, 0)
    return rank, -(judgement.machine_code is MachineCode.CHANGED), line.op


def _row(line: Line, *, several: bool, timed: bool) -> list[str]:
    judgement = line.judgement
    compared = judgement.verdict in (Verdict.IR_CHANGED, Verdict.NO_IR_DIFF)
    code = "?" if judgement.machine_code is MachineCode.UNKNOWN else f"{judgement.code_changed}/{judgement.kernels}"
    return [
        line.op,
        *([line.target] if several else []),
        judgement.verdict.value,
        str(judgement.kernels),
        f"{judgement.ir_changed}/{judgement.kernels}" if compared else "-",
        code if compared else "-",
        *(_cost(line.costs.get(cost)) if compared else "-" for cost in (Cost.REGISTERS, Cost.SPILLS, Cost.SHARED)),
        _change(line.before.convert_layouts, line.after.convert_layouts) if compared else "-",
        *([line.times.text if line.times is not None else "-"] if timed else []),
        judgement.next_step,
    ]


def _cost(pair: CostPair | None) -> str:
    if pair is None or pair.before is None or pair.after is None:
        return "?"
    if pair.equal:
        return "="
    # The largest of an operator's kernels can stay while others move: say in how many.
    return _change(pair.before, pair.after) if pair.before != pair.after else f"{pair.before} ({pair.differ} differ)"


def _change(before: int, after: int) -> str:
    return str(before) if before == after else f"{before} → {after}"


def _counted(lines: Sequence[Line]) -> str:
    """Operators. With several targets the counts behind are of lines, so say how many there are."""
    targets = {line.target for line in lines}
    text = plural(len({line.op for line in lines}), "operator")
    return f"{text} on {len(targets)} targets, {plural(len(lines), 'line')}" if len(targets) > 1 else text


def summary(lines: Sequence[Line], took: str) -> str:
    """One line of counts."""
    changed = [line for line in lines if line.judgement.verdict is Verdict.IR_CHANGED]
    deep = [line for line in changed if line.judgement.machine_code is MachineCode.CHANGED]
    below = [
        line
        for line in lines
        if line.judgement.verdict is Verdict.NO_IR_DIFF and line.judgement.machine_code is MachineCode.CHANGED
    ]
    skipped = [line for line in lines if line.skipped]
    failed = [line for line in lines if line.judgement.failed and not line.skipped]
    # Where nothing changed, say what normalising took out: paths, lines, names.
    raw = 0 if changed else sum(line.judgement.raw_changed for line in lines)
    parts = [
        _counted(lines),
        f"{len(changed)} IR changed" + (f", {len(deep)} of them in machine code" if changed else ""),
        *([f"{len(below)} in machine code alone"] if below else []),
        *(
            [f"{plural(raw, 'kernel')} {'differs' if raw == 1 else 'differ'} in bytes before normalising"]
            if raw
            else []
        ),
        f"{len(failed)} failed",
        *([f"{len(skipped)} skipped"] if skipped else []),
        took,
    ]
    return " · ".join(parts)
