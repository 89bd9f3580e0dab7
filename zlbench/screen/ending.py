"""What a screen ends with: one exit code from the verdicts of its operators."""

from __future__ import annotations

from collections.abc import Sequence

from zlbench.axis import Axis
from zlbench.cells import CellState
from zlbench.errors import ExitCode
from zlbench.judge import Verdict
from zlbench.pair import is_dead_switch
from zlbench.screen.table import Line

_EMPTY = frozenset({CellState.SKIPPED, CellState.NOTHING_MEASURED, CellState.USAGE})
"""States of a cell in which there was nothing to measure."""


def exit_code(lines: Sequence[Line], axis: Axis | None, *, complete: bool) -> ExitCode:
    """The exit code of a screen.

    Args:
        axis: None where it is not known any more.
        complete: whether every operator that was asked for has its line.
    """
    codes = {code_of(line) for line in lines}
    if ExitCode.NOT_COMPARABLE in codes:
        return ExitCode.NOT_COMPARABLE
    if ExitCode.PARTIAL in codes or (ExitCode.OK in codes and not complete):
        return ExitCode.PARTIAL
    if ExitCode.OP_FAILED in codes:
        return ExitCode.OP_FAILED
    if ExitCode.OK not in codes:
        return ExitCode.USAGE if codes == {ExitCode.USAGE} else ExitCode.NOTHING_MEASURED
    # An operator that skips itself on both sides is done with; any other without rows is not.
    if any(code_of(line) is not ExitCode.OK and not line.skipped for line in lines):
        return ExitCode.PARTIAL
    judged = [line.judgement for line in lines if not line.judgement.failed]
    if axis is not None and all(is_dead_switch(axis, judgement) for judgement in judged):
        return ExitCode.NOTHING_MEASURED
    return ExitCode.OK


def code_of(line: Line) -> ExitCode:
    """The exit code that one operator alone would give its screen."""
    judgement, states = line.judgement, {line.before.state, line.after.state}
    if not judgement.failed:
        return ExitCode.OK
    if judgement.verdict in (Verdict.CACHE_NOT_FRESH, Verdict.NOT_COMPARABLE):
        return ExitCode.NOT_COMPARABLE
    if states == {CellState.USAGE}:
        return ExitCode.USAGE
    if states & _EMPTY and states <= {*_EMPTY, CellState.OK}:
        return ExitCode.NOTHING_MEASURED
    # Rows that fail alike on both sides are the operator's fault; what one side alone lost leaves a part.
    alike = line.before.rows_ok == line.after.rows_ok == judgement.rows_matched
    return ExitCode.OP_FAILED if states == {CellState.OP_FAILED} and alike else ExitCode.PARTIAL
