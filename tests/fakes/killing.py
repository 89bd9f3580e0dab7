"""Campaigns on toy projects that are killed at random moments, and what must hold of them all the same.

    subject = Killed(project, words=("toy", "other", "--rounds", "2"))
    wanted = subject.undisturbed()
    subject.kill(200, random.Random(1))     # each kill is followed by --resume; every campaign that ends is looked at

One kill is SIGKILL to one process, of a kind that is there at that moment: nox with the campaign in it, the driver of a
step or lane, a measured process, the sampler.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.suites import Ended, Started, ToyProject, wait_until_gone

from zlbench import proctree, store
from zlbench.cells import CellOutcome, read_json_lines
from zlbench.screen.candidates import read_table

NOX, DRIVER, CELL, SAMPLER = "nox", "driver", "cell", "sampler"
_COMMANDS = {
    "zlbench.telemetry.sampler": SAMPLER, "zlbench_plugins.worker": CELL, "zlbench.rounds.lane_process": DRIVER,
    "from zlbench.cli import main": DRIVER,
}  # fmt: skip
_LIMIT_S = 180.0


@dataclass(kw_only=True)
class Killed:
    """One kind of campaign.

    Args:
        words: operators and options.
        env: further environment.
        say: told every kill.
    """

    project: ToyProject
    words: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _: None
    kills: Counter[str] = field(default_factory=Counter)
    by_step: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    """Campaigns that came to their end after kills, each like the undisturbed one."""
    _wanted: dict[str, Any] = field(default_factory=dict)
    _took_s: float = 10.0
    _kept: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def undisturbed(self) -> dict[str, Any]:
        """Run one that nobody kills; later ones must end like it."""
        started = time.monotonic()
        ended = self._start().end(_LIMIT_S)
        self._took_s = time.monotonic() - started
        assert ended.code == 0, ended.text
        self._wanted = findings(self._newest())
        assert self._wanted["cells"], "nothing was measured"
        return self._wanted

    def kill(self, count: int, draw: random.Random) -> None:
        """Kill so many times."""
        root: Path | None = None
        while sum(self.kills.values()) < count:
            before = {*self._campaigns()}
            running = self._start(root)
            killed = self._kill_one(running, draw)
            ended = running.end(_LIMIT_S)
            if root is None:
                new = [path for path in self._campaigns() if path not in before]
                root = new[0] if new else None  # killed before there was one
            self._look(root, ended, killed)
            if root is not None and not killed:
                root = self._over(root, ended)
        while root is not None:
            ended = self._start(root).end(_LIMIT_S)
            self._look(root, ended, "")
            root = self._over(root, ended)

    def _over(self, root: Path, ended: Ended) -> None:
        """A campaign that nobody disturbed to its end is like the undisturbed one."""
        assert ended.code == 0, ended.text
        found = findings(root)
        assert found == self._wanted, f"{root}:\n{found}\nis not\n{self._wanted}"
        self.finished += 1
        self._kept = {}

    def _kill_one(self, running: Started, draw: random.Random) -> str:
        """Wait for a random moment and kill; returns the kind, "" where it ended before."""
        until = time.monotonic() + draw.uniform(0.0, self._took_s)
        while time.monotonic() < until:
            if running.ended:
                return ""
            time.sleep(0.005)
        there = processes(running.pid)
        if not there:
            return ""
        kind = draw.choice(sorted(there))
        pid = draw.choice(sorted(there[kind]))
        proctree.send(pid, 9)
        self.kills[kind] += 1
        self.say(f"kill {sum(self.kills.values())}: {kind} {pid}")
        return kind

    def _look(self, root: Path | None, ended: Ended, killed: str) -> None:
        """What holds after every try, however it ended."""
        left = wait_until_gone(str(self.project.root.parent))
        assert left == [], [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left]
        assert held_locks(self.project.root.parent) == []
        assert "Traceback" not in ended.text, ended.text
        assert "internal fault" not in ended.text, ended.text
        if root is None:
            return
        now = complete_cells(root)
        again = [str(path) for path, mark in self._kept.items() if now.get(path) != mark]
        assert again == [], f"measured twice, or lost, after a killed {killed}: {again}\n{ended.text}"
        self._kept = now
        steps = (store.read_json(root / "campaign.json") or {"steps": []})["steps"]
        self.by_step[next((step["name"] for step in steps if step["state"] not in ("finished", "skipped")), "end")] += 1

    def _start(self, root: Path | None = None) -> Started:
        """Through nox, as a person would."""
        words = self.words if root is None else ("--resume", str(root))
        return self.project.start_nox("-s", "campaign", "--", *words, env=self.env, keep_path=True)

    def _campaigns(self) -> list[Path]:
        found = self.project.runs.glob("campaign_*/campaign.json")
        return sorted((path.parent for path in found), key=lambda path: path.stat().st_ctime_ns)

    def _newest(self) -> Path:
        return self._campaigns()[-1]


def processes(root: int) -> dict[str, list[int]]:
    """Living processes of a campaign by their kind."""
    found: dict[str, list[int]] = {}
    for pid in proctree.ours(root):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        kind = NOX if pid == root else next((kind for text, kind in _COMMANDS.items() if text in command), "")
        if command and kind:
            found.setdefault(kind, []).append(pid)
    return found


def complete_cells(root: Path) -> dict[Path, tuple[int, int]]:
    """Cells that need not run again, with what tells whether they did. A round of compile times counts once both sides
    are there: its sides take turns, so neither is measured without the other.
    """
    found = {}
    for path in [*root.glob("screen/*/?/result.json"), *root.glob("rounds/**/r*_[AB]/result.json")]:
        outcomes = [store.read_json(path)]
        if path.parent.name not in ("A", "B"):
            twin = path.parent.name[:-1] + {"A": "B", "B": "A"}[path.parent.name[-1]]
            outcomes.append(store.read_json(path.parent.with_name(twin) / "result.json"))
        if all(outcome and CellOutcome.from_json(outcome).complete for outcome in outcomes):
            stat = path.stat()
            found[path] = (stat.st_ino, stat.st_mtime_ns)
    return found


def findings(root: Path) -> dict[str, Any]:
    """Number and identity of everything that a finished campaign measured; no numbers of the measurements.

    Which card an operator was measured on, and in which order, follows from what its screen took, and is left out.
    """
    cells: dict[str, list[tuple[str, str]]] = {}
    for path in [*root.glob("screen/*/?/result.json"), *root.glob("rounds/**/r*_?/result.json")]:
        name = "/".join((path.relative_to(root).parts[0], *path.parts[-3:-1]))
        assert name not in cells, f"{name} was measured in two lanes"
        rows = read_json_lines(path.with_name("rows.jsonl"))
        cells[name] = sorted((str(row.get("row")), row["status"]) for row in rows)
    rounds = root / "rounds"
    status = ["/".join(line[name] for name in ("op", "round", "side")) for line in _lines(rounds / "status.tsv")]
    pairs = [line for path in rounds.rglob("pairs.tsv") for line in _lines(path)]
    assert len(status) == len({*status}), f"a cell has two lines in status.tsv: {status}"
    table = read_table(root / "screen" / "screen.tsv")
    return {
        "cells": cells,
        "screen": sorted((line["op"], line["verdict"], line["rows_before"]) for line in table),
        "status": sorted(status),
        "pairs": sorted((line["op"], line["round"], line["valid"]) for line in pairs),
        "report": sorted(",".join(line.split(",")[:5]) for line in (root / "rows.csv").read_text().splitlines()),
    }


def _lines(path: Path) -> list[dict[str, str]]:
    head, *lines = path.read_text().splitlines()
    return [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]


def held_locks(folder: Path) -> list[str]:
    """Lock files below a directory that somebody holds."""
    held = []
    for path in [*folder.rglob("*.lock"), *folder.rglob(".lock")]:
        if not path.is_file():
            continue
        file = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            held.append(str(path))
        finally:
            os.close(file)
    return held
