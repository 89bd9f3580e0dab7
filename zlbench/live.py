"""A few lines that are redrawn on a terminal while finished things scroll above them; elsewhere only what is finished.

with LiveView(sys.stderr, env) as view:
    view.say("[ 1/48] mm r1 A   8.1 s")     # scrolls
    view.show([state.line() for state in lanes])   # redrawn; as often as the caller likes
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TextIO

from zlbench.text import say

_INTERVAL_S = 0.2
"""Redrawing more often is only flicker."""
_CLEAR_BELOW = "\x1b[J"


class LiveView:
    """Lines of one stream.

    Args:
        stream: where they go; redrawn lines need a terminal, and TERM other than ``dumb``.
        width: of the terminal in columns; lines are cut to it, since a wrapped one could not be taken back.
    """

    def __init__(
        self, stream: TextIO, env: Mapping[str, str], *, width: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._stream = stream
        self._width = width or (lambda: shutil.get_terminal_size().columns)
        self._clock = clock
        self.live = _is_terminal(stream) and env.get("TERM") != "dumb"
        """Whether anything is redrawn."""
        self._lines: tuple[str, ...] = ()
        self._drawn = 0
        self._when = -_INTERVAL_S
        self._lock = threading.Lock()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def say(self, text: str) -> None:
        """Write a line that stays, above the redrawn ones."""
        with self._lock:
            self._erase()
            say(text, to=self._stream)
            self._draw()

    def show(self, lines: Sequence[str]) -> None:
        """Replace the redrawn lines."""
        with self._lock:
            now = self._clock()
            if not self.live or tuple(lines) == self._lines or now - self._when < _INTERVAL_S:
                return
            self._when = now
            self._erase()
            self._lines = tuple(lines)
            self._draw()

    def close(self) -> None:
        """Take the redrawn lines away."""
        with self._lock:
            self._erase()
            self._lines = ()

    def _erase(self) -> None:
        if self._drawn:
            self._write(f"\x1b[{self._drawn}F{_CLEAR_BELOW}")
        self._drawn = 0

    def _draw(self) -> None:
        width = max(20, self._width()) - 1
        for line in self._lines:
            say(line if len(line) <= width else f"{line[: width - 1]}…", to=self._stream)
        self._drawn = len(self._lines)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self.live = False


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False
