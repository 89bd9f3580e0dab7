"""Why something was refused before it could mislead. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
REFUSALS: Mapping[str, Entry] = {
    "CACHE_NOT_FRESH": (
        "The sides share a compile cache, so B can have been handed kernels that A compiled.",
        "NO_IR_DIFF would be true by construction, and is not stated.",
        "Run again without --share-cache."),
    "SAME_BUILD": (
        "A and B are one compiler build with equal switches.",
        "Every result would be \"no difference\", or noise that looks like one.",
        "Name another build or a switch. If a noise run is meant: --null-test."),
    "BUILD_MISMATCH": (
        "The compiler really imported on a side is not the one asked for: other path or content.",
        "The numbers would belong to another compiler, with the right name on top.",
        "Look for a leaked PYTHONPATH and for a reused environment; make it anew: nox -s build."),
    "SWITCH_NO_IR_DIFF": (
        "Both sides have the same IR and machine code: the switch does not change this operator.",
        "Nothing to measure: times would be noise. A screen in which that holds for every operator ends with 5.",
        "Expected? Then the operator is a control. If not: check the spelling, and where and how the switch is read."),
    "RECORD_VS_RECORD": (
        "Each side chose its own autotune configs: both recorded, or a side neither recorded nor replayed.",
        "They ran different configs; the difference between configs covers the one between compilers.",
        "Let B replay A's record."),
    "TUNER_CACHE_SHARED": (
        "Autotune winners came from a cache shared with earlier runs; the line names the compiler that put them there.",
        "Configs chosen by another compiler are no choice of this side: refused. Else: do not quote absolute times.",
        "Use an isolated tuner cache (ZL_ISOLATE_TUNER_CACHE=1, the default for comparisons)."),
    "TIMER_MISMATCH": (
        "One side timed this row by graph, the other directly.",
        "A direct time holds launch overhead; the row is excluded and nothing is concluded from it.",
        "See BENCHMARK_DIRECT_NO_CUDAGRAPH in run.log, or measure both with ZL_ENABLE_CUDAGRAPH=0."),
    "ZERO_MATCHED": (
        "No row of A has a counterpart in B: other shapes, other dtype labels.",
        "There is no comparison, and it is no all-clear.",
        "Compare shapes.yaml and the dtypes in rows.jsonl of both sides."),
    "UNEQUAL_ROWS": (
        "Some rows exist on one side alone.",
        "Only matched rows are compared, pair by pair; a mean over unequal sets would be wrong.",
        "The lost rows are listed with their reasons."),
    "L2_MISMATCH": (
        "One side timed this row with a warm second-level cache, the other with a flushed one.",
        "The difference would be that of the cache; the row is excluded.",
        "Give both sides the same --l2."),
    "CONFIG_MISMATCH": (
        "The sides ran this row with different autotune configs, or one of them on a config that nobody saw.",
        "The difference would be that between configs; the row is excluded.",
        "Let B replay A's record; see which kernel in autotune_records of both sides."),
    "INVALID_LATENCY": (
        "A side has no time for this row, or one that cannot be: 0, negative, not a number.",
        "The row is not compared, and the comparison is partial.",
        "Read run.log of that side; a kernel that is not launched at all can look like this."),
    "DUPLICATE_ROW": (
        "A side has more than one result under this row's name.",
        "Which of them belongs to the other side's cannot be told; the row is excluded.",
        "Measure the operator again in a new run."),
    "BASELINE_DRIFT": (
        "The Torch baseline, which the change cannot reach, moved by more than 2 % between the sides.",
        "The card or the host was not the same: changes of that size mean nothing here.",
        "See if the card was busy or hot, and measure both sides again, one right after the other."),
    "ORDER_CONFOUNDED": (
        "The same side ran first in every round.",
        "Drift and the change cannot be told apart; there is no verdict.",
        "Measure again with alternating order."),
    "BASELINE_NOT_INDEPENDENT": (
        "The benchmark's baseline is the measured operator itself, or launches Triton kernels.",
        "It went through the compiler under test: speed-ups against it mean nothing, and it is no canary.",
        "Compare latencies of A and B, not speed-ups."),
}
# fmt: on
