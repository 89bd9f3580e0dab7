"""A comparison as people read it: what matters first, 100 columns, nothing that one pair cannot carry."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from fakes.run_dirs import BUILDS, CALIBER, direct, failed, row
from hypothesis import given
from hypothesis import strategies as st

from zlbench.compare import compare
from zlbench.compare_table import WIDTH, Compared, cut, to_data, to_text
from zlbench.errors import ExitCode
from zlbench.identity import RunIdentity
from zlbench.run_rows import RunRows
from zlbench.text import change, latency


def identity(side: str, op: str, build: str = "", **more: Any) -> RunIdentity:
    switches = more.pop("switches", {})
    return RunIdentity(
        op=op, side=side, caliber=replace(CALIBER, **more), build=BUILDS[build or side], switches=switches
    )


def compared(
    a: list[dict[str, Any]], b: list[dict[str, Any]], *, op: str = "toy", one_build: bool = False,
    switches: tuple[dict[str, Any], dict[str, Any]] = ({}, {}), **more: Any,
) -> Compared:  # fmt: skip
    sides = [RunRows(rows=rows, timer="cuda_graph", l2="warm") for rows in (a, b)]
    before, after = (
        identity(side, op, "A" if one_build else "", switches=values, **more)
        for side, values in zip("AB", switches, strict=True)
    )
    return Compared(
        comparison=compare(*sides, op=op), before=before, after=after, directories=("runs/a", "runs/b")
    )  # fmt: skip


FIVE = [row(f"r{number}", 0.010 * number) for number in range(1, 6)]


def test_what_matters_stands_in_the_first_lines() -> None:
    lines = to_text([compared([*FIVE, direct("r6", 0.5)], [*FIVE[:3], direct("r4", 0.2), direct("r6", 0.6)])])
    assert lines[0].startswith("compare  A triton 3.6.0 (aaaaaaaa)  →  B triton 3.6.0 (bbbbbbbb)")
    assert any("+ is slower, − is faster (B against A)" in line for line in lines[:2])
    counts = " ".join(lines[2:4])
    for text in (
        "4 of 6 rows compared", "lost 1 (1 UNEQUAL_ROWS)", "excluded 1 (1 TIMER_MISMATCH)", "replay fallbacks 0",
        "direct on both sides 1 (not in the aggregate)", "1 operator incomplete",
    ):  # fmt: skip
        assert text in counts
    caliber = [line for line in lines if "NVIDIA H200" in line]
    assert len(caliber) == 1
    assert lines.index(caliber[0]) < 6
    assert "nothing is called faster or slower" in lines[-1]


def test_replay_fallbacks_are_counted_by_themselves() -> None:
    lines = to_text([compared(FIVE, [*FIVE[:4], {**FIVE[4], "replay_fallback": "mm_kernel key_missing"}])])
    assert "replay fallbacks 1 (excluded)" in " ".join(lines)
    assert "excluded 0" in " ".join(lines)
    assert any(line.startswith("AUTOTUNE_REPLAY_FALLBACK row=r5") for line in lines)


def test_the_caliber_stands_once_and_holds_what_all_operators_share() -> None:
    items = [compared(FIVE, FIVE, op="mm", shapes_hash="1" * 12), compared(FIVE, FIVE, op="fft", shapes_hash="2" * 12)]
    text = "\n".join(to_text(items))
    assert text.count("driver 575.57") == 1
    assert "shapes_hash" not in text
    assert "configs record → replay" not in text  # nobody said so
    modes = [replace(item, before=identity("A", "mm", autotune_mode="record"),
                     after=identity("B", "mm", autotune_mode="replay")) for item in items]  # fmt: skip
    assert "configs record → replay" in "\n".join(to_text(modes))


def test_switches_and_one_compiler_are_said() -> None:
    lines = to_text([compared(FIVE, FIVE, one_build=True, switches=({"X": None}, {"X": "1"}))])
    assert "         switch X: A unset, B 1" in lines
    assert not any("what differs is noise" in line for line in lines)
    assert any("what differs is noise" in line for line in to_text([compared(FIVE, FIVE, one_build=True)]))


def test_an_identity_that_is_missing_leaves_its_name_open() -> None:
    item = replace(compared(FIVE, FIVE), before=None, after=None, warnings=("[caliber] toy: gone",))
    lines = to_text([item])
    assert lines[0] == "[caliber] toy: gone"
    assert "an unknown compiler" in lines[1]
    assert to_data([item], ExitCode.OK)["operators"][0]["caliber"] is None


def test_inputs_that_are_the_same_in_every_row_stand_above() -> None:
    rows = [{**item, "label": f"{number}x64 0.1 causal=True"} for number, item in enumerate(FIVE)]
    lines = to_text([compared(rows, rows)])
    assert "every row: causal=True" in lines
    assert any(line.split()[2:4] == ["3x64", "0.1"] for line in lines if line.startswith("toy "))


LABELS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=200)


@given(st.lists(LABELS, min_size=1, max_size=4, unique=True), st.floats(1e-5, 1e5))
def test_a_hundred_columns_are_enough_for_any_input(labels: list[str], time: float) -> None:
    rows = [row(f"r{number}", time, label=label) for number, label in enumerate(labels, 1)]
    table = [line for line in to_text([compared(rows, rows)]) if line.startswith("toy ")]
    assert len(table) == len(labels) + 1
    assert max(len(line) for line in table) <= WIDTH


def test_lines_of_rows_that_are_left_out_are_wrapped() -> None:
    lines = to_text([compared(FIVE, [*FIVE[:4], failed("r5", "OOM", error="tried to allocate " * 20)])])
    assert max(len(line) for line in lines) <= WIDTH


@pytest.mark.parametrize(("text", "room"), [("abc", 12), ("a" * 13, 12), ("start" + "-" * 90 + "end", 40), ("", 5)])
def test_cutting_keeps_both_ends(text: str, room: int) -> None:
    short = cut(text, room)
    assert len(short) == min(len(text), max(room, 12))
    assert (short[:3], short[-3:]) == (text[:3], text[-3:])


def test_data_holds_everything_and_nothing_but_json() -> None:
    item = compared([*FIVE, direct("r6", 0.5)], [*FIVE[:3], direct("r4", 0.2), row("r5", 0.0), direct("r6", 0.6)])
    data = to_data([item], ExitCode.PARTIAL)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    (operator,) = data["operators"]
    assert (operator["rows_compared"], operator["rows_matched"], operator["rows_expected"]) == (4, 6, 6)
    assert [found["row"] for found in operator["rows"]] == ["r1", "r2", "r3", "r6"]
    assert [found["counted"] for found in operator["rows"]] == [True, True, True, False]
    assert {found["row"]: found["reason"] for found in operator["excluded"]} == {
        "r4": "TIMER_MISMATCH", "r5": "INVALID_LATENCY",
    }  # fmt: skip
    assert (data["exit_code"], operator["directories"]) == (6, ["runs/a", "runs/b"])


def test_a_drift_of_the_card_is_said() -> None:
    sides = [[{**FIVE[0], "baseline_ms": time}, *FIVE[1:]] for time in (0.100, 0.104)]
    lines = to_text([compared(*sides)])
    assert "BASELINE_DRIFT op=toy the Torch baseline moved by +4.0 % (more than 2 %)" in lines
    (operator,) = [line.split() for line in lines if line.startswith("toy ") and " of 5 " in line]
    assert operator == ["toy", "5", "of", "5", "0.0", "%", "+4.0", "%"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00123, "1.23 µs"), (0.0164, "16.4 µs"), (0.2331, "233.1 µs"), (4.5124, "4.512 ms"), (45.1, "45.10 ms"),
     (2500.0, "2.500 s"), (0.00005, "0.05 µs")],
)  # fmt: skip
def test_times_have_the_unit_that_suits_them(value: float, text: str) -> None:
    assert latency(value) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.02, "+2.0 %"), (-0.029, "−2.9 %"), (0.0, "0.0 %"), (0.0004, "0.0 %"), (-0.0004, "0.0 %"), (5.1, "+510.0 %")],
)
def test_changes_have_their_sign(fraction: float, text: str) -> None:
    assert change(fraction) == text
