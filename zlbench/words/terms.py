"""Words for what is asked. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
TERMS: Mapping[str, Entry] = {
    "axis": (
        "What differs between A and B on purpose: two builds, or one build with a switch set otherwise.",
        "Whatever else differs withdraws the verdict.",
        "--a and --b, --switch, or --axis NAME from [axis.NAME] of zlbench.toml."),
    "caliber": (
        "Every condition that changes what a result means: suite, level, dtypes, card, timer, cache and so on.",
        "Both sides must agree in it, but for the axis; otherwise nothing is compared (exit 4).",
        "--caliber NAME takes [caliber.NAME] of zlbench.toml; run_identity.json of a cell has all conditions."),
    "level": (
        "How many shapes an operator runs with: core or comprehensive, the suite's own --level.",
        "More shapes reach more variants of a kernel.", "--level comprehensive"),
    "configs": (
        "Which configs of an autotuned kernel are compiled where there is no device: first, all, or the first K.",
        "On a card the tuner chooses, and this has no effect.", "--configs all"),
    "quick": (
        "One shape and one dtype an operator, with --quick.",
        "A first look: what other shapes and dtypes compile to is not looked at.", "Leave --quick out."),
    "libtriton": (
        "The first digits of the SHA-256 of a build's native library, libtriton.so.",
        "Two builds with one version and different digits are different compilers.",
        "zlbench build NAME shows what is in a build."),
    "timer": (
        "How a row was timed: cuda_graph, direct, or compile where nothing is launched.",
        "Rows with different timers are never compared (TIMER_MISMATCH).", "--cudagraph chooses."),
    "direct": (
        "The row was timed by calls from the host, not by a captured graph.",
        "Its time holds the cost of launching, which on short kernels is most of it.",
        "BENCHMARK_DIRECT_NO_CUDAGRAPH in run.log has the reason; --direct-repeat N steadies it."),
}
# fmt: on
