"""What one cell is: a request in (`CellSpec`), an outcome out (`CellOutcome`). Values only; both travel as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any

from zlbench.errors import ExitCode

REQUEST = "cell.json"
"""What a cell was asked, in its directory: whether it answers a later question is decided from there."""
KERNEL_DIGEST = 16
"""Digits of the digest in a kernel's id; a shorter last part of an id counts kernels that are equal in all we know."""


class CellState(str, Enum):
    """How a cell ended. The names are those that `zlbench explain` knows."""

    OK = "OK"
    OP_FAILED = "OP_FAILED"
    CRASH = "CRASH"
    TIMEOUT = "CELL_TIMEOUT"
    NOTHING_MEASURED = "NOTHING_MEASURED"
    SKIPPED = "SKIPPED"
    USAGE = "USAGE"
    PREFLIGHT = "PREFLIGHT"
    DISK_FULL = "DISK_FULL"
    INTERRUPTED = "INTERRUPTED"
    NOT_RUN = "NOT_RUN"


@dataclass(frozen=True, kw_only=True, slots=True)
class CellSpec:
    """One operator on one side, in one process.

    Everything that the measured process needs to know; the compiler and the switches are not in here because
    they belong to the worker process in which many cells of a side run.
    """

    cell: str
    op: str
    side: str
    node: str
    """Absolute pytest node id."""
    suite_root: str
    package: str
    out_dir: str
    backend: str
    timer: str
    target: str | None = None
    """Compile target such as ``cuda:90`` of the device-less backend; None where a device decides."""
    level: str = "core"
    mode: str = "kernel"
    dtypes: tuple[str, ...] = ()
    shape_file: str | None = None
    shape_mode: str = "upstream"
    shapes: tuple[Any, ...] | None = None
    """Shapes that replace the suite's own for this operator (`shape_mode` inline or file)."""
    configs: str = "first"
    seed: int = 0
    baseline: str = "none"
    plugins: tuple[str, ...] = ()
    warmup_ms: int | None = None
    rep_ms: int | None = None
    l2: str | None = None
    """Second-level cache before each timed call: warm or flushed; None with no device."""
    autotune: str = "off"
    """What becomes of autotuners' choices: policy (no device), record, replay or off."""
    replay_from: str | None = None
    """Run directory whose recorded choices are replayed (`autotune` replay)."""
    direct_repeat: int = 1
    """Calls of the timer whose median is a row's latency, where it is timed without a graph."""
    environment: tuple[str, ...] = ()
    """Variables of the caller that reach every side and that a compiler or suite may read, ``NAME=value``."""
    quick: bool = False
    """One dtype and one shape only: a first look."""
    rows: tuple[str, ...] | None = None
    """Names of the rows to measure; None for all. What is left out is counted as such, and is no lost row."""
    placement: int = 0
    """Which place inputs get, equal for both sides of a round; 0: where the allocator puts them."""
    keep_binaries: bool = False
    continued: int = 0
    """How many processes of this cell lost their device before this one: it goes on behind the last started row."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for the worker's request line."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CellSpec:
        """Rebuild from `to_json`; unknown keys are an error because they would be silently unmeasured."""
        known = {field.name for field in fields(cls)}
        extra = set(data) - known
        if extra:
            raise ValueError(f"unknown cell keys: {sorted(extra)}")
        values = dict(data)
        for name in ("dtypes", "plugins", "environment"):
            values[name] = tuple(values.get(name) or ())
        if values.get("rows") is not None:
            values["rows"] = tuple(values["rows"])
        if values.get("shapes") is not None:
            values["shapes"] = tuple(_tuples(shape) for shape in values["shapes"])
        return cls(**values)


def _tuples(value: Any) -> Any:
    """Turn JSON's lists back into the tuples that benchmark classes unpack."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list | tuple) else value


