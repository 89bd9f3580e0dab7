"""Verdicts of a screen. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
VERDICTS: Mapping[str, Entry] = {
    "IR_CHANGED": (
        "The normalised TTGIR of at least one kernel differs between A and B.",
        "The change reaches this operator; the column code says whether it reaches the machine code too.",
        "zlbench diff OP shows it. Measure where the code changed; equal code makes a control."),
    "NO_IR_DIFF": (
        "Every kernel has the same TTGIR on both sides, with equal configs and a fresh cache on each side.",
        "Differences of time are noise, unless the column code says that the machine code differs.",
        "Skip it, or use it as a control. A change was expected? See if the switch is read in this build."),
    "NO_TRITON": (
        "There are rows, but no kernel was compiled: the operator ran aten or a vendor library.",
        "Nothing went through the compiler under test. It does not say that the switch has no effect.",
        "If a Triton kernel should have run, look which implementation the suite chose (run.log)."),
    "NO_ROWS": (
        "The benchmark ended without a single row on one side or both.",
        "There is nothing to compare. It does not say that the switch has no effect.",
        "Read run.log of the side: often a dtype that the operator rejects. Try OP:FILE:DTYPES."),
    "INCOMPLETE": (
        "Rows failed or were not measured on a side, or its kernels could not be seen: a verdict would be a guess.",
        "Equal kernels are equal, but what is missing may be what changed.",
        "The line names what is missing and why; correct that, then go on with --resume and the run directory."),
    "NOT_COMPARABLE": (
        "The sides were measured under different conditions (the lines with [caliber] name them), or not as asked for.",
        "The verdict is withdrawn: a difference could come from the conditions.",
        "Run both sides under one caliber; if you know why they agree: --allow-caliber-mismatch."),
}
# fmt: on
