"""Words in a screen's table. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
COLUMNS: Mapping[str, Entry] = {
    "ab_repeat": (
        "The operator's machine code differs, so its time may differ.", "A screen says that, and not how much.",
        "Measure it in repeated rounds: zlbench ab_repeat --screen DIR."),
    "kernels": (
        "Variants that rows compiled and, on a card, launched: one kernel with its constants, warps and stages.",
        "Variants that an autotuner only tried are not among them.", "index.tsv of a side lists them."),
    "IR": (
        "Kernels whose normalised TTGIR differs, of all kernels of the operator.",
        "0/N: as far as the TTGIR shows, nothing was compiled otherwise.", "zlbench diff OP shows each."),
    "code": (
        "Kernels whose machine code differs, of all kernels of the operator; ? where it is not known on both sides.",
        "Equal code runs equally fast, so the operator is a control. Different code may differ in time.",
        "Measure where it differs; --keep-binaries keeps what to compare below the TTGIR."),
    "control": (
        "Both sides run the same machine code.", "Every difference of its times would be noise.",
        "Measure some such operators along with the others, to see the noise."),
    "cvt": (
        "Layout conversions (ttg.convert_layout) in the TTGIR of all kernels.", "It explains, it never decides.",
        "zlbench diff OP shows all operations that became more or fewer."),
    "registers": (
        "Registers of the kernel that needs most, from the machine code.", "More registers, fewer warps at a time.",
        "zlbench diff OP shows each kernel; costs.json of a side has all costs of each."),
    "spills": (
        "Registers that did not fit and live in memory, over all kernels.", "Each costs memory traffic.",
        "costs.json of a side has them by kernel."),
    "noise": (
        "How far the row that moved most is apart in the one pair of a screen, with the same code on both sides.",
        "It is what this machine does to this operator: a change of that size elsewhere means nothing.",
        "zlbench compare SCREEN/OP shows it row by row."),
    "canary": (
        "Torch's baseline of a few rows, which does not pass through the compiler under test.",
        "What it moved between the sides is drift of the card, not the change (BASELINE_DRIFT).",
        "--baseline all times it in every row, none in none."),
    "shared": (
        "Bytes of shared memory of the kernel that needs most.", "More of it, fewer blocks at a time.",
        "index.tsv of a side has it by kernel."),
}
# fmt: on
