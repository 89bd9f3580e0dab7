"""Parsers of vendors' tools: recorded outputs, and whatever else a tool may say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zlbench_backends import ascend, cuda, musa, rocm

from zlbench import backend as backends
from zlbench.smi import CardFacts, CardProcess, Query, Sample, csv_rows, json_value, number, whole, word

DATA = Path(__file__).parent / "data" / "smi"
FAMILIES = ("cuda", "musa", "rocm", "ascend")


def recorded(name: str) -> str:
    return (DATA / name).read_text()


def queries() -> list[Query[Any]]:
    found: list[Query[Any]] = []
    for name in FAMILIES:
        backend = backends.get(name)
        asked = [query for query in (backend.telemetry, backend.cards, backend.processes) if query is not None]
        found += [*asked, *(query.otherwise for query in asked if query.otherwise is not None)]
    return found


def test_cuda() -> None:
    first, second, third = cuda.parse_telemetry(recorded("cuda_telemetry.csv"))
    assert first == Sample(
        index=0, sm_clock_mhz=1980, mem_clock_mhz=2619, temp_c=36, power_w=477.68, util_pct=87,
        uuid="GPU-5ee7c2f1-0000-1111-2222-333344445555", throttle="sw_power_cap",
    )  # fmt: skip
    assert (second.throttle, third.sm_clock_mhz, third.power_w, third.temp_c) == ("gpu_idle", None, None, 29)
    free, used = cuda.parse_cards(recorded("cuda_cards.csv"))
    assert (free.name, free.driver, free.memory_used_mb) == ("NVIDIA H200", "570.133.20", 4)
    assert free.settings["sm_clock_application_mhz"] == 1980
    assert set(used.settings) == {"sm_clock_max_mhz", "mem_clock_max_mhz", "power_limit_w"}
    python, commas, nameless = cuda.parse_processes(recorded("cuda_processes.csv"))
    assert python == CardProcess(
        pid=41233, name="/opt/conda/bin/python", memory_mb=71236, card="GPU-5ee7c2f1-0000-1111-2222-333344446666"
    )
    assert commas.name == "/srv/a, b/serve"
    assert (nameless.pid, nameless.name, nameless.memory_mb) == (777, "", None)
    (hidden,) = cuda.parse_processes(recorded("cuda_hidden.csv"))
    assert (hidden.pid, hidden.name, hidden.memory_mb) == (None, "", None)


def test_several_reasons_to_throttle() -> None:
    line = "0, 1, 1, 1, 1, 1, GPU-x, 0x0000000000000048"
    assert cuda.parse_telemetry(line)[0].throttle == "hw_slowdown+hw_thermal_slowdown"
    assert cuda.parse_telemetry(line.replace("0x0000000000000048", "[N/A]"))[0].throttle == ""


def test_musa() -> None:
    first, second = musa.parse_telemetry(recorded("musa_telemetry.json"))
    assert first == Sample(
        index=0, sm_clock_mhz=1888, mem_clock_mhz=2500, temp_c=36, power_w=477.68, util_pct=87,
        uuid="3f1c9a00-0000-4d54-5450-000000000007",
    )  # fmt: skip
    assert (second.index, second.power_w, second.util_pct) == (1, None, 0)
    (one,) = musa.parse_telemetry(recorded("musa_one.json"))
    assert (one.index, one.power_w) == (7, 120.5)
    (card,) = musa.parse_cards(recorded("musa_one.json"))
    assert card == CardFacts(
        index=7, uuid="3f1c9a00-0000-4d54-5450-000000000007", name="MTT S5000", driver="3.3.1-server",
        memory_used_mb=512, settings={"sm_clock_max_mhz": 1900, "mem_clock_max_mhz": 2500, "power_limit_w": 550},
    )  # fmt: skip
    processes = musa.parse_processes(recorded("musa_processes.txt"))
    assert processes == [
        CardProcess(pid=20481, name="python3 -m serve", memory_mb=508, card="0"),
        CardProcess(pid=20999, name="/usr/bin/train", memory_mb=1024, card="1"),
    ]


def test_rocm_smi() -> None:
    first, second = rocm.parse_telemetry(recorded("rocm_smi.json"))
    assert first == Sample(
        index=0, sm_clock_mhz=2105, mem_clock_mhz=1300, temp_c=52, power_w=612, util_pct=93, uuid="0x8d2c1f0000000001"
    )
    assert (second.index, second.temp_c, second.power_w, second.uuid) == (1, 35, None, "")
    card = rocm.parse_cards(recorded("rocm_smi.json"))[0]
    assert (card.name, card.driver, card.settings) == ("AMD Instinct MI300X OAM", "6.10.5", {"power_limit_w": 750})
    assert card.memory_used_mb == pytest.approx(286.02, abs=0.01)
    assert rocm.parse_processes(recorded("rocm_pids.json")) == [
        CardProcess(pid=34511, name="python3", memory_mb=4096),
        CardProcess(pid=34600, name="rocm serve", memory_mb=1),
    ]
    assert rocm.parse_processes(recorded("rocm_no_pids.json")) == []


def test_amd_smi() -> None:
    first, second = rocm.parse_telemetry(recorded("amd_smi_metric.json"))
    assert first == Sample(
        index=0, sm_clock_mhz=1888, mem_clock_mhz=1300, temp_c=36, power_w=477, util_pct=87, throttle="THROTTLED"
    )
    assert second == Sample(index=1)
    (card,) = rocm.parse_cards(recorded("amd_smi_static.json"))
    assert (card.name, card.uuid, card.driver) == ("AMD Instinct MI300X", "0x8D2C1F0000000001", "6.10.5")
    assert card.settings == {"power_limit_w": 750}
    assert rocm.parse_processes(recorded("amd_smi_process.json")) == [
        CardProcess(pid=34511, name="python3", memory_mb=4096, card="0")
    ]


def test_ascend() -> None:
    first, second = ascend.parse_telemetry(recorded("ascend_info.txt"))
    assert first == Sample(index=0, temp_c=41, power_w=93.7, util_pct=12)
    assert (second.index, second.util_pct) == (1, 0)
    card = ascend.parse_cards(recorded("ascend_info.txt"))[0]
    assert card == CardFacts(index=0, name="910B3", driver="24.1.rc2", memory_used_mb=3386)
    assert ascend.parse_processes(recorded("ascend_info.txt")) == [
        CardProcess(pid=3344421, name="python3", memory_mb=3092, card="0")
    ]
    chips = ascend.parse_telemetry(recorded("ascend_two_chips.txt"))
    assert [(chip.index, chip.power_w, chip.temp_c) for chip in chips] == [(0, 171.3, 37), (1, None, 36)]
    assert ascend.parse_processes(recorded("ascend_two_chips.txt")) == []


@pytest.mark.parametrize("name", FAMILIES)
def test_a_tool_that_failed_said_nothing(name: str) -> None:
    backend = backends.get(name)
    for query in (backend.telemetry, backend.cards, backend.processes):
        assert query is not None
        assert query.parse(recorded("cuda_failed.txt")) == []
        assert query.parse("") == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["GPU", "Index", "gpu", "card0", "cardx", "system", "PID7", "process_list", "process_info",
                         "clock", "gfx_0", "clk", "value", "Power Readings", "Power Draw ", "gpu_data", "pid"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
_LINES = st.lists(
    st.lists(st.text(max_size=6) | st.sampled_from(["0", "GPU-1", "0x4", "N/A", "1e999", "910B3", "0000:C1:00.0"]),
             max_size=11).map(", ".join)
    | st.lists(st.sampled_from(["0 0", "0 910B3", "OK", "1:2", "93 4", "", "Process id", "Processes"]), max_size=5).map(
        lambda cells: f"| {' | '.join(cells)} |"
    ),
    max_size=5,
).map("\n".join)  # fmt: skip


@given(st.text() | _LINES | _JSON.map(json.dumps) | st.binary().map(lambda data: data.decode("utf-8", "replace")))
def test_no_text_is_too_odd_for_a_parser(text: str) -> None:
    for query in queries():
        for value in query.parse(text):
            assert isinstance(value, Sample | CardFacts | CardProcess)


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*_*")))
def test_recorded_output_that_was_cut_short_raises_nothing(name: str) -> None:
    text = recorded(name)
    for cut in range(0, len(text), 7):
        for query in queries():
            query.parse(text[:cut])


@pytest.mark.parametrize(
    ("text", "value"),
    [("36C", 36), ("1888MHz", 1888), ("477.68W", 477.68), ("87 %", 87), ({"value": 3, "unit": "W"}, 3), (5, 5),
     ("-", None), ("N/A", None), ("", None), (None, None), (True, None), ("(1700Mhz)", None), ([1], None),
     ("9" * 99, None)],
)  # fmt: skip
def test_numbers_carry_units(text: object, value: float | None) -> None:
    assert number(text) == value
    assert whole(text) == (None if value is None else int(value))


def test_what_a_tool_does_not_know_is_no_word() -> None:
    assert [word(text) for text in ("[N/A]", " N/A ", "[Not Found]", "[Insufficient Permissions]", None, {})] == [
        ""
    ] * 6
    assert word(" NVIDIA H200 ") == "NVIDIA H200"


def test_json_after_a_warning() -> None:
    assert json_value('WARNING: [x] low power\n\n{"a": 1}\n') == {"a": 1}
    assert json_value("[1, 2] trailing") == [1, 2]
    assert json_value("nothing") is None
    assert json_value("[" * 100_000) is None


def test_a_line_with_other_columns_is_no_answer() -> None:
    assert list(csv_rows("a, b\nField x is not valid\n1, 2\n1, 2, 3", 2)) == [["a", "b"], ["1", "2"]]


def test_no_card_pinned_leaves_the_flag_out_as_a_whole() -> None:
    query = backends.get("cuda").telemetry
    assert query is not None
    assert query.command("3")[-2:] == ("-i", "3")
    assert query.command() == query.argv
    assert "-i" not in query.argv
