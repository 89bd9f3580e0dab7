"""Run the cells of a request and finish each as it ends; one place for `run` and `screen`.

The loop only starts cells and notes their ends. Laying files out, costs and verdicts are done beside it in one
thread, so that no worker waits for them.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from zlbench import layout, store
from zlbench.builds.check import check_imported
from zlbench.builds.probe import Observed
from zlbench.cells import REQUEST, CellOutcome, CellSpec, CellState
from zlbench.costing import Coster
from zlbench.engine.local import CellEnd, LocalEngine, WorkerSpec
from zlbench.errors import DISK_FULL_EXIT
from zlbench.measure.cardwatch import CardWatch
from zlbench.measure.identity import SuiteFacts, write_identity
from zlbench.measure.prepare import FORCED, Prepared, forced_pairing
from zlbench.measure.replays import still_replays
from zlbench.measure.request import Request
from zlbench.process import terminable
from zlbench.suite.provider import BUILTIN
from zlbench.text import in_words


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """A cell that has ended and whose directory is complete."""

    spec: CellSpec
    outcome: CellOutcome
    reused: bool = False


class CellRunner:
    """Runs cells and turns their ends into finished directories.

    Args:
        on_finished: told of every finished cell, in the order in which they end, in the main thread.
        on_begin: told of a cell right before it is started and its directory is emptied.
        on_tick: called at least twice a second while cells run.
        on_note: told what people must know before the first cell: of the card, and what they wait for.
        on_ended: told of a cell whose process has ended, before its files are read; returns it as it was asked for.
    """

    def __init__(
        self, request: Request, prepared: Prepared, workers: Sequence[WorkerSpec], *, jobs: int,
        on_finished: Callable[[Finished], None], on_begin: Callable[[CellSpec], None] = lambda _: None,
        on_tick: Callable[[], None] = lambda: None, on_note: Callable[[str], None] = lambda _: None,
        on_ended: Callable[[CellSpec], CellSpec] = lambda spec: spec,
    ) -> None:  # fmt: skip
        self._request = request
        self._prepared = prepared
        self._on_finished, self._on_begin, self._on_tick = on_finished, on_begin, on_tick
        self._on_ended, self._on_note = on_ended, on_note
        self._facts = SuiteFacts(request.provider)
        self._sides = {side.label: side for side in request.sides}
        self._engine = LocalEngine(
            workers, check=self._check, cell_timeout_s=float(request.resolved.value("cell_timeout"))
        )
        self._watch = CardWatch(request.backend, os.environ, request.devices, on_note)
        self._jobs = jobs
        self._pending: list[Future[Finished]] = []
        self._pool: ThreadPoolExecutor | None = None
        self.coster = Coster(prepared.tools())

    def run(self, cells: Iterable[CellSpec]) -> None:
        """Run what is not finished yet; a cell that ended well is never run again.

        One that ended with failed rows is finished, too, as long as others are missing. Where nothing else is left, it
        is what somebody who goes on wants to be measured: its cause may be mended by now.

        Raises:
            ZlbenchError: the disk is full, a worker cannot be started, or another zlbench measures on the card;
                finished cells are kept.
        """
        missing: list[CellSpec] = []
        anew: set[str] = set()
        planned = list(cells)
        kept = [finished_outcome(Path(spec.out_dir)) for spec in planned]
        once_more = None not in kept
        for spec, known in zip(planned, kept, strict=True):
            stands = known is not None and (known.complete or not once_more)
            # A side that chooses anew takes the one that replays it along.
            if known is not None and stands and spec.replay_from not in anew and still_replays(spec):
                self._on_finished(Finished(spec=spec, outcome=known, reused=True))
            else:
                missing.append(spec)
                anew.add(spec.out_dir)
        directory = Path(os.path.commonpath([spec.out_dir for spec in missing])) if missing else None
        with self.session(directory):
            self._say_imports({spec.side for spec in missing})
            suspects = self._run_cells(missing, self._jobs)
            # Alone, whoever kills its worker is found, and the others get their rows.
            self._run_cells(suspects, 1)
        keep = any(spec.keep_binaries for spec in planned)
        self.coster.add([Path(spec.out_dir) for spec in planned], keep_binaries=keep)

    def _say_imports(self, sides: set[str]) -> None:
        """Say why nothing is seen for a while: a suite of hundreds of operators takes ten seconds or more to import."""
        package = self._request.provider.package
        if sides and (self._request.provider.name != BUILTIN or not self._request.backend.deviceless):
            self._on_note(f"starting {in_words(sorted(sides))}: importing torch, triton and {package}")

    @contextmanager
    def session(self, directory: Path | None) -> Iterator[None]:
        """Have the card to ourselves, and workers that stay from one `measure` to the next, inside the block.

        Args:
            directory: where results go; None where nothing is left to measure.
        """
        with ExitStack() as stack:
            if directory is not None:
                wait_s = float(self._request.resolved.value("wait_for_card"))
                stack.enter_context(self._watch.watching(directory, wait_s=wait_s))
            stack.enter_context(terminable())
            self._pool = stack.enter_context(ThreadPoolExecutor(max_workers=1, thread_name_prefix="finish"))
            stack.callback(self._engine.close)
            try:
                yield
            except KeyboardInterrupt:
                self._collect(wait=True)
                raise

    def measure(self, cells: Sequence[CellSpec]) -> None:
        """Run these cells in their order, one at a time, inside a `session`; all are finished on return."""
        self._run_cells(cells, 1, keep=True)

    def _run_cells(self, cells: Sequence[CellSpec], jobs: int, *, keep: bool = False) -> list[CellSpec]:
        """Run cells and report them as they finish; returns those whose worker died while several were running."""
        assert self._pool is not None
        pool, suspects = self._pool, []
        for end in self._engine.run(cells, jobs=jobs, begin=self._begin, tick=self._tick, keep=keep):
            if end.worker_died and end.beside_others:
                suspects.append(end.spec)
                continue
            self._watch.after(Path(end.spec.out_dir))
            self._pending.append(pool.submit(self._finish, replace(end, spec=self._on_ended(end.spec))))
            if end.returncode == DISK_FULL_EXIT:
                self._collect(wait=True)
                raise store.disk_full(Path(end.spec.out_dir))
        self._collect(wait=True)
        return suspects

    def _begin(self, spec: CellSpec) -> None:
        """Only now, not for all at once: whoever interrupts this has lost nothing of cells that had not begun."""
        self._on_begin(spec)
        clear(Path(spec.out_dir))
        store.write_json(Path(spec.out_dir) / REQUEST, spec.to_json())

    def _tick(self) -> None:
        self._collect()
        self._on_tick()

    def _check(self, side: str, observed: Mapping[str, object]) -> None:
        check_imported(side, self._prepared.manifests[side], Observed.from_dict(dict(observed)))

    def _collect(self, *, wait: bool = False) -> None:
        """Report cells whose directories are complete."""
        while self._pending and (wait or self._pending[0].done()):
            self._on_finished(self._pending.pop(0).result())

    def _finish(self, end: CellEnd) -> Finished:
        """Complete one cell's directory; ``result.json`` comes last and makes it final."""
        cell_dir = Path(end.spec.out_dir)
        forced = forced_pairing(self._request, self._prepared.manifests[end.spec.side])
        if forced:
            store.append_marker(cell_dir / "events.jsonl", FORCED, forced)
        records = layout.CellRecords.read(cell_dir)
        layout.lay_out(cell_dir, records)
        state, detail = classify(end, records)
        layout.write_not_measured(cell_dir, records, state=state, detail=detail)
        outcome = layout.outcome(
            cell_dir, records, state=state, returncode=end.returncode, signal=end.signal, elapsed_s=end.elapsed_s,
            detail=detail,
        )  # fmt: skip
        write_identity(
            self._request, end.spec, self._sides[end.spec.side], self._prepared.manifests[end.spec.side], self._facts
        )
        store.write_json(cell_dir / store.RESULT, outcome.to_json())
        return Finished(spec=end.spec, outcome=outcome)


