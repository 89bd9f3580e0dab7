"""Plain text for people: lines that line up, on any terminal."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.colour import painted, painter
from zlbench.text import columns, counted, plural, say, seconds


def test_columns_line_up_without_blanks_at_the_end() -> None:
    assert columns(["op", "n", "next"], [["mm", "5", ""], ["softmax", "12", "go"]], right=frozenset({1})) == [
        "op        n  next",
        "mm        5",
        "softmax  12  go",
    ]


def test_colours_take_no_room() -> None:
    rows = [["mm", "OK", "x"], ["softmax", "FAILED", "OK"]]
    coloured = columns(["op", "state", "n"], rows, paint={1: painted})
    assert [
        text.replace("\x1b[32m", "").replace("\x1b[31m", "").replace("\x1b[0m", "") for text in coloured
    ] == columns(["op", "state", "n"], rows)
    assert [text.count("\x1b[0m") for text in coloured] == [0, 1, 1]


@pytest.mark.parametrize(
    ("text", "colour"),
    [("OK", 32), ("ok", 32), ("NO_IR_DIFF", 32), ("IR_CHANGED", 33), ("CRASH: signal 11", 31), ("okay", 0), ("", 0)],
)
def test_words_have_colours(text: str, colour: int) -> None:
    word, rest = text.partition(":")[0], text[len(text.partition(":")[0]) :]
    assert painted(text) == (f"\x1b[{colour}m{word}\x1b[0m{rest}" if colour else text)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("when", "asked", "env", "on_file", "on_terminal"),
    [
        ("auto", False, {}, False, True),
        ("auto", False, {"TERM": "dumb"}, False, False),
        ("auto", False, {"NO_COLOR": "1"}, False, False),
        ("auto", False, {"FORCE_COLOR": "1"}, True, True),
        ("auto", False, {"FORCE_COLOR": "0"}, False, True),
        ("auto", True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ("always", True, {"NO_COLOR": "1"}, True, True),
        ("always", False, {"NO_COLOR": "1"}, False, False),
        ("always", False, {}, True, True),
        ("never", True, {"FORCE_COLOR": "1"}, False, False),
        ("never", False, {"FORCE_COLOR": "1"}, True, True),
    ],
)
def test_who_decides_about_colour(
    when: str, asked: bool, env: dict[str, str], on_file: bool, on_terminal: bool
) -> None:
    found = [painter(when, asked=asked, env=env, stream=stream) is painted for stream in (io.StringIO(), Terminal())]
    assert found == [on_file, on_terminal]


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


def test_counts_below_each_other_are_of_one_width() -> None:
    assert [counted(1, "kernel"), counted(13, "kernel"), counted(0, "row")] == [
        "   1 kernel ",
        "  13 kernels",
        "   0 rows",
    ]


@given(st.text(max_size=60))
def test_talk_moves_no_cursor_and_gives_no_command_to_a_runner_that_reads_along(text: str) -> None:
    for data in (text, f"a\n::error title=x::{text}", f"\t::{text}", f"##[group]{text}", f"\x1b[2J\u202e{text}\r::x"):
        stream = io.StringIO()
        with contextlib.redirect_stderr(stream):
            say(data)
        for line in stream.getvalue().split("\n"):
            assert not re.match(r"\s*::", line), line
            assert "##[" not in line
            assert not [
                char for char in line if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char != "\t"
            ]


def test_talk_keeps_its_own_lines_and_a_command_that_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    said = "op mm::half: a → b\n  | 5\u00a0µs\tx #[y]"
    say(said)
    say("::error title=mm::slower", command=True)
    assert capsys.readouterr().err == f"{said}\n::error title=mm::slower\n"


def test_a_result_is_written_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    say("\x1b[31mslower\x1b[0m", to=sys.stdout)
    assert capsys.readouterr().out == "\x1b[31mslower\x1b[0m\n"
