"""Lines that are redrawn, on a real terminal and elsewhere; and a lane's state as a line."""

from __future__ import annotations

import io
import os
import pty
import re
from pathlib import Path

import pytest

from zlbench.lane_state import LaneState, Phase
from zlbench.live import LiveView


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def screen_of(text: str) -> list[str]:
    """What a terminal shows in the end, of the two sequences that are used: lines up, and clear below."""
    lines = [""]
    for up, shown in re.findall(r"(?:\x1b\[(\d+)F)?(?:\x1b\[J)?([^\x1b]+)", text.replace("\r", "")):
        if up:
            lines = [*lines[: len(lines) - 1 - int(up)], ""]
        head, *more = shown.split("\n")
        lines[-1] += head
        lines += more
    return lines


def read_until(terminal: int, *texts: str) -> str:
    """What arrives until all texts stand behind the last sequence; a terminal hands it over in pieces."""
    found = b""
    while not all(text.encode() in found.rpartition(b"\x1b")[2] for text in texts):
        found += os.read(terminal, 10_000)
    return found.decode()


def test_finished_lines_scroll_above_redrawn_ones_on_a_terminal() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream, LiveView(stream, {"TERM": "xterm"}, width=lambda: 40, clock=Clock()) as view:
        assert view.live
        view.show(["lane 0 first", "lane 1 first"])
        view.say("[1/4] done")
        view.show(["lane 0 second", "x" * 60])
        view.say("[2/4] done")
        drawn = read_until(ours, "[2/4] done", "…\r\n")
        assert screen_of(drawn) == ["[1/4] done", "[2/4] done", "lane 0 second", "x" * 38 + "…", ""]
        view.close()
        view.say("the end")
        assert screen_of(drawn + read_until(ours, "the end\r\n")) == ["[1/4] done", "[2/4] done", "the end", ""]
    os.close(ours)


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_elsewhere_nothing_is_redrawn(term: str) -> None:
    stream = io.StringIO()
    with LiveView(stream, {"TERM": term}) as view:
        view.show(["lane 0"])
        view.say("[1/4] done")
        view.show(["lane 0"])
    assert stream.getvalue() == "[1/4] done\n"


def test_a_dumb_terminal_gets_plain_lines() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream, LiveView(stream, {"TERM": "dumb"}) as view:
        assert not view.live
    os.close(ours)


def test_a_state_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    state = LaneState(lane="1", op="mm", round=3, side="B", started=100.0, done=5, total=12, eta_s=90.0, no_cudagraph=2)
    state.write(tmp_path)
    found = LaneState.read(tmp_path)
    assert found is not None
    assert found.pid == os.getpid()
    assert found.line(now=112.0) == (
        "lane 1  mm round 3 B since 12.0 s  5/12  left about 1 min 30 s  replay fallback 0 · no graph 2 · poisoned 0"
    )
    assert LaneState.read(tmp_path / "nowhere") is None


def test_what_a_dead_driver_left_is_not_running() -> None:
    state = LaneState.from_json({"lane": "0", "state": "running", "op": "mm", "done": 1, "total": 2, "later": "key"})
    assert state.dead().state is Phase.INTERRUPTED
    assert "left about" not in state.dead().line()
    assert "time left unknown" in state.line()
    finished = LaneState(lane="0", state=Phase.FINISHED, done=2, total=2)
    assert finished.dead() == finished
