"""How cells and rows ended. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
STATES: Mapping[str, Entry] = {
    "OK": ("The cell ended and has rows.", "All its rows count.", "Nothing to do."),
    "OP_FAILED": (
        "The operator raised an error in at least one row, its test failed, or its rows are not those asked for.",
        "Rows that succeeded count, the failed ones have no result. Other operators are not touched.",
        "Read run.log of the side; run it alone: nox -s run -- OP --debug."),
    "CRASH": (
        "The measured process was killed by a signal (SIGSEGV, SIGABRT, SIGKILL).",
        "Rows finished before it count, the rest is NOT_MEASURED. Other operators went on afresh.",
        "Go on with --resume and the run directory; SIGKILL often means memory: see --jobs."),
    "TIMEOUT": (
        "The row at hand ran into the cell's time limit.",
        "Rows finished before it count. It says nothing about dtype or operator.",
        "Raise --cell-timeout (CELL_TIMEOUT), or take fewer shapes."),
    "CELL_TIMEOUT": (
        "The cell reached its time limit; its whole process group was ended.",
        "A problem of time, never one of dtype or operator. Rows finished before count. rc 124.",
        "Raise --cell-timeout (CELL_TIMEOUT); comprehensive level and --configs all take longest."),
    "OOM": (
        "Memory ran out; the phase says whether for inputs, for the baseline or for the kernel.",
        "This row has no result; the other shapes and dtypes were measured.",
        "Leave the shape out, or lower --jobs."),
    "OUT_OF_RESOURCES": (
        "A kernel needs more shared memory or registers than the target has.",
        "This row has no result on this side; a config may fit one build and not the other.",
        "Compare the shared column of both sides; see --configs."),
    "COMPILE_ERROR": (
        "The compiler refused or crashed on a kernel of this row.",
        "This row has no result on this side. If the other side compiles it, that is a finding by itself.",
        "Read run.log; run it alone: nox -s run -- OP --debug."),
    "DTYPE_NOT_SUPPORTED": (
        "The operator does not take a dtype that was asked for.",
        "A matter of the request, not of the compiler.",
        "Give dtypes for each operator: OP:FILE:DTYPES."),
    "DISK_FULL": (
        "No space is left where results or caches are written.",
        "What was finished is kept.",
        "Free space or choose another --out, then --resume."),
    "ERROR": (
        "A row ended with an error of no known kind.", "It has no result.", "Read run.log of the side."),
    "NOT_MEASURED": (
        "The row was planned; the process was gone before its turn.",
        "Unknown, neither good nor bad.",
        "See what ended the cell (CRASH, CELL_TIMEOUT), then run the operator again."),
    "NOT_RUN": (
        "The cell was planned and never started.", "Unknown, neither good nor bad.", "Go on with --resume."),
    "SKIPPED": (
        "Every test of the operator skipped itself, or its interpreter is missing.",
        "Nothing was measured; it is not a pass.",
        "The reason is in run.log."),
    "NOTHING_MEASURED": (
        "The command or cell came to its end without a row.",
        "There is nothing to report, and it is not a pass.",
        "Look at the first cell's run.log."),
    "USAGE": (
        "pytest refused its command line or node id in this cell (its exit code 4).",
        "The operator did not run.",
        "Read run.log: usually a suite whose conftest.py was not loaded."),
    "PREFLIGHT": (
        "A check of this side failed before its first cell.",
        "Nothing of the side was measured; the other side's results are kept.",
        "See PREFLIGHT_FAILED and its check."),
    "INTERRUPTED": (
        "Ctrl-C or a termination signal.", "What was finished is kept.", "Go on with --resume."),
    "SUCCESS": ("The row was measured.", "It counts.", "Nothing to do."),
    "FAILED": ("The row raised an error.", "It has no result.", "The reason follows in run.log."),
}
# fmt: on
