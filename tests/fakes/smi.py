"""Vendors' tools as executables on a PATH of their own: they print recorded output, fail or hang."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parents[1] / "unit" / "data" / "smi"


def make_tool(folder: Path, name: str, answers: dict[str, str], *, otherwise: str = "exit 9") -> dict[str, str]:
    """Write one tool and return an environment that finds it and nothing else.

    Args:
        answers: part of the command line → file of recorded output.
        otherwise: what it does with any other command line, in shell.
    """
    folder.mkdir(exist_ok=True)
    cases = "".join(f'*"{part}"*) cat "{DATA / file}" ;;\n' for part, file in answers.items())
    tool = folder / name
    tool.write_text(
        f'#!/bin/sh\nPATH=/bin:/usr/bin\necho "$*" >> "{folder}/asked"\ncase "$*" in\n{cases}*) {otherwise} ;;\nesac\n'
    )
    tool.chmod(0o755)
    return {"PATH": str(folder)}


def asked(folder: Path) -> list[str]:
    """Command lines that the tools of this folder got, in order."""
    path = folder / "asked"
    return path.read_text().splitlines() if path.exists() else []
