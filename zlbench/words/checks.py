"""Checks before the first cell. Word: cause, meaning, next step."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.words.entry import Entry

# fmt: off
CHECKS: Mapping[str, Entry] = {
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
# fmt: on
