"""Counters of the system, and what takes their place where there are none."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from zlbench_plugins import counters
from zlbench_plugins.counters import InstructionCounter, Mark, Meter, NoCounterError, cpu_ms, no_counter_reason

BURN = "sum(i * i for i in range(3_000_000))"


def counter_reading(*readings: tuple[int, int, int]) -> Callable[[bytes], int]:
    """What opens an event whose reads give these (value, time enabled, time running)."""

    def open_event(attributes: bytes) -> int:
        reader, writer = os.pipe()
        os.write(writer, b"".join(struct.pack("QQQ", *one) for one in readings))
        os.close(writer)
        return reader

    return open_event


def test_the_request_counts_instructions_of_user_space_and_of_children() -> None:
    asked = []

    def open_event(attributes: bytes) -> int:
        asked.append(attributes)
        return os.open(os.devnull, os.O_RDONLY)

    InstructionCounter(open_event).close()
    kind, size, config = struct.unpack_from("IIQ", asked[0])
    read_format, flags = struct.unpack_from("QQ", asked[0], 32)
    assert (kind, size, config) == (0, len(asked[0]), 1)
    assert read_format == 0b11
    # Bit 0 disabled, 1 inherit, 4 exclude_user, 5 exclude_kernel, 6 exclude_hv of perf_event_attr.
    assert flags == 0b1100010


def test_a_counter_that_had_to_share_is_scaled() -> None:
    counter = InstructionCounter(counter_reading((600, 10, 10), (600, 30, 10), (0, 5, 0)))
    assert [counter.read() for _ in range(3)] == [600, 1800, 0]
    counter.close()


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EACCES, errno.EPERM])
def test_no_counter_is_said_with_its_reason(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(attributes: bytes) -> int:
        raise NoCounterError(code, "perf_event_open: " + os.strerror(code))

    monkeypatch.setattr(counters, "_open_event", refuse)
    assert os.strerror(code) in no_counter_reason()
    with pytest.raises(NoCounterError):
        Meter(count=True)


def test_a_counter_that_stands_still_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "_open_event", counter_reading((7, 1, 1), (7, 2, 2)))
    assert no_counter_reason() == "the counter stands still"
    monkeypatch.setattr(counters, "_open_event", counter_reading((7, 1, 1), (9, 2, 2)))
    assert no_counter_reason() == ""


def test_an_unknown_machine_has_no_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters.platform, "machine", lambda: "vax")
    assert "vax" in no_counter_reason()


def test_without_a_counter_cpu_time_is_what_there_is() -> None:
    with Meter(count=False) as meter:
        used = meter.mark().since(meter.mark())
    assert set(used) == {"wall_ms", "cpu_ms"}


def test_instructions_are_counted_between_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "_open_event", counter_reading((100, 1, 1), (350, 2, 2)))
    with Meter(count=True) as meter:
        before = meter.mark()
        assert meter.mark().since(before)["instructions"] == 250


def test_cpu_time_holds_that_of_children() -> None:
    before, own = cpu_ms(), time.process_time_ns() / 1e6
    child = os.times().children_user + os.times().children_system
    subprocess.run([sys.executable, "-c", BURN], check=True)
    child = (os.times().children_user + os.times().children_system - child) * 1e3
    own = time.process_time_ns() / 1e6 - own
    assert child > 0
    # The system tells a child's two times in hundredths of a second here, twice each, and in millionths there.
    assert cpu_ms() - before >= own + child - 40


def test_a_difference_of_marks_names_its_values() -> None:
    first, second = Mark(wall_ms=1, cpu_ms=2, instructions=3), Mark(wall_ms=11, cpu_ms=22, instructions=33)
    assert second.since(first) == {"wall_ms": 10, "cpu_ms": 20, "instructions": 30}
