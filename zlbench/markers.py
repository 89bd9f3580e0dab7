"""Every word in capitals that zlbench prints: its cause, what it means for the numbers, and the next step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from zlbench.errors import ExitCode, UsageError
from zlbench.nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(str, Enum):
    """What sort of word it is."""

    VERDICT = "verdict of a screen"
    STATE = "state of a cell or a row"
    REFUSAL = "refusal"
    MARKER = "marker"
    CAUSE = "cause for measuring a pair again"
    CHECK = "check before the first cell"
    COLUMN = "word in the table of a screen"
    TERM = "word for what is asked"
    EXIT = "exit code"


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """One word of the closed list."""

    word: str
    kind: Kind
    cause: str
    meaning: str
    next_step: str

    def __str__(self) -> str:
        return (
            f"{self.word}  ({self.kind.value})\n"
            f"  cause    {self.cause}\n"
            f"  meaning  {self.meaning}\n"
            f"  next     {self.next_step}"
        )


# word: (cause, what it means for the numbers, next step). One entry is one paragraph.
# fmt: off
_Entry = tuple[str, str, str]

_VERDICTS: dict[str, _Entry] = {
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

_REFUSALS: dict[str, _Entry] = {
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

_STATES: dict[str, _Entry] = {
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

_MARKERS: dict[str, _Entry] = {
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

_CAUSES: dict[str, _Entry] = {
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

_CHECKS: dict[str, _Entry] = {
    "switch-known": (
        "The name of a switch occurs in no file of the compilers or the suite.",
        "Nothing reads it: both sides would be equal and every result \"no difference\".",
        "Correct the spelling; the nearest name is in the message."),
    "suite-directory": (
        "The suite's directory is missing or holds no benchmark/conftest.py and src/<package>/.",
        "pytest would fail with \"unrecognized arguments\", which points the wrong way.",
        "Correct --suite or FLAGGEMS_DIR."),
    "benchmark-file": (
        "A benchmark's file is gone.", "The operator cannot run.", "List them: nox -s screen -- --list."),
    "shape-file": (
        "The shape file is missing or malformed.", "Default shapes would run without a word.",
        "Correct --shape-file; the message has file and line."),
    "build-made": (
        "The environment of a build is missing, incomplete or of another specification.",
        "There is no compiler to measure.", "Make it: nox -s build -- BUILD."),
    "build-source": (
        "The wheel, interpreter or source tree of a build is not there, or is not one.",
        "There is no compiler to measure.", "Correct the path, on the command line or in zlbench.toml."),
    "build-native": (
        "The build has no native library, or it cannot be loaded.",
        "There is no compiler to measure.", "Does the wheel fit Python version and machine?"),
    "build-imported": (
        "The side imports another compiler than the one asked for (BUILD_MISMATCH).",
        "The numbers would belong to another compiler.", "Look for a leaked PYTHONPATH."),
    "build-install": (
        "pip could not make the environment.", "There is no compiler to measure.",
        "pip's own words are in the message: a name, a version or a network."),
    "driver-imports": (
        "The Python that zlbench itself runs in lacks a package.",
        "Looks at rounds (--until-settled) need Student's t from scipy, in the driver alone.",
        "Install it where nox and zlbench are, or start with python3 noxfile.py, which does that itself."),
    "interpreter-imports": (
        "The interpreter does not import torch or triton, or not in time.",
        "Every cell would fail one after another.", "Try the command in the message by hand."),
    "suite-imports": (
        "The interpreter of a side cannot import the suite's package, with its torch and triton, or not in time.",
        "Every operator would fail alike.",
        "The message has the last line and what to install; for builds that zlbench makes: packages in zlbench.toml."),
    "suite-suits-compiler": (
        "The suite launches kernels behind a test of Triton's version, and that leaves this version out.",
        "From their second call on kernels get wrong arguments: results, times and crashes would mean nothing.",
        "Take a Triton that the suite knows, or a newer suite; compile only; or --force-pairing, knowing that."),
    "sides-differ": (
        "A and B are one build with equal switches (SAME_BUILD).",
        "Every result would be \"no difference\".", "Name another build, a switch, or --null-test."),
    "target-compiles": (
        "This Triton cannot compile for the target.",
        "Every kernel would fail.", "Choose another --target, or a newer build."),
    "device-available": (
        "The backend measures on a card, and Torch sees none in the interpreter of a side.",
        "Nothing was started.", "Compile only with --backend compile, or check --device and the driver."),
    "worker-starts": (
        "The measured process ended before it was ready.",
        "Nothing was measured.", "Its last words are in the message; more with --debug."),
    "process-start": (
        "A process could not be started.", "Nothing was measured.", "Check the interpreter's path."),
    "out-dir": (
        "Results cannot be written where they should go.", "Nothing was started.",
        "Choose another place: --out DIR."),
    "card-free": (
        "Another zlbench measures on the card (CARD_IN_USE), or the lock file that would tell cannot be opened.",
        "Nothing was started.", "Wait with --wait-for-card SECONDS, or take another card."),
    "replay-source": (
        "The record to replay is missing, itself a replay, or of another operator, backend or suite.",
        "Configs would be tuned anew.",
        "Point --replay-from (REPLAY_FROM) to the run that recorded."),
    "one-choice": (
        "Both sides of a pair were told to leave autotuners alone (--autotune 0).",
        "Each would choose its own configs, and every pair would be withdrawn as RECORD_VS_RECORD.",
        "Leave --autotune 0 out; or --allow-caliber-mismatch, where it does not matter."),
}

_EXITS: dict[ExitCode, _Entry] = {
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
        "A row is slower than --fail-on allows.", "The comparison is valid.", "See the report."),
    ExitCode.TIMEOUT: ("A time limit was reached.", "What was done counts.", "zlbench explain CELL_TIMEOUT"),
    ExitCode.INTERRUPTED: ("Ctrl-C.", "What was finished is kept.", "Go on with --resume."),
}
# fmt: on


# fmt: off
_COLUMNS: dict[str, _Entry] = {
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

_TERMS: dict[str, _Entry] = {
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


def _made(entries: Mapping[str, _Entry], kind: Kind) -> dict[str, Marker]:
    return {
        word: Marker(word=word, kind=kind, cause=cause, meaning=meaning, next_step=step)
        for word, (cause, meaning, step) in entries.items()
    }


MARKERS: dict[str, Marker] = {
    **_made(_VERDICTS, Kind.VERDICT),
    **_made(_STATES, Kind.STATE),
    **_made(_REFUSALS, Kind.REFUSAL),
    **_made(_MARKERS, Kind.MARKER),
    **_made(_CAUSES, Kind.CAUSE),
    **_made(_CHECKS, Kind.CHECK),
    **_made(_COLUMNS, Kind.COLUMN),
    **_made(_TERMS, Kind.TERM),
    **_made({f"{code.value} {code.label}": entry for code, entry in _EXITS.items()}, Kind.EXIT),
}


def find(word: str) -> Marker:
    """Return what a word means: a marker in any case, a check's name, or an exit code, as a number or as it is called.

    Raises:
        UsageError: no such word; the nearest are named.
    """
    asked = word.strip().strip("!:,. ").removeprefix("check=")
    by_fold = {name.casefold(): marker for name, marker in MARKERS.items()}
    by_fold |= {name.partition(" ")[0]: marker for name, marker in MARKERS.items() if marker.kind is Kind.EXIT}
    called = {name.partition(" ")[2].casefold(): marker for name, marker in MARKERS.items() if marker.kind is Kind.EXIT}
    by_fold = {**called, **by_fold}
    found = by_fold.get(asked.casefold()) or by_fold.get(asked.casefold().replace("-", "_"))
    if found is None and asked.casefold().endswith("_no_evict"):
        found = MARKERS["AUTOTUNE_REPLAY_FALLBACK"]
    if found is None:
        raise UsageError(unknown("word", asked[:60], MARKERS), hint="All of them: zlbench explain")
    return found


def explain(word: str) -> str:
    """Return the text of ``zlbench explain WORD``."""
    return str(find(word))


def overview() -> str:
    """Return every word with its cause, by kind, for ``zlbench explain`` without a word."""
    lines: list[str] = []
    for kind in Kind:
        lines += ["", f"{kind.value}:"]
        lines += [f"  {word:<32} {marker.cause}" for word, marker in MARKERS.items() if marker.kind is kind]
    return "\n".join(lines).lstrip("\n")
