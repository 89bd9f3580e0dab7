"""What autotuners chose in a run, as its directory tells: the record, its digest, and how a replay of it went.

The files are `autotune_records/records.jsonl` (a line for each kernel, key and row), `replay.jsonl` and `meta.json`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.cells import read_json_lines
from zlbench.errors import PreflightError
from zlbench.suite.names import safe_dirname
from zlbench.text import plural

FOLDER = "autotune_records"
RECORDS = f"{FOLDER}/records.jsonl"
REPLAY = f"{FOLDER}/replay.jsonl"
META = f"{FOLDER}/meta.json"
SCHEMA_VERSION = 1
COMPILER_VARIABLE = "ZL_COMPILER"
"""Names the compiler of a measured process, for the cache of winners that it may share with others."""
WRITERS = "zlbench-writers.jsonl"
REPLAYED_NOTHING = "REPLAYED_NOTHING"
UNKNOWN_WRITER = "a process that zlbench did not start"


def compiler_text(build: Mapping[str, Any]) -> str:
    """Name and hashes of a compiler, from what an identity file says of it."""
    native, python = (str(build.get(part) or "")[:8] for part in ("native_sha256", "python_sha256"))
    return f"{build.get('name')} (triton {build.get('version')}, libtriton {native}, python {python})"


def same_compiler(one: str, other: str) -> bool:
    """Whether two texts of `compiler_text` mean one compiler; its name is what somebody called it."""
    return one.partition("(")[2] == other.partition("(")[2] != ""


class Source(str, Enum):
    """Where a recorded choice came from."""

    SWEEP = "sweep"
    """This process timed configs."""
    PRUNED = "pruned"
    """Pruning left one config."""
    SINGLE = "single"
    """The kernel has one config; there is nothing to replay."""
    MEMORY = "memory"
    """This process had chosen it before, or the suite put it there."""
    DATABASE = "database"
    """The suite's database of winners held it."""
    STORED_TIMES = "stored times"
    """This process compared times that another one had measured."""


INHERITED = (Source.DATABASE.value, Source.STORED_TIMES.value)


def read_records(run_dir: Path) -> list[dict[str, Any]]:
    """The choices of a run, also of one that crashed; empty where it has none."""
    return read_json_lines(run_dir / RECORDS)


def digest(records: Iterable[Mapping[str, Any]]) -> str:
    """Digest of what was chosen: independent of times, of the order and of the rows for which it was chosen."""
    parts = ("tuner", "module", "kernel", "key", "config", "pre_hook", "all_failed")
    chosen = {json.dumps([record.get(part) for part in parts], sort_keys=True) for record in records}
    return hashlib.sha256("\n".join(sorted(chosen)).encode()).hexdigest()[:12]


def source_digest(cell_dir: Path) -> str | None:
    """Digest of the record that a cell made, or of the one that it replays; None where it did neither."""
    meta = store.read_json(cell_dir / META) or {}
    if meta.get("mode") == "replay":
        said = meta.get("source_digest")
        return str(said) if said else None
    return digest(read_records(cell_dir)) if meta.get("mode") == "record" else None


# --- the record to replay ------------------------------------------------------------------------------------------


def sources_of(given: Iterable[Path], op: str) -> list[Path]:
    """Directories that hold a record of an operator: those given, or the recorded cell of that operator below them."""
    found = []
    for path in given:
        below = path / safe_dirname(op) / "A"
        here = below if not (path / META).is_file() and (below / META).is_file() else path
        if (store.read_json(here / META) or {}).get("op") == op:
            found.append(here)
    return list(dict.fromkeys(found))


def check_source(given: Sequence[Path], *, op: str, backend: str, suite: str) -> None:
    """Refuse a record that cannot be replayed.

    Args:
        given: what was named, to replay this operator and others from.

    Raises:
        PreflightError: check=replay-source.
    """
    for path in given:
        if not path.is_dir():
            raise _refusal(f"{path} is not a directory", _A_RUN)
    sources = sources_of(given, op)
    if len(sources) != 1:
        raise _not_one(given, sources, op)
    meta: Mapping[str, Any] = store.read_json(sources[0] / META) or {}
    if meta.get("mode") != "record":
        raise _refusal(
            f"{sources[0]} is itself a replay (of {meta.get('source')})",
            f"Replay what it replayed: --replay-from {meta.get('source')}",
        )
    for name, wanted in (("backend", backend), ("suite", suite)):
        if meta.get(name) != wanted:
            raise _refusal(
                f"{sources[0]} was recorded with {name} {meta.get(name)}, this run has {wanted}",
                f"Record on this {name} first: the same command without --replay-from.",
            )


