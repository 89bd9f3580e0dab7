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
# Read by zlbench itself, which passes on what they mean.
_OURS = frozenset({"FLAGGEMS_DIR", "FLAGGEMS_PERF_COLOR", "FLAGGEMS_CACHE_DIR"})

AABS, AABS_DEFAULT = "FLAGTREE_AABS", "0"
"""FlagTree's rewriting of block sizes: left unset, one compiler does it and the other does not."""
DB_URL = "FLAGGEMS_DB_URL"
"""Database of the suite's winners; it goes before any cache directory, so an isolated cache takes it away."""


def without_dropped(env: Mapping[str, str]) -> dict[str, str]:
    """The environment less the variables that must not reach a measured process unless they are a declared switch."""
    return {name: value for name, value in env.items() if name not in DROPPED}


def ambient(env: Mapping[str, str], switches: Iterable[str], *, isolated: bool = True) -> tuple[str, ...]:
    """Return ``NAME=value`` of every variable that reaches both sides and that a compiler or suite may read, sorted.

    Args:
        isolated: whether each side has a tuner cache of its own.
    """
    kept = without_dropped(env)
    ours = _OURS | {DB_URL} if isolated else _OURS
    names = {name for name in kept if name.startswith(_PREFIXES)} - ours - set(switches)
    return tuple(f"{name}={kept[name]}" for name in sorted(names))
