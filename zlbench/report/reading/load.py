"""From the directories that somebody names to what a report is made of. Files are read, nothing is started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from zlbench import guard, store
from zlbench.axis import axis_of_plan
from zlbench.campaign.record import CAMPAIGN, ROUNDS, SCREEN
from zlbench.errors import UsageError
from zlbench.report.model import Header, Measured, OpReadings
from zlbench.report.predecessor.read import read_predecessor, recognise
from zlbench.report.reading.faults import FAULTS
from zlbench.report.reading.pair import read_pairs
from zlbench.report.reading.read import RoundsRead, header_of, looks_of, planned_rounds, read_rounds
from zlbench.report.reading.reproduce import commands_of
from zlbench.report.reading.sightings import read_sightings
from zlbench.report.reading.what_ran import with_kernels
from zlbench.rounds.names import PLAN, Metric
from zlbench.run_pairs import RunPair, is_run, pair_of_screen, pairs_of_screen, two_runs
from zlbench.screen.candidates import read_candidates
from zlbench.text import plural

HOW = (
    "Give a campaign (runs/campaign_…), repeated rounds (runs/repeat_…), two run directories (A, then B), one pair of "
    "a screen (SCREEN/OP), or a screen.\nSeveral campaigns have a report each: name one after the other."
)


class Kind(str, Enum):
    """What a report is made of."""

    ROUNDS = "rounds"
    """A campaign, or a root of repeated rounds: its report lies in it."""
    PAIRS = "pairs"
    """Two runs, or the pairs of a screen: no directory of theirs is written into."""
    PREDECESSOR = "predecessor"
    """What the predecessor left: nothing is written into it either."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where to read.

    Args:
        root: the campaign or the rounds; of pairs the screen, or the run of side A.
        paths: what was named.
    """

    kind: Kind
    root: Path
    pairs: tuple[RunPair, ...] = ()
    paths: tuple[Path, ...] = ()

    @property
    def title(self) -> str:
        """``report of campaign_20261129-121500``."""
        names = [self.root.name]
        if self.kind is Kind.PAIRS and len(self.pairs) == 1:
            (pair,) = self.pairs
            together = pair.a.parent == pair.b.parent and pair.a.name == "A"
            names = [pair.a.parent.name] if together else [_run_name(path) for path in (pair.a, pair.b)]
        return f"report of {' and '.join(names)}"


def _run_name(path: Path) -> str:
    """A run's directory; one of a screen is called by its side alone, which says nothing."""
    return f"{path.parent.name}/{path.name}" if path.name in ("A", "B") else path.name


def rounds_of(root: Path) -> Path:
    """The repeat root of a campaign, or the root itself."""
    return root / ROUNDS if (root / CAMPAIGN).is_file() else root


def is_rounds(root: Path) -> bool:
    """Whether it is a campaign or a root of repeated rounds."""
    return any((root / name).is_file() for name in (PLAN, CAMPAIGN))


def source_of(paths: Sequence[Path]) -> Source:
    """What was named.

    Raises:
        UsageError: it is nothing that a report can be made of.
    """
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is no directory", hint=HOW)
    if paths and all(map(recognise, paths)):
        return Source(kind=Kind.PREDECESSOR, root=paths[0], paths=tuple(paths))
    if len(paths) == 2 and not any(map(is_rounds, paths)):
        pair = two_runs(*paths)
        return Source(kind=Kind.PAIRS, root=pair.a, pairs=(pair,))
    if len(paths) != 1:
        raise UsageError(f"{len(paths)} directories are given, and they are no two runs of one operator", hint=HOW)
    (root,) = paths
    if is_rounds(root):
        return Source(kind=Kind.ROUNDS, root=root)
    if is_run(root):
        raise UsageError(f"{root} is one run; with what is it compared?", hint=HOW)
    if (one := pair_of_screen(root)) is not None:
        return Source(kind=Kind.PAIRS, root=root, pairs=(one,))
    if (root / "screen.tsv").is_file():
        return Source(kind=Kind.PAIRS, root=root, pairs=tuple(pairs_of_screen(root)))
    raise UsageError(
        f"{root} is none of these: it holds no {PLAN}, no {CAMPAIGN}, no screen.tsv and no pair of runs", hint=HOW
    )


def load(source: Source, *, allow: bool = False, details: bool = True) -> Measured:
    """Read everything.

    Args:
        allow: let differences of the caliber stand as warnings.
        details: read kernels and telemetry as well, which verdicts need nothing of.

    Raises:
        NotComparableError: the guard refuses; nothing may be told of any number.
    """
    if source.kind is Kind.PREDECESSOR:
        return read_predecessor(source.paths, allow=allow)
    if source.kind is Kind.PAIRS:
        return _pairs(source, allow=allow, details=details)
    return replace(_rounds(source, allow=allow, details=details), commands=commands_of(source.root))


