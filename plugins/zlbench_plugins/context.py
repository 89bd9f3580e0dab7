"""What the plugins of one cell share: its request, its files, the row that is being measured."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TextIO

from zlbench.cells import CellSpec
from zlbench_plugins._patch import PatchSet


class JsonLines:
    """A file of JSON lines in which every line is on its way to the disk before `append` returns."""

    lost_a_line = False
    """Whether any line of this process could not be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: TextIO | None = None

    def append(self, record: dict[str, Any]) -> None:
        """Write one line and flush it; a crash in the next instruction loses nothing."""
        line = json.dumps(record, separators=(",", ":"), default=str) + "\n"
        try:
            if self._stream is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._stream = self._path.open("a", encoding="utf-8")
            self._stream.write(line)
            self._stream.flush()
        except OSError:
            JsonLines.lost_a_line = True
            raise


class Recorder(Protocol):
    """What the row plugin asks of the IR plugin, if that is loaded."""

    def take_compile_ms(self) -> float:
        """Milliseconds of compile work since the last call."""


class MadeUpValues(Protocol):
    """What a row is asked of the device that is not there."""

    def take(self) -> dict[str, int]:
        """How many values were made up since the last call, by operator."""


class CellContext:
    """State of the cell that this process measures."""

    def __init__(self, spec: CellSpec) -> None:
        self.spec = spec
        self.out_dir = Path(spec.out_dir)
        self.rows = JsonLines(self.out_dir / "rows.jsonl")
        self.events = JsonLines(self.out_dir / "events.jsonl")
        self.kernels = JsonLines(self.out_dir / "kernels.jsonl")
        self.tunings = JsonLines(self.out_dir / "autotune_records" / "pinned.jsonl")
        self.patches = PatchSet()
        self.hooks: dict[str, bool] = {}
        """Hooks that plugins looked for in this Triton, and whether it has them."""
        self.launches: dict[str, Launches] = {}
        """Launches of the row in progress, by kernel id."""
        self.row = ""
        """Name of the row in progress, empty until its inputs are known."""
        self.doing = "inputs"
        """What is going on: inputs, baseline or row. A kernel that is compiled for one of the first two is no row's."""
        self.before_row: list[Callable[[], None]] = []
        """What plugins do before every row."""
        self.grid: tuple[int, int, int] | None = None
        """Grid of the launch in progress, where the launcher tells it."""
        self.sweeping = False
        """Whether an autotuner is timing its configs."""
        self.tuned: dict[str, str] = {}
        """What autotuners chose for the row in progress: kernel with key, and config."""
        self.tuned_anew: dict[str, str] = {}
        """Kernels of the row in progress whose config should have been replayed and was not, and why."""
        self.recorder: Recorder | None = None
        self.origins: dict[str, str] = {}
        """Where the shapes of an operator come from, for those that are not simply the request's."""
        self.made_up: MadeUpValues | None = None
        """Values that only a device could tell, where there is none."""
        self.made_up_rows = 0

    def begin_row(self) -> None:
        """Forget the row before."""
        self.launches = {}
        self.tuned, self.tuned_anew = {}, {}
        self.row, self.doing = "", "row"
        for act in self.before_row:
            act()

    def launched(self, kernel: str, grid: tuple[int, ...] | None) -> None:
        """Count one launch of a kernel for the row in progress; those of a sweep are not the row's."""
        if self.sweeping:
            return
        self.launches.setdefault(kernel, Launches()).add(grid)

    def end_row(self, record: dict[str, Any]) -> None:
        """Append the finished row together with the kernels that it launched."""
        kernels = [{"kernel": name, **launch.to_json()} for name, launch in self.launches.items()]
        if self.made_up is not None and (made_up := self.made_up.take()):
            record = {**record, "made_up": made_up}
            self.made_up_rows += 1
        self.doing = "inputs"
        self.rows.append({**record, **self._choices(), "kernels": kernels})

    def _choices(self) -> dict[str, str]:
        """Which configs applied to the row, in short, where an autotuner was asked at all."""
        said = {}
        if self.tuned:
            text = json.dumps(sorted(self.tuned.items()))
            said["config"] = hashlib.sha256(text.encode()).hexdigest()[:12]
        if self.tuned_anew:
            said["replay_fallback"] = ", ".join(f"{kernel} {why}" for kernel, why in sorted(self.tuned_anew.items()))
        return said

    def warn(self, marker: str, text: str) -> None:
        """Print a marker line into run.log and keep it as an event."""
        print(f"{marker} {text}", file=sys.stderr, flush=True)  # noqa: T201 - run.log is this process's stderr
        self.events.append({"event": "marker", "marker": marker, "text": text})

    def tell(self, marker: str, text: str) -> None:
        """Print a marker line into run.log alone; people are told how many there were, from the cell's files."""
        print(f"{marker} {text}", file=sys.stderr, flush=True)  # noqa: T201 - run.log is this process's stderr


class Launches:
    """How often and with which grids one kernel was launched for one row."""

    def __init__(self) -> None:
        self.count = 0
        self.grids: list[tuple[int, ...]] = []

    def add(self, grid: tuple[int, ...] | None) -> None:
        """Count a launch; grids are kept once each, in the order of their first use."""
        self.count += 1
        if grid is not None and grid not in self.grids:
            self.grids.append(grid)

    def to_json(self) -> dict[str, Any]:
        """Plain data for rows.jsonl."""
        return {"launches": self.count, "grids": [list(grid) for grid in self.grids]}


_current: CellContext | None = None


def activate(context: CellContext) -> None:
    """Make `context` the one that plugins of this process see."""
    global _current  # noqa: PLW0603 - pytest imports plugins by name, there is no other place to hand it over
    _current = context


def current() -> CellContext:
    """The cell of this process.

    Where pytest was started by hand with our plugins, the request is read from the file named by ``ZL_CELL_SPEC``.
    """
    if _current is None:
        path = os.environ.get("ZL_CELL_SPEC")
        if not path:
            raise RuntimeError("zlbench plugins need a cell: start them through zlbench, or set ZL_CELL_SPEC")
        activate(CellContext(CellSpec.from_json(json.loads(Path(path).read_text(encoding="utf-8")))))
    assert _current is not None
    return _current
