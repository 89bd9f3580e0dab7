"""What plugins and commands have to say of numbers that are there. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
NOTES: Mapping[str, Entry] = {
    "PREFLIGHT_FAILED": (
        "A check before the first cell failed; check=NAME says which.",
        "Nothing was started, so nothing is wrong with numbers.",
        "zlbench explain NAME, such as switch-known."),
    "AUTOTUNE_REPLAY_FALLBACK": (
        "A config was not recorded (key_missing), did not compile or is unknown; tuned anew (_no_evict: by old times).",
        "The sides may run different configs: INCOMPLETE where nothing else differs and the compiler refused none.",
        "Draw no conclusion from the row; replay.jsonl names kernel and key. Record A anew if the suite has changed."),
    "REPLAYED_NOTHING": (
        "Not one of the autotune choices of an operator was replayed; AUTOTUNE_REPLAY_FALLBACK says why.",
        "The run chose all its configs by itself, as if nothing had been given to replay. A run ends with 1.",
        "Record anew with this suite and device: the same command without --replay-from, on the other build."),
    "TUNE_ALL_FAILED": (
        "Every config of an autotune sweep failed, so the winner is the first of the list.",
        "The choice means nothing and cannot be replayed.",
        "Look why the configs fail on this target."),
    "BENCHMARK_DIRECT_NO_CUDAGRAPH": (
        "A call could not be captured (phase warmup, capture or replay; of=baseline: Torch's) and was timed directly.",
        "Its time holds launch overhead. The row says timer direct and is never compared with a graph row.",
        "Small rows: do not read differences below 10 %; --direct-repeat (ZL_DIRECT_REPEAT) steadies them."),
    "BENCHMARK_CAPTURE_POISONED": (
        "A failed capture left the process unable to use the card, although nothing says that the operator did.",
        "No row is lost: a fresh process goes on with this one, which it times without a graph.",
        "Nothing to do. Where every row of an operator costs a process: --cudagraph 0 (ZL_ENABLE_CUDAGRAPH=0)."),
    "DEVICE_LOST": (
        "A kernel lost the process its context on the card: an illegal memory access, a device-side assert, …",
        "The row named has no result. A fresh process goes on with the row after it; rows before it count.",
        "The row's error has the card's own words. For more, run the benchmark by hand with CUDA_LAUNCH_BLOCKING=1."),
    "KERNEL_ON_ONE_SIDE": (
        "Only one side compiles this kernel: another number of warps or stages, another constant, another name.",
        "There is nothing to compare its compile time with, so it is in no round; the kernels of both sides are.",
        "items.json lists it. zlbench diff OP shows what the sides compile."),
    "KERNEL_NOT_REPEATABLE": (
        "A kernel was compiled by another way than Triton's own compile(), so that it cannot be compiled once more.",
        "It is in no round; the other kernels of the operator are.",
        "Nothing to do, unless it is the kernel that you care for: its compile time is in kernels.jsonl, once."),
    "WARMUP_CONFLICT": (
        "In a parallel warm-up, cards that swept the same autotune key chose different configs.",
        "Cards heat and throttle each other, and that reached the sweep: which config won is partly chance.",
        "Before final numbers, run again without --parallel-warmup (PARALLEL_WARMUP_GPUS)."),
    "WARMUP_MISSED": (
        "A parallel warm-up did not meet a key that was then measured, or its config did not run on the card.",
        "The measuring process tuned these keys itself and recorded its choice; each cost a sweep on one card.",
        "Nothing to do: the record is whole. To spread them as well, name the shapes (--shapes, --shape-file)."),
    "CARD_BUSY": (
        "Another process was on the card before or after this operator. pid=unknown: the tool shows none, memory does.",
        "These rows shared the card with it: they are too long, and not alike on both sides. IR is not touched.",
        "Measure on another card (--device), or once it is free. foreign_processes in run_identity.json names it."),
    "FORCED_PAIRING": (
        "The suite is known to call kernels of this Triton with wrong arguments, and was measured on it all the same.",
        "From their second call on kernels read the wrong arguments: times of this side may mean nothing. IR is sound.",
        "Take a Triton that the suite knows, or a newer suite, and leave --force-pairing out."),
    "TIMES_WITHHELD": (
        "The two sides of a pair ran on two cards, or on one whose clocks or limits were changed between.",
        "The verdict on IR and code stands; the times would compare cards, and none is shown.",
        "Measure both sides on one card. device_uuid and card_settings in run_identity.json of each say which."),
    "CARD_NOT_LOCKED": (
        "The measured process used another card than the one that was asked for and kept free of other zlbench.",
        "Somebody else may have measured on it at the same time, and it is not the card that you meant.",
        "Name the card by its UUID (--device GPU-…), and look whether something in the suite chooses cards itself."),
    "CARD_IN_USE": (
        "Another zlbench of this host measures on the card; the line says which, where it writes and since when.",
        "Nothing was started: two at a time would time each other.",
        "Wait for it with --wait-for-card SECONDS, or take another card (--device). No lock outlives its process."),
    "TELEMETRY_OFF": (
        "The sampler has no readings of the card: no tool, one that hangs or fails, or it could not be kept alive.",
        "Times are not touched. Throttling, clocks and other processes during cells are not observed from there on.",
        "The line says why; telemetry.log beside telemetry.tsv has more. It goes on as soon as the tool answers."),
    "CUDA_GATE_LIFTED": (
        "The benchmark skips itself without CUDA; that gate was lifted for this vendor's card, by file and reason.",
        "These rows were measured where the suite on its own would have skipped them.",
        "Nothing to do. An operator that fails for want of CUDA after all shows it in its rows."),
    "FOREIGN_VENDOR_MODULE": (
        "The process loaded the suite's implementation for another vendor than the active one.",
        "Not wrong by itself, but an operator with odd results may run the wrong kernel.",
        "Look at the benchmark's imports: that one succeeds does not mean that it fits the device."),
    "PATCH_NOT_IN_FORCE": (
        "Something replaced a function that zlbench had wrapped, so a plugin does not see these rows.",
        "Rows can lack their own timer, shapes or failure reason.",
        "The line names the function; the suite or a plugin overrides it. A run() that times by itself has no rows."),
    "SHAPES_NOT_IN_FORCE": (
        "The inputs of a benchmark class do not come from the shapes given; the line names class, file and why.",
        "Its rows ran the suite's own inputs, not those asked for, and are not compared.",
        "Leave --shapes and --shape-file out for this operator, or compare it knowing that: --allow-caliber-mismatch."),
    "UNCALIBRATED": (
        "Fewer than 4 operators with equal machine code are measured along as controls; the line says why.",
        ("What differs between the sides besides the change (paths, memory layout, the order of files) is measured by "
         "controls alone and is not subtracted: differences of some tenths of a percent mean little."),
        "Screen more operators, so that some have equal code; --controls N asks for more than the usual 4 to 8."),
    "SHAPES_LEFT_OUT": (
        "A benchmark class left out shapes given, by a limit of its own (memory, a support matrix, …).",
        "The other shapes ran. Those left out have no row, on both sides alike.",
        "The line names the class and its file: look for what it filters, and give shapes within it."),
    "VALUES_MADE_UP": (
        "With no device, an operator read a value that only a device can tell: .item(), how many a mask selects, …",
        "It was given 64 (or True) on both sides alike: kernels are compiled, sizes behind the value are not real.",
        "Compare the sides as usual; made_up in rows.jsonl counts them. For real sizes measure on a card."),
    "HARNESS_NOT_FOUND": (
        "The suite has no class where zlbench expects the benchmark's base class.",
        "No row can be recorded, whatever the suite prints.",
        "Look at the suite's benchmark/base.py: another version, or another name?"),
    "IR_HOOKS_MISSING": (
        "This Triton lacks the hooks by which compilations and launches are seen.",
        "Kernels ran that nobody recorded, so the operator is INCOMPLETE: neither NO_TRITON nor a change.",
        "Use Triton 3.6 or later."),
    "CODE_UNREADABLE": (
        "A binary is not the ELF file that it should be.",
        "Whether its machine code changed is unknown, and is not guessed.",
        "Look at the file named; a full disk or a killed process leaves torn files."),
    "COSTS_UNAVAILABLE": (
        "Registers, spills and instructions could not be read out of the binaries.",
        "Verdicts are not touched; costs that are unknown show as ?.",
        "The line names the tool or the file. The tools ship inside a Triton wheel; a source tree may lack them."),
    "COSTS_DISAGREE": (
        "The card's driver counted other registers or spills when it loaded a kernel than its file states.",
        "The costs of that kernel are not what ran; verdicts are not touched.",
        "The line names the first kernel. A driver that recompiles (PTX for a newer card) does this."),
    "IR_UNREADABLE": (
        "A stored IR file could not be parsed.",
        "The operator gets no verdict rather than a wrong one.",
        "Look at the file named; a full disk or a killed process leaves torn files."),
}
# fmt: on
