"""`campaign.json`: what was asked, and how far each step is. Values; written whole before and after every step."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.errors import ExitCode, UsageError
from zlbench.settings.table import STEPS

CAMPAIGN = "campaign.json"
"""What makes a directory a campaign's."""
SCREEN, ROUNDS, PARTITION, REPORT = "screen", "rounds", "partition.json", "report.md"
"""What the steps leave below a campaign."""


class StepState(str, Enum):
    """How far a step is."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    SKIPPED = "skipped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One command of the chain.

    Args:
        command: its arguments, as they can be typed after ``zlbench``.
        exit_code: what it ended with, minus the signal's number where one ended it.
        elapsed_s: of its last try.
        note: why it was skipped.
    """

    name: str
    state: StepState = StepState.WAITING
    exit_code: int | None = None
    command: tuple[str, ...] = ()
    elapsed_s: float | None = None
    note: str = ""

    @property
    def done(self) -> bool:
        """Whether it is over and need not run again."""
        return self.state in (StepState.FINISHED, StepState.SKIPPED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One campaign.

    Args:
        words: what the command line and the caller's variables asked for, by option.
        cwd: where relative paths among them start.
    """

    words: Mapping[str, Sequence[str]]
    cwd: str
    started: str = ""
    state: StepState = StepState.RUNNING
    exit_code: int | None = None
    steps: tuple[Step, ...] = tuple(Step(name=name) for name in STEPS)

    def step(self, name: str) -> Step:
        """One of its steps."""
        return next(step for step in self.steps if step.name == name)

    def with_step(self, name: str, **changed: Any) -> Record:
        """The same with one step changed."""
        steps = tuple(replace(step, **changed) if step.name == name else step for step in self.steps)
        return replace(self, steps=steps)

    @property
    def code(self) -> ExitCode:
        """What the campaign ends with: the first of its steps' codes that is not 0."""
        codes = [step.exit_code for step in self.steps if step.exit_code]
        known = {int(code) for code in ExitCode}
        return ExitCode.OK if not codes else ExitCode(codes[0]) if codes[0] in known else ExitCode.PARTIAL

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        steps = [{**asdict(step), "state": step.state.value, "command": list(step.command)} for step in self.steps]
        return {
            "schema_version": 1, "command": "campaign", "state": self.state.value, "exit_code": self.exit_code,
            "exit": None if self.exit_code is None else ExitCode(self.exit_code).label, "started": self.started,
            "pid": os.getpid(), "cwd": self.cwd, "words": {name: list(words) for name, words in self.words.items()},
            "steps": steps,
        }  # fmt: skip

    def write(self, root: Path) -> None:
        """Write campaign.json, and the same as status.json, which every command's directory has."""
        data = self.to_json()
        store.write_json(root / CAMPAIGN, data)
        store.write_json(root / store.STATUS, {key: value for key, value in data.items() if key != "words"})

    @classmethod
    def read(cls, root: Path) -> Record:
        """Read a campaign.

        Raises:
            UsageError: there is none.
        """
        data = store.read_json(root / CAMPAIGN)
        if not isinstance(data, Mapping) or "steps" not in data:
            raise UsageError(f"{root} is no campaign: it holds no {CAMPAIGN}", hint="Give a directory runs/campaign_….")
        steps = {step["name"]: _step(step) for step in data["steps"]}
        return cls(
            words={name: tuple(words) for name, words in data["words"].items()}, cwd=data["cwd"],
            started=data.get("started") or "", state=StepState(data["state"]), exit_code=data["exit_code"],
            steps=tuple(steps.get(name, Step(name=name)) for name in STEPS),
        )  # fmt: skip


def _step(data: Mapping[str, Any]) -> Step:
    known = {item.name for item in fields(Step)}
    values = {key: value for key, value in data.items() if key in known}
    return Step(**{**values, "state": StepState(data["state"]), "command": tuple(data["command"])})
