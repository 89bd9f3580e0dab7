"""What a person asks of repeated rounds: which operators, from which screen or partition, with which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.campaign.record import CAMPAIGN
from zlbench.cli.app import App
from zlbench.cli.find import find_screen, newest_screen
from zlbench.errors import NothingMeasuredError, UsageError
from zlbench.measure.request import make_request
from zlbench.partition_plan import Lane, Work, lanes_of
from zlbench.rounds import again, choose
from zlbench.screen.candidates import extra_work
from zlbench.settings import Resolved, SourceKind, axis_of

PARTITION = "partition.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a person asks, before anything is made.

    Args:
        subjects: what is measured for itself; directories as a screen names them.
        words: how to ask for the subjects.
        screened: where controls and times come from.
        own_screen: whether the subjects come from it, so that its sides have to be these.
        planned: lanes of a partition.json.
    """

    resolved: Resolved
    subjects: tuple[Work, ...]
    words: tuple[str, ...]
    screened: choose.Screened | None
    own_screen: bool
    planned: tuple[Lane, ...] = ()


def question_of(app: App) -> Question:
    """Find out what is meant.

    Raises:
        UsageError: there is no screen, or no such operator.
        NothingMeasuredError: no operator of the screen has a chosen verdict.
    """
    paths, names = _split(app)
    resolved = _with_operators(app.resolved, names)
    partition, screen = _source(app, paths)
    by_name = bool(names) or resolved.flag("all") or resolved.path("ops_file") is not None
    if partition is not None:
        assert screen is not None
        return _from_partition(resolved, choose.Screened.read(screen), partition)
    if by_name:
        return _by_name(app, resolved, screen)
    screened = choose.Screened.read(screen or find_screen(app))
    if (made := _partition_of(app, screened.path)) is not None:
        return _from_partition(resolved, screened, made)
    chosen = screened.subjects(resolved.texts("verdict"))
    extra = extra_work(screened.path, resolved.texts("extra_ops"), screened.candidates)
    taken = {item.directory for item in chosen}
    works = (*map(screened.work, chosen), *(item for item in extra if item.directory not in taken))
    if not works:
        wanted = " ".join(resolved.texts("verdict")) or "other machine code"
        raise NothingMeasuredError(
            f"{screened.path} has no operator with {wanted}",
            hint="Name operators to measure them all the same, or other verdicts: --verdict NO_IR_DIFF.",
        )
    return _from_screen(resolved, screened, works)


_OWN_PARTITION = ("devices", "gpus", "lanes", "verdict", "extra_ops", "no_split", "device")
"""Options that ask for another partition than the one that was made."""


def _partition_of(app: App, screen: Path) -> Mapping[str, Any] | None:
    """The partition that somebody made of a screen, where it is newer than the screen and no other is asked for."""
    if any(app.resolved.source(name).kind is not SourceKind.DEFAULT for name in _OWN_PARTITION):
        return None
    for path in (screen / PARTITION, screen.parent / PARTITION):
        data = store.read_json(path)
        if not isinstance(data, Mapping) or Path(str(data.get("screen"))) != screen:
            continue
        if path.stat().st_mtime_ns < (screen / "screen.tsv").stat().st_mtime_ns:
            app.talk(f"note: {path} is older than its screen, and is not used")
            continue
        app.talk(f"lanes: those of {path}")
        return data
    return None


def _from_partition(resolved: Resolved, screened: choose.Screened, partition: Mapping[str, Any]) -> Question:
    """What a partition holds; operators that it has in shards are asked for once."""
    planned = lanes_of(partition)
    pieces = {piece.directory: piece for lane in planned for piece in lane.pieces}
    if not pieces:
        raise NothingMeasuredError("the partition is empty: the screen found no operator with a chosen verdict")
    works = [
        screened.work(known)
        if (known := screened.find(piece.directory)) is not None
        else Work(op=piece.op, directory=piece.directory)
        for piece in pieces.values()
    ]
    return _from_screen(resolved, screened, works, planned=planned)


def _from_screen(
    resolved: Resolved, screened: choose.Screened, works: Sequence[Work], *, planned: tuple[Lane, ...] = ()
) -> Question:
    words = []
    for work in works:
        known = screened.find(work.directory)
        words.append(screened.word(known) if known is not None else work.op)
    return Question(
        resolved=again.with_screen_settings(resolved, screened.plan), subjects=tuple(works), words=tuple(words),
        screened=screened, own_screen=True, planned=planned,
    )  # fmt: skip


def _by_name(app: App, resolved: Resolved, screen: Path | None) -> Question:
    """Operators that somebody named, whatever their verdict; a screen that nobody named serves for controls alone."""
    found = screen or newest_screen(app)
    screened = choose.Screened.read(found) if found is not None else None
    own = screen is not None
    if own and screened is not None:
        resolved = again.with_screen_settings(resolved, screened.plan)
    axis = axis_of(resolved, app.project)
    request = make_request(resolved, app.project, axis, sides=("A", "B"), cwd=app.cwd, cache=app.home, env=app.env)
    works = []
    for target in request.targets:
        for selection in request.selections:
            directory = request.pair_name(selection, target)
            known = screened.find(directory) if screened is not None else None
            works.append(
                screened.work(known)
                if screened is not None and known is not None
                else Work(op=selection.op, directory=directory)
            )
    words = [f"{one.op}::{','.join(one.dtypes)}" if one.dtypes else one.op for one in request.selections]
    return Question(
        resolved=resolved, subjects=tuple(works), words=tuple(words), screened=screened, own_screen=own
    )  # fmt: skip


def _split(app: App) -> tuple[list[Path], tuple[str, ...]]:
    """Words that name a directory or a partition, and words that name operators."""
    paths, names = [], []
    for word in app.resolved.texts("ops"):
        path = (app.cwd / word).resolve()
        if "::" not in word and (word.endswith(".json") or _is_source(path)):
            paths.append(path)
        else:
            names.append(word)
    return paths, tuple(names)


def _is_source(path: Path) -> bool:
    return any((path / name).is_file() for name in ("screen.tsv", CAMPAIGN, PARTITION))


def _with_operators(resolved: Resolved, names: tuple[str, ...]) -> Resolved:
    ops = replace(resolved.settings["ops"], value=names)
    return replace(resolved, settings={**resolved.settings, "ops": ops})


def _source(app: App, paths: Sequence[Path]) -> tuple[Mapping[str, Any] | None, Path | None]:
    """The partition and the screen that were named."""
    given = app.resolved.path("screen")
    if given is not None and not (paths and app.resolved.source("screen").kind is SourceKind.ENVIRONMENT):
        paths = [*paths, (app.cwd / given).resolve()]
    if len(paths) > 1:
        raise UsageError(f"{len(paths)} screens are given, one is measured", hint="Give one: --screen runs/screen_…")
    if not paths:
        return None, None
    path = paths[0]
    if path.name == "screen.tsv":
        path = path.parent
    if (path / CAMPAIGN).is_file() and (path / PARTITION).is_file():
        path /= PARTITION
    if path.suffix != ".json":
        return None, find_screen(app, path)
    data = store.read_json(path)
    if not isinstance(data, Mapping) or "lanes" not in data or "screen" not in data:
        raise UsageError(f"{path} is no partition", hint=f"Make one: {app.hint('partition')}")
    return data, find_screen(app, Path(str(data["screen"])))
