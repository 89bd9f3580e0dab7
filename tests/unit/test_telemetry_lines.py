"""telemetry.tsv: what is written reads back, what is torn or foreign reads as nothing, cells are summed up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.telemetry.lines import HEADER, HOST, Foreign, Reading, plain_name, read, written
from zlbench.telemetry.read import Summary, from_json, of_cell, summary, within
from zlbench.telemetry.read import read as read_file
from zlbench.telemetry.sampler import Log

WORDS = st.from_regex(re.compile(r"[A-Za-z0-9._-]{1,12}", re.ASCII), fullmatch=True)
NUMBERS = st.none() | st.integers(-50_000, 90_000_000).map(lambda n: n / 1000)
FOREIGN = st.builds(
    Foreign,
    pid=st.integers(1, 4_194_304),
    name=st.just("") | WORDS,
    cores=st.none() | st.integers(0, 6400).map(lambda n: n / 100),
)
READINGS = st.builds(
    Reading,
    at=st.integers(1_500_000_000_000, 2_500_000_000_000).map(lambda n: n / 1000),
    index=st.integers(0, 1023).map(str) | st.just(HOST),
    sm_clock_mhz=NUMBERS, mem_clock_mhz=NUMBERS, temp_c=NUMBERS, power_w=NUMBERS, util_pct=NUMBERS,
    uuid=st.just("") | WORDS,
    throttle=st.lists(WORDS, max_size=4).map(tuple),
    foreign=st.none() | st.lists(FOREIGN, max_size=4).map(tuple),
)  # fmt: skip


@given(READINGS)
def test_what_is_written_reads_back(reading: Reading) -> None:
    line = written(reading)
    assert len(line.split("\t")) == len(HEADER.split("\t"))
    assert read(line) == reading


@given(st.text())
def test_anything_else_reads_as_nothing(text: str) -> None:
    assert read(text) is None


@given(READINGS, st.integers(0, 9), st.text(max_size=8))
def test_a_field_of_somebody_else_never_raises(reading: Reading, place: int, word: str) -> None:
    fields = written(reading).split("\t")
    fields[place] = word
    found = read("\t".join(fields))
    assert found is None or len(written(found).split("\t")) == 10


def test_the_header_is_no_reading() -> None:
    assert read(HEADER) is None
    first = "timestamp index sm_clock_mhz mem_clock_mhz temp_c power_w util_pct"
    assert HEADER.replace("\t", " ") == f"{first} uuid throttle processes"


@given(readings=st.lists(READINGS, max_size=4), cut=st.integers(0, 2000))
def test_a_torn_file_gives_its_whole_lines_alone(
    tmp_path_factory: pytest.TempPathFactory, readings: list[Reading], cut: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / "telemetry.tsv"
    text = "".join(line + "\n" for line in (HEADER, *map(written, readings)))
    path.write_text(text[:cut])
    whole = text[:cut].count("\n") - 1
    assert read_file(path) == sorted(readings[: max(0, whole)], key=lambda reading: reading.at)


@given(cut=st.integers(0, 200))
def test_what_a_death_left_of_a_line_never_counts(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("torn") / "telemetry.tsv"
    others = (Foreign(pid=41233, name="python"),)
    first, second, third = (Reading(at=1_700_000_000.0 + n, index="0", foreign=others) for n in (1, 2, 3))
    text = "".join(line + "\n" for line in (HEADER, written(first), written(second)))
    torn = text[: max(0, len(text) - cut)]
    path.write_text(torn)
    Log(path).append([third])
    assert read_file(path) == [*[first, second][: max(0, torn.count("\n") - 1)], third]
    assert path.read_text().splitlines()[0] == HEADER
    assert path.read_text().count(HEADER) == 1


def test_a_file_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert read_file(tmp_path / "none") == []
    assert of_cell(tmp_path / "none", 0, 1).text() == "not observed: no sample"


def test_names_divide_nothing() -> None:
    assert plain_name("/opt/my programs/train\t1 --x") == "train_1_--x"
    assert len(plain_name("x" * 300)) == 40


def card(at: float, **more: object) -> Reading:
    return Reading(at=at, index="0", **more)  # type: ignore[arg-type]


def test_a_cell_is_what_lies_within_its_times() -> None:
    readings = [card(at) for at in (1.0, 2.0, 3.0, 4.0)]
    assert [reading.at for reading in within(readings, 2.0, 3.0)] == [2.0, 3.0]
    assert within(readings, 2.0, 3.0, index="1") == []


def test_clocks_are_those_of_a_card_at_work() -> None:
    seen = summary(
        [
            card(1, sm_clock_mhz=345, util_pct=0, throttle=("gpu_idle",), temp_c=30, power_w=70),
            card(2, sm_clock_mhz=1980, util_pct=97, temp_c=60, power_w=600, foreign=()),
            card(3, sm_clock_mhz=1950, util_pct=97, throttle=("sw_power_cap",), temp_c=66, power_w=690, foreign=()),
            card(4, sm_clock_mhz=345, util_pct=0, temp_c=40, power_w=80, foreign=(Foreign(pid=7, name="x"),)),
        ]
    )
    assert (seen.samples, seen.busy) == (4, 2)
    assert (seen.sm_clock_mhz, seen.sm_clock_min_mhz, seen.power_w, seen.temp_max_c) == (1965, 1950, 645, 66)
    assert seen.throttle == ("sw_power_cap",)
    assert seen.foreign == (Foreign(pid=7, name="x"),)
    assert seen.foreign_cores is None
    assert "throttled: sw_power_cap" in seen.text()
    assert from_json(seen.to_json()) == seen


def test_settings_and_idleness_are_no_throttle() -> None:
    reasons = ("gpu_idle", "applications_clocks_setting", "display_clock_setting")
    assert summary([card(1, throttle=reasons)]).throttle == ()
    assert summary([card(1, throttle=("THROTTLED",))]).throttle == ("THROTTLED",)


def test_what_nobody_could_see_is_not_made_up() -> None:
    seen = summary([card(1, sm_clock_mhz=1980)])
    assert seen.foreign is None
    assert "other processes unknown" in seen.text()
    assert summary([]) == Summary()


def test_the_load_of_others_on_a_host() -> None:
    readings = [
        Reading(
            at=n, index=HOST, util_pct=50, foreign=(Foreign(pid=1, name="make", cores=n), Foreign(pid=2, cores=0.5))
        )
        for n in (1.0, 2.0, 3.0)
    ]
    seen = summary(readings)
    assert seen.foreign_cores == 2.5
    assert seen.foreign == (Foreign(pid=1, name="make", cores=3.0), Foreign(pid=2, cores=0.5))
