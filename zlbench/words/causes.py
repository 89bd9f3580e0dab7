"""Why a pair was measured again. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
CAUSES: Mapping[str, Entry] = {
    "PAIR_DEVICE_LOST": (
        "A side of the pair lost its context on the card (DEVICE_LOST).",
        "A row is missing there, and the process after it began on a card just reset: the pair is not compared.",
        "Where it comes back in every try, the operator has a fault: run it alone."),
    "PAIR_REPLAY_FALLBACK": (
        "A side of the pair did not find its autotune configs in the record, and tuned anew.",
        "The sides may have run different configs: the pair is not compared.",
        "zlbench explain AUTOTUNE_REPLAY_FALLBACK"),
    "PAIR_GRAPH_FALLBACK": (
        "A row was timed by graph on one side of the pair and without one on the other.",
        "A direct time holds launch overhead: the pair is not compared.",
        "Where it comes back in every try, the row cannot be captured on that side: --cudagraph 0 for both."),
    "PAIR_FOREIGN_PROCESS": (
        "Somebody else's process was on the card while a side was measured.",
        "That side shared what it was measured on: the pair is not compared, whatever it measured.",
        "The line names who. Measure once the card is free; telemetry.tsv has them by time."),
    "PAIR_THROTTLED": (
        "The card lowered its clocks on one side alone: heat, power brake, a hardware slowdown.",
        "The sides ran on cards of different speed: the pair is not compared. A power cap is told, and clocks decide.",
        "See to cooling, or leave the card time; telemetry.tsv has the reasons by time."),
    "PAIR_CLOCKS_APART": (
        "The median clocks of the two cells are more than 2 % apart, by the readings in which the card worked.",
        "The sides ran on cards of different speed: the pair is not compared.",
        "Lock the clocks where you may (nvidia-smi -lgc), or leave the card time between operators."),
}
# fmt: on