@dataclass(frozen=True, kw_only=True, slots=True)
class CellOutcome:
    """What became of a cell."""

    state: CellState
    returncode: int
    signal: int | None = None
    elapsed_s: float = 0.0
    rows_ok: int = 0
    rows_failed: int = 0
    rows_not_measured: int = 0
    rows_left_out: int = 0
    """Rows that nobody asked for (`CellSpec.rows`)."""
    kernels: int = 0
    convert_layouts: int = 0
    foreign_cache_hits: int = 0
    detail: str = ""
    """One line for people: the error, the signal, the reason of the skip."""
    markers: tuple[str, ...] = ()
    """What the plugins of its process had to say, each ``WORD text``: shapes not in force, hooks missing, …"""

    def marked(self) -> list[tuple[str, str]]:
        """The markers as word and text."""
        return [(word, text) for word, _, text in (marker.partition(" ") for marker in self.markers)]

    @property
    def complete(self) -> bool:
        """Whether running the cell again would be a repetition."""
        return self.state in (CellState.OK, CellState.SKIPPED)

    @property
    def kept(self) -> bool:
        """Whether a resumed command keeps the cell: it came to its own end, well or not."""
        return self.complete or self.state is CellState.OP_FAILED

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that this cell alone would give a command."""
        return _CODES[self.state]

    def to_json(self) -> dict[str, Any]:
        """Plain data for result.json."""
        data = asdict(self)
        data["state"] = self.state.value
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CellOutcome:
        """Rebuild from `to_json`, ignoring keys that a later version added."""
        values = {key: value for key, value in data.items() if key in _OUTCOME}
        values |= {"state": CellState(values["state"]), "markers": tuple(values.get("markers") or ())}
        return cls(**values)

    @classmethod
    def told(cls, data: object) -> CellOutcome | None:
        """What a result.json says; None where it is none, or of a state that only a later version knows."""
        try:
            outcome = cls.from_json(data) if isinstance(data, Mapping) else None
        except (KeyError, TypeError, ValueError):
            return None
        return outcome if outcome is not None and outcome._sound() else None

    def _sound(self) -> bool:
        numbers = (value for field in fields(self) if isinstance(field.default, int | float)
                   for value in [getattr(self, field.name)])  # fmt: skip
        return (
            all(isinstance(number, int | float) and abs(number) < _MOST for number in (self.returncode, *numbers))
            and all(isinstance(text, str) for text in (self.detail, *self.markers))
        )  # fmt: skip


_MOST = 1e18
"""No count and no time is so large; what is was not written by us."""
_OUTCOME = frozenset(field.name for field in fields(CellOutcome))
_CODES = {
    CellState.OK: ExitCode.OK,
    CellState.OP_FAILED: ExitCode.OP_FAILED,
    CellState.CRASH: ExitCode.PARTIAL,
    CellState.TIMEOUT: ExitCode.TIMEOUT,
    CellState.NOTHING_MEASURED: ExitCode.NOTHING_MEASURED,
    CellState.SKIPPED: ExitCode.NOTHING_MEASURED,
    CellState.USAGE: ExitCode.USAGE,
    CellState.PREFLIGHT: ExitCode.PREFLIGHT,
    CellState.DISK_FULL: ExitCode.PARTIAL,
    CellState.INTERRUPTED: ExitCode.INTERRUPTED,
    CellState.NOT_RUN: ExitCode.PARTIAL,
}


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read an append-and-flush file; a last line cut off by a crash is left out, never guessed."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return []
    lines = data.split(b"\n")[:-1]  # behind the last end of a line is nothing, or half a line
    try:
        # One call for all is twice as fast. Torn lines that make sense together give another number of records.
        records = json.loads(b"[%b]" % b",".join(lines)) if lines else []
    except (RecursionError, ValueError):
        records = None
    if records is None or len(records) != len(lines):
        records = list(_one_by_one(lines))
    return [record for record in records if isinstance(record, dict)]


def _one_by_one(lines: Iterable[bytes]) -> Iterator[Any]:
    for line in lines:
        with suppress(RecursionError, ValueError):
            yield json.loads(line)
