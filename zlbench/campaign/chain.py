"""The chain as it runs: one step after the other, each a process; campaign.json says before and after where it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from zlbench import process, proctree, store
from zlbench.campaign import steps
from zlbench.campaign.record import SCREEN, Record, Step, StepState
from zlbench.errors import ExitCode
from zlbench.settings.table import STEPS
from zlbench.text import seconds

_STEP = "import sys; sys.path[:] = {path}; from zlbench.cli import main; sys.argv[0] = 'zlbench'; sys.exit(main())"
"""A step finds the modules of this process. In a PYTHONPATH they would come before those of the compilers' builds."""
_RETRIES = 2
_GRACE_S = 20.0
"""A step ends its own cells first, and says in its files that it was interrupted."""


@dataclass(kw_only=True, slots=True)
class Chain:
    """A campaign in progress; its directory is held by the caller.

    Args:
        env: environment of the steps.
        talk: takes lines for people.
        output: descriptor that the steps' results go to.
        cards: has the cards to ourselves inside its block, where anything is left to measure.
    """

    root: Path
    record: Record
    env: Mapping[str, str]
    talk: Callable[[str], None]
    output: int = 1
    cards: Callable[[], AbstractContextManager[None]] = nullcontext

    def run(self) -> ExitCode:
        """Run what is missing; returns the campaign's exit code."""
        proctree.sweep()
        self._reopen()
        left = not all(self.record.step(name).done for name in ("screen", "ab_repeat"))
        try:
            with self.cards() if left else nullcontext():
                return self._run()
        except KeyboardInterrupt:
            self._write(replace(self.record, state=StepState.INTERRUPTED, exit_code=int(ExitCode.INTERRUPTED)))
            raise

    def _run(self) -> ExitCode:
        self._write(replace(self.record, state=StepState.RUNNING, exit_code=None))
        for number, name in enumerate(STEPS, start=1):
            step = self.record.step(name)
            if step.done:
                self.talk(f"[{number}/{len(STEPS)}] {name}: {step.state.value} before")
            elif not self._step(number, name):
                break
        code = self.record.code
        state = StepState.FINISHED if all(step.done for step in self.record.steps) else StepState.FAILED
        self._write(replace(self.record, state=state, exit_code=int(code)))
        return code

    def _reopen(self) -> None:
        """Rounds that lack cells or valid pairs, or are to be more, are gone on with; the report is always made of what
        there is now.
        """
        lacking = steps.worth_another_try(self.record.step("ab_repeat").exit_code)
        if lacking or steps.more_rounds(self.root, self.record.words):
            self.record = self.record.with_step("ab_repeat", state=StepState.WAITING, exit_code=None)
        if not self.record.step("ab_repeat").done:
            self.record = self.record.with_step("report", state=StepState.WAITING, exit_code=None)

    def _step(self, number: int, name: str) -> bool:
        """One step; returns whether the next one follows."""
        reason = steps.nothing_to_measure(self.root) if name == "ab_repeat" else ""
        if reason:
            self.talk(f"[{number}/{len(STEPS)}] {name}: skipped: {reason}")
            self._write(self.record.with_step(name, state=StepState.SKIPPED, note=reason))
            return True
        command = steps.command(name, self.root, self.record.words)
        self.talk(f"[{number}/{len(STEPS)}] zlbench {' '.join(command)}")
        self._write(self.record.with_step(name, state=StepState.RUNNING, command=command, exit_code=None))
        _prepare(self.root, name)
        before = steps.rounds_status(self.root)
        started = time.monotonic()
        try:
            code = self._start(command)
            if name == "screen":
                code = self._killed_again(command, code)
        except KeyboardInterrupt:
            self._write(self._ended(name, StepState.INTERRUPTED, ExitCode.INTERRUPTED, started))
            raise
        on = steps.goes_on(name, code) and not (name == "ab_repeat" and steps.refused(self.root, code, before))
        state = StepState.FINISHED if on else StepState.INTERRUPTED if _interrupted(code) else StepState.FAILED
        self._write(self._ended(name, state, code, started))
        if not on:
            self.talk(f"[{number}/{len(STEPS)}] {name} ended {_how(code)}: the campaign stops here")
        return on

    def _killed_again(self, command: tuple[str, ...], code: int) -> int:
        """What was killed from outside is screened again: the rounds are planned once, from what the screen found."""
        for _ in range(_RETRIES):
            killed = steps.killed_cells(self.root) if code == ExitCode.PARTIAL else frozenset()
            if not killed:
                break
            self.talk(f"killed from outside, and once more: {' '.join(sorted(killed))}")
            code = self._start(command)
        return code

    def _ended(self, name: str, state: StepState, code: int, started: float) -> Record:
        took = round(time.monotonic() - started, 3)
        return self.record.with_step(name, state=state, exit_code=int(code), elapsed_s=took)

    def _start(self, command: tuple[str, ...]) -> int:
        sys.stdout.flush()
        outcome = process.run(
            process.Command(
                argv=(sys.executable, "-c", _STEP.format(path=[str(Path(part or ".").absolute()) for part in sys.path]),
                      *command),
                env=self.env, cwd=Path(self.record.cwd), passed_on=self.output, interrupt_grace_s=_GRACE_S,
            )
        )  # fmt: skip
        return outcome.returncode

    def _write(self, record: Record) -> None:
        self.record = record
        record.write(self.root)


def _prepare(root: Path, name: str) -> None:
    """Make the screen's directory, which the screen then goes on with: so it need not tell where it put itself."""
    screen = root / SCREEN
    if name != "screen" or (screen / store.STATUS).is_file():
        return
    with store.clear_errors(screen):
        screen.mkdir(exist_ok=True)
    store.write_json(screen / store.STATUS, {"schema_version": 1, "command": "screen", "state": "not begun"})


def _interrupted(code: int) -> bool:
    return code == ExitCode.INTERRUPTED or code < 0


def _how(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with {code}"


def overview(record: Record) -> list[str]:
    """One line a step, for the end and for `status`."""
    return [_line(step) for step in record.steps]


def _line(step: Step) -> str:
    took = "" if step.elapsed_s is None else seconds(step.elapsed_s)
    code = "" if step.exit_code is None else f"exit {step.exit_code}"
    text = f"  {step.name:<10} {step.state.value:<12} {code:<9} {took:>9}"
    return f"{text}  {step.note}".rstrip()
