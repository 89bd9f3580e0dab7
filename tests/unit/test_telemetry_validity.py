"""Pairs are judged by cause: the judgement is symmetric, and nothing that was measured is among what it looks at."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.markers import Kind, find
from zlbench.telemetry.lines import Foreign
from zlbench.telemetry.read import Summary
from zlbench.telemetry.validity import Bounds, Cause, CellSeen, judge

QUIET = Summary(samples=5, busy=4, sm_clock_mhz=1980, mem_clock_mhz=3201, foreign=())
FINE = CellSeen(summary=QUIET)
REASONS = ("sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "sync_boost", "cpu_thermal")
MARKERS = (
    ("DEVICE_LOST", "row=float16 [1] illegal memory access"),
    ("AUTOTUNE_REPLAY_FALLBACK", "1 of 3 choices tuned anew"),
    ("BENCHMARK_DIRECT_NO_CUDAGRAPH", "row=float16 [1, 2] of=operator phase=capture reason=x"),
    ("BENCHMARK_DIRECT_NO_CUDAGRAPH", "row=float16 [1, 2] of=baseline phase=capture reason=x"),
    ("BENCHMARK_CAPTURE_POISONED", "row=float16 [1, 2] reason=x"),
    ("CARD_BUSY", "pid=1 name=x"),
    ("SHAPES_LEFT_OUT", "class X"),
)
CLOCKS = st.none() | st.sampled_from([345.0, 1900.0, 1965.0, 1980.0])
SUMMARIES = st.builds(
    Summary,
    samples=st.integers(0, 9),
    busy=st.integers(0, 9),
    sm_clock_mhz=CLOCKS,
    mem_clock_mhz=CLOCKS,
    throttle=st.sets(st.sampled_from(REASONS)).map(lambda found: tuple(sorted(found))),
    foreign=st.none() | st.just(()) | st.just((Foreign(pid=7, name="x"),)),
    foreign_cores=st.none() | st.floats(0, 4),
)
CELLS = st.builds(CellSeen, summary=SUMMARIES, markers=st.lists(st.sampled_from(MARKERS), unique=True).map(tuple))


def changed(**more: object) -> CellSeen:
    return CellSeen(summary=replace(QUIET, **more))  # type: ignore[arg-type]


def marked(*markers: tuple[str, str]) -> CellSeen:
    return CellSeen(summary=QUIET, markers=markers)


@pytest.mark.parametrize(
    ("a", "b", "causes"),
    [
        (FINE, FINE, ()),
        (changed(throttle=("sw_thermal_slowdown",)), FINE, (Cause.THROTTLED,)),
        (changed(throttle=("sync_boost",)), FINE, (Cause.THROTTLED,)),
        (changed(throttle=("hw_slowdown",)), changed(throttle=("hw_slowdown",)), ()),
        (changed(throttle=("sw_power_cap",)), changed(throttle=("sw_power_cap",)), ()),
        (changed(throttle=("sw_power_cap",)), FINE, ()),
        (changed(sm_clock_mhz=1950), FINE, ()),
        (changed(sm_clock_mhz=1900), FINE, (Cause.CLOCKS_APART,)),
        (changed(mem_clock_mhz=2619), FINE, (Cause.CLOCKS_APART,)),
        (changed(sm_clock_mhz=1200, busy=1), FINE, ()),
        (changed(sm_clock_mhz=None), FINE, ()),
        (changed(foreign=(Foreign(pid=7, name="train"),)), FINE, (Cause.FOREIGN_PROCESS,)),
        (changed(foreign=None), FINE, ()),
        (marked(MARKERS[5]), FINE, (Cause.FOREIGN_PROCESS,)),
        (marked(MARKERS[0]), marked(MARKERS[0]), (Cause.DEVICE_LOST,)),
        (FINE, marked(MARKERS[1]), (Cause.REPLAY_FALLBACK,)),
        (marked(("AUTOTUNE_REPLAY_FALLBACK_no_evict", "x")), FINE, (Cause.REPLAY_FALLBACK,)),
        (marked(MARKERS[2]), FINE, (Cause.GRAPH_FALLBACK,)),
        (marked(MARKERS[2]), marked(MARKERS[4]), ()),
        (marked(MARKERS[3]), FINE, ()),
        (marked(MARKERS[6]), FINE, ()),
        (CellSeen(), CellSeen(), ()),
    ],
)
def test_causes(a: CellSeen, b: CellSeen, causes: tuple[Cause, ...]) -> None:
    found = judge(a, b)
    assert found.causes == causes
    assert found.valid is not causes
    assert found.valid is (not causes)
    assert found.cause == "+".join(cause.value for cause in causes)
    assert len(found.details) >= len(causes)


@given(CELLS, CELLS)
def test_which_side_it_is_does_not_matter(a: CellSeen, b: CellSeen) -> None:
    one, other = judge(a, b), judge(b, a)
    assert one.causes == other.causes
    assert one.valid is other.valid
    assert len(one.notes) == len(other.notes)


@given(CELLS)
def test_a_cell_beside_itself_is_invalid_for_what_happened_to_it_alone(cell: CellSeen) -> None:
    ones = {Cause.DEVICE_LOST, Cause.REPLAY_FALLBACK, Cause.FOREIGN_PROCESS}
    assert set(judge(cell, cell).causes) <= ones


def test_nothing_measured_is_among_what_is_looked_at() -> None:
    names = {field.name for kind in (Summary, CellSeen, Bounds) for field in fields(kind)}
    assert not {name for name in names if any(part in name for part in ("latency", "ms", "row", "speed", "time"))}


def test_what_was_not_observed_is_said() -> None:
    found = judge(CellSeen(), FINE)
    assert found.valid
    assert found.notes == ("A: not observed, 0 samples of which 0 at work",)
    nothing = judge(CellSeen(), CellSeen(summary=Summary(samples=1)))
    assert (nothing.valid, nothing.notes) == (True, ("neither side was seen at work (0 and 1 samples)",))
    assert judge(changed(foreign=None), FINE).notes == ("A: whether others were there is not known",)
    assert judge(changed(throttle=("sw_power_cap",)), FINE).notes == ("sw_power_cap on A alone",)
    both = changed(throttle=("hw_slowdown",))
    assert judge(both, both).notes == ("hw_slowdown on both sides",)


def test_a_host_is_judged_by_the_load_of_others() -> None:
    make = (Foreign(pid=7, name="make", cores=1.4),)
    loaded = changed(foreign=make, foreign_cores=1.4)
    little = changed(foreign=make, foreign_cores=0.2, sm_clock_mhz=800)
    assert judge(loaded, little).causes == (Cause.FOREIGN_PROCESS,)
    assert judge(loaded, little).details == ("A: others kept 1.4 processors busy: 7:make=1.40",)
    assert judge(little, little).valid
    assert judge(loaded, little, Bounds(foreign_cores=None)).valid


def test_the_bound_of_the_clocks_can_be_set() -> None:
    assert not judge(changed(sm_clock_mhz=1950), FINE, Bounds(clock_pct=1.0)).valid
    assert judge(changed(sm_clock_mhz=1500), FINE, Bounds(samples=9)).valid


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_is_explained(cause: Cause) -> None:
    assert find(cause.value).kind is Kind.CAUSE
