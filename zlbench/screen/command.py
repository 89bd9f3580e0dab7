"""The screen from request to verdict: one pair an operator, judged as soon as both of its cells are finished."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zlbench import guard, store
from zlbench.axis import shown
from zlbench.cells import CellOutcome, CellSpec, CellState
from zlbench.cost_table import read_costs
from zlbench.errors import ExitCode
from zlbench.identity import read_identity
from zlbench.judge import Judgement, MachineCode, SideFacts, Verdict, judge, not_comparable
from zlbench.measure.prepare import Prepared, make_work_dir, tidy_work_dir, worker_specs
from zlbench.measure.request import Request, make_cells
from zlbench.measure.runner import CellRunner, Clock, Finished
from zlbench.screen import table
from zlbench.text import plural, seconds

CACHE = ".cache"
_STATUS_INTERVAL_S = 1.0


@dataclass(kw_only=True, slots=True)
class Screen:
    """A screen in progress.

    Args:
        root: its run directory.
        talk: takes lines for people while it runs.
    """

    request: Request
    prepared: Prepared
    root: Path
    env: Mapping[str, str]
    talk: Callable[[str], None]
    lines: dict[str, table.Line] = field(default_factory=dict)
    outcomes: dict[str, dict[str, CellOutcome]] = field(default_factory=dict)
    clock: Clock = field(init=False)
    notes: list[str] = field(default_factory=list)
    status_written: float = -_STATUS_INTERVAL_S

    def run(self, jobs: int) -> None:
        """Measure and judge; every judged operator is on the disk before the next is looked at."""
        cells = make_cells(self.request, self.root)
        self.clock = Clock(len(cells), jobs)
        self.notes += self.request.unread
        store.write_json(self.root / "plan.json", plan_data(self.request, self.prepared, cells))
        self.write_status("running")
        work = self.root / CACHE
        make_work_dir(self.request, work)
        runner = CellRunner(
            self.request, self.prepared, worker_specs(self.request, self.prepared, work_dir=work, env=self.env),
            jobs=jobs, on_finished=self._finished,
        )  # fmt: skip
        try:
            runner.run(cells)
        finally:
            tidy_work_dir(self.request, work)
        # Costs come in one go at the end: a disassembler takes as long to start as for a thousand kernels.
        # An operator that could not be judged has none: sums over unequal sets of kernels would look like a change.
        self.lines = {
            pair: line if line.judgement.failed else replace(line, costs=read_costs(self.root / pair))
            for pair, line in self.lines.items()
        }
        store.write_text(self.root / "screen.tsv", table.to_tsv(self.sorted_lines()))
        if runner.coster.unavailable:
            self.notes.append(runner.coster.unavailable)

    def _finished(self, finished: Finished) -> None:
        spec, outcome = finished.spec, finished.outcome
        self.clock.note(None if finished.reused else outcome.elapsed_s)
        self.talk(progress_line(self.clock, spec, outcome, reused=finished.reused))
        pair = spec.cell.rpartition("/")[0]
        sides = self.outcomes.setdefault(pair, {})
        sides[spec.side] = outcome
        if len(sides) == len(self.request.sides):
            self._judge(pair, spec)
        self.write_status("running")

    def _judge(self, pair: str, spec: CellSpec) -> None:
        """Judge one operator and put the table on the disk."""
        stamps = self.request.axis.stamps
        a, b = (SideFacts.read(self.root / pair / side, stamps) for side in ("A", "B"))
        judgement = judge(a, b)
        before, after = (read_identity(self.root / pair / side) for side in ("A", "B"))
        complaints = guard.complaints(before, after, self.request.axis, op=spec.op)
        fatal = [complaint for complaint in complaints if complaint.severity is guard.Severity.REFUSE]
        self.notes += [str(complaint) for complaint in complaints]
        if fatal and a.rows and b.rows and not self.request.resolved.flag("allow_caliber_mismatch"):
            judgement = not_comparable(judgement, "; ".join(str(complaint) for complaint in fatal))
        selection = next(item for item in self.request.selections if item.op == spec.op)
        self.lines[pair] = table.Line(
            op=spec.op,
            op_file=selection.benchmark.stem,
            dtypes=" ".join(spec.dtypes),
            target=spec.target or "",
            directory=pair,
            before=a.outcome,
            after=b.outcome,
            judgement=judgement,
            caliber=before.caliber.columns() if before is not None else {},
        )
        if is_dead_switch(self.request, judgement):
            switch = ",".join(item.name for item in self.request.switched)
            self.notes.append(f"SWITCH_NO_IR_DIFF op={spec.op} switch={switch}")
        store.write_text(self.root / "screen.tsv", table.to_tsv(self.sorted_lines()))

    def sorted_lines(self) -> list[table.Line]:
        """Judged operators in the order of the plan."""
        order = [self.request.pair_name(s, t) for t in self.request.targets for s in self.request.selections]
        return [self.lines[pair] for pair in order if pair in self.lines]

    def exit_code(self) -> ExitCode:
        """What the command ends with."""
        lines = self.sorted_lines()
        judged = [line for line in lines if not line.judgement.failed]
        if any(line.judgement.verdict in (Verdict.CACHE_NOT_FRESH, Verdict.NOT_COMPARABLE) for line in lines):
            return ExitCode.NOT_COMPARABLE
        if lines and not judged:
            return _worst(lines)
        if len(judged) < len(self.request.selections) * len(self.request.targets) or self.request.unread:
            return ExitCode.PARTIAL
        if judged and all(is_dead_switch(self.request, line.judgement) for line in judged):
            return ExitCode.NOTHING_MEASURED
        failed_rows = any(line.before.rows_failed or line.after.rows_failed for line in lines)
        return ExitCode.OP_FAILED if failed_rows else ExitCode.OK

    def write_status(self, state: str, code: ExitCode | None = None, error: str = "") -> None:
        """Write status.json: what a script reads instead of nox's exit status.

        It holds every cell, so while cells end in quick succession it is written once a second at most.
        """
        now = time.monotonic()
        if state == "running" and now - self.status_written < _STATUS_INTERVAL_S:
            return
        self.status_written = now
        store.write_json(self.root / store.STATUS, self.status(state, code, error))

    def status(self, state: str, code: ExitCode | None = None, error: str = "") -> dict[str, Any]:
        """The state of the screen and of every cell, with original exit codes."""
        return {
            "schema_version": 1,
            "command": "screen",
            "state": state,
            "exit_code": None if code is None else int(code),
            "exit": None if code is None else code.label,
            "error": error,
            "pid": os.getpid(),
            "sides": {side.label: self._side_status(side.label) for side in self.request.sides},
            "cells": {
                f"{pair}/{side}": {**outcome.to_json(), "exit_code": int(outcome.exit_code)}
                for pair, sides in self.outcomes.items()
                for side, outcome in sides.items()
            },
            "notes": self.notes,
        }

    def _side_status(self, label: str) -> dict[str, Any]:
        return side_status([sides[label] for sides in self.outcomes.values() if label in sides])


def side_status(outcomes: Sequence[CellOutcome]) -> dict[str, Any]:
    """State of one side: that of its first cell that did not end well, with the process's own status.

    An operator that skips itself leaves a side well; a side of which nothing but skips is left measured nothing.
    """
    ended = [outcome for outcome in outcomes if outcome.state is not CellState.SKIPPED]
    first = next((outcome for outcome in ended if outcome.state is not CellState.OK), None) or next(
        iter(ended or outcomes), None
    )
    state = CellState.NOT_RUN if first is None else CellState.NOTHING_MEASURED if not ended else first.state
    return {
        "state": state.value,
        "returncode": None if first is None else first.returncode,
        "exit_code": None if first is None else int(first.exit_code),
        "detail": "" if first is None else first.detail,
        "finished": len(outcomes),
    }


def is_dead_switch(request: Request, judgement: Judgement) -> bool:
    """Whether a switch axis changed nothing that can be seen in this operator."""
    axis = request.axis
    return (
        bool(axis.switches)
        and not axis.differs_in_build
        and not axis.null_test
        and judgement.verdict is Verdict.NO_IR_DIFF
        and judgement.machine_code is not MachineCode.CHANGED
    )


def _worst(lines: Sequence[table.Line]) -> ExitCode:
    """Exit code where no operator could be judged: partial where rows exist or a process died, else nothing."""
    states = {outcome.state for line in lines for outcome in (line.before, line.after)}
    incomplete = any(line.judgement.verdict is Verdict.INCOMPLETE for line in lines)
    if incomplete or CellState.TIMEOUT in states or CellState.CRASH in states:
        return ExitCode.PARTIAL
    if CellState.OP_FAILED in states:
        return ExitCode.OP_FAILED
    if states == {CellState.USAGE}:
        return ExitCode.USAGE
    return ExitCode.NOTHING_MEASURED


def progress_line(clock: Clock, spec: CellSpec, outcome: CellOutcome, *, reused: bool) -> str:
    """``[1/6] A topk       24 kernels    8.1 s``; a cell that did not end well says how."""
    width = len(str(clock.total))
    target = f" {spec.target}" if "@" in spec.cell else ""
    text = f"[{clock.done:>{width}}/{clock.total}] {spec.side} {spec.op + target:<24} {outcome.kernels:>4} kernels"
    took = "kept" if reused else seconds(outcome.elapsed_s)
    text += f" {took:>9}"
    if outcome.state is not CellState.OK:
        text += f"   {outcome.state.value} {outcome.detail}"[:200]
    left = clock.left_s
    if left is not None and clock.done < clock.total:
        text += f"   left about {seconds(left)}"
    return text


def _compilers(prepared: Prepared) -> tuple[list[str], list[str]]:
    """Names and hashes of both compilers; where they would read alike, with the word that tells them apart."""
    both = [prepared.manifests[label] for label in ("A", "B")]
    versions = [f"triton {manifest.triton_version}" for manifest in both]
    names = [
        manifest.name if manifest.triton_version in manifest.name else f"{manifest.name} ({version})"
        for version, manifest in zip(versions, both, strict=True)
    ]
    native = [f"libtriton {manifest.native_sha256[:8]}" for manifest in both]
    python = [f"{text} python {manifest.python_sha256[:8]}" for text, manifest in zip(native, both, strict=True)]
    alike = len(set(versions)) == 1 and len(set(names)) == 2
    return names if alike else versions, python if len(set(native)) == 1 and len(set(python)) == 2 else native


def header(request: Request, prepared: Prepared) -> list[str]:
    """What is compared, said once above everything."""
    axis = request.axis
    names, hashes = _compilers(prepared)
    title = "screen" if not axis.null_test else "A/A noise run"
    lines = [f"{title}  A {names[0]}  →  B {names[1]}        axis: {axis.describe}"]
    lines += [f"        switch {switch.name}: A {shown(switch.a)}, B {shown(switch.b)}" for switch in axis.switches]
    where = (
        f"target {','.join(request.targets)} · compile only" if request.backend.deviceless else request.backend.title
    )
    lines.append(f"        suite {request.provider.name} · level {request.resolved.text('level')} · {where}")
    lines.append(f"        A {hashes[0]}   B {hashes[1]}   configs: {request.resolved.value('configs')}")
    if request.left_out:
        lines.append(f"        left out: {plural(len(request.left_out), 'operator')} that the suite always skips")
    lines += [f"        {line}" for line in request.unread]
    return lines


def plan_data(request: Request, prepared: Prepared, cells: Sequence[CellSpec]) -> dict[str, Any]:
    """The plan as data: written into the run directory, printed by ``--dry-run --json``."""
    return {
        "schema_version": 1,
        "suite": request.provider.name,
        "axis": {
            "name": request.axis.name,
            "describe": request.axis.describe,
            "stamps": list(request.axis.stamps),
            "null_test": request.axis.null_test,
            "sides": {
                side.label: {
                    "build": prepared.manifests[side.label].fingerprint()
                    if side.label in prepared.manifests
                    else side.build,
                    "switches": dict(side.switches),
                }
                for side in request.sides
            },
        },
        "targets": list(request.targets),
        "cells": [cell.to_json() for cell in cells],
    }
