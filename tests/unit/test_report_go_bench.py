"""The Go benchmark format: read back by a parser of its own, written from the words of Go's design document 14313."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from urllib.parse import unquote_plus

import pytest
from fakes.every_verdict import compiled, judged, nothing
from fakes.measured import EVIL, campaign, op, row
from hypothesis import example, given
from hypothesis import strategies as st

from zlbench.report.exports.go_bench import benchmark_name, to_go
from zlbench.report.model import Header, Measured, RowReadings
from zlbench.report.summary import summarise
from zlbench.rounds.names import Metric

TEXT = st.text(st.characters(blacklist_categories=["Cs"]) | st.sampled_from("-/= +%_.8Aa\n"), max_size=12)


@dataclass
class Parsed:
    """What a reader of the format takes from a file."""

    config: dict[str, str] = field(default_factory=dict)
    results: list[tuple[str, int, float, str]] = field(default_factory=list)


def parse(text: str) -> Parsed:
    """Configuration lines (key, colon, blank, value), result lines (an even number of fields, at least four), the rest.

    A key begins with a small letter and has neither blanks nor capitals; a name begins with Benchmark, and no small
    letter follows.
    """
    found = Parsed()
    for line in text.split("\n"):
        words = line.split()
        if line.startswith("Benchmark"):
            assert len(words) == 4
            name = words[0][len("Benchmark") :]
            assert not name[:1].islower()
            found.results.append((name, int(words[1]), float(words[2]), words[3]))
        elif match := re.fullmatch(r"(\S+?):[ \t]+(.*)", line):
            key, value = match.groups()
            if key[0].islower() and not any(letter.isupper() for letter in key):
                found.config[key] = value
        else:
            assert line == "" or line.startswith("#")
    return found


def test_a_line_a_row_and_round_in_nanoseconds() -> None:
    found = {side: parse(text) for side, text in to_go(judged()).items()}
    source = campaign()
    readings = sum(len(row.readings) for op in source.ops for row in op.rows)
    assert len(found["A"].results) == len(found["B"].results) == readings
    first = source.ops[0].rows[0].readings
    assert [result[0] for result in found["A"].results[:6]] == ["Mm/dtype=float16/row=4096x4096"] * 6
    assert [result[2] for result in found["A"].results[:6]] == [pytest.approx(1e6 * item.before) for item in first]
    assert [result[2] for result in found["B"].results[:6]] == [pytest.approx(1e6 * item.after) for item in first]
    assert {result[1] for result in found["A"].results} == {1}
    assert {result[3] for result in found["A"].results} == {"ns/op"}


def test_sides_share_their_configuration_so_that_they_stand_in_one_table() -> None:
    texts = to_go(judged())
    configs = [parse(text).config for text in texts.values()]
    assert configs[0] == configs[1]
    assert configs[0]["device"] == "NVIDIA H200"
    assert configs[0]["timer"] == "cuda_graph"
    assert f"# toolchain-native-sha256: {'9ab2' * 16}" in texts["B"].splitlines()
    assert "# switch TOY_FOLD: unset" in texts["A"].splitlines()


def test_a_condition_that_differs_is_no_configuration() -> None:
    sides = {"A": {"timer": "cuda_graph", "l2": "warm"}, "B": {"timer": "direct", "l2": "warm"}}
    measured = Measured(header=Header(title="x", metric=Metric.LATENCY), ops=(op("mm", row("8", ms=1.0)),), sides=sides)
    for text in to_go(summarise(measured)).values():
        assert set(parse(text).config) == {"zlbench", "l2"}


@pytest.mark.parametrize(
    ("unit", "name", "value"),
    [("instructions", "instructions/op", 1e6), ("cpu_ms", "cpu-ns/op", 1e12), ("wall_ms", "wall-ns/op", 1e12)],
)
def test_units_of_compile_rounds(unit: str, name: str, value: float) -> None:
    found = parse(to_go(compiled(unit))["A"]).results
    assert {result[3] for result in found} == {name}
    assert found[0][2] == pytest.approx(value)


def test_nothing_to_measure_has_no_result() -> None:
    assert [parse(text).results for text in to_go(nothing()).values()] == [[], []]


def one(dtype: str, label: str, name: str = "x") -> RowReadings:
    return RowReadings(name=name, dtype=dtype, label=label, unit="ms")


def test_a_number_at_the_end_is_not_taken_for_processors() -> None:
    assert benchmark_name("cumsum", one("float16", "64x64 dim=-1")).endswith("/row=64x64+dim=%2D1")
    assert benchmark_name("cumsum", one("float16", "8-8 dim=-1 x")).endswith("/row=8-8+dim=-1+x")


def test_rows_that_look_alike_are_told_apart() -> None:
    twins = tuple(replace(row("8x8", ms=1.0), name=name) for name in ("plain", "transposed"))
    measured = Measured(header=Header(title="x", metric=Metric.LATENCY), ops=(op("mm", *twins),))
    names = {result[0] for result in parse(to_go(summarise(measured))["A"]).results}
    assert names == {"Mm/dtype=float16/row=8x8/id=plain", "Mm/dtype=float16/row=8x8/id=transposed"}


@given(TEXT.filter(bool), TEXT, TEXT, TEXT, st.booleans())
@example("mm", "-", "-8", "x", True)
@example(EVIL, "f16", "\u2028\x85\xa0", "x", False)
def test_a_name_can_be_turned_back(op: str, dtype: str, label: str, name: str, alone: bool) -> None:
    """So no two rows have one name; and none holds what ends a field."""
    text = benchmark_name(op, one(dtype, label, name), alone=alone)
    assert text.split() == [text]
    assert not re.search(r"-\d+\Z", text)
    head, *parts = text.removeprefix("Benchmark").split("/")
    values = [unquote_plus(part.split("=", 1)[1]) for part in parts]
    assert values == [dtype, label, *([] if alone else [name])]
    back = unquote_plus(head)
    assert op == (back[1:] if back.startswith("_") else back[0].lower() + back[1:])


def test_half_of_a_surrogate_pair_does_not_stop_a_file() -> None:
    name = "\udc80"
    bad = replace(row("8x8", ms=1.0), label=name)
    header = Header(title=name, metric=Metric.LATENCY, a=name, b=name, axis=name)
    texts = to_go(summarise(Measured(header=header, ops=(op(name, bad),), sides={"A": {"driver": name}, "B": {}})))
    assert all(text.encode() for text in texts.values())


def test_equal_input_gives_equal_bytes() -> None:
    assert to_go(judged()) == to_go(judged())
