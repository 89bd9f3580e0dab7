"""Variables of the caller that a compiler or a suite reads: those that would change the question are dropped, the rest
is written down.

Both sides inherit them alike, so they cannot fake a difference; but two screens, or a screen and its resumption, are
comparable only if they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Would make the compiled thing another than the one named: other target, other IR, other cache, no machine code.
DROPPED = frozenset(
    """TRITON_INTERPRET TRITON_CACHE_DIR TRITON_HOME TRITON_ALWAYS_COMPILE TRITON_CACHE_AUTOTUNING TRITON_CACHE_MANAGER
    TRITON_REMOTE_CACHE_BACKEND TRITON_OVERRIDE_ARCH TRITON_KERNEL_OVERRIDE TRITON_OVERRIDE_DIR TRITON_KERNEL_DUMP
    TRITON_DUMP_DIR TRITON_STORE_BINARY_ONLY TRITON_DEFAULT_BACKEND""".split()  # noqa: SIM905 - a name a line is a screen
)
_BLOCKING = "_LAUNCH_BLOCKING"
"""Ends the name of a variable that makes the host wait for every launch: each direct time would hold that wait."""
_PREFIXES = (
    "TRITON_",
    "DISABLE_",
    "MLIR_",
    "LLVM_",
    "PTXAS_",
    "NVPTX_",
    "AMDGCN_",
    "FLAGTREE_",
    "FLAGGEMS_",
    "FLAGTUNE_",
    "USE_FLAGTUNE_",
    "USE_IR_",
)
# Of kernels' own libraries and of the run time below them: what they read changes kernels, or the time of one.
_BELOW = (
    "FLA_",
    "GDN_",
    "FLAG_GEMS_",
    "GEMS_",
    "TRITONXPU_",
    "KLX_",
    "XMLIR_",
    "ENFLAME_",
    "CUDA_",
    "NVIDIA_",
    "TORCH",
    "PYTORCH_",
    "CUBLAS_",
    "CUDNN_",
    "OMP_",
    "MKL_",
    "HIP_",
    "ROCM_",
    "MUSA_",
    "ASCEND_",
)
_WORDS = frozenset({"ARCH", "PRECISION_MODE", "USE_C_EXTENSION", "OFF_ASYNC"})
# Differ between two shells or images of one machine and change no kernel: where things lie, what they are called. The
# versions that count are in the identity. Which card is visible is told by its UUID.
_PLACES = ("_VISIBLE_DEVICES", "_HOME", "_PATH", "_ROOT", "_DIR", "_VERSION")
_HARMLESS = frozenset(
    """NVIDIA_REQUIRE_CUDA NVIDIA_DRIVER_CAPABILITIES NVIDIA_PRODUCT_NAME TORCH_CUDA_ARCH_LIST TORCH_LOGS TORCH_LOGS_OUT
    TORCH_SHOW_CPP_STACKTRACES TORCH_CPP_LOG_LEVEL""".split()  # noqa: SIM905 - a name a line is a screen
)
_PROFILER = "INJECTION"
"""Part of the name of a variable that loads a profiler into every process: no harmless path."""
# Read by zlbench itself, which passes on what they mean.
_OURS = frozenset({"FLAGGEMS_DIR", "FLAGGEMS_PERF_COLOR", "FLAGGEMS_CACHE_DIR", "CUDA_DEVICE_ORDER"})
VENDOR_VARIABLES = ("GEMS_VENDOR", "FLAGGEMS_VENDOR", "GEMS_BACKEND", "FLAGGEMS_BACKEND")
"""FlagGems reads them in this order. What they come to is the identity's vendor."""

AABS, AABS_DEFAULT = "FLAGTREE_AABS", "0"
"""FlagTree's rewriting of block sizes: left unset, one compiler does it and the other does not."""
THREADS, THREADS_DEFAULT = "OMP_NUM_THREADS", "1"
_DEFAULTS = {AABS: AABS_DEFAULT, THREADS: THREADS_DEFAULT}
"""What measured processes get where the caller says nothing: to say so is no other condition."""
DB_URL = "FLAGGEMS_DB_URL"
"""Database of the suite's winners; it goes before any cache directory, so an isolated cache takes it away."""


def without_dropped(env: Mapping[str, str]) -> dict[str, str]:
    """The environment less the variables that must not reach a measured process unless they are a declared switch."""
    return {name: value for name, value in env.items() if name not in DROPPED and not name.endswith(_BLOCKING)}


def blocking(env: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that people set to find a fault, and that measured processes do not get: that must be said."""
    return tuple(sorted(name for name, value in env.items() if name.endswith(_BLOCKING) and value not in ("", "0")))


def ambient(env: Mapping[str, str], switches: Iterable[str], *, isolated: bool = True) -> tuple[str, ...]:
    """Return ``NAME=value`` of every variable that reaches both sides and that a compiler or suite may read, sorted.

    Args:
        isolated: whether each side has a tuner cache of its own.
    """
    kept = without_dropped(env)
    left_out = {*_OURS, *VENDOR_VARIABLES, *switches, *([DB_URL] if isolated else [])}
    names = {name for name in kept if _counts(name) and kept[name] != _DEFAULTS.get(name)} - left_out
    return tuple(f"{name}={kept[name]}" for name in sorted(names))


def _counts(name: str) -> bool:
    if name.startswith(_PREFIXES) or name in _WORDS:
        return True
    return name.startswith(_BELOW) and name not in _HARMLESS and (not name.endswith(_PLACES) or _PROFILER in name)