_A_RUN = "Give runs that recorded on a card, such as runs/mm_…, one for each operator; or a screen."


def _not_one(given: Sequence[Path], sources: Sequence[Path], op: str) -> PreflightError:
    """Why it is not clear what an operator replays."""
    if sources:
        return _refusal(f"{op} has {len(sources)} records: {', '.join(map(str, sources))}", "Name one of them.")
    others = {str(meta["op"]): path for path in given if (meta := store.read_json(path / META) or {}).get("op")}
    if others:
        recorded = ", ".join(f"{path} is a record of {other}" for other, path in others.items())
        return _refusal(f"no record of {op} is named: {recorded}", _A_RUN)
    return _refusal(f"{', '.join(map(str, given))} holds no record of autotune choices of {op}", _A_RUN)


def _refusal(message: str, hint: str) -> PreflightError:
    return PreflightError(message, check="replay-source", hint=hint)


# --- how it went ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """How many choices a run recorded or replayed, by kernel."""

    mode: str
    made: Mapping[str, int]
    """Choices of each kernel: recorded, or replayed as recorded."""
    fallbacks: Mapping[str, Mapping[str, int]]
    """Of each kernel whose choice was not replayed: how often, by reason."""
    swept: int = 0
    """Configs that were timed."""
    all_failed: tuple[str, ...] = ()
    """Kernels of which every config failed, for some key."""
    foreign: tuple[tuple[str, str], ...] = ()
    """Kernels whose winner was found in a cache and came from another compiler, and from which."""

    @property
    def missed(self) -> int:
        """Choices that were not replayed."""
        return sum(sum(reasons.values()) for reasons in self.fallbacks.values())


def read_choices(cell_dir: Path) -> Choices:
    """Count what a cell recorded or replayed; each kernel and key once, however many rows it served."""
    meta = store.read_json(cell_dir / META) or {}
    if meta.get("mode") == "replay":
        return _read_replay(cell_dir)
    own = str(meta.get("compiler") or "")
    records = [record for record in read_records(cell_dir) if record.get("key") is not None]
    return Choices(
        mode="record",
        made=Counter(record["kernel"] for record in _each_key_once(records)),
        fallbacks={},
        swept=sum(record["swept"] for record in records),
        all_failed=tuple(sorted({record["kernel"] for record in records if record["all_failed"]})),
        foreign=tuple(
            sorted(
                (kernel, writer)
                for kernel, writer in {(record["kernel"], record.get("writer") or UNKNOWN_WRITER)
                                       for record in records if record["source"] in INHERITED}
                if not same_compiler(writer, own)
            )
        ),
    )  # fmt: skip


def count_choices(cell_dir: Path) -> int | None:
    """Keys for which a cell's autotuners had a choice; None where nobody looked."""
    if not (cell_dir / META).is_file():
        return None
    choices = read_choices(cell_dir)
    return sum(choices.made.values()) + choices.missed


def _read_replay(cell_dir: Path) -> Choices:
    lines = read_json_lines(cell_dir / REPLAY)
    fallbacks: dict[str, Counter[str]] = {}
    missed = _each_key_once([line for line in lines if line["outcome"] == "miss"])
    for line in missed:
        fallbacks.setdefault(line["kernel"], Counter())[line["reason"]] += 1
    hits = _each_key_once([line for line in lines if line["outcome"] == "hit"])
    return Choices(
        mode="replay",
        made=Counter(line["kernel"] for line in hits),
        fallbacks=fallbacks,
        swept=sum(line.get("swept") or 0 for line in missed),
    )


