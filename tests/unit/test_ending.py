"""A screen's exit code: what each operator adds to it, and which of two wins."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_screen_table import line

from zlbench.axis import Axis, make_axis, parse_switch
from zlbench.cells import CellOutcome, CellState
from zlbench.errors import ExitCode
from zlbench.judge import MachineCode, Verdict
from zlbench.screen.ending import exit_code
from zlbench.screen.table import Line

BUILDS = make_axis(name="toys", a="x", b="y")
SWITCH = make_axis(name="s", a="x", b="x", switches=[parse_switch("FOLD")])


def outcome(state: CellState, ok: int, failed: int = 0) -> CellOutcome:
    return CellOutcome(state=state, returncode=0, rows_ok=ok, rows_failed=failed)


def made(
    verdict: Verdict, before: CellOutcome, after: CellOutcome, *, matched: int, code: MachineCode = MachineCode.SAME
) -> Line:
    found = line(verdict=verdict, code=code)
    return replace(
        found, before=before, after=after, judgement=replace(found.judgement, rows_matched=matched, rows_expected=5)
    )


WELL, LOST = outcome(CellState.OK, 5), outcome(CellState.OP_FAILED, 4, 1)
NONE, CRASHED = outcome(CellState.OP_FAILED, 0, 5), outcome(CellState.CRASH, 4)
SKIPPED, EMPTY = outcome(CellState.SKIPPED, 0), outcome(CellState.NOTHING_MEASURED, 0)
USAGE = outcome(CellState.USAGE, 0)

GOOD = made(Verdict.IR_CHANGED, WELL, WELL, matched=5)
SAME = made(Verdict.NO_IR_DIFF, WELL, WELL, matched=5)
UNREAD = made(Verdict.NO_IR_DIFF, WELL, WELL, matched=5, code=MachineCode.UNKNOWN)


@pytest.mark.parametrize(
    ("found", "alone", "beside_a_good_one"),
    [
        pytest.param(GOOD, 0, 0, id="judged"),
        pytest.param(made(Verdict.INCOMPLETE, LOST, LOST, matched=4), 1, 1, id="the same rows failed"),
        pytest.param(made(Verdict.NO_ROWS, NONE, NONE, matched=0), 1, 1, id="all rows failed"),
        pytest.param(made(Verdict.INCOMPLETE, LOST, LOST, matched=3), 6, 6, id="other rows failed"),
        pytest.param(made(Verdict.INCOMPLETE, WELL, LOST, matched=4), 6, 6, id="a row failed on one side"),
        pytest.param(made(Verdict.NO_ROWS, WELL, NONE, matched=0), 6, 6, id="all rows failed on one side"),
        pytest.param(made(Verdict.INCOMPLETE, CRASHED, CRASHED, matched=4), 6, 6, id="crashed alike"),
        pytest.param(made(Verdict.INCOMPLETE, WELL, WELL, matched=5), 6, 6, id="no hooks or no IR"),
        pytest.param(made(Verdict.NO_ROWS, SKIPPED, SKIPPED, matched=0), 5, 0, id="skipped"),
        pytest.param(made(Verdict.NO_ROWS, WELL, SKIPPED, matched=0), 5, 6, id="skipped on one side"),
        pytest.param(made(Verdict.NO_ROWS, WELL, USAGE, matched=0), 5, 6, id="refused on one side"),
        pytest.param(made(Verdict.NO_ROWS, CRASHED, SKIPPED, matched=0), 6, 6, id="crashed, and skipped"),
        pytest.param(made(Verdict.NO_ROWS, EMPTY, EMPTY, matched=0), 5, 6, id="ended without a row"),
        pytest.param(made(Verdict.NO_ROWS, USAGE, USAGE, matched=0), 2, 6, id="refused by pytest"),
        pytest.param(made(Verdict.NOT_COMPARABLE, WELL, WELL, matched=5), 4, 4, id="not comparable"),
        pytest.param(made(Verdict.CACHE_NOT_FRESH, WELL, WELL, matched=5), 4, 4, id="shared cache"),
    ],
)
def test_one_operator(found: Line, alone: int, beside_a_good_one: int) -> None:
    assert exit_code([found], BUILDS, complete=True) == alone
    assert exit_code([GOOD, found], BUILDS, complete=True) == beside_a_good_one


@pytest.mark.parametrize(
    ("axis", "lines", "code"),
    [
        (SWITCH, [SAME], ExitCode.NOTHING_MEASURED),
        (SWITCH, [SAME, GOOD], ExitCode.OK),
        (SWITCH, [UNREAD], ExitCode.OK),
        (BUILDS, [SAME], ExitCode.OK),
        (None, [SAME], ExitCode.OK),
    ],
)
def test_a_switch_that_is_known_to_reach_nothing(axis: Axis | None, lines: list[Line], code: ExitCode) -> None:
    assert exit_code(lines, axis, complete=True) is code


def test_an_operator_without_a_line() -> None:
    assert exit_code([GOOD], BUILDS, complete=False) is ExitCode.PARTIAL
    assert exit_code([], BUILDS, complete=True) is ExitCode.NOTHING_MEASURED
