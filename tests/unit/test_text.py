"""Plain text for people: lines that line up, on any terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.text import columns, plural, say, seconds


def test_columns_line_up_without_blanks_at_the_end() -> None:
    assert columns(["op", "n", "next"], [["mm", "5", ""], ["softmax", "12", "go"]], right=frozenset({1})) == [
        "op        n  next",
        "mm        5",
        "softmax  12  go",
    ]


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6)


@given(st.lists(st.tuples(words, words), max_size=4))
def test_a_column_begins_at_one_place(rows: list[tuple[str, str]]) -> None:
    head, *lines = columns(["first", "second"], rows)
    start = head.index("second")
    assert [text[start:] for text in lines] == [second for _, second in rows]


def test_a_table_without_rows() -> None:
    assert columns(["a", "b"], []) == ["a  b"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0 s"), (8.14, "8.1 s"), (19.9, "19.9 s"), (20.4, "20 s"), (59.4, "59 s"), (59.99, "1 min 00 s"),
        (60.0, "1 min 00 s"), (200.0, "3 min 20 s"), (3599.4, "59 min 59 s"), (3600.0, "1 h 00 min"),
        (7260.0, "2 h 01 min"),
    ],
)  # fmt: skip
def test_times(value: float, text: str) -> None:
    assert seconds(value) == text


def test_plurals() -> None:
    assert [plural(count, "row") for count in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]


def written(text: str, encoding: str) -> bytes:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding=encoding, newline="\n") as stream:
        say(text, to=stream)
        return raw.getvalue()


def test_a_line_is_out_at_once_in_characters_that_the_stream_can_take() -> None:
    assert written("A → B · 5 µs ± 1", "utf-8") == "A → B · 5 µs ± 1\n".encode()
    assert written("A → B · 5 µs ± 1 é", "ascii") == b"A -> B - 5 us +- 1 ?\n"
    assert written("A → é", "latin-1") == "A -> é\n".encode("latin-1")


def test_a_file_name_outside_of_utf8_can_be_said() -> None:
    assert written("no such file: caf\udce9", "utf-8") == b"no such file: caf?\n"


def test_talk_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("hello")
    assert capsys.readouterr() == ("", "hello\n")
