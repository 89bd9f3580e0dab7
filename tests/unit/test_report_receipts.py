"""The receipts: what a pull request is asked for, whole, checkable, and with nothing in it that is markup of data."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from dataclasses import replace

from fakes.every_verdict import compiled, judged, nothing
from fakes.measured import EVIL, campaign, cells, identity, kernel, op, row
from hypothesis import given
from hypothesis import strategies as st

from zlbench.report.exports.rows_csv import to_csv
from zlbench.report.model import Header, LeftOut, Measured
from zlbench.report.prose import wording
from zlbench.report.prose.markdown import to_markdown
from zlbench.report.prose.wording import COMPILING
from zlbench.report.receipts.bundle import receipts
from zlbench.report.receipts.tables import conversions
from zlbench.report.receipts.text import paragraph
from zlbench.report.summary import Summary, summarise
from zlbench.rounds.names import Metric

FILES = {
    "README.md", "performance.md", "performance.csv", "kernels.md", "kernels.csv", "identities.json", "caliber.md",
    "excluded.md", "SHA256SUMS",
}  # fmt: skip


def with_commands(*commands: str) -> Summary:
    summary = judged()
    return replace(summary, source=replace(summary.source or campaign(), commands=commands))


def tables(text: str) -> list[list[str]]:
    """Cells of every line of a table; a bar that is escaped ends none."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_every_file_is_there_and_in_the_sums() -> None:
    for summary in (judged(), nothing(), compiled()):
        found = receipts(summary)
        assert set(found) == FILES
        sums = dict(line.split("  ")[::-1] for line in found["SHA256SUMS"].splitlines())
        assert set(sums) == FILES - {"SHA256SUMS"}
        assert all(sums[name] == hashlib.sha256(found[name].encode()).hexdigest() for name in sums)
        assert all(name in found["README.md"] for name in FILES - {"README.md"})


def test_equal_input_gives_equal_bytes() -> None:
    assert receipts(judged()) == receipts(judged())


def test_the_first_page_says_what_was_compared_and_how_to_do_it_again() -> None:
    text = receipts(with_commands("zlbench campaign mm --switch 'A=`b`'"))["README.md"]
    assert f"| A | triton 3.6.0 | {'1f3c' * 16} |" in text
    assert "```sh\nzlbench campaign mm --switch 'A=`b`'\n```" in text
    assert "2 slower" in text
    assert "BIAS: equal code is +0.30 %" in text
    assert "It is not recorded how these were measured. Operators: mm" in receipts(judged())["README.md"]


def test_receipts_say_what_the_values_are_and_what_compile_time_says_nothing_of() -> None:
    compile_rounds, latency, empty = receipts(compiled()), receipts(judged()), receipts(nothing())
    assert COMPILING in to_markdown(compiled()), "it is what report.md says"
    for name in ("README.md", "performance.md"):
        assert paragraph(wording.what(compiled())) in compile_rounds[name]
        assert COMPILING in compile_rounds[name]
        assert paragraph(wording.what(judged())) in latency[name]
        assert COMPILING not in latency[name] + empty[name]


def test_nothing_in_a_command_ends_its_block() -> None:
    text = receipts(with_commands("zlbench campaign '```\n# big' x"))["README.md"]
    block = text[text.index("````sh") :]
    assert block.startswith("````sh\nzlbench campaign '``` # big' x\n````\n")


def test_performance_has_every_row_with_its_interval_and_its_verdict() -> None:
    found = receipts(judged())
    assert found["performance.csv"] == to_csv(judged())
    rows = tables(found["performance.md"])
    slower = next(cells for cells in rows if cells[0] == "float16 1024x1024")
    assert slower[1] == "6"
    assert slower[4:6] == ["+2.02", "+1.01…+3.56"]
    assert slower[-1] == "slower"
    direct = next(cells for cells in rows if cells[0] == "int64 1024x1024")
    assert direct[-1] == "not comparable: TIMER_MISMATCH (cuda_graph on A, direct on B)"
    assert len({len(cells) for cells in rows}) == 1
    assert "## control softmax" in found["performance.md"]
    assert "\n\nslower: +2.02 % (+1.01…+3.05)\n\n" in found["performance.md"]


