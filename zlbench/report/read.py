"""Read the rounds of a repeat root or a campaign. Only whole cells count; nothing is started or written."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zlbench import guard, store
from zlbench.axis import Axis
from zlbench.cells import CellOutcome
from zlbench.compare import compare
from zlbench.identity import RunIdentity, read_identity
from zlbench.report.model import Header, LeftOut, Metric, OpReadings, Reading, RowReadings
from zlbench.run_rows import Row, RunRows, by_name, described

REPEAT = "repeat.json"
PAIRS, STATUS = "pairs.tsv", "status.tsv"
FALLBACKS = ("AUTOTUNE_REPLAY_FALLBACK", "BENCHMARK_DIRECT_NO_CUDAGRAPH", "BENCHMARK_CAPTURE_POISONED")
"""The three markers that are counted everywhere."""
_COLUMNS = ("replay_fallback", "no_cudagraph", "capture_poisoned")
"""Their columns in status.tsv."""
_CELL = re.compile(r"r(\d+)_([AB])")
_TRUE = frozenset({"1", "yes", "true", "valid"})


@dataclass(kw_only=True)
class _Collected:
    """One operator while its shards and rounds are read."""

    op: str
    directory: str
    control: bool
    rows: dict[str, Row] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    left_out: dict[str, list[LeftOut]] = field(default_factory=dict)
    rounds: set[int] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    rerun: int = 0
    lost: dict[str, str] = field(default_factory=dict)
    fallbacks: Counter[str] = field(default_factory=Counter)

    def value(self) -> OpReadings:
        rows = tuple(
            RowReadings(
                name=name, dtype=row.dtype, label=row.label, unit=self.units.get(name, "ms"),
                readings=tuple(sorted(self.readings.get(name, ()), key=lambda item: item.round)),
                left_out=tuple(self.left_out.get(name, ())),
            )
            for name, row in self.rows.items()
        )  # fmt: skip
        return OpReadings(
            op=self.op, directory=self.directory, control=self.control, rows=rows, rounds=tuple(sorted(self.rounds)),
            failed=tuple(self.failed), invalid=tuple(self.invalid), rerun=self.rerun, lost=tuple(self.lost.values()),
            fallbacks=tuple((word, self.fallbacks[word]) for word in FALLBACKS if self.fallbacks[word]),
        )  # fmt: skip


@dataclass(kw_only=True)
class RoundsRead:
    """The rounds of one repeat root.

    Args:
        complaints: what the guard says of pairs, each difference once an operator.
    """

    plan: Mapping[str, Any]
    ops: tuple[OpReadings, ...]
    complaints: tuple[guard.Complaint, ...]
    before: RunIdentity | None
    after: RunIdentity | None
    cells: int
    """Cells that are finished."""


def read_rounds(root: Path, axis: Axis | None) -> RoundsRead:
    """Read every finished pair below a repeat root."""
    plan: Mapping[str, Any] = store.read_json(root / REPEAT) or {}
    metric = Metric(plan.get("metric", Metric.LATENCY.value))
    lanes = plan.get("lanes", ())
    found: dict[str, _Collected] = {}
    complaints: dict[tuple[str, str, str, str], guard.Complaint] = {}
    sides: dict[str, RunIdentity | None] = {"A": None, "B": None}
    cells = 0
    for lane in lanes:
        folder = root / str(lane["lane"]) if len(lanes) > 1 else root
        pairs = _judged(folder / PAIRS)
        for entry in lane["ops"]:
            into = found.setdefault(
                entry["dir"], _Collected(op=entry["op"], directory=entry["dir"], control=entry["kind"] == "control")
            )
            judged = {**pairs.get(entry["op"], {}), **pairs.get(entry["dir"], {})}
            into.rerun += sum(line.tries - 1 for line in judged.values())
            into.fallbacks.update(_markers(folder / STATUS, {entry["op"], entry["dir"]}))
            for number, a, b in _rounds(folder / entry["dir"]):
                cells += sum((path / store.RESULT).is_file() for path in (a, b))
                if not _usable(into, number, a, b, judged.get(number)):
                    continue
                before, after = read_identity(a), read_identity(b)
                sides = {"A": sides["A"] or before, "B": sides["B"] or after}
                for complaint in guard.complaints(before, after, axis, op=entry["op"]):
                    key = (complaint.op, complaint.field, complaint.before, complaint.after)
                    complaints.setdefault(key, complaint)
                _add(into, number, RunRows.read(a, before), RunRows.read(b, after), metric)
    return RoundsRead(
        plan=plan, ops=tuple(item.value() for item in found.values()), complaints=tuple(complaints.values()),
        before=sides["A"], after=sides["B"], cells=cells,
    )  # fmt: skip


def _rounds(folder: Path) -> Iterator[tuple[int, Path, Path]]:
    """Numbers of the rounds that were begun, with the directories of both sides."""
    matches = [_CELL.fullmatch(path.name) for path in folder.glob("r*_?")]
    for number in sorted({int(match[1]) for match in matches if match}):
        yield number, folder / f"r{number}_A", folder / f"r{number}_B"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    """One line of pairs.tsv."""

    valid: bool
    cause: str
    tries: int


def _judged(path: Path) -> dict[str, dict[int, _Judged]]:
    """Judgements of pairs by operator and round; the last one of a pair counts."""
    found: dict[str, dict[int, _Judged]] = {}
    for line in _lines(path):
        tries = int(line["tries"]) if line["tries"].isdecimal() else 1
        judged = _Judged(valid=line["valid"].lower() in _TRUE, cause=line["cause"], tries=max(1, tries))
        found.setdefault(line["op"], {})[int(line["round"])] = judged
    return found


def _markers(path: Path, names: Set[str]) -> Counter[str]:
    """The three markers over all cells of an operator."""
    found: Counter[str] = Counter()
    for line in _lines(path):
        if line["op"] in names:
            counts = (line.get(column, "") for column in _COLUMNS)
            found.update({word: int(count) for word, count in zip(FALLBACKS, counts, strict=True) if count.isdecimal()})
    return found


def _lines(path: Path) -> list[dict[str, str]]:
    """Whole lines of a table with rounds; a last one that a crash cut off is none."""
    try:
        stream = path.open(encoding="utf-8", newline="")
    except FileNotFoundError:
        return []
    with stream:
        lines = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [line for line in lines if None not in line.values() and line.get("round", "").isdecimal()]


def _usable(into: _Collected, number: int, a: Path, b: Path, judged: _Judged | None) -> bool:
    """Whether both cells of a round came to a good end and nothing invalidates the pair; else it is noted why not."""
    results = {side: store.read_json(path / store.RESULT) for side, path in (("A", a), ("B", b))}
    if not all(results.values()):
        return False  # not measured yet
    outcomes = {side: CellOutcome.from_json(result) for side, result in results.items()}
    bad = [f"round {number} {side}: {outcome.state.value}" for side, outcome in outcomes.items() if not outcome.kept]
    if bad:
        into.failed += bad
        return False
    if judged is not None and not judged.valid:
        into.invalid.append(f"round {number}: {judged.cause}")
        return False
    into.rounds.add(number)
    return True


def _add(into: _Collected, number: int, a: RunRows, b: RunRows, metric: Metric) -> None:
    if metric is Metric.COMPILE:
        _add_values(into, number, a, b)
        return
    compared = compare(a, b, op=into.op)
    for pair in compared.rows:
        if pair.counted:
            _take(into, pair.row, "ms", Reading(round=number, before=pair.before_ms, after=pair.after_ms))
        else:
            into.rows.setdefault(pair.row.name, pair.row)
            into.left_out.setdefault(pair.row.name, []).append(LeftOut(round=number, reason=f"timer {pair.timer}"))
    for excluded in compared.excluded:
        into.rows.setdefault(excluded.row.name, excluded.row)
        into.left_out.setdefault(excluded.row.name, []).append(
            LeftOut(round=number, reason=excluded.reason.value, note=excluded.note)
        )
    for lost in compared.lost:
        into.lost.setdefault(f"{lost.row.name}{lost.row.label}", f"{lost.row.dtype} {lost.row.label}: {lost.reason}")


def _add_values(into: _Collected, number: int, a: RunRows, b: RunRows) -> None:
    """Rows of compile rounds: each is a kernel with one value."""
    before, after = by_name(a.measured), by_name(b.measured)
    for name in dict.fromkeys((*before, *after)):
        rows = before.get(name) or after[name]
        values = [_value(side.get(name, ())) for side in (before, after)]
        if values[0] is None or values[1] is None:
            into.lost.setdefault(name, f"{described(rows[0]).label}: no value on {_lacking(values)}")
            continue
        unit = str(rows[0].get("metric") or "cpu_ms")
        _take(into, described(rows[0]), unit, Reading(round=number, before=values[0], after=values[1]))


def _value(rows: Sequence[Mapping[str, Any]]) -> float | None:
    value = rows[0].get("value", rows[0].get("compile_ms")) if len(rows) == 1 else None
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    return float(value) if good and value is not None else None


def _lacking(values: Iterable[float | None]) -> str:
    return " and ".join(side for side, value in zip(("A", "B"), values, strict=True) if value is None)


def _take(into: _Collected, row: Row, unit: str, reading: Reading) -> None:
    into.rows.setdefault(row.name, row)
    into.units.setdefault(row.name, unit)
    into.readings.setdefault(row.name, []).append(reading)


def planned_rounds(plan: Mapping[str, Any]) -> str:
    """``6 rounds``, ``up to 16 rounds``."""
    rounds = plan.get("rounds") or {}
    if isinstance(rounds, Mapping) and rounds.get("looks"):
        return f"up to {rounds['looks'][-1]} rounds"
    number = rounds.get("fixed") if isinstance(rounds, Mapping) else rounds
    return f"{number} round{'s' if number != 1 else ''}" if number else "an unknown number of rounds"


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
