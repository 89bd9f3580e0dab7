"""A device family without devices: `zlbench run/screen --backend fakecard` on the toy suite, no GPU, no torch.

Use::

    cards = FakeCards(tmp_path / "cards")                       # two idle cards
    env = {"PYTHONPATH": cards.pythonpath()}                    # the only thing that a command needs
    project.run("screen", "toy", "other", "--backend", "fakecard", env=env)

The folder holds (1) a package with the entry point ``zlbench.backends``, found by driver and measured process alike,
(2) a ``torch`` with as much of a device module (``torch.fakecard``) as plugins ask for, (3) the vendor's tool, and
(4) ``cards.json``, which all three read. Times are those of the toy suite's table; timers are direct ones, there are no
graphs. Cells get what any card's cells get: `autotune` record on A and replay on B, one at a time, baseline canary.

What can be set at any time, also while a command runs: which cards there are (`change`, `remove`), foreign processes on
them (`busy`, `idle`), the tool's health (`tool`: ``ok``, ``missing``, ``hang``, ``garbage``, ``fails``, and ``hidden``,
which shows no processes as in a container). ``FAKECARD_VISIBLE_DEVICES`` chooses cards as CUDA_VISIBLE_DEVICES does,
by index or UUID. `asked()` lists the commands that the tool got, `opened()` the cards that measured processes used.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from fakes.suites import PATHS, lines

SOURCE = Path(__file__).with_name("fakecard")
NAME = "Fake Card 9000"
DRIVER = "570.00.1"


def uuid(index: int) -> str:
    """UUID of a fake card."""
    return f"FAKE-{index:08d}-0000"


class FakeCards:
    """The folder of a fake device family, and its state."""

    def __init__(self, folder: Path, count: int = 2) -> None:
        self.folder = folder
        shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
        info = folder / "zl_fakecard-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zl-fakecard\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[zlbench.backends]\nfakecard = zl_fakecard:BACKEND\n")
        cards = [{"index": i, "uuid": uuid(i), "name": NAME, "driver": DRIVER, "memory_used_mb": 4.0, "clock": 1980.0}
                 for i in range(count)]  # fmt: skip
        self._write({"cards": cards, "processes": [], "tool": "ok"})
        (folder / "dev").mkdir()
        (folder / "dev" / "fakecardctl").touch()

    def pythonpath(self) -> str:
        """PYTHONPATH of a command that knows this family."""
        return os.pathsep.join([*PATHS, str(self.folder)])

    def change(self, index: int, **facts: Any) -> None:
        """Change facts of one card (name, uuid, driver, memory_used_mb, clock)."""
        state = self._read()
        state["cards"][index] |= facts
        self._write(state)

    def remove(self) -> None:
        """Take all cards away; the device file goes too."""
        self._write({**self._read(), "cards": []})
        (self.folder / "dev" / "fakecardctl").unlink(missing_ok=True)

    def busy(self, pid: int | None, name: str = "python", *, card: int = 0, memory_mb: float = 1024.0) -> None:
        """Put a process on a card; with `pid` None as a tool shows it that must not say."""
        state = self._read()
        state["processes"].append({"pid": pid, "name": name, "memory_mb": memory_mb, "card": uuid(card)})
        self._write(state)

    def idle(self) -> None:
        """Take all processes off the cards."""
        self._write({**self._read(), "processes": []})

    def tool(self, state: str) -> None:
        """Set the health of the vendor's tool."""
        self._write({**self._read(), "tool": state})

    def asked(self) -> list[list[str]]:
        """Arguments of every call of the tool, in order."""
        return [line["argv"] for line in lines(self.folder / "asked.jsonl")]

    def opened(self) -> list[dict[str, Any]]:
        """Which process asked which card for its properties: pid, uuid."""
        return lines(self.folder / "opened.jsonl")

    def _read(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "cards.json").read_text()))

    def _write(self, state: dict[str, Any]) -> None:
        partial = self.folder / "cards.json.partial"
        partial.write_text(json.dumps(state))
        partial.replace(self.folder / "cards.json")