def test_an_operator_of_which_nothing_is_told_has_no_figure() -> None:
    summary = judged()
    first = summary.subjects[0]
    assert first.result is not None
    silent = replace(first, result=replace(first.result, estimate=None, low=None, high=None, what="invalid: FEW_PAIRS"))
    text = receipts(replace(summary, subjects=(silent,), controls=()))["performance.md"]
    assert "## mm\n\nslower\n\n" in text


def test_kernels_have_configuration_costs_and_code_of_both_sides() -> None:
    found = receipts(judged())
    line = next(csv.DictReader(io.StringIO(found["kernels.csv"])))
    assert line == {
        "op": "mm", "rows": "4096x4096", "kernel": "mm_kernel", "variant": "w4s3",
        "constexprs": "BLOCK_M=128 BLOCK_N=64", "signature": "x_ptr=*fp16 n=i32", "num_warps": "4", "num_stages": "3",
        "shared_bytes_a": "8192", "shared_bytes_b": "4096", "registers_a": "38", "registers_b": "36", "spills_a": "0",
        "spills_b": "0", "instructions_a": "410", "instructions_b": "390", "layout_conversions_a": "9",
        "layout_conversions_b": "6", "ir": "changed", "code": "changed", "code_id_a": "a" * 16, "code_id_b": "b" * 16,
        "ttgir_id_a": "1" * 16, "ttgir_id_b": "2" * 16, "id": "mm_kernel-0123456789abcdef",
    }  # fmt: skip
    rows = tables(found["kernels.md"])
    changed = next(cells for cells in rows if cells[0] == "mm_kernel")
    assert changed[4:9] == ["8192 → 4096", "38 → 36", "0", "410 → 390", "9 → 6"]
    same = next(cells for cells in rows if cells[0] == "softmax_kernel")
    assert same[4:9] == ["8192", "38", "0", "410", "\\="]


def test_a_kernel_of_one_side_and_one_of_which_nothing_is_known() -> None:
    only = replace(kernel("mm"), b=None, ir="only A", code="only A", histogram=(), diff="")
    blank = replace(kernel("x"), a=None, b=None, ir="unknown", code="unknown", num_warps=None, histogram=())
    assert conversions(only) is None
    measured = Measured(header=Header(title="x", metric=None), ops=(op("mm", row("8", ms=1.0), kernels=(only, blank)),))
    found = receipts(summarise(measured))
    first, second = tables(found["kernels.md"])[2:]
    assert first[4:] == ["8192 → ?", "38 → ?", "0 → ?", "410 → ?", "?", "only A", "only A", "a" * 12, "?"]
    assert second[4:] == ["?", "?", "?", "?", "?", "unknown", "unknown", "?", "?"]


def test_identities_name_library_suite_software_and_card_and_no_path() -> None:
    found = json.loads(receipts(judged())["identities.json"])
    assert found["B"]["compiler"]["native_sha256"] == "9ab2" * 16
    assert found["A"]["switches"] == {"TOY_FOLD": None}
    assert found["A"]["card"]["uuid"] == "GPU-5d1e0000-0000-0000-0000-000000000000"
    assert found["A"]["software"]["driver"] == "580.1"
    assert found["A"]["seen"]["clock_mhz"] == {"min": 1680.0, "median": 1980.0, "max": 1980.0}
    assert not any("/opt/" in text for text in receipts(judged()).values())
    unseen = json.loads(receipts(nothing())["identities.json"])
    assert unseen["A"]["seen"] == {"clock_mhz": None, "temp_c": None, "power_w": None}


