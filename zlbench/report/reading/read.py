"""Read the rounds of a repeat root or a campaign. Only whole cells count; nothing is started or written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zlbench import guard, store
from zlbench.axis import Axis
from zlbench.identity import FILE_NAME, RunIdentity
from zlbench.report.model import Header, OpReadings
from zlbench.report.reading.cell import Cell, CellReader
from zlbench.report.reading.collect import Collected
from zlbench.report.reading.drift import Drift
from zlbench.report.reading.kernels import kernel_dirs
from zlbench.report.reading.tables import NOT_JUDGED, Judged, Tables
from zlbench.rounds.names import CELL, FIRST_PAIR, PLAN, SETTLED, Metric
from zlbench.rounds.order import sides_of
from zlbench.rounds.plan import Schedule
from zlbench.text import plural


@dataclass(kw_only=True)
class RoundsRead:
    """The rounds of one repeat root.

    Args:
        complaints: what the guard says of pairs, each difference once an operator.
        sides: run_identity.json of the first cell of each side that has one.
        cells: cells that are finished.
        reason: why there are no values.
        places: directories of an operator's kernels on both sides, one pair a shard.
    """

    plan: Mapping[str, Any]
    ops: tuple[OpReadings, ...]
    complaints: tuple[guard.Complaint, ...]
    before: RunIdentity | None
    after: RunIdentity | None
    cells: int
    sides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reason: str = ""
    places: Mapping[str, Sequence[tuple[Path, Path]]] = field(default_factory=dict)


def read_rounds(root: Path, axis: Axis | None, *, allow: bool = False) -> RoundsRead:
    """Read every finished pair below a repeat root.

    Args:
        allow: whether an operator counts although its first pair was not comparable.
    """
    plan: Mapping[str, Any] = store.read_json(root / PLAN) or {}
    reading = _Reading(plan=plan, reader=CellReader(axis=axis), allow=allow, running=store.is_held(root))
    lanes = plan.get("lanes", ())
    for lane in lanes:
        folder = root / str(lane["lane"]) if len(lanes) > 1 else root
        tables = Tables.read(folder)
        for entry in lane["ops"]:
            reading.operator(folder / entry["dir"], entry, tables)
            reading.reader.forget()
            reading.drift.operator()
        reading.drift.lane()
    return RoundsRead(
        plan=plan,
        ops=tuple(into.value() for into in reading.found.values()),
        complaints=reading.complained(),
        before=reading.identities.get("A"),
        after=reading.identities.get("B"),
        cells=reading.cells,
        sides=reading.sides,
        places=reading.places,
    )


@dataclass(kw_only=True)
class _Reading:
    """What was read so far."""

    plan: Mapping[str, Any]
    reader: CellReader
    allow: bool
    running: bool
    found: dict[str, Collected] = field(default_factory=dict)
    places: dict[str, list[tuple[Path, Path]]] = field(default_factory=dict)
    complaints: dict[tuple[str, str, str, str], guard.Complaint] = field(default_factory=dict)
    drift: Drift = field(default_factory=Drift)
    identities: dict[str, RunIdentity] = field(default_factory=dict)
    sides: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    cells: int = 0

    def complained(self) -> tuple[guard.Complaint, ...]:
        """What the guard says of pairs, then of each side over time where that is not the same once more."""
        told = {(one.op, one.field) for one in self.complaints.values() if one.severity is guard.Severity.REFUSE}
        drifted = (one for one in self.drift.found.values() if (one.op, one.field) not in told)
        return (*self.complaints.values(), *drifted)

    def operator(self, folder: Path, entry: Mapping[str, Any], tables: Tables) -> None:
        """Read one operator of a lane, or its shard there."""
        names = (str(entry["dir"]), str(entry["op"]))
        into = self.found.setdefault(
            names[0], Collected(op=names[1], directory=names[0], control=entry["kind"] == "control")
        )
        self.places.setdefault(names[0], []).extend(filter(None, [kernel_dirs(folder)]))
        into.rerun += tables.reruns(names)
        into.fallbacks.update(tables.marked(names))
        finished = 0
        begun = [*_rounds(folder)]
        for number, a, b in begun:
            pair = (self.reader.read(a), self.reader.read(b))
            self.cells += sum(cell.outcome is not None for cell in pair)
            judged = tables.pair(names, number) or self._unjudged
            kept = all(cell.outcome is not None and cell.outcome.kept for cell in pair)
            if kept and self.running and number == begun[-1][0] and judged is NOT_JUDGED:
                continue  # it is judged in a moment
            finished += kept
            if _usable(into, number, pair, judged):
                self._round(into, number, pair, tables, names)
        self._first_pair(into, folder)
        into.missing = max(into.missing, self._wanted(folder, into) - finished)

    @property
    def _unjudged(self) -> Judged | None:
        """What a pair is that no line judges; rounds that were not watched, or of older make, have no such lines."""
        return NOT_JUDGED if _watched(self.plan) else None

    def _round(
        self, into: Collected, number: int, pair: tuple[Cell, Cell], tables: Tables, names: tuple[str, str]
    ) -> None:
        a, b = pair
        for side, cell in (("A", a), ("B", b)):
            if cell.identity is not None and side not in self.identities:
                self.identities[side] = cell.identity
                self.sides[side] = store.read_json(cell.path / FILE_NAME) or {}
        self.drift.see({"A": a.identity, "B": b.identity}, op=into.op, number=number)
        for complaint in self.reader.complaints(a, b, op=into.op):
            self.complaints.setdefault((complaint.op, complaint.field, complaint.before, complaint.after), complaint)
        metric = Metric(self.plan.get("metric", Metric.LATENCY.value))
        a_first = _a_first(a, b, number, tables, names)
        add = into.add if metric is Metric.LATENCY else into.add_values
        add(number, a.rows(), b.rows(), a_first=a_first)

    def _first_pair(self, into: Collected, folder: Path) -> None:
        """How the first pair was judged, and whether its operator is one to tell a difference of."""
        first = store.read_json(folder / FIRST_PAIR)
        if not isinstance(first, dict):
            return
        into.verdict = into.verdict or str(first.get("verdict") or "")
        into.machine_code = into.machine_code or str(first.get("machine_code") or "")
        notes = first.get("notes")
        into.notes.update(dict.fromkeys(map(str, notes if isinstance(notes, list) else ())))
        if first.get("dead_switch"):
            into.leave_out("SWITCH_NO_IR_DIFF", "the switch changes neither IR nor machine code")
        elif first.get("not_comparable") and not self.allow:
            into.leave_out("NOT_COMPARABLE", str(first["not_comparable"]))

    def _wanted(self, folder: Path, into: Collected) -> int:
        """Rounds that are to be measured: those that settled or unfit operators do not need are not missing."""
        if into.nothing in ("SWITCH_NO_IR_DIFF", "NOT_COMPARABLE"):
            return 0
        settled = store.read_json(folder / SETTLED)
        needed = settled.get("rounds") if isinstance(settled, dict) else None
        known = needed if isinstance(needed, int) and not isinstance(needed, bool) and needed > 0 else 0
        return known or max((number for number, _ in looks_of(self.plan)), default=0)


def _rounds(folder: Path) -> Iterator[tuple[int, Path, Path]]:
    """Numbers of the rounds that were begun, with the directories of both sides."""
    matches = [CELL.fullmatch(path.name) for path in folder.glob("r*_?")]
    for number in sorted({int(match[1]) for match in matches if match}):
        yield number, folder / f"r{number}_A", folder / f"r{number}_B"


def _watched(plan: Mapping[str, Any]) -> bool:
    """Whether the card was looked at while the rounds ran, so that each pair was judged by what was seen."""
    settings = plan.get("settings")
    setting = settings.get("telemetry_interval") if isinstance(settings, Mapping) else None
    try:
        return isinstance(setting, Mapping) and float(setting["words"][0]) > 0
    except (KeyError, IndexError, TypeError, ValueError):
        return False


def _usable(into: Collected, number: int, pair: tuple[Cell, Cell], judged: Judged | None) -> bool:
    """Whether both cells of a round came to a good end and nothing invalidates the pair; else it is noted why not."""
    bad = []
    for side, cell in zip("AB", pair, strict=True):
        into.said(side, cell.outcome)
        if cell.outcome is not None and not cell.outcome.kept:
            bad.append(f"round {number} {side}: {cell.outcome.state.value}")
    if bad:
        into.failed += bad
        return False
    if any(cell.outcome is None for cell in pair):
        return False  # not measured yet
    if judged is not None and not judged.valid:
        into.invalid.append(f"round {number}: {judged.cause}")
        return False
    into.rounds.add(number)
    return True


def _a_first(a: Cell, b: Cell, number: int, tables: Tables, names: tuple[str, str]) -> bool:
    """Whether side A came first: as the plan has it where the table of cells agrees, else by when the cells started."""
    planned, ended = sides_of(number)[0], tables.first(names, number)
    if ended == planned:
        return planned == "A"
    started = (a.started, b.started)
    if started[0] is not None and started[1] is not None and started[0] != started[1]:
        return started[0] < started[1]
    return (ended or planned) == "A"


def looks_of(plan: Mapping[str, Any]) -> tuple[tuple[int, float], ...]:
    """Looks at the rows with their shares of alpha; empty where the plan does not tell."""
    rounds = plan.get("rounds")
    if not isinstance(rounds, Mapping) or not (rounds.get("fixed") or rounds.get("looks")):
        return ()
    schedule = Schedule.from_json(rounds)
    return tuple(zip(schedule.looks, schedule.weights, strict=True))


def planned_rounds(plan: Mapping[str, Any]) -> str:
    """``6 rounds``, ``8 rounds (raised from 6)``, ``up to 16 rounds``."""
    rounds = plan.get("rounds") or {}
    if isinstance(rounds, Mapping) and rounds.get("looks"):
        return f"up to {rounds['looks'][-1]} rounds"
    number = rounds.get("fixed") if isinstance(rounds, Mapping) else rounds
    if not number:
        return "an unknown number of rounds"
    before = rounds.get("extended") if isinstance(rounds, Mapping) else None
    raised = f" (raised from {', '.join(map(str, before))})" if before else ""
    return f"{plural(number, 'round')}{raised}"


def header_of(read: RoundsRead, *, title: str, warnings: Sequence[str], screen: Sequence[str]) -> Header:
    """What was compared, from the plan and the first cells."""
    before, after = read.before, read.after
    conditions: list[str] = []
    if before is not None:
        caliber = before.caliber
        where = [before.device_name or caliber.device, before.device_uuid]
        l2 = f"{caliber.timer}, {caliber.l2} L2" if caliber.l2 else caliber.timer
        more = [f"level {caliber.bench_level}" if caliber.bench_level else "", "quick" if caliber.quick else ""]
        conditions = [str(part) for part in (*where, l2, *more) if part]
    return Header(
        title=title, metric=Metric(read.plan.get("metric", Metric.LATENCY.value)), a=_side(before), b=_side(after),
        axis=str((read.plan.get("axis") or {}).get("describe") or ""), conditions=tuple(conditions),
        warnings=tuple(warnings), screen=tuple(screen),
    )  # fmt: skip


def _side(identity: RunIdentity | None) -> str:
    if identity is None:
        return "?"
    version, name = (str(identity.build.get(key) or "") for key in ("version", "name"))
    text = f"triton {version}" if version else name or "an unknown compiler"
    named = f" ({name})" if name and version and version not in name else ""
    switches = "".join(
        f" {switch}={'unset' if value is None else value}" for switch, value in sorted(identity.switches.items())
    )
    return f"{text}{named}{switches}"