def _each_key_once(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    seen = {(line.get("module"), line["kernel"], json.dumps(line["key"])): line for line in lines}
    return list(seen.values())


def choice_lines(choices: Choices) -> list[str]:
    """What a person is told of them; nothing where no kernel is tuned. What was not replayed has its marker."""
    kernels = ", ".join(f"{kernel} {count}" for kernel, count in sorted(choices.made.items()))
    total = sum(choices.made.values())
    if choices.mode == "replay":
        if not total and not choices.missed:
            return []
        return [f"replayed {total} of {total + choices.missed} autotune choices{f': {kernels}' if kernels else ''}"]
    return [f"recorded {total} autotune choices: {kernels}; {choices.swept} configs timed"] if total else []


def markers(cell_dir: Path) -> list[str]:
    """What must be said of a cell's choices, as its plugins' markers are; counts come first."""
    choices = read_choices(cell_dir)
    said = []
    if choices.missed and not choices.made:
        said.append(f"{REPLAYED_NOTHING} none of {choices.missed} choices: every kernel was tuned anew")
    if choices.missed:
        said.append(f"AUTOTUNE_REPLAY_FALLBACK {_fallback_text(choices)}")
    if choices.all_failed:
        said.append(f"TUNE_ALL_FAILED {plural(len(choices.all_failed), 'kernel')}: {', '.join(choices.all_failed)}")
    for writer in dict.fromkeys(writer for _, writer in choices.foreign):
        kernels = [kernel for kernel, by in choices.foreign if by == writer]
        count = plural(len(kernels), "kernel")
        said.append(f"TUNER_CACHE_SHARED {count} with winners of {writer}: {', '.join(kernels)}")
    return said


def _fallback_text(choices: Choices) -> str:
    total = sum(choices.made.values()) + choices.missed
    parts = [
        f"{kernel} ({', '.join(f'{reason} {count}' for reason, count in sorted(reasons.items()))})"
        for kernel, reasons in sorted(choices.fallbacks.items())
    ]
    return f"{choices.missed} of {total} choices tuned anew: {', '.join(parts)}"


NOT_OF_THE_COMPILER = ("key_missing", "config_unknown", "tune_all_failed", "swept")
"""Reasons of a fallback that say nothing of the compiler: with them, other code is that of another choice."""


def owed_to_choice(reasons: Iterable[str]) -> bool:
    """Whether none of a kernel's fallbacks came of the compiler itself, which refused the recorded config."""
    return all(reason.removesuffix("_no_evict") in NOT_OF_THE_COMPILER for reason in reasons)


# --- the suite's cache of winners ----------------------------------------------------------------------------------

_TIMES_TABLE = re.compile(r"_benchmark(_v\d+)?(-[0-9a-f]{32})?$")


def tuner_cache(env: Mapping[str, str]) -> Path | None:
    """Where a process keeps winners between runs; None where a database elsewhere has them."""
    url = env.get("FLAGGEMS_DB_URL", "")
    if url:
        return Path(url.removeprefix("sqlite:///")).parent if url.startswith("sqlite:///") else None
    given = env.get("FLAGGEMS_CACHE_DIR")
    return Path(given) if given else Path(env.get("HOME") or "~").expanduser() / ".flaggems"


def tuner_databases(env: Mapping[str, str]) -> list[Path]:
    """The files of a process's cache of winners."""
    url = env.get("FLAGGEMS_DB_URL", "")
    if url:
        return [Path(url.removeprefix("sqlite:///"))] if url.startswith("sqlite:///") else []
    folder = tuner_cache(env)
    return sorted((folder / "config_cache").glob("*.db")) if folder is not None else []


def count_entries(databases: Sequence[Path]) -> int | None:
    """Winners in a cache, times of losers not counted; None where it cannot be read."""
    import sqlite3

    total = 0
    try:
        for path in databases:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=10.0)
            try:
                found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                for (name,) in found:
                    if not _TIMES_TABLE.search(name):
                        quoted = name.replace('"', '""')
                        total += connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0]
            finally:
                connection.close()
    except sqlite3.Error:
        return None
    return total


class Writers:
    """Beside a cache of winners: which compiler put which of them there, since the cache itself does not say.

    Args:
        folder: of the cache; None where there is none to write into.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / WRITERS if folder is not None else None
        self._compiler = os.environ.get(COMPILER_VARIABLE) or UNKNOWN_WRITER

    def wrote(self, table: str, key: Any) -> None:
        """Note a winner of this process. Several processes may do so at once: a line is written in one go."""
        if self._path is None:
            return
        line = json.dumps({"table": table, "key": key, "compiler": self._compiler}, separators=(",", ":")) + "\n"
        with store.clear_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)

    def of(self, table: str, key: Any) -> str:
        """Who put a winner there: the first, since a stored winner is never replaced."""
        return next((line["compiler"] for line in self._lines() if (line["table"], line["key"]) == (table, key)),
                    UNKNOWN_WRITER)  # fmt: skip

    def of_times(self, table: str) -> str:
        """Who measured a table's times: those who put winners there."""
        found = dict.fromkeys(line["compiler"] for line in self._lines() if line["table"] == table)
        return " and ".join(found) or UNKNOWN_WRITER

    def _lines(self) -> list[dict[str, Any]]:
        return read_json_lines(self._path) if self._path is not None else []
