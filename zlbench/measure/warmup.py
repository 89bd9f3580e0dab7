"""Parallel warm-up: the autotune sweep of an operator is spread over several cards, measuring stays on one.

Each card gets every n-th shape in a process of its own that records what the tuners choose. The records are merged, and
the measuring process replays them; the merged record becomes the run's own, so that it can be replayed like any other.
Where that cannot be done, the sweep stays serial, and the reason is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zlbench import cards, store, tuning
from zlbench.cells import CellSpec, read_json_lines
from zlbench.engine.local import CellEnd, LocalEngine, WorkerSpec
from zlbench.measure.cardwatch import alone
from zlbench.measure.request import Request
from zlbench.process import terminable
from zlbench.shapes import Shape
from zlbench.suite.resolve import Selection
from zlbench.suite.shape_entry import shape_entry
from zlbench.text import plural, seconds

CONFLICT = "WARMUP_CONFLICT"
MISSED = "WARMUP_MISSED"
_CHOICE = ("config", "pre_hook", "all_failed", "source", "configs", "swept", "timings", "ties")
"""What of a record's line is the choice; the rest says for what it was made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """Records of all shards in one, and how many keys had different winners."""

    records: tuple[Mapping[str, Any], ...]
    choices: int
    conflicts: int


def merge(shards: Iterable[Iterable[Mapping[str, Any]]]) -> Merged:
    """Merge records: a key that several shards tuned keeps the first one's choice, for all of its rows."""
    first: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    conflicting: set[tuple[str, str, str]] = set()
    merged: list[Mapping[str, Any]] = []
    for records in shards:
        for record in records:
            if record.get("key") is None:
                merged.append(record)
                continue
            place = _place(record)
            chosen = first.setdefault(place, record)
            if chosen["config"] != record["config"]:
                conflicting.add(place)
            merged.append({**record, **{part: chosen[part] for part in _CHOICE if part in chosen}})
    return Merged(records=tuple(merged), choices=len(first), conflicts=len(conflicting))


def with_misses(
    records: Iterable[Mapping[str, Any]], replayed: Iterable[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], int]:
    """The merged record with what the measuring process chose instead, or besides; and for how many keys it did.

    A record that lacks them would not be that of the run: whoever replays it would tune these keys once more.
    """
    missed = [line for line in replayed if line["outcome"] == "miss" and line.get("config") is not None]
    places = {_place(line) for line in missed}
    kept = [record for record in records if record.get("key") is None or _place(record) not in places]
    own = [{name: value for name, value in line.items() if name not in ("outcome", "reason")} for line in missed]
    return [*kept, *own], len(places)


