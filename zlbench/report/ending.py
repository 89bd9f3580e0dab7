"""The exit code of a report, from what was read: 4 outweighs all, what is missing leaves a part."""

from __future__ import annotations

from zlbench.errors import ExitCode
from zlbench.report.model import Measured, OpReadings
from zlbench.text import plural

_NO_VALUES = frozenset({"NOTHING_MEASURED", "SKIPPED", "INVALID_LATENCY", "SWITCH_NO_IR_DIFF"})
"""Words for operators whose sides may well be compared, and that have nothing to compare."""
_NO_LATENCY = "INVALID_LATENCY"
_TOLD = 12


def exit_code(measured: Measured) -> ExitCode:
    """One code for all operators, as `ab_repeat` sums up; controls say nothing of the change."""
    codes = {op_code(op) for op in measured.ops if not op.control}
    if ExitCode.NOT_COMPARABLE in codes:
        return ExitCode.NOT_COMPARABLE
    if not any(row.readings for op in measured.ops for row in op.rows):
        # A campaign that found nothing to measure has said so, which is a result.
        return ExitCode.OK if measured.reason and not measured.ops else ExitCode.NOTHING_MEASURED
    if codes == {ExitCode.NOTHING_MEASURED}:
        return ExitCode.NOTHING_MEASURED
    # A control that lacks something, or all, calibrates less: a part of what was asked for.
    of_controls = {op_code(op) for op in measured.ops if op.control}
    lacking = of_controls & {ExitCode.PARTIAL, ExitCode.NOT_COMPARABLE}
    return ExitCode.PARTIAL if ExitCode.PARTIAL in codes or lacking else ExitCode.OK


def op_code(op: OpReadings) -> ExitCode:
    """The exit code that this operator alone would give."""
    if op.nothing:
        return ExitCode.NOTHING_MEASURED if op.nothing in _NO_VALUES else ExitCode.NOT_COMPARABLE
    # A time that cannot be is a row that was not measured, however the cell ended.
    unmeasured = any(item.reason == _NO_LATENCY for row in op.rows for item in row.left_out)
    if op.failed or op.missing or op.invalid or op.lost or unmeasured:
        return ExitCode.PARTIAL
    return ExitCode.OK if any(row.readings for row in op.rows) else ExitCode.NOTHING_MEASURED


def nothing_lines(measured: Measured) -> list[str]:
    """Why nothing at all can be compared, a line an operator and a few of its rows; empty where something can."""
    if any(row.readings for op in measured.ops for row in op.rows):
        return []
    lines = []
    for op in measured.ops:
        lines.append(f"{op.nothing or 'NOTHING_MEASURED'} op={op.op} {op.nothing_note or 'no row has a value'}")
        told = [f"  {text}" for text in (*op.notes, *op.lost, *_left_out(op))]
        lines += told[:_TOLD]
        lines += [f"  and {plural(len(told) - _TOLD, 'more line')}"] if len(told) > _TOLD else []
    return lines


def _left_out(op: OpReadings) -> list[str]:
    return [
        f"{item.reason} {row.dtype} {row.label}: {item.note}"
        for row in op.rows
        for item in row.left_out[:1]
        if not item.lost
    ]
