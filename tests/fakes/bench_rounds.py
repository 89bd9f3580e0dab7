"""Repeated rounds of a toy project: how to ask for them, and what they left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.fake_card import FakeCards
from fakes.suites import Ended, Started, ToyProject, data, lines

QUIET = {"TELEMETRY_INTERVAL": "0"}


@dataclass(kw_only=True)
class Bench:
    """A toy project with fake cards."""

    project: ToyProject
    cards: FakeCards
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        return {
            "PYTHONPATH": self.cards.pythonpath(), "TOY_CARDS": str(self.cards.folder / "cards.json"),
            **QUIET, **self.more,
        }  # fmt: skip

    def run(self, *words: str, **env: str) -> Ended:
        """``zlbench ab_repeat … --backend fakecard --quick``, unless the words say that it goes on."""
        return self.project.run(*self._words(words), env={**self.env, **env})

    def start(self, *words: str, **env: str) -> Started:
        return self.project.start(*self._words(words), env={**self.env, **env})

    def screen(self, *words: str) -> Ended:
        return self.project.run("screen", *words, "--backend", "fakecard", "--quick", env=self.env)

    @staticmethod
    def _words(words: tuple[str, ...]) -> tuple[str, ...]:
        own = () if "--resume" in words or "--screen" in words else ("--backend", "fakecard", "--quick")
        return ("ab_repeat", *words, *own)

    @property
    def root(self) -> Path:
        """The only root."""
        (found,) = self.project.runs.glob("repeat_*")
        return found


def table(path: Path) -> list[dict[str, str]]:
    """A TSV file by column."""
    head, *rows = (line.split("\t") for line in path.read_text().splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def cells_in_time(root: Path) -> list[str]:
    """Finished cells in the order of their ends."""
    found = sorted(root.glob("**/r*_[AB]/result.json"), key=lambda path: path.stat().st_mtime_ns)
    return [str(path.parent.relative_to(root)) for path in found]


def results(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every result as a file: when it was written, and what it says."""
    return {
        str(path.relative_to(root)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in root.glob("**/r*_[AB]/result.json")
    }


def row_names(root: Path) -> dict[str, list[str]]:
    """Names of the rows of every cell."""
    return {
        str(path.parent.relative_to(root)): [row["row"] for row in lines(path)]
        for path in sorted(root.glob("**/r*_[AB]/rows.jsonl"))
    }


def state(folder: Path) -> dict[str, Any]:
    return dict(data(folder / "state.json"))