def test_the_caliber_of_both_sides() -> None:
    sides = {"A": identity("A") | {"l2": "flushed"}, "B": identity("B") | {"autotune_mode": "replay"}}
    header = Header(title="x", metric=Metric.LATENCY, warnings=("[caliber] mm: l2: before=flushed after=warm",))
    text = receipts(summarise(replace(campaign(), header=header, sides=sides)))["caliber.md"]
    by_name = {cells[0]: cells for cells in tables(text)}
    assert by_name["l2"][1:4] == ["flushed", "warm", "differs"]
    assert by_name["timer"][1:4] == ["cuda_graph", "cuda_graph", "same"]
    assert by_name["autotune_mode"][3] == "differs, is not compared"
    assert "before=flushed after=warm" in text.partition("## Allowed to differ")[2]
    assert "No identity was read." in receipts(nothing())["caliber.md"]


def test_what_is_excluded_has_its_reason_and_its_word_is_explained() -> None:
    text = receipts(judged())["excluded.md"]
    assert "- sort int64 1024x1024: not comparable: TIMER_MISMATCH (cuda_graph on A, direct on B)" in text
    assert "- gelu float16 512x512: OOM on B" in text
    assert "- mm 1 pair measured again" in text
    assert [cells[0] for cells in tables(text)][2:] == [
        "BENCHMARK_DIRECT_NO_CUDAGRAPH", "FEW_PAIRS", "TIMER_MISMATCH",
    ]  # fmt: skip
    compile_rounds = receipts(compiled())["excluded.md"]
    assert "- fft round 4: PAIR_THROTTLED" in compile_rounds
    assert "- fft round 2 B: CELL_TIMEOUT" in compile_rounds
    assert "| CELL_TIMEOUT |" in compile_rounds
    assert "Nothing is." in receipts(nothing())["excluded.md"]


def test_rounds_left_out_of_a_row_that_has_others() -> None:
    left_out = (LeftOut(round=7, reason="L2_MISMATCH", note="warm on A"),)
    measured = Measured(
        header=Header(title="x", metric=Metric.LATENCY), ops=(op("mm", row("8", ms=1.0, left_out=left_out)),)
    )
    assert "- mm float16 8: round 7: L2\\_MISMATCH (warm on A)".replace("\\", "") in receipts(summarise(measured))[
        "excluded.md"
    ].replace("\\", "")


def test_names_are_text_everywhere() -> None:
    for name, text in receipts(judged()).items():
        if name.endswith(".md"):
            assert EVIL not in text
            assert "<b>" not in text.replace("\\<b", "")


@given(st.text(min_size=1, max_size=20))
def test_any_text_keeps_tables_whole_and_can_be_written(text: str) -> None:
    named = replace(row("8x8", ms=1.0), label=text)
    pair = replace(kernel("k"), name=text, rows=(text,), constexprs={text: text}, signature={text: text})
    header = Header(title=text, metric=Metric.LATENCY, a=text, b=text, axis=text, warnings=(text,))
    ops = (op(text, named, kernels=(pair,), notes=(text,), lost=(text,), invalid=(text,), markers=((text, text),)),)
    measured = Measured(header=header, ops=ops, sides={"A": {"driver": text}, "B": {}}, commands=(text,))
    found = receipts(summarise(measured))
    assert all(content.encode() for content in found.values())
    for name in ("performance.md", "kernels.md", "caliber.md"):
        assert len({len(cells) for cells in tables(found[name])}) == 1
    json.loads(found["identities.json"])


def test_clocks_are_those_of_the_own_side() -> None:
    source = campaign()
    slow = tuple(replace(cell, clock_mhz=100.0 if cell.side == "B" else None) for cell in cells(("mm",)))
    found = json.loads(receipts(summarise(replace(source, cells=slow)))["identities.json"])
    assert found["A"]["seen"]["clock_mhz"] is None
    assert found["B"]["seen"]["clock_mhz"]["max"] == 100.0
