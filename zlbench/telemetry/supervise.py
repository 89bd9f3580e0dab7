"""The driver's handle on its sampler: started, started again when it dies, ended; it never raises into the measuring.

A thread looks after it, and starts it as well: a child asks to die with the *thread* that made it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from zlbench.backend import Backend
from zlbench.errors import ZlbenchError
from zlbench.process import Child, Command
from zlbench.telemetry.read import TELEMETRY
from zlbench.telemetry.sampler import OFF

LOG = "telemetry.log"
"""What the sampler said, beside telemetry.tsv."""
RESTARTS = 5
"""Deaths that are made good; after one more there is no telemetry, and measuring goes on."""
_LOOK_S = 0.5
_GRACE_S = 3.0
_JOIN_S = 15.0


class Telemetry:
    """Samples one card (or the host, where there is none) into ``<folder>/telemetry.tsv`` inside a ``with`` block.

    Args:
        card: index, which every tool takes, or UUID; "" for all cards. Not used without devices.
        interval_s: seconds between readings; 0 samples nothing and starts nothing.
        env: environment of the driver.
        say: told lines for people, in another thread.
        family: process all of whose descendants are ours, where that is not this one: a driver of several lanes.
    """

    def __init__(
        self, folder: Path, *, backend: Backend, card: str, interval_s: float, env: Mapping[str, str],
        say: Callable[[str], None], family: int | None = None,
    ) -> None:  # fmt: skip
        self.path = folder.absolute() / TELEMETRY
        self._wanted = interval_s > 0
        self.reason = "" if self._wanted else "switched off"
        """Why there are no readings, or were none at a time; "" while nothing is known to be wrong."""
        self.starts = 0
        self.pid: int | None = None
        """The sampler's process, None while there is none."""
        self._log = self.path.with_name(LOG)
        # It finds this zlbench and its backends where this process found them.
        self._command = Command(
            argv=(
                sys.executable, "-m", "zlbench.telemetry.sampler", "--backend", backend.name, f"--card={card}",
                "--interval", f"{interval_s:g}", "--driver", str(os.getpid()), "--out", str(self.path),
                "--family", str(family or os.getpid()),
            ),
            env={**env, "PYTHONPATH": os.pathsep.join(str(Path(part or ".").absolute()) for part in sys.path)},
            cwd=Path("/"), stdout=self._log, grace_s=_GRACE_S,
        )  # fmt: skip
        self._say = say
        self._heard = 0
        self._end = threading.Event()
        self._begun = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Telemetry:
        if self._wanted:
            self._heard = _size(self._log)
            self._thread = threading.Thread(target=self._look_after, name="telemetry", daemon=True)
            self._thread.start()
            # Other children are started after it, so that two threads do not both start a driver's first one.
            self._begun.wait(_JOIN_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def _look_after(self) -> None:
        try:
            while self.starts <= RESTARTS and not self._end.is_set():
                self.starts += 1
                self._one_life()
            if not self._end.is_set():
                self._off(f"the sampler ended {self.starts} times, see {self._log}")
        except (OSError, ZlbenchError) as error:
            self._off(f"the sampler cannot be started: {error}")
        finally:
            self.pid = None
            self._begun.set()

    def _one_life(self) -> None:
        """Start a sampler, and wait until it has died or is to end."""
        child = Child(self._command)
        self.pid = child.pid
        self._begun.set()
        try:
            while not self._end.wait(_LOOK_S) and not child.wait(0):
                self._listen()
        finally:
            child.end(_GRACE_S)
            child.close(timed_out=False)
            self.pid = None
            self._listen()

    def _listen(self) -> None:
        """Pass on what the sampler said since the last time, once."""
        try:
            with self._log.open("rb") as stream:
                stream.seek(self._heard)
                whole, newline, _rest = stream.read().rpartition(b"\n")
        except OSError:
            return
        self._heard += len(whole + newline)
        for line in whole.decode(errors="replace").splitlines():
            if line.startswith(f"{OFF} "):
                self._off(line.removeprefix(f"{OFF} "))

    def _off(self, reason: str) -> None:
        if not self.reason:
            self.reason = reason
            self._say(f"{OFF} {reason}: measured all the same")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
