"""Tables that a benchmark printed: what was printed is read, whatever stands around it; what cannot be read is told."""

from __future__ import annotations

import pytest
from fakes.old_runs import Line, ok, table
from hypothesis import example, given
from hypothesis import strategies as st

from zlbench.errors import UsageError
from zlbench.report.predecessor.upstream_table import NO_GRAPH, REPLAY_FALLBACK, RunLog, Table, TableRow, parse_log

MORE = (("TFLOPS",), ("Torch GBPS ", "Gems GBPS "), ("TFLOPS", "Torch GBPS ", "Gems GBPS "))


def lines_of(read: Table) -> list[Line]:
    return [("SUCCESS" if row.ok else "FAILED", row.baseline_ms, row.latency_ms, row.detail) for row in read.rows]


def test_a_log_with_two_tables() -> None:
    first = [ok(0.0165, 64, 1024), ("FAILED", 0.5, None, "([torch.Size([]), 32], {'dim': -1, 'name': 'a b'})")]
    second = [ok(1.5, 8)]
    text = "collected 2 items\n" + table("topk", first) + ".\n" + table("topk_", second, dtype="float32", level="x")
    read = parse_log(text + "\n==== 2 passed ====\n", "run.log")
    assert [(one.op, one.dtype, one.mode, one.level) for one in read.tables] == [
        ("topk", "float16", "kernel", "core"), ("topk_", "float32", "kernel", "x"),
    ]  # fmt: skip
    assert [lines_of(one) for one in read.tables] == [first, second]
    lines = text.split("\n")
    for one in read.tables:
        assert lines[one.line - 1].startswith(f"Operator: {one.op} ")
        assert all(lines[row.line - 1].endswith(row.detail) for row in one.rows)


@pytest.mark.parametrize("more", MORE)
def test_further_columns_are_no_part_of_the_input(more: tuple[str, ...]) -> None:
    rows = [ok(0.5, 4, 4), ("SUCCESS", 1.0, 2.0, "N/A")]
    (read,) = parse_log(table("mm", rows, more=more), "run.log").tables
    assert lines_of(read) == rows


def test_a_column_that_only_later_rows_have() -> None:
    """Upstream names a column by its first row; a row whose value is there all the same prints it."""
    text = table("mm", [ok(0.5, 4)]) + table("mm", [ok(0.25, 4)], more=("TFLOPS",)).splitlines(keepends=True)[-1]
    (read,) = parse_log(text, "run.log").tables
    assert lines_of(read) == [ok(0.5, 4), ok(0.25, 4)]


def test_colours_and_narrow_columns_change_nothing() -> None:
    text = (
        "\x1b[1mOperator: topk  Performance Test (dtype=torch.float16, mode=kernel,level=core)\x1b[0m\n"
        "Status  Torch Latency (ms)  Gems Latency (ms)  Gems Speedup  Size Detail\n"
        "same in all rows: k=32\n"
        "------------------------------\n"
        "\x1b[32mSUCCESS\x1b[0m 0.5 0.25 2.000 [torch.Size([64, 64])]\n"
        "\x1b[31mFAILED\x1b[0m  N/A N/A N/A\n"
        "SUCCESS  nan  inf  0.000  1024\n"
    )
    (read,) = parse_log(text, "run.log").tables
    assert read.legend == ["same in all rows: k=32"]
    assert repr(lines_of(read)) == repr([
        ("SUCCESS", 0.5, 0.25, "[torch.Size([64, 64])]"), ("FAILED", None, None, ""),
        ("SUCCESS", float("nan"), float("inf"), "1024"),
    ])  # fmt: skip


def test_a_torn_last_row_is_none() -> None:
    text = table("topk", [ok(0.5, 64), ok(0.5, 1024)])
    (read,) = parse_log(text[:-4], "run.log").tables
    assert lines_of(read) == [ok(0.5, 64)]


def test_what_pytest_says_of_failures_is_no_row() -> None:
    text = table("topk", [ok(0.5, 64)])
    text += "FAILED: Operator=topk dtype={dtype} err=<<<{e}>>>\nFAILED benchmark/test_topk.py::test_topk - boom\n"
    text += "SUCCESS of all\nStatus of everything: fine\n"
    (read,) = parse_log(text, "run.log").tables
    assert lines_of(read) == [ok(0.5, 64)]


@pytest.mark.parametrize(
    ("bad", "line"),
    [
        ("SUCCESS               0.500000           0.5oops               1.000          [torch.Size([8])]", 6),
        ("SUCCESS               0.500000", 6),
        ("FAILED                0.500000            WARNING: late          [torch.Size([8])]", 6),
    ],
)
def test_a_row_that_cannot_be_read_is_told_with_file_and_line(bad: str, line: int) -> None:
    with pytest.raises(UsageError, match=f"^some/run.log:{line}: a row of the table cannot be read: {bad[:7].strip()}"):
        parse_log(table("topk", [ok(0.5, 64)]) + bad + "\n", "some/run.log")


