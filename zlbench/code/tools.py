"""NVIDIA's binary tools as a Triton wheel carries them: where they are, and running one to its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from zlbench.code.model import CostsUnavailableError
from zlbench.errors import PreflightError
from zlbench.process import Command, Outcome, run

Run = Callable[[Sequence[str]], Outcome]

_SECONDS = 120.0


def nvidia_bindir(triton_package: Path) -> Path:
    """Where a Triton package (the folder with its `__init__.py`) keeps NVIDIA's tools."""
    return triton_package / "backends" / "nvidia" / "bin"


def tool(bindir: Path, name: str) -> Path:
    """The tool's path.

    Raises:
        CostsUnavailableError: it is not there, or may not be executed.
    """
    path = bindir / name
    if not os.access(path, os.X_OK) or path.is_dir():
        raise CostsUnavailableError(
            f"no {name} in {bindir}",
            hint="Triton's wheels carry it in triton/backends/nvidia/bin. For a build from source, copy\n"
            f"the CUDA toolkit's {name} there; verdicts do not need it, registers and spills do.",
        )
    return path


def run_tool(command: Sequence[str]) -> Outcome:
    """Run a binary tool and keep its output, whatever it returns. Several threads may do so at a time.

    Raises:
        CostsUnavailableError: it cannot be started, or does not end.
    """
    try:
        outcome = run(
            Command(argv=tuple(command), env=os.environ, cwd=Path(), timeout_s=_SECONDS, grace_s=0.0, starts_none=True)
        )
    except PreflightError as error:
        raise CostsUnavailableError(error.message) from error
    if outcome.timed_out:
        raise CostsUnavailableError(f"{command[0]} did not end within {_SECONDS:.0f} s")
    return outcome
