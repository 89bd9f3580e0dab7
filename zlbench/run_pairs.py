"""Two finished runs of one operator as people name them: two run directories, a pair of a screen, a whole screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.axis import Axis, axis_of_plan
from zlbench.errors import UsageError
from zlbench.identity import RunIdentity

HOW = "Give two run directories (A, then B), one pair of a screen (SCREEN/OP), or one screen."


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPair:
    """Two run directories, and the axis where a screen declared one."""

    a: Path
    b: Path
    axis: Axis | None = None

    @property
    def directory(self) -> str:
        """Its name: that of the operator's directory in a screen, else of run A."""
        return self.a.parent.name if self.a.name == "A" else self.a.name

    def name(self, *identities: RunIdentity | None) -> str:
        """The operator; with the target where a screen has it on several."""
        named = next((identity.op for identity in identities if identity is not None and identity.op), "")
        folder = self.directory
        return f"{named}@{folder.partition('@')[2]}" if named and "@" in folder and named in folder else named or folder


def is_run(path: Path) -> bool:
    """Whether it is a run directory, finished or not."""
    return any((path / name).is_file() for name in ("rows.jsonl", store.RESULT))


def two_runs(a: Path, b: Path) -> RunPair:
    """Two run directories as a pair.

    Raises:
        UsageError: they are none, or the same.
    """
    for path in (a, b):
        if not is_run(path):
            raise UsageError(f"{path} is no run directory: it holds neither rows nor a result", hint=HOW)
    if a == b:
        raise UsageError(f"both sides are {a}", hint=HOW)
    same_pair = a.parent == b.parent and (a.name, b.name) == ("A", "B")
    return RunPair(a=a, b=b, axis=_axis(a.parent.parent) if same_pair else None)


def pair_of_screen(path: Path) -> RunPair | None:
    """The pair that lies in a directory of a screen; None where none does."""
    return RunPair(a=path / "A", b=path / "B", axis=_axis(path.parent)) if (path / "A").is_dir() else None


def pairs_of_screen(root: Path) -> Sequence[RunPair]:
    """Every pair of a screen.

    Raises:
        UsageError: there is none.
    """
    found = sorted(path.parent for path in root.glob("*/A") if (path.parent / "B").is_dir())
    if not found:
        raise UsageError(f"{root} holds no pair of cells", hint=HOW)
    axis = _axis(root)
    return [RunPair(a=path / "A", b=path / "B", axis=axis) for path in found]


def _axis(screen: Path) -> Axis | None:
    plan: dict[str, Any] = store.read_json(screen / "plan.json") or {}
    return axis_of_plan(plan)
