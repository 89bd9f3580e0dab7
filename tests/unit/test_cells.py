"""A cell's request and outcome survive the way through JSON, and its line files survive a crash."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.cells import CellOutcome, CellSpec, CellState, read_json_lines
from zlbench.errors import ExitCode

BASE = CellSpec(
    cell="mm/A", op="mm", side="A", node="/suite/test_mm.py::test_mm", suite_root="/suite", package="gems",
    out_dir="/out/mm/A", backend="compile", timer="compile",
)  # fmt: skip

numbers = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False)
shapes = st.recursive(numbers, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
words = st.lists(st.text(max_size=5), max_size=3).map(tuple)
specs = st.builds(
    lambda **changed: replace(BASE, **changed),
    op=st.text(max_size=8), target=st.none() | st.text(max_size=8), dtypes=words, plugins=words, environment=words,
    shapes=st.none() | st.lists(shapes, max_size=3).map(tuple), shape_file=st.none() | st.text(max_size=8),
    configs=st.sampled_from(["first", "all", "3"]), seed=st.integers(0, 2**40), warmup_ms=st.none() | st.integers(0, 9),
    quick=st.booleans(), keep_binaries=st.booleans(),
)  # fmt: skip
outcomes = st.builds(
    CellOutcome, state=st.sampled_from(CellState), returncode=st.integers(-64, 255),
    signal=st.none() | st.integers(1, 64), elapsed_s=st.floats(0, 1e6), rows_ok=st.integers(0, 99),
    kernels=st.integers(0, 99), detail=st.text(max_size=20), markers=words,
)  # fmt: skip


@given(specs)
def test_a_request_survives_json(spec: CellSpec) -> None:
    assert CellSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_nested_shapes_come_back_as_tuples() -> None:
    data = {**BASE.to_json(), "shapes": [[[16, 1024], 256], [8]]}
    assert CellSpec.from_json(data).shapes == (((16, 1024), 256), (8,))
    assert CellSpec.from_json({**data, "shapes": []}).shapes == ()
    assert CellSpec.from_json({**data, "shapes": None}).shapes is None


def test_a_key_that_nobody_measures_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown cell keys: \['tagret', 'warm'\]"):
        CellSpec.from_json({**BASE.to_json(), "tagret": "cuda:90", "warm": 1})


def test_a_request_without_its_lists_has_empty_ones() -> None:
    data = {key: value for key, value in BASE.to_json().items() if key not in ("dtypes", "plugins")}
    assert CellSpec.from_json(data) == BASE
    assert CellSpec.from_json({**data, "dtypes": None}) == BASE


@given(outcomes)
def test_an_outcome_survives_json(outcome: CellOutcome) -> None:
    assert CellOutcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome


def test_an_outcome_of_a_later_version_is_read() -> None:
    assert CellOutcome.from_json({"state": "OK", "returncode": 0, "joules": 1}).complete


def test_a_marker_is_a_word_and_a_text() -> None:
    outcome = CellOutcome(state=CellState.OK, returncode=0, markers=("SHAPES_NOT_IN_FORCE 3 rows of it", "BARE"))
    assert outcome.marked() == [("SHAPES_NOT_IN_FORCE", "3 rows of it"), ("BARE", "")]


def test_every_state_has_an_exit_code() -> None:
    codes = {state: CellOutcome(state=state, returncode=0).exit_code for state in CellState}
    assert [state for state, code in codes.items() if code is ExitCode.OK] == [CellState.OK]
    assert codes[CellState.CRASH] is codes[CellState.DISK_FULL] is codes[CellState.NOT_RUN] is ExitCode.PARTIAL
    assert codes[CellState.TIMEOUT] is ExitCode.TIMEOUT
    assert codes[CellState.SKIPPED] is codes[CellState.NOTHING_MEASURED] is ExitCode.NOTHING_MEASURED


def test_only_what_need_not_run_again_is_complete() -> None:
    complete = {state for state in CellState if CellOutcome(state=state, returncode=0).complete}
    assert complete == {CellState.OK, CellState.SKIPPED}


def lines(tmp_path: Path, content: bytes) -> list[dict]:
    (tmp_path / "rows.jsonl").write_bytes(content)
    return read_json_lines(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (b"", []),
        (b'{"a":1}\n', [1]),
        (b'{"a":1}\n{"a":2}', [1]),
        (b'{"a":1}\n{"a":', [1]),
        (b'{"a":1}\n\0\0\0\0', [1]),
        (b'{"a":1}\n\0\0\0\0\n{"a":2}\n', [1, 2]),
        (b'{"a":1}\n{"a":{"a":3}\n{"a":2}\n', [1, 2]),
        (b'\xff\xfe\n{"a":2}\n', [2]),
        (b'2}\n17\nnull\n"x"\n[1]\n{"a":2}\n\n', [2]),
    ],
)
def test_torn_lines_cost_themselves_alone(tmp_path: Path, content: bytes, read: list[int]) -> None:
    assert [record["a"] for record in lines(tmp_path, content)] == read


def test_no_file_has_no_lines(tmp_path: Path) -> None:
    assert read_json_lines(tmp_path / "rows.jsonl") == []
    assert read_json_lines(tmp_path) == []


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2), max_size=4), st.data())
def test_a_file_cut_anywhere_gives_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict], data: st.DataObject
) -> None:
    whole = "".join(json.dumps(record) + "\n" for record in records).encode()
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    path.write_bytes(whole[:cut])
    assert read_json_lines(path) == records[: whole[:cut].count(b"\n")]


@given(
    st.lists(
        st.sampled_from(
            [b'{"a": 1}', b'{"b": "\xc3\xa9"}', b"[1]", b"7", b"", b'{"a":', b"1}", b'{"a": 1},{"b": 2}', b"\xff"]
        )
    )
)
def test_lines_are_read_one_by_one_whatever_they_would_be_together(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines) + b'{"torn": 1}')
    good = {b'{"a": 1}': {"a": 1}, b'{"b": "\xc3\xa9"}': {"b": "é"}}
    assert read_json_lines(path) == [good[line] for line in lines if line in good]