def _place(line: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(line.get("module")), str(line["kernel"]), json.dumps(line["key"])


class WarmUp:
    """Warms operators up before they are measured.

    Args:
        worker: that of the measured side; each card gets one like it.
        check: told what a worker really imported; raises to refuse.
    """

    def __init__(
        self, request: Request, worker: WorkerSpec, *, env: Mapping[str, str], say: Callable[[str], None],
        check: Callable[[str, Mapping[str, Any]], None],
    ) -> None:  # fmt: skip
        self._request, self._worker, self._env, self._say, self._check = request, worker, env, say, check
        self._asked = int(request.resolved.value("parallel_warmup") or 0)
        self._found: dict[str, _Found] = {}
        self._failed: dict[str, Path] = {}
        """Logs of shards that failed, by the cell that was to be warmed up."""

    def before(self, spec: CellSpec, selection: Selection) -> CellSpec:
        """Warm one operator up; returns the cell that replays what was found, or the one given."""
        if self._asked < 2:
            return spec
        names, reason = self._cards()
        shapes, reason = self._shapes(spec, selection) if not reason else ((), reason)
        shards = [shapes[start :: len(names)] for start in range(min(len(names), len(shapes)))]
        if not reason and len(shards) < 2:
            reason = "there is one shape"
        found = reason or self._sweep(spec, names, shards)
        if isinstance(found, str):
            self._say(f"parallel warm-up of {spec.op}: none, the sweep is serial: {found}")
            return spec
        self._found[spec.cell] = found
        where = f"{plural(len(shards), 'card')} ({', '.join(names[: len(shards)])})"
        came_of_it = f"{found.conflicts} of {found.choices} choices differ between cards"
        took = f"{plural(len(shapes), 'shape')} on {where} in {seconds(found.took_s)}"
        self._say(f"parallel warm-up of {spec.op}: {took}; {came_of_it}")
        plugins = tuple(name.replace("autotune_record", "autotune_replay") for name in spec.plugins)
        return replace(spec, autotune="replay", replay_from=str(found.folder), plugins=plugins)

    def after(self, spec: CellSpec) -> CellSpec:
        """Make the merged record the measured cell's own; returns the cell as it was asked for."""
        found, cell_dir = self._found.get(spec.cell), Path(spec.out_dir)
        if spec.cell in self._failed and self._failed[spec.cell].is_file():
            text = self._failed[spec.cell].read_text(encoding="utf-8", errors="replace")
            store.write_text(cell_dir / "warmup.log", text)
        if found is None:
            return spec
        meta: Mapping[str, Any] = store.read_json(cell_dir / tuning.META) or {}
        kept = {name: value for name, value in meta.items() if name not in ("source", "source_digest")}
        records, missed = with_misses(tuning.read_records(found.folder), read_json_lines(cell_dir / tuning.REPLAY))
        warmup = {
            "cards": list(found.cards), "choices": found.choices, "conflicts": found.conflicts, "missed": missed,
        }  # fmt: skip
        with store.clear_errors(cell_dir):
            (cell_dir / tuning.FOLDER).mkdir(exist_ok=True)
        store.write_text(cell_dir / tuning.RECORDS, "".join(json.dumps(record) + "\n" for record in records))
        store.write_json(cell_dir / tuning.META, {**found.meta, **kept, "mode": "record", "parallel_warmup": warmup})
        if found.conflicts:
            text = f"{plural(found.conflicts, 'key')} had other winners on another card, of {found.choices}"
            store.append_marker(cell_dir / "events.jsonl", CONFLICT, text)
        if missed:
            text = f"{plural(missed, 'key')} tuned anew while measuring, on one card; {found.choices} were warmed up"
            store.append_marker(cell_dir / "events.jsonl", MISSED, text)
        plugins = tuple(name.replace("autotune_replay", "autotune_record") for name in spec.plugins)
        return replace(spec, autotune="record", replay_from=None, plugins=plugins)

    def _cards(self) -> tuple[tuple[str, ...], str]:
        """The cards to spread over, and why not."""
        request = self._request
        if request.backend.deviceless:
            return (), "no card is measured on"
        if request.resolved.text("level") != "core":
            return (), "only at level core does a list say which shapes will run"
        if request.resolved.path("replay_from"):
            return (), "choices are replayed, nothing is swept"
        if not request.resolved.flag("autotune"):
            return (), "choices are not recorded (--autotune 0)"
        if not request.resolved.flag("isolate_tuner_cache"):
            return (), "the tuner cache is shared, and cards would wait for each other's winners"
        names = request.devices
        if names is None:
            answer = cards.cards_of(request.backend, self._env)
            if not answer.values:
                return (), f"the cards of this machine are unknown: {answer.reason}"
            names = tuple(str(card.index) for card in answer.values)
        return (names[: self._asked], "") if len(names) > 1 else ((), f"{plural(len(names), 'card')} visible")

    def _shapes(self, spec: CellSpec, selection: Selection) -> tuple[tuple[Shape, ...], str]:
        if self._request.resolved.flag("quick"):
            return (), "--quick measures one shape"
        if spec.shapes is not None:
            return spec.shapes, ""
        entry = shape_entry(self._request.provider, selection.benchmark, self._request.shape_file)
        return entry.shapes, f"which shapes will run is not known: {entry.reason}" if entry.reason else ""

    def _sweep(self, spec: CellSpec, names: Sequence[str], shards: Sequence[tuple[Shape, ...]]) -> _Found | str:
        """Run every shard on a card of its own; returns what they found, or why that cannot be used."""
        folder = self._worker.work_dir / "warmup" / spec.cell.rpartition("/")[0]
        workers = [self._on_card(name, f"W{number}") for number, name in zip(range(len(shards)), names, strict=False)]
        cells = [_shard(spec, shard, f"W{number}", folder) for number, shard in enumerate(shards)]
        for cell in cells:
            with store.clear_errors(folder):
                Path(cell.out_dir).mkdir(parents=True)
        timeout = float(self._request.resolved.value("cell_timeout"))
        engine = LocalEngine(
            workers, check=lambda _, observed: self._check(spec.side, observed), cell_timeout_s=timeout
        )
        known = cards.cards_of(self._request.backend, self._env).values
        used = alone(
            self._request.backend, known, names[: len(shards)], env=self._env, directory=Path(spec.out_dir),
            wait_s=float(self._request.resolved.value("wait_for_card")), say=self._say,
        )  # fmt: skip
        with used, terminable():
            ends = list(engine.run(cells, jobs=len(cells)))
        for end in ends:
            why = _why_unusable(end)
            if why:
                self._failed[spec.cell] = Path(end.spec.out_dir) / "run.log"
                return f"{why}, see warmup.log"
        merged = merge(tuning.read_records(Path(cell.out_dir)) for cell in cells)
        store.write_text(_made(folder / tuning.RECORDS), "".join(json.dumps(item) + "\n" for item in merged.records))
        meta: Mapping[str, Any] = store.read_json(Path(cells[0].out_dir) / tuning.META) or {}
        store.write_json(folder / tuning.META, meta)
        uuids = [(store.read_json(Path(cell.out_dir) / "process.json") or {}).get("device") or {} for cell in cells]
        return _Found(
            folder=folder,
            meta=meta,
            cards=tuple(str(found.get("uuid") or name) for found, name in zip(uuids, names, strict=False)),
            choices=merged.choices,
            conflicts=merged.conflicts,
            took_s=max(end.elapsed_s for end in ends),
        )

    def _on_card(self, name: str, side: str) -> WorkerSpec:
        """A worker like the measured one that sees this card alone and has caches of its own."""
        cache = self._worker.work_dir / side
        for kind in ("triton", "tuner"):
            with store.clear_errors(cache):
                (cache / kind).mkdir(parents=True, exist_ok=True)
        variable = cards.visibility_variable(self._request.backend, self._env)
        own = {"TRITON_CACHE_DIR": str(cache / "triton"), "FLAGGEMS_CACHE_DIR": str(cache / "tuner"), variable: name}
        opening = {**self._worker.opening, "wipe": [str(cache / "tuner")]}
        return replace(self._worker, side=side, env={**self._worker.env, **own}, opening=opening)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What the shards of one operator found, merged into a folder that can be replayed."""

    folder: Path
    meta: Mapping[str, Any]
    cards: tuple[str, ...]
    choices: int
    conflicts: int
    took_s: float


def _made(path: Path) -> Path:
    with store.clear_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _shard(spec: CellSpec, shapes: tuple[Shape, ...], side: str, folder: Path) -> CellSpec:
    """A cell that tunes for some shapes: what it times besides is thrown away, so it times as little as it can."""
    pair = spec.cell.rpartition("/")[0]
    plugins = tuple(name for name in spec.plugins if not name.endswith(".ir_meta"))
    return replace(
        spec, cell=f"{pair}/{side}", side=side, out_dir=str(folder / side), shapes=shapes, shape_mode="inline",
        baseline="none", warmup_ms=1, rep_ms=1, plugins=plugins,
    )  # fmt: skip


def _why_unusable(end: CellEnd) -> str:
    """A shard that did not come to a good end leaves holes, and each hole would be tuned in silence while measuring."""
    if end.returncode or end.timed_out or end.worker_died:
        return f"the sweep of {plural(len(end.spec.shapes or ()), 'shape')} failed on a card"
    events = read_json_lines(Path(end.spec.out_dir) / "events.jsonl")
    if any(event.get("marker") == "SHAPES_NOT_IN_FORCE" for event in events):
        return "the benchmark takes no shapes from outside"
    return ""
