"""The screen from request to verdict: one pair an operator, judged as soon as both of its cells are finished."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.axis import shown
from zlbench.cells import CellOutcome, CellSpec, CellState
from zlbench.cost_table import read_costs
from zlbench.errors import ExitCode
from zlbench.measure.prepare import Prepared, make_work_dir, tidy_work_dir, worker_specs
from zlbench.measure.progress import progress_line
from zlbench.measure.request import Request, make_cells
from zlbench.measure.runner import CellRunner, Clock, Finished, finished_outcome, stored_outcome
from zlbench.pair import judge_pair
from zlbench.screen import table
from zlbench.screen.ending import exit_code
from zlbench.settings.stored import stored
from zlbench.text import plural

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
    earlier: dict[str, dict[str, CellOutcome]] = field(default_factory=dict)
    """Outcomes of an earlier try whose cells have not been started again."""
    clock: Clock = field(init=False)
    notes: list[str] = field(default_factory=list)
    status_written: float = -_STATUS_INTERVAL_S
    status_behind: bool = False
    table_behind: bool = False
    """Whether more is known than what is on the disk."""

    def run(self, jobs: int) -> None:
        """Measure and judge; every judged operator is on the disk before the next is looked at."""
        cells = make_cells(self.request, self.root)
        self.clock = Clock(len(cells), jobs)
        self.notes += [*self.request.notes, *self.request.unread]
        store.write_json(self.root / "plan.json", plan_data(self.request, self.prepared, cells))
        self._remember(cells)
        self.write_status("running")
        work = self.root / CACHE
        make_work_dir(self.request, work)
        runner = CellRunner(
            self.request, self.prepared, worker_specs(self.request, self.prepared, work_dir=work, env=self.env),
            jobs=jobs, on_finished=self._finished, on_begin=self._begin, on_tick=self._tick, on_note=self.talk,
        )  # fmt: skip
        try:
            runner.run(cells)
        finally:
            tidy_work_dir(self.request, work)
        # Costs come in one go at the end: a disassembler takes as long to start as for a thousand kernels.
        self.lines = {pair: self._with_costs(pair, line) for pair, line in self.lines.items()}
        self._write_table()
        self.notes += runner.coster.notes

    def _remember(self, cells: Sequence[CellSpec]) -> None:
        """Keep what an earlier try found in operators that did not end well, until their cells are started again."""
        for spec in cells:
            outcome = stored_outcome(Path(spec.out_dir))
            if outcome is not None:
                self.earlier.setdefault(_pair(spec), {})[spec.side] = outcome
        again = {_pair(spec): spec for spec in cells if finished_outcome(Path(spec.out_dir)) is None}
        for pair, spec in again.items():
            if len(self.earlier.get(pair, {})) == len(self.request.sides):
                self.lines[pair], _ = self._line(pair, spec, costs=True)

    def _begin(self, spec: CellSpec) -> None:
        pair = _pair(spec)
        self.earlier.get(pair, {}).pop(spec.side, None)
        if self.lines.pop(pair, None) is not None or self.table_behind:
            self._write_table()

    def _tick(self) -> None:
        if self.status_behind:
            self.write_status("running")

    def _finished(self, finished: Finished) -> None:
        spec, outcome = finished.spec, finished.outcome
        self.clock.note(None if finished.reused else outcome.elapsed_s)
        pair = _pair(spec)
        sides = self.outcomes.setdefault(pair, {})
        self.talk(progress_line(self.clock, spec, outcome, reused=finished.reused, others=sides))
        sides[spec.side] = outcome
        if len(sides) == len(self.request.sides):
            self.lines[pair], notes = self._line(pair, spec, costs=finished.reused)
            self.notes += notes
            self.table_behind = True
        if self.table_behind and not finished.reused:
            # What was finished before comes all at once, and lies in the table already.
            self._write_table()
        # After the last cell come the costs, without a tick.
        self.write_status("running", at_once=self.clock.done == self.clock.total)

    def _line(self, pair: str, spec: CellSpec, *, costs: bool) -> tuple[table.Line, Sequence[str]]:
        """Judge one operator from its files; returns its line and what is to be noted.

        Args:
            costs: whether they are known already, from an earlier try.
        """
        resolved = self.request.resolved
        found = judge_pair(
            self.root / pair, op=spec.op, axis=self.request.axis, allow_mismatch=resolved.flag("allow_caliber_mismatch")
        )
        selection = next(item for item in self.request.selections if item.op == spec.op)
        line = table.Line(
            op=spec.op,
            op_file=selection.benchmark.stem,
            dtypes=" ".join(spec.dtypes),
            target=spec.target or "",
            directory=pair,
            before=found.a.outcome,
            after=found.b.outcome,
            judgement=found.judgement,
            caliber=found.identity.caliber.columns() if found.identity is not None else {},
            times=found.times,
        )
        return self._with_costs(pair, line) if costs else line, found.notes

    def _with_costs(self, pair: str, line: table.Line) -> table.Line:
        """An operator that could not be judged has none: sums over unequal sets of kernels would look like a change."""
        return line if line.judgement.failed else replace(line, costs=read_costs(self.root / pair))

    def _write_table(self) -> None:
        store.write_text(self.root / "screen.tsv", table.to_tsv(self.sorted_lines()))
        self.table_behind = False

    def sorted_lines(self) -> list[table.Line]:
        """Judged operators in the order of the plan."""
        order = [self.request.pair_name(s, t) for t in self.request.targets for s in self.request.selections]
        return [self.lines[pair] for pair in order if pair in self.lines]

    def exit_code(self) -> ExitCode:
        """What the command ends with."""
        lines = self.sorted_lines()
        complete = len(lines) == len(self.request.selections) * len(self.request.targets) and not self.request.unread
        return exit_code(lines, self.request.axis, complete=complete)

    def write_status(self, state: str, code: ExitCode | None = None, error: str = "", *, at_once: bool = False) -> None:
        """Write status.json: what a script reads instead of nox's exit status.

        It holds every cell, so while cells end in quick succession it is written once a second at most; what is
        held back then follows with a later tick.
        """
        now = time.monotonic()
        if state == "running" and not at_once and now - self.status_written < _STATUS_INTERVAL_S:
            self.status_behind = True
            return
        self.status_written, self.status_behind = now, False
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
                for pair, sides in self._known().items()
                for side, outcome in sides.items()
            },
            "notes": self.notes,
        }

    def _side_status(self, label: str) -> dict[str, Any]:
        return side_status([sides[label] for sides in self._known().values() if label in sides])

    def _known(self) -> dict[str, dict[str, CellOutcome]]:
        """Outcomes of this try, and of an earlier one where this has not come to them."""
        pairs = dict.fromkeys((*self.earlier, *self.outcomes))
        return {pair: {**self.earlier.get(pair, {}), **self.outcomes.get(pair, {})} for pair in pairs}


def _pair(spec: CellSpec) -> str:
    return spec.cell.rpartition("/")[0]


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
    where += f" ({request.backend_reason})" if request.backend_reason else ""
    lines.append(f"        suite {request.provider.name} · level {request.resolved.text('level')} · {where}")
    if request.resolved.flag("quick"):
        lines.append("        quick: one shape and one dtype an operator, a first look and no screen")
    lines.append(f"        A {hashes[0]}   B {hashes[1]}   configs: {request.resolved.value('configs')}")
    if request.left_out:
        lines.append(f"        left out: {plural(len(request.left_out), 'operator')} that the suite always skips")
    if request.environment:
        # Both sides inherit them, so they fake no difference, but they can be why there is none.
        lines.append(f"        on both sides, from the caller: {' '.join(request.environment)}")
    lines += [f"        {line}" for line in request.unread]
    return lines


def plan_data(request: Request, prepared: Prepared, cells: Sequence[CellSpec]) -> dict[str, Any]:
    """The plan as data: written into the run directory, printed by ``--dry-run --json``."""
    return {
        "schema_version": 1,
        "suite": request.provider.name,
        "settings": stored(request.resolved),
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
        "unread": list(request.unread),
        "allow_caliber_mismatch": request.resolved.flag("allow_caliber_mismatch"),
        "cells": [cell.to_json() for cell in cells],
    }