def _pairs(source: Source, *, allow: bool, details: bool) -> Measured:
    read = read_pairs(source.pairs)
    warnings = guard.refuse(read.complaints, allow=allow)
    axes = [pair.axis for pair in source.pairs if pair.axis is not None]
    ops = with_kernels(read, axes[0].stamps if axes else ()) if details else read.ops
    return _measured(read, ops, header_of(read, title=source.title, warnings=warnings, screen=()))


def _rounds(source: Source, *, allow: bool, details: bool) -> Measured:
    root, rounds = source.root, rounds_of(source.root)
    screen = _screen_lines(root / SCREEN) if rounds != root else ()
    if not (rounds / PLAN).is_file():
        header = Header(title=source.title, metric=None, screen=screen, axis=_axis_text(root / SCREEN))
        return Measured(header=header, reason=_no_rounds(root))
    plan = _plan(rounds)
    axis = axis_of_plan(plan)
    read = read_rounds(rounds, axis, allow=allow)
    warnings = guard.refuse(read.complaints, allow=allow)
    header = header_of(read, title=source.title, warnings=warnings, screen=screen)
    ops = with_kernels(read, axis.stamps if axis is not None else ()) if details else read.ops
    progress = _progress(read, running=store.is_held(rounds))
    return _measured(read, ops, header, rounds if details else None, progress=progress)


def _plan(rounds: Path) -> dict[str, Any]:
    """The plan of rounds, as far as a report goes by it.

    Raises:
        UsageError: nobody can read it.
    """
    plan = store.read_json(rounds / PLAN)
    try:
        Metric(plan.get("metric", Metric.LATENCY.value))
        axis_of_plan(plan)
        looks_of(plan)
        planned_rounds(plan)
        for lane in plan.get("lanes", ()):
            _ = (lane["lane"], [(str(op["dir"]), str(op["op"]), op["kind"]) for op in lane["ops"]])
    except FAULTS as fault:
        raise UsageError(
            f"{rounds / PLAN} cannot be read: {type(fault).__name__}: {fault}"[:300],
            hint="It is torn, or of another version of zlbench: use the one that measured these rounds.",
        ) from fault
    return dict(plan)


def _measured(
    read: RoundsRead, ops: Sequence[OpReadings], header: Header, rounds: Path | None = None, *, progress: str = ""
) -> Measured:
    notes = tuple(map(str, read.plan.get("notes") or ()))
    try:
        cells, telemetry = read_sightings(rounds, read.plan) if rounds is not None else ((), ())
    except FAULTS as fault:
        cells, telemetry = (), ()
        notes = (*notes, f"what the card did meanwhile is not shown: {type(fault).__name__} in its telemetry")
    return Measured(
        header=header, ops=tuple(ops), planned=planned_rounds(read.plan), progress=progress, reason=read.reason,
        sides=read.sides, looks=looks_of(read.plan), cells=cells, telemetry=telemetry,
        notes=notes,
    )  # fmt: skip


def _progress(read: RoundsRead, *, running: bool) -> str:
    if running:
        return f"not at their end: the rounds are running, {plural(read.cells, 'cell')} finished"
    missing = [op for op in read.ops if op.missing and not op.failed]
    if not missing:
        return ""
    lacking = f"{plural(len(missing), 'operator')} {'lacks' if len(missing) == 1 else 'lack'} rounds"
    return f"not at their end: {lacking}, {plural(read.cells, 'cell')} finished; --resume goes on"


def _no_rounds(root: Path) -> str:
    steps = _mapping(store.read_json(root / CAMPAIGN)).get("steps")
    known = map(_mapping, steps if isinstance(steps, list) else ())
    note = next((step.get("note") for step in known if step.get("name") == "ab_repeat"), "")
    return f"no rounds were measured: {note}" if note else ""


def _screen_lines(screen: Path) -> tuple[str, ...]:
    if not (screen / "screen.tsv").is_file():
        return ("the screen has judged nothing",)
    try:
        candidates = read_candidates(screen)
    except (*FAULTS, UsageError):
        return ("the screen's table cannot be read",)
    code = {"same": ", same code", "changed": ", other code"}
    groups = Counter(f"{item.verdict}{code.get(item.code, '')}" for item in candidates)
    listed = " · ".join(f"{number} {group}" for group, number in groups.most_common())
    return (f"screen: {plural(len(candidates), 'operator')} · {listed}",)


def _axis_text(screen: Path) -> str:
    axis = _mapping(_mapping(store.read_json(screen / "plan.json")).get("axis"))
    return str(axis.get("describe") or "")


def _mapping(data: object) -> Mapping[str, Any]:
    return data if isinstance(data, Mapping) else {}
