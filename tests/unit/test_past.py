"""What a fresh process of a cell takes over from those that lost their card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from zlbench_plugins.cases import begin_behind
from zlbench_plugins.context import CellContext
from zlbench_plugins.past import read_past

from zlbench.cells import CellSpec


def past_of(tmp_path: Path, *events: dict[str, Any]):
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    spec = CellSpec(
        cell="a/A", op="a", side="A", node="n", suite_root="s", package="p", out_dir=str(tmp_path), backend="compile",
        timer="compile",
    )  # fmt: skip
    return read_past(CellContext(spec))


def poisoned(sequence: int, of: str = "operator") -> dict[str, Any]:
    return {"event": "capture_poisoned", "sequence": sequence, "of": of}


def test_a_row_is_captured_once_more_before_it_is_not(tmp_path: Path) -> None:
    assert past_of(tmp_path, poisoned(3)).uncapturable == frozenset()
    assert past_of(tmp_path, poisoned(3), poisoned(3), poisoned(5)).uncapturable == {3}


def test_a_baseline_s_capture_costs_the_baseline_alone(tmp_path: Path) -> None:
    past = past_of(tmp_path, poisoned(2, "baseline"))
    assert (past.uncapturable, past.without_baseline) == (frozenset(), {2})


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.integers(1, 3), st.data())
def test_going_on_finds_the_place_behind_any_number_of_rows(inputs: list[int], loops: int, data: st.DataObject) -> None:
    """Each shape has some inputs, in each of the benchmark's loops; some first rows of all of them are known."""
    every = [(loop, index) for loop in range(loops) for index, count in enumerate(inputs) for _ in range(count)]
    if loops > 1 and len(inputs) == 1:
        every = every[: inputs[0]]  # one shape alone does not show where a loop begins again
    known = data.draw(st.integers(0, len(every)))
    begin = begin_behind([{"shape_index": index} for _, index in every[:known]])
    from_there = [place for place in every if (place[0] + 1, place[1]) >= (begin.loop, begin.shape)]
    assert from_there[begin.known :] == every[known:]


def test_a_shape_whose_inputs_cost_the_card_is_not_built_again() -> None:
    begin = begin_behind([{"shape_index": 0}, {"shape_index": 1, "phase": "inputs"}])
    assert (begin.loop, begin.shape, begin.known) == (1, 2, 0)


def test_inputs_of_their_own_are_known_by_their_number() -> None:
    begin = begin_behind([{"shape_index": -1}, {"shape_index": -1}])
    assert (begin.loop, begin.shape, begin.known) == (1, 0, 2)