def test_columns_of_another_table_are_told() -> None:
    text = table("topk", [ok(0.5, 64)]).replace("Gems Speedup", "Gems Memory")
    with pytest.raises(UsageError, match=r"^run.log:3: these columns are not known: Status Torch Latency"):
        parse_log(text, "run.log")
    with pytest.raises(UsageError, match=r"^run.log:3: these columns"):
        parse_log(table("topk", [], more=("Peak Memory",)), "run.log")


def test_markers_are_counted_wherever_they_stand() -> None:
    text = table("topk", [ok(0.5, 64)], legend=f"WARNING {NO_GRAPH} phase=warmup   reason=host sync")
    text = f"!!! {REPLAY_FALLBACK}_no_evict reason=x\n{REPLAY_FALLBACK} reason=key_missing\nX{NO_GRAPH}\n" + text
    read = parse_log(text + f"{NO_GRAPH} phase=capture\n", "run.log")
    assert read.said(NO_GRAPH) == ["phase=warmup reason=host sync", "phase=capture"]
    assert read.said(REPLAY_FALLBACK) == ["reason=x", "reason=key_missing"]
    assert read.tables[0].legend == []


_words = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1, max_size=12)
_name = st.lists(_words, min_size=1, max_size=3).map("_".join)
_dtype = st.sampled_from(["float16", "bfloat16", "float32", "int64", "complex64", "bool", "float8_e4m3fn"])
_sizes = st.lists(st.integers(0, 2**40), max_size=5).map(lambda sizes: f"torch.Size({sizes})")
_item = _sizes | st.integers().map(str) | st.floats().map(repr) | st.text(max_size=20).map(repr) | st.none().map(repr)
_list = st.lists(_item, min_size=1, max_size=4).map(lambda items: f"[{', '.join(items)}]")
_dict = st.dictionaries(st.text(max_size=8), _item, min_size=1, max_size=2).map(
    lambda items: "{" + ", ".join(f"{key!r}: {value}" for key, value in items.items()) + "}"
)
_detail = _list | _dict | st.tuples(_list, _dict).map(lambda pair: f"({pair[0]}, {pair[1]})") | st.just("N/A")
_ms = st.none() | st.integers(0, 10**10).map(lambda nanoseconds: nanoseconds / 1e6)
_lines = st.lists(st.tuples(st.sampled_from(["SUCCESS", "FAILED"]), _ms, _ms, _detail), max_size=6)
_between = st.text(st.characters(codec="utf-8"), max_size=60).filter(
    lambda text: "Status" not in text and "SUCCESS" not in text and "FAILED" not in text and "Operator" not in text
)


@given(st.lists(st.tuples(_name, _dtype, _lines, st.sampled_from(((), *MORE)), _between), max_size=4))
def test_what_was_printed_is_read_again(given_tables: list[tuple[str, str, list[Line], tuple[str, ...], str]]) -> None:
    text = ""
    for op, dtype, lines, more, between in given_tables:
        # Something else may be printed before a title, never between it and the rows: upstream prints a table at once.
        text += between.replace("\r", "") + "\n" + table(op, lines, dtype=dtype, more=more) + "\n"
    read = parse_log(text, "run.log")
    assert [(one.op, one.dtype, lines_of(one)) for one in read.tables] == [
        (op, dtype, lines) for op, dtype, lines, _, _ in given_tables
    ]


@given(st.text() | st.binary(max_size=300).map(lambda data: data.decode(errors="replace")))
@example("Operator: x  Performance Test (dtype=torch.float16, mode=kernel,level=core)")
@example("\n\n\x1b[")
def test_garbage_is_no_table(text: str) -> None:
    assert parse_log(text + "\n", "run.log").tables == () or "Performance Test" in text


_parts = st.sampled_from(
    [*table("mm", [ok(0.5, 4, 4), ("FAILED", None, None, "N/A")], more=("TFLOPS",)).splitlines(), "", "SUCCESS", "N/A",
     "FAILED", "Status ", "   0.5", "[torch.Size([1])]", "SUCCESS  0.5  0.5  1.0 [1]", f"{NO_GRAPH} reason=[4]"]
)  # fmt: skip


@given(st.lists(_parts, max_size=12), st.sampled_from(["\n", " ", "\r\n"]))
def test_pieces_of_tables_are_read_or_told(parts: list[str], joint: str) -> None:
    text = joint.join(parts) + "\n"
    try:
        read = parse_log(text, "dir/run.log")
    except UsageError as error:
        where, _, _ = error.message.partition(": ")
        name, _, number = where.partition(":")
        assert name == "dir/run.log"
        assert 1 <= int(number) <= text.count("\n")
        return
    assert isinstance(read, RunLog)
    for one in read.tables:
        for row in one.rows:
            assert isinstance(row, TableRow)
            assert text.split("\n")[row.line - 1].lstrip().startswith("SUCCESS" if row.ok else "FAILED")
