"""The sampler: a process beside the cells that asks the card's tool every few seconds and appends to telemetry.tsv.

It belongs to one driver and ends with it. Whatever the tool does, it goes on; what is wrong it says once, on standard
output, as ``TELEMETRY_OFF reason``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from zlbench import backend as backends
from zlbench import cards, proctree
from zlbench.backend import Backend
from zlbench.process import terminable
from zlbench.smi import CardFacts, CardProcess, Sample
from zlbench.telemetry.host import Host
from zlbench.telemetry.lines import HEADER, Foreign, Reading, plain_name, written

OFF = "TELEMETRY_OFF"
_FIRST_NAMESPACE = "pid:[4026531836]"
"""Process ids of a tool mean what ours mean in the first namespace of a machine, which has this number."""
_TAIL = 1 << 16


class Log:
    """telemetry.tsv, to which whole lines are appended; what a death left of a last one is taken away first."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, readings: Sequence[Reading]) -> None:
        """Append one line a reading, in one write.

        Raises:
            OSError: it cannot be written.
        """
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            size = _whole(file)
            lines = [HEADER] * (not size) + [written(reading) for reading in readings]
            os.write(file, "".join(f"{line}\n" for line in lines).encode())
        finally:
            os.close(file)


def _whole(file: int) -> int:
    """Cut a file back to its last whole line; half of one could pass for a whole one with its last field cut short."""
    size = os.fstat(file).st_size
    start = max(0, size - _TAIL)
    tail = os.pread(file, size - start, start)
    whole = start + tail.rfind(b"\n") + 1
    if whole < size:
        os.ftruncate(file, whole)
    return whole


class CardSampler:
    """Asks about one card, or about all.

    Args:
        card: index or UUID; "" for all.
        ours: processes that are not foreign.
    """

    def __init__(self, backend: Backend, card: str, env: Mapping[str, str], ours: Callable[[], set[int]]) -> None:
        self._backend, self._card, self._env, self._ours = backend, card, env, ours

    def readings(self) -> tuple[list[Reading], str]:
        """Readings of now, or why there are none."""
        answer = cards.ask(self._backend.telemetry, self._env, card=self._card)
        samples = [sample for sample in answer.values if self._is_meant(sample)]
        if not samples:
            unknown = f"its tool says nothing of card {self._card}" if self._card else "its tool says nothing"
            return [], answer.reason or unknown
        at = time.time()
        # Before and after: a cell may begin or end while the tool answers, and would be somebody else's.
        ours = self._ours()
        users = cards.ask(self._backend.processes, self._env, card=self._card)
        ours |= self._ours() if users.values else set()
        return [
            Reading(
                at=at, index=str(sample.index), sm_clock_mhz=sample.sm_clock_mhz, mem_clock_mhz=sample.mem_clock_mhz,
                temp_c=sample.temp_c, power_w=sample.power_w, util_pct=sample.util_pct, uuid=sample.uuid,
                throttle=tuple(reason for reason in sample.throttle.split("+") if reason),
                foreign=None if users.reason else foreign(_on(sample, users.values), ours),
            )
            for sample in samples
        ], ""  # fmt: skip

    def _is_meant(self, sample: Sample) -> bool:
        """Tools that take no card tell of all."""
        facts = CardFacts(index=sample.index, uuid=sample.uuid)
        return not self._card or cards.find([facts], self._card) is not None


def _on(sample: Sample, users: Sequence[CardProcess]) -> list[CardProcess]:
    facts = CardFacts(index=sample.index, uuid=sample.uuid)
    return [process for process in users if cards.is_on(process, facts)]


def foreign(
    users: Sequence[CardProcess], ours: set[int], *, namespace: str | None = None
) -> tuple[Foreign, ...] | None:
    """Who of these is not ours; None where ids do not tell.

    In a container a tool may print ids of the machine, and our own process would look like somebody else. They are
    believed where they can be no others, or where one of ours is among them.
    """
    known = [(process.pid, process.name) for process in users if process.pid is not None]
    namespace = _namespace() if namespace is None else namespace
    believed = namespace == _FIRST_NAMESPACE or any(pid in ours for pid, _ in known)
    if len(known) < len(users) or (known and not believed):
        return None
    return tuple(Foreign(pid=pid, name=plain_name(name)) for pid, name in known if pid not in ours)


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path
    except OSError:
        return ""


def sample(
    readings: Callable[[], tuple[list[Reading], str]], log: Log, interval_s: float, *, alive: Callable[[], bool]
) -> None:
    """Take a reading every `interval_s` as long as the driver is alive; a turn that took too long is left out."""
    said = False
    due = time.monotonic()
    while alive():
        found, reason = readings()
        if found:
            try:
                log.append(found)
            except OSError as error:
                reason = f"{error.filename or 'the file'} cannot be written: {error.strerror or error}"
        if reason and not said:
            said = True
            print(f"{OFF} {reason}", flush=True)  # noqa: T201 - a line of its log, which its driver reads
        now = time.monotonic()
        due += interval_s * max(1, -(-(now - due) // interval_s))
        time.sleep(max(0.0, due - time.monotonic()))


def main(argv: Sequence[str] | None = None) -> int:
    """Sample until the driver ends or SIGTERM comes."""
    parser = argparse.ArgumentParser(prog="zlbench.telemetry.sampler")
    parser.add_argument("--backend", required=True)
    parser.add_argument("--card", default="")
    parser.add_argument("--interval", type=float, required=True)
    parser.add_argument("--driver", type=int, required=True)
    parser.add_argument("--family", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    # Vendors' tools are Python programs of their own at times.
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    backend = backends.get(given.backend)

    def ours() -> set[int]:
        return proctree.ours(given.family or given.driver)

    source = Host(ours) if backend.deviceless else CardSampler(backend, given.card, env, ours)
    try:
        with terminable():
            sample(source.readings, Log(given.out), given.interval, alive=lambda: os.getppid() == given.driver)
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
