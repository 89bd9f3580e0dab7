"""`run_identity.json`: the caliber of a run and the facts of its side. Reading it reports, never fails."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from zlbench.caliber import FIELDS, Caliber

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA_VERSION = 1
FILE_NAME = "run_identity.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunIdentity:
    """What a run was.

    Args:
        build: the compiler's manifest in short: name, import path, version, hashes, commit.
        switches: declared switches; None is unset, which is not "0".
        card_settings: clocks and limits of the card that somebody can set, by name; empty where they are unknown.
        foreign_processes: others that were seen on the card before or after; None where nobody could look.
        cards_beside: UUIDs of further cards that timed configs side by side, in a parallel warm-up.
        tuner_choices: keys for which an autotuner had a choice to make; None where nobody counted.
        tuner_entries_before: winners in the suite's cache before the run; None where nobody counted.
        tuner_foreign: other compilers whose winners this run found there and took.
        hooks: which hooks of Triton this run found.
        plugin_names: the plugins in force, in order.
        forced_pairing: what was known against measuring this suite on this compiler, with --force-pairing.
        timer_reason: why graphs that were asked for were not tried.
        missing: keys that the file did not have; their values are None and mean nothing.
        problems: what was wrong with the file, in sentences.
    """

    op: str
    side: str
    caliber: Caliber
    build: Mapping[str, Any] = field(default_factory=dict)
    switches: Mapping[str, str | None] = field(default_factory=dict)
    provider: str | None = None
    vendor: str | None = None
    device_uuid: str | None = None
    device_name: str | None = None
    card_settings: Mapping[str, float] = field(default_factory=dict)
    foreign_processes: tuple[Mapping[str, Any], ...] | None = None
    cards_beside: tuple[str, ...] = ()
    tuner_choices: int | None = None
    tuner_entries_before: int | None = None
    tuner_entries_after: int | None = None
    tuner_foreign: tuple[str, ...] = ()
    compile_cache: str | None = None
    plugin_names: tuple[str, ...] = ()
    forced_pairing: str | None = None
    timer_reason: str | None = None
    hooks: Mapping[str, bool] = field(default_factory=dict)
    zlbench: str | None = None
    schema_version: int = SCHEMA_VERSION
    missing: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        """Return one flat mapping, caliber first, as it is written."""
        data: dict[str, Any] = {"schema_version": self.schema_version, "op": self.op, "side": self.side}
        data.update(self.caliber.items())
        data.update((name, getattr(self, name)) for name in _FACTS)
        return data

    def to_json(self) -> str:
        """Return the file's text."""
        return json.dumps(self.to_mapping(), indent=2, ensure_ascii=False, default=list) + "\n"

    def write(self, run_dir: Path) -> None:
        """Write the file whole: beside, then renamed into place."""
        partial = run_dir / f"{FILE_NAME}.partial"
        with partial.open("w", encoding="utf-8") as stream:
            stream.write(self.to_json())
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(run_dir / FILE_NAME)


_HEAD = ("schema_version", "op", "side")
_NOT_WRITTEN = ("caliber", "missing", "problems")
_FACTS = tuple(item.name for item in fields(RunIdentity) if item.name not in (*_HEAD, *_NOT_WRITTEN))

_KNOWN = frozenset({*_HEAD, *FIELDS, *_FACTS})


def read_identity(run_dir: Path) -> RunIdentity | None:
    """Read a run's identity; None where there is none or it is no JSON object."""
    try:
        text = (run_dir / FILE_NAME).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return parse_identity(text)


def parse_identity(text: str) -> RunIdentity | None:
    """Read an identity's text; it reports unknown and missing keys. None where it is no JSON object."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    missing = _KNOWN - data.keys() - {"schema_version"}
    problems = [f"unknown key {key}" for key in sorted(data.keys() - _KNOWN)]
    problems += [f"missing key {key}" for key in sorted(missing)]
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        problems.insert(0, f"schema version {version}, this zlbench reads {SCHEMA_VERSION}")
    return RunIdentity(
        op=str(data.get("op", "")),
        side=str(data.get("side", "")),
        caliber=Caliber.from_mapping(data),
        schema_version=version if isinstance(version, int) else 0,
        missing=missing,
        problems=tuple(problems),
        **{name: _fact(name, data[name]) for name in _FACTS if name in data and data[name] is not None},
    )


def _fact(name: str, value: Any) -> Any:
    if name in ("build", "switches", "hooks", "card_settings"):
        return value if isinstance(value, dict) else {}
    if name in ("plugin_names", "tuner_foreign", "cards_beside"):
        return tuple(str(item) for item in value) if isinstance(value, list) else ()
    if name == "foreign_processes":
        return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else None
    return value
