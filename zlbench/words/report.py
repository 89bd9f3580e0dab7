"""What a report says of a row. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
REPORT: Mapping[str, Entry] = {
    "slower": (
        "B takes longer: its q is at most 5 %, its interval is above 0, and it is beyond what equal code shows.",
        "Of all rows that are called slower or faster, one in twenty is expected to be called so wrongly, at most.",
        "The kernel table and the IR diff of report.html say what changed."),
    "faster": (
        "B is shorter: its q is at most 5 %, its interval is below 0, and it is beyond what equal code shows.",
        "Of all rows that are called slower or faster, one in twenty is expected to be called so wrongly, at most.",
        "The kernel table and the IR diff of report.html say what changed."),
    "takes longer": (
        "What slower is for latencies, said of what compiling a kernel takes.",
        "It says nothing of how the kernel runs.", "zlbench explain slower"),
    "is shorter": (
        "What faster is for latencies, said of what compiling a kernel takes.",
        "It says nothing of how the kernel runs.", "zlbench explain faster"),
    "MDE": (
        "The smallest difference that so many rounds detect in four cases of five.",
        "A smaller one may be there, unseen.", "More rounds make it smaller."),
    "signs": (
        "Rounds whose change has the sign of the mean, of all valid ones.",
        "It describes and decides nothing: of three rounds with no difference, all agree in one case of four.",
        "The interval and the verdict say what holds."),
    "undetected": (
        "Short for: no detectable difference.", "A change smaller than the MDE beside it may be there.",
        "zlbench explain 'no detectable difference'"),
    "no difference": (
        "The whole interval lies inside ±1 %, or inside what --delta names.",
        "If there is a change, it is too small to matter.", "Nothing to do; --delta asks for another bound."),
    "no detectable difference": (
        "No change was found, and one of more than the MDE beside it would have been, in four cases of five.",
        "A smaller change may be there.", "More rounds make the MDE smaller."),
    "inconclusive": (
        "Too noisy for so few rounds.", "Neither a change nor its absence can be told.",
        "The number of rounds that would do stands beside it; --until-settled takes as many as are needed."),
    "invalid": (
        "There are readings, and no verdict may rest on them; the word beside it says why.",
        "The row counts nowhere.", "zlbench explain WORD, for the word beside it."),
    "FEW_PAIRS": (
        "Fewer than 4 valid rounds have this row on both sides.", "So few pairs carry no verdict.",
        "Measure more rounds: --rounds."),
    "PAIRS_DISTURBED": (
        "Pairs stayed disturbed in every try, so that fewer than 4 are valid.",
        "So few pairs carry no verdict. Those that were set aside were so by cause, never by value.",
        "See to the cause that stands beside the pair, then go on with --resume."),
    "NO_LOOK_YET": (
        "Rounds of the plan are still to come, and no look at them was due yet.",
        "A verdict now would be one more look, and wrong more often than it says.",
        "Wait, or go on with --resume; --until-settled plans looks on the way."),
    "CALIBER_MISMATCH": (
        "In every round that is left, the sides were measured in different ways.",
        "The difference would be that between the ways.", "The excluded rows say what differs."),
    "BIAS": (
        "Operators with equal code differ between the sides by more than two standard errors of their mean.",
        "It is taken off every row; what the sides differ in besides the change is as large as that.",
        "Look what else differs: paths, environment, a clock that follows the side."),
    "order-effect": (
        "Coming second in a round changes the time by itself.",
        "Rounds in both orders cancel it in the estimate; the noise is larger for it.",
        "Give the card time between cells, or lock its clocks."),
    "mean≠median": (
        "Mean and median of the rounds are far apart.", "A few rounds carry the estimate: look at them.",
        "Open the row in report.html: every round is a mark in its plot."),
    "quantised": (
        "The values move in steps of the clock that are coarser than their noise.",
        "The noise is taken to be a step at least.", "Longer rows, or a graph instead of direct calls."),
}
# fmt: on