def stored_outcome(cell_dir: Path) -> CellOutcome | None:
    """How a cell ended the last time, well or not; None where it has not ended."""
    data = store.read_json(cell_dir / store.RESULT)
    return CellOutcome.from_json(data) if data else None


def finished_outcome(cell_dir: Path) -> CellOutcome | None:
    """Outcome of a cell that need not run again."""
    outcome = stored_outcome(cell_dir)
    return outcome if outcome is not None and outcome.kept else None


def clear(cell_dir: Path) -> None:
    """Make an empty directory for a cell; leftovers of an interrupted try must not mix with its files."""
    with store.clear_errors(cell_dir):
        if cell_dir.exists():
            shutil.rmtree(cell_dir)
        cell_dir.mkdir(parents=True)


def classify(end: CellEnd, records: layout.CellRecords) -> tuple[CellState, str]:
    """Name how a cell ended, and say in one line why."""
    where = _row_text(records)
    if end.timed_out:
        return CellState.TIMEOUT, f"ended after {end.elapsed_s:.0f} s{where}"
    if end.signal is not None or end.worker_died:
        return CellState.CRASH, f"signal {end.signal}{where}" if end.signal else f"status {end.returncode}{where}"
    if end.returncode == DISK_FULL_EXIT:
        return CellState.DISK_FULL, f"no space left{where}"
    skipped = [event["reason"] for event in records.events if event["event"] == "skipped"]
    not_collected = [event["text"] for event in records.events if event["event"] == "not_collected"]
    failed = [event["text"] for event in records.events if event["event"] == "failed"]
    if end.returncode in (0, 5) and not records.rows:
        return (CellState.SKIPPED, skipped[0]) if skipped else (CellState.NOTHING_MEASURED, "no row was measured")
    if end.returncode == 0:
        # Rows that are not those asked for are no result, however well they ran.
        other = next((text for text in layout.markers(records) if text.startswith("SHAPES_NOT_IN_FORCE ")), "")
        return (CellState.OP_FAILED, other) if other else (CellState.OK, "")
    if end.returncode == 1:
        first = next((row["error"] for row in records.rows if row["status"] != "SUCCESS"), "")
        return CellState.OP_FAILED, first or (failed[0] if failed else "the benchmark failed")
    if not_collected:
        return CellState.OP_FAILED, not_collected[0]
    if end.returncode == 4:
        return CellState.USAGE, f"pytest refused (exit 4): {_refusal(Path(end.spec.out_dir) / 'run.log')}"
    return CellState.CRASH, f"status {end.returncode}{where}"


def _refusal(log: Path) -> str:
    """What pytest said: argparse's line about an option, else its own."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    said = [line.partition(": error: ")[2] for line in lines if ": error: " in line]
    said += [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return said[0][:300] if said else "see run.log"


def _row_text(records: layout.CellRecords) -> str:
    row = layout.row_in_progress(records)
    return f" in row {row['dtype']} shape {row['shape']}" if row is not None else ""


class Clock:
    """Estimates the time left from cells that were measured in this command."""

    def __init__(self, total: int, jobs: int, now: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self._jobs = max(1, jobs)
        self._now = now
        self.started = now()
        self.done = 0
        self._measured: list[float] = []

    def note(self, elapsed_s: float | None) -> None:
        """Count a finished cell; None for one that was finished before."""
        self.done += 1
        if elapsed_s is not None:
            self._measured.append(elapsed_s)

    @property
    def left_s(self) -> float | None:
        """Seconds left, None while nothing was measured."""
        if not self._measured:
            return None
        return (self.total - self.done) * (sum(self._measured) / len(self._measured)) / self._jobs

    @property
    def took_s(self) -> float:
        """Seconds since the start."""
        return self._now() - self.started
