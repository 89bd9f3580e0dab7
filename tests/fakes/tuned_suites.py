"""Toy projects whose operators are tuned: by Triton's autotuner, and by one that keeps winners in a database.

`tuned` and `stock` have six configs each; table.json says by compiler how long each takes (``tune_ms``, "inf" for no
time) and which does not fit (``too_large``, by compiler a list of blocks).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from fakes.fake_card import FakeCards
from fakes.suites import Ended, Started, ToyProject, lines, make_toy_triton

SOURCE = Path(__file__).with_name("tuned")
BLOCKS = (16, 32, 64, 128, 256, 512)
TIMES = {"x": [6.0, 5.0, 1.0, 4.0, 3.0, 2.0], "y": [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]}
"""Under x the third config is best, under y the sixth."""


class TunedProject:
    """A toy project on a fake card, with compilers x and y of one version.

    Args:
        root: of all its files.
        home: what zlbench makes once.
    """

    def __init__(self, root: Path, *, home: Path) -> None:
        builds = root / "builds"
        for name, passes in (("x", ""), ("y", "licm")):
            folder = make_toy_triton(builds / name, name=name, passes=passes)
            shutil.copytree(SOURCE / "compiler", folder, dirs_exist_ok=True)
        self.toy = ToyProject(root / "project", builds=builds, home=home)
        shutil.copytree(SOURCE / "suite", self.toy.suite, dirs_exist_ok=True)
        self.cards = FakeCards(root / "cards")
        self.cache = root / "tuner"
        self.toy.table(tune_ms=TIMES, shapes=[[1, 64], [2, 64]], dtypes=["float16"])

    def env(self, **more: str) -> dict[str, str]:
        """Environment of a command that finds the card, and a tuner cache that is ours where it is shared."""
        return {"PYTHONPATH": self.cards.pythonpath(), "FLAGGEMS_CACHE_DIR": str(self.cache), **more}

    def start(self, *words: str, **env: str) -> Started:
        """Start a command on the fake card."""
        return self.toy.start(*words, "--backend", "fakecard", env=self.env(**env))

    def run(self, *words: str, **env: str) -> Ended:
        """Run a command on the fake card."""
        return self.start(*words, **env).end()

    def measured(self, *words: str, code: int = 0) -> Path:
        """Run ``zlbench run`` and return its directory."""
        before = set(self.toy.runs.glob("*_*"))
        ended = self.run("run", *words)
        assert ended.code == code, ended.text
        (made,) = set(self.toy.runs.glob("*_*")) - before
        return made

    def compare(self, a: Path, b: Path, *words: str) -> Ended:
        """Run ``zlbench compare``."""
        return self.toy.run("compare", str(a), str(b), *words, env={"PYTHONPATH": os.pathsep.join(self._paths())})

    def _paths(self) -> list[str]:
        return self.cards.pythonpath().split(os.pathsep)


def records(run: Path) -> list[dict[str, Any]]:
    """The choices that a run recorded."""
    return lines(run / "autotune_records" / "records.jsonl")


def replayed(run: Path) -> list[dict[str, Any]]:
    """How a run's replay went."""
    return lines(run / "autotune_records" / "replay.jsonl")


def blocks(found: list[dict[str, Any]]) -> list[int]:
    """The block of each choice."""
    return [record["config"]["kwargs"]["BLOCK"] for record in found]
