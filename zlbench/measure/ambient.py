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
    "USE_IR_",
)
# Read by zlbench itself, which passes on what they mean.
_OURS = frozenset({"FLAGGEMS_DIR", "FLAGGEMS_PERF_COLOR", "FLAGGEMS_CACHE_DIR"})


def without_dropped(env: Mapping[str, str]) -> dict[str, str]:
    """The environment less the variables that must not reach a measured process unless they are a declared switch."""
    return {name: value for name, value in env.items() if name not in DROPPED}


def ambient(env: Mapping[str, str], switches: Iterable[str]) -> tuple[str, ...]:
    """Return ``NAME=value`` of every variable that reaches both sides and that a compiler or suite may read, sorted."""
    kept = without_dropped(env)
    names = {name for name in kept if name.startswith(_PREFIXES)} - _OURS - set(switches)
    return tuple(f"{name}={kept[name]}" for name in sorted(names))
