"""NVIDIA's binary tools as a Triton wheel carries them: where they are, and running one to its end."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zlbench.code.model import CostsUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]

_SECONDS = 120


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


def run_tool(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a binary tool and keep its output, whatever it returns.

    Raises:
        CostsUnavailableError: it cannot be started, or does not end.
    """
    try:
        return subprocess.run(
            list(command), capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CostsUnavailableError(f"{command[0]} did not end within {_SECONDS} s") from error
    except OSError as error:
        raise CostsUnavailableError(f"{command[0]} cannot be started: {error.strerror}") from error
