"""Exit codes. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.errors import ExitCode
from zlbench.words.entry import Entry

# fmt: off
EXITS: Mapping[ExitCode, Entry] = {
    ExitCode.OK: ("Everything asked for was done.", "All results count.", "Nothing to do."),
    ExitCode.OP_FAILED: ("An operator failed.", "The others count.", "See the table and run.log."),
    ExitCode.USAGE: (
        "The request cannot be meant as written.", "Nothing was started.", "The message names the nearest."),
    ExitCode.PREFLIGHT: (
        "A check failed before the first cell.", "Nothing was started.", "zlbench explain PREFLIGHT_FAILED"),
    ExitCode.NOT_COMPARABLE: (
        "The sides differ in more than the declared axis.", "No comparison was made.",
        "Run both sides under one caliber; if you know why they agree: --allow-caliber-mismatch."),
    ExitCode.NOTHING_MEASURED: (
        "There is no row, or a switch changed nothing in any operator (SWITCH_NO_IR_DIFF).", "It is not a pass.",
        "zlbench explain NOTHING_MEASURED, or zlbench explain SWITCH_NO_IR_DIFF"),
    ExitCode.PARTIAL: (
        "Some cells are complete, some are not.", "Complete operators count.", "Go on with --resume."),
    ExitCode.REGRESSION: (
        "A row, an operator or an exact cost is beyond what --fail-on allows.", "The comparison is valid.",
        "See the report."),
    ExitCode.TIMEOUT: ("A time limit was reached.", "What was done counts.", "zlbench explain CELL_TIMEOUT"),
    ExitCode.INTERRUPTED: ("Ctrl-C.", "What was finished is kept.", "Go on with --resume."),
}
# fmt: on
