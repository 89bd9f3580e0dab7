"""What a report says of when cells ran and what the card did, from as much of the rounds' files as there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.report_roots import write_pairs_tsv, write_plan
from hypothesis import given
from hypothesis import strategies as st

from zlbench import store
from zlbench.cells import CellOutcome, CellState
from zlbench.report.model import CellSighting
from zlbench.report.reading.sightings import points, read_sightings, thinned
from zlbench.telemetry.lines import HEADER, Foreign, Reading, written
from zlbench.telemetry.read import Summary

START = 1_764_000_000.0


def write_cell(path: Path, at: float, *, markers: Sequence[str] = (), seen: bool = True, **summary: Any) -> None:
    """A cell that began `at` seconds after START and took 10 s; `summary` is what was seen of the card."""
    path.mkdir(parents=True)
    told: dict[str, Any] = {"started": START + at, "ended": START + at + 10}
    if seen:
        common: dict[str, Any] = {
            "samples": 10, "busy": 8, "sm_clock_mhz": 1980.0, "temp_c": 51.0, "power_w": 600.0, "foreign": (),
        }  # fmt: skip
        told |= Summary(**{**common, **summary}).to_json()
    store.write_json(path / "telemetry.json", told)
    outcome = CellOutcome(state=CellState.OK, returncode=0, rows_ok=1, markers=tuple(markers))
    store.write_json(path / store.RESULT, outcome.to_json())


def write_telemetry(folder: Path, *readings: Reading) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "telemetry.tsv").write_text("\n".join((HEADER, *map(written, readings), "")))


def sample(at: float, clock: float | None = 1980.0, **more: Any) -> Reading:
    return Reading(at=START + at, index="0", sm_clock_mhz=clock, **more)


def seen_in(root: Path, *, lanes: Sequence[str] = ("0",), metric: str = "latency_ms") -> dict[str, CellSighting]:
    """Sightings of one operator by lane, round, side and start."""
    write_plan(root, {lane: [("mm", "subject")] for lane in lanes}, rounds=2, metric=metric)
    cells, _ = read_sightings(root, store.read_json(root / "repeat.json"))
    return {f"{cell.lane} r{cell.round}_{cell.side} {cell.start - START:g}": cell for cell in cells}


def test_a_cell_as_it_was_seen(tmp_path: Path) -> None:
    write_cell(tmp_path / "mm" / "r1_A", 0, throttle=("sw_power_cap",), foreign=(Foreign(pid=7, name="python"),))
    write_cell(tmp_path / "mm" / "r1_B", 20, sm_clock_mhz=None, foreign=None)
    write_telemetry(tmp_path, sample(5, util_pct=90.0), sample(7, util_pct=80.0), sample(15, util_pct=1.0))
    found = seen_in(tmp_path)
    assert list(found) == ["0 r1_A 0", "0 r1_B 20"]
    assert found["0 r1_A 0"] == CellSighting(
        lane="0", op="mm", round=1, side="A", start=START, end=START + 10, clock_mhz=1980.0, temp_c=51.0, power_w=600.0,
        util_pct=85.0, throttle=("sw_power_cap",), foreign=("7:python",), invalid="",
    )  # fmt: skip
    other = found["0 r1_B 20"]
    assert (other.clock_mhz, other.util_pct, other.foreign) == (None, None, ())


def test_a_cell_that_was_never_judged_is_seen_by_the_telemetry(tmp_path: Path) -> None:
    write_cell(tmp_path / "mm" / "r1_A", 0, seen=False)
    write_telemetry(tmp_path, sample(0, 1900.0), sample(10, 1700.0), sample(11, 100.0))
    assert seen_in(tmp_path)["0 r1_A 0"].clock_mhz == 1800.0


def test_what_is_missing_or_broken_costs_nothing(tmp_path: Path) -> None:
    for name, text in (("r1_A", "{"), ("r1_B", "[]"), ("r2_A", '{"started": "x", "ended": 1}'), ("r2_B", None)):
        (tmp_path / "mm" / name).mkdir(parents=True)
        if text is not None:
            (tmp_path / "mm" / name / "telemetry.json").write_text(text)
    (tmp_path / "mm" / "first_pair.json").write_text("{}")
    assert seen_in(tmp_path) == {}
    assert read_sightings(tmp_path / "never", {"lanes": [{"lane": "0", "ops": [{"dir": "mm"}]}]}) == ((), ())
    assert read_sightings(tmp_path, {}) == ((), ())


def test_pairs_that_were_set_aside_keep_their_cause(tmp_path: Path) -> None:
    """pairs.tsv has one line a pair, of the try that counts: the cause of the others lies in what they kept."""
    op = tmp_path / "mm"
    write_cell(op / "r1_A.invalid1", 0)
    write_cell(op / "r1_B.invalid1", 10, throttle=("sw_thermal",))
    write_cell(op / "r1_A.invalid2", 20, sm_clock_mhz=1500.0)
    write_cell(op / "r1_B.invalid2", 30, markers=("DEVICE_LOST gone",))
    write_cell(op / "r1_A", 40)
    write_cell(op / "r1_B", 50)
    write_pairs_tsv(tmp_path, ("mm", 1, 1, "-", 3))
    found = {name: cell.invalid for name, cell in seen_in(tmp_path).items()}
    assert found == {
        "0 r1_A 0": "PAIR_THROTTLED", "0 r1_B 10": "PAIR_THROTTLED",
        "0 r1_A 20": "PAIR_DEVICE_LOST+PAIR_CLOCKS_APART", "0 r1_B 30": "PAIR_DEVICE_LOST+PAIR_CLOCKS_APART",
        "0 r1_A 40": "", "0 r1_B 50": "",
    }  # fmt: skip


def test_a_pair_that_stayed_invalid_has_the_cause_of_pairs_tsv(tmp_path: Path) -> None:
    op = tmp_path / "mm"
    write_cell(op / "r1_A.invalid1", 0)  # its other half is gone
    for at, name in ((20, "r1_A"), (30, "r1_B"), (40, "r2_A"), (50, "r2_B")):
        write_cell(op / name, at)
    write_pairs_tsv(tmp_path, ("mm", 1, 0, "PAIR_FOREIGN_PROCESS", 3), ("mm", 2, 0, "-", 3))
    found = {name: cell.invalid for name, cell in seen_in(tmp_path).items()}
    assert found == {
        "0 r1_A 0": "PAIR_FOREIGN_PROCESS", "0 r1_A 20": "PAIR_FOREIGN_PROCESS", "0 r1_B 30": "PAIR_FOREIGN_PROCESS",
        "0 r2_A 40": "set aside", "0 r2_B 50": "set aside",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "cause"),
    [("latency_ms", "PAIR_FOREIGN_PROCESS"), ("compile_ms", "set aside"), ("", "PAIR_FOREIGN_PROCESS")],
)
def test_others_on_the_host_are_a_cause_where_rounds_take_them_for_one(tmp_path: Path, metric: str, cause: str) -> None:
    busy: dict[str, Any] = {
        "foreign": (Foreign(pid=9, name="make", cores=2.0),),
        "foreign_cores": 2.0,
        "sm_clock_mhz": None,
    }
    for at, side in ((0, "A"), (10, "B")):
        write_cell(tmp_path / "mm" / f"r1_{side}.invalid1", at, **busy)
    write_plan(tmp_path, {"0": [("mm", "subject")]}, rounds=2)
    cells, _ = read_sightings(tmp_path, {**store.read_json(tmp_path / "repeat.json"), "metric": metric})
    assert [cell.invalid for cell in cells] == [cause, cause]
    assert cells[0].foreign == ("9:make=2.00",)


def test_lanes_have_their_own_telemetry_and_come_in_order(tmp_path: Path) -> None:
    for lane, clock in (("3", 1900.0), ("1", 1700.0)):
        write_cell(tmp_path / lane / "mm" / "r2_A", 30)
        write_cell(tmp_path / lane / "mm" / "r2_B", 20)
        write_telemetry(tmp_path / lane, sample(35, clock, throttle=("gpu_idle", "hw_thermal")))
    found = seen_in(tmp_path, lanes=("3", "1"))
    assert list(found) == ["3 r2_B 20", "3 r2_A 30", "1 r2_B 20", "1 r2_A 30"]
    _, drawn = read_sightings(tmp_path, store.read_json(tmp_path / "repeat.json"))
    assert [(point.lane, point.clock_mhz, point.throttle) for point in drawn] == [
        ("3", 1900.0, "hw_thermal"), ("1", 1700.0, "hw_thermal"),
    ]  # fmt: skip


_clock = st.none() | st.integers(100, 2000).map(float)
_readings = st.lists(st.tuples(_clock, st.booleans()), max_size=400).map(
    lambda values: [
        sample(at, clock, throttle=("sw_thermal",) if hot else ("gpu_idle",)) for at, (clock, hot) in enumerate(values)
    ]
)


@given(_readings, st.integers(5, 60))
def test_thinning_keeps_the_extremes_and_the_order(readings: list[Reading], most: int) -> None:
    kept = thinned(readings, most)
    assert len(kept) <= most
    assert kept == [reading for reading in readings if reading in kept]
    assert kept == thinned(readings, most)
    if len(readings) <= most:
        assert kept == readings
        return
    assert (kept[0], kept[-1]) == (readings[0], readings[-1])
    clocks = [[one.sm_clock_mhz for one in these if one.sm_clock_mhz is not None] for these in (readings, kept)]
    if clocks[0]:
        assert (min(clocks[0]), max(clocks[0])) == (min(clocks[1]), max(clocks[1]))
    assert any("sw_thermal" in one.throttle for one in kept) == any("sw_thermal" in one.throttle for one in readings)


def test_a_long_lane_is_drawn_with_at_most_two_thousand_points() -> None:
    day = [sample(at, 1980.0 - (at == 12_345) * 800) for at in range(17_280)]
    drawn = points("0", day)
    assert 600 < len(drawn) <= 2000
    assert min(point.clock_mhz or 0 for point in drawn) == 1180.0
