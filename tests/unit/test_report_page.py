"""report.html: what stands on it, that data stays text, that it loads nothing, and that it stays small."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from fakes import by_hand
from fakes.every_verdict import judged
from fakes.measured import EVIL, campaign, kernel
from hypothesis import given, settings
from hypothesis import strategies as st

from zlbench.inference.types import Calibration, Settings, Verdict
from zlbench.report.model import (
    CellSighting,
    Header,
    KernelPair,
    LeftOut,
    Measured,
    OpReadings,
    Reading,
    RowReadings,
    TelemetryPoint,
)
from zlbench.report.page import to_html
from zlbench.report.page.embed import as_json, asset, compact, policy, script, style
from zlbench.report.page.exclusions import exclusions, word_of
from zlbench.report.page.identities import ABSENT, fields
from zlbench.report.page.kernels import kernels
from zlbench.report.page.numbers import column, figures, percent, rows_of
from zlbench.report.page.sightings import MOST_POINTS, timeline
from zlbench.report.page.strips import Scale
from zlbench.report.page.terms import explained
from zlbench.report.prose import wording
from zlbench.report.standing import Standing
from zlbench.report.summary import Summary, summarise
from zlbench.rounds.names import Metric

VOID = {"meta", "br", "hr", "input", "link", "img", "col"}
SHAPES = {"rect", "line", "circle", "path", "text", "title", "desc", "svg", "g"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str | None]
    text: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    """Elements in order with their own text; fails on an end that fits no beginning."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.nodes: list[Node] = []
        self.open: list[Node] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        assert len(node.attributes) == len(attrs), f"an attribute twice in {tag}"
        self.nodes.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.nodes.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        # Whatever is inside an element counts as its text.
        for node in self.open:
            node.text.append(data)

    def all(self, tag: str) -> list[Node]:
        return [node for node in self.nodes if node.tag == tag]

    def block(self, name: str) -> Any:
        return json.loads(
            next("".join(node.text) for node in self.nodes if node.attributes.get("id") == f"data-{name}")
        )

    def said(self) -> str:
        """What a person reads without any script."""
        quiet = {id(node) for node in self.nodes if node.tag in {"script", "style"}}
        return " ".join("".join(next(node for node in self.nodes if node.tag == "body").text).split()) if quiet else ""

    def of(self, name: str) -> str:
        return " ".join(
            " ".join(" ".join(node.text).split()) for node in self.nodes if node.attributes.get("id") == name
        )


def read(summary: Summary) -> Reader:
    return Reader(to_html(summary))


@pytest.fixture(scope="module")
def page() -> str:
    return to_html(summarise(campaign()))


@pytest.fixture(scope="module")
def reader(page: str) -> Reader:
    return Reader(page)


# What stands on it


def test_the_first_screen_needs_no_script(reader: Reader) -> None:
    overview = reader.of("overview")
    for said in ("triton 3.6.0 (relayout) TOY_FOLD=1", "build, switch TOY_FOLD", "cuda_graph, warm L2", "6 rounds"):
        assert said in overview
    assert "8 rows in 5 operators: 2 slower, 1 faster." in overview
    fast, slow = (row.result for row in summarise(campaign()).subjects[0].rows)
    for title, label, sign, found in (("Slower", "1024x1024", "▲", slow), ("Faster", "4096x4096", "▼", fast)):
        assert found is not None
        said = f"{sign} {wording.change(found.estimate)} {wording.interval(found)}"
        assert re.search(f"{title}: the largest changes .*mm {label} .* {re.escape(said)}", overview)
    assert "TIMER_MISMATCH One side timed this row by graph, the other directly." in overview
    assert "lost rows 1" in overview
    operators = reader.of("operators")
    assert all(name in operators for name in ("mm", "topk", "gelu", "sort", EVIL, "softmax control"))
    assert "incomplete: 1 of 2 rows on both sides in every round" in operators


def test_largest_changes_come_first_and_only_verdicts_count() -> None:
    rows = [by_hand.row(f"r{size}", Verdict.SLOWER, size) for size in (2.0, 9.0, 5.0)]
    more = [by_hand.row("loud", Verdict.INCONCLUSIVE, 40.0), by_hand.row("quick", Verdict.FASTER, -3.0)]
    found = Reader(to_html(by_hand.summary(by_hand.op("mm", *rows, *more), controls=by_hand.controls())))
    cards = [
        " ".join(" ".join(node.text).split()) for node in found.all("section") if node.attributes.get("class") == "card"
    ]
    assert re.findall(r"\br\d\.0|loud|quick", cards[0]) == ["r9.0", "r5.0", "r2.0"]
    assert re.findall(r"\br\d\.0|loud|quick", cards[1]) == ["quick"]


def test_counts_of_verdicts_leave_controls_out(reader: Reader) -> None:
    tiles = {
        node.attributes["href"]: "".join(node.text)
        for node in reader.all("a")
        if "tile" in (node.attributes.get("class") or "")
    }
    assert {key: int(re.search(r"\d+", text)[0]) for key, text in tiles.items()} == {  # type: ignore[index]
        "#verdict=slower": 2, "#verdict=faster": 1, "#verdict=inconclusive": 1, "#verdict=no-difference": 3,
        "#verdict=not-comparable": 1,
    }  # fmt: skip
    bar = next(node for node in reader.all("svg") if node.attributes.get("class") == "bar")
    parts = reader.nodes[reader.nodes.index(bar) + 1 :]
    shares = [float((part.attributes.get("width") or "0").rstrip("%")) for part in parts[:9] if part.tag == "rect"]
    assert sum(shares) == pytest.approx(100, abs=0.01)


def test_landmarks_headings_and_tables_are_what_a_screen_reader_needs(reader: Reader) -> None:
    tags = Counter(node.tag for node in reader.nodes)
    assert (tags["header"], tags["nav"], tags["main"], tags["footer"], tags["h1"]) == (1, 1, 1, 1, 1)
    levels = [int(node.tag[1]) for node in reader.nodes if re.fullmatch(r"h[1-6]", node.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(node.attributes.get("scope") in {"col", "row"} for node in reader.all("th"))
    assert reader.all("html")[0].attributes["lang"] == "en"
    # A plot beside its numbers is decoration; a plot of its own has a role and a name.
    assert all("aria-hidden" in node.attributes or "role" in node.attributes for node in reader.all("svg"))
    ids = [node.attributes["id"] for node in reader.nodes if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    named = [node.attributes["aria-labelledby"] for node in reader.nodes if "aria-labelledby" in node.attributes]
    assert set(named) <= set(ids)
    assert {node.attributes["href"] for node in reader.all("a") if (node.attributes["href"] or "").find("=") < 0} <= {
        f"#{name}" for name in ids
    }


def test_a_verdict_has_a_sign_and_a_word(reader: Reader) -> None:
    verdicts = [node for node in reader.nodes if (node.attributes.get("class") or "").startswith("verdict ")]
    assert verdicts
    assert all(len("".join(node.text).split()) >= 2 for node in verdicts)


def test_identities_stand_beside_each_other_and_differences_are_marked(reader: Reader) -> None:
    different, alike = (node for node in reader.all("table") if node.attributes.get("class") == "identity")
    assert "≠ switches.TOY_FOLD none 1" in " ".join(" ".join(different.text).split())
    assert "build.native_sha256" in " ".join(different.text)
    assert "driver 580.1" in " ".join(" ".join(alike.text).split())
    assert "≠" not in "".join(alike.text)


def test_every_word_of_a_report_is_explained(reader: Reader) -> None:
    words = reader.of("words")
    for word in ("TIMER_MISMATCH", "BENCHMARK_DIRECT_NO_CUDAGRAPH", "IR_CHANGED", "NO_IR_DIFF", "MDE", "interval"):
        assert word in words
    assert "A direct time holds launch overhead" in words
    assert set(reader.block("main")["terms"]) >= {"TIMER_MISMATCH", "BENCHMARK_DIRECT_NO_CUDAGRAPH", "IR_CHANGED"}


def test_data_of_a_row_is_what_was_read(reader: Reader) -> None:
    summary = summarise(campaign())
    main, rounds = reader.block("main"), reader.block("rounds")
    mm = next(op for op in main["ops"] if op["op"] == "mm")
    columns, row, source = main["rows"]["columns"], mm["first"], summary.subjects[0].rows[0]
    assert columns["label"][row] == "4096x4096"
    assert columns["a"][row] == pytest.approx(source.median_a, rel=1e-4)
    assert source.result is not None
    assert source.result.estimate is not None
    assert columns["est"][row] == pytest.approx(100 * math.expm1(source.result.estimate), rel=1e-4)
    assert main["verdicts"][columns["v"][row]][0] == "faster"
    assert rounds["patterns"][rounds["pattern"][row]] == [1, -2, 3, -4, 5, -6]
    read = [value for one in source.row.readings for value in (one.before, one.after)]
    assert rounds["values"][row] == pytest.approx(read, rel=1e-5)


def test_kernels_have_costs_and_diffs_of_both_sides(reader: Reader) -> None:
    found, diffs = reader.block("kernels"), reader.block("diffs")
    entry = found["entries"][0]
    assert [found["words"][word] for word in entry["w"]][:2] == ["mm_kernel", "w4s3"]
    assert (entry["a"][:4], entry["b"][:4]) == ([38, 0, 8192, 410], [36, 0, 4096, 390])
    assert entry["ops"] == [["ttg.convert_layout", 9, 6], ["ttg.local_load", 4, 2]]
    assert diffs["0"] == kernel("mm_kernel").diff
    # Controls did not change: they have kernels and no diff.
    assert len(found["entries"]) == 9
    assert len(diffs) == 5


def test_an_invalidated_pair_is_on_the_timeline(reader: Reader) -> None:
    card = reader.block("card")
    (lane,) = card["lanes"]
    bad = [cell for cell in lane["cells"] if card["words"][cell[11]]]
    assert [(card["words"][cell[0]], cell[1], card["words"][cell[11]]) for cell in bad] == [("mm", 3, "throttle")] * 2
    assert len(lane["points"]) == lane["read"] == 108


def test_compile_time_is_longer_or_shorter_never_slower() -> None:
    row = by_hand.row("kernel", Verdict.SLOWER, 4.0, unit="instructions", ms=2e9)
    page = read(by_hand.summary(by_hand.op("mm", row, verdict=Verdict.SLOWER, percent=4.0), metric=Metric.COMPILE))
    overview = page.of("overview") + page.of("operators")
    assert "takes longer" in overview
    assert "slower" not in overview
    assert page.block("main")["directions"] == ["is shorter", "takes longer"]


def test_what_weakens_the_numbers_is_said_at_the_top() -> None:
    common = by_hand.op("mm", by_hand.row("x", Verdict.SLOWER, 2.0), verdict=Verdict.SLOWER, percent=2.0)
    bare = by_hand.summary(
        common, calibration=Calibration(used=False), header={"warnings": ("[caliber] mm: timer: before=a after=b",)},
        progress="not at their end", findings=("mm x is 2.0 % slower, allowed is 1 %",),
    )  # fmt: skip
    found = read(bare)
    notes = ["".join(node.text) for node in found.all("p") if node.attributes.get("role") == "note"]
    for said in ("UNCALIBRATED", "[caliber] mm: timer: before=a after=b", "not at their end", "allowed is 1 %"):
        assert sum(said in note for note in notes) == 1
    assert "Fewer than 4 operators with equal machine code" in found.of("words")


def test_without_rounds_the_reason_is_all_there_is() -> None:
    header = Header(
        title="report of x", metric=None, a="triton 3.6.0", b="triton 3.9.0", screen=("screen: 1 NO_IR_DIFF",)
    )
    found = read(summarise(Measured(header=header, reason="no rounds were measured: nothing changed")))
    assert "no rounds were measured: nothing changed" in found.of("overview")
    assert found.of("operators") == found.of("rows") == ""
    assert "Operators" not in " ".join("".join(node.text) for node in found.all("nav"))


def test_without_statistics_nothing_is_called_slower() -> None:
    bare = by_hand.without_statistics(by_hand.summary(by_hand.op("mm", by_hand.row("x", Verdict.SLOWER, 2.0))))
    found = read(bare)
    assert "1 row in 1 operator: none slower, none faster." in found.of("overview")
    assert "Range of rounds" in found.of("operators")
    main = found.block("main")
    assert main["judged"] is False
    assert main["verdicts"][main["rows"]["columns"]["v"][0]][0] == "not judged"


def test_every_standing_has_a_sign_and_a_meaning() -> None:
    found = read(judged())
    main = found.block("main")
    assert [word for word, *_ in main["verdicts"]] == [one.value for one in Standing]
    assert all(look and sign and key for _, look, sign, key in main["verdicts"])
    used = {main["verdicts"][number][0] for number in main["rows"]["columns"]["v"]}
    assert len(used) >= 6
    assert all(word in found.of("words") for word in used)


# Data is text


def test_an_operator_named_script_is_text(page: str, reader: Reader) -> None:
    assert EVIL not in page
    assert EVIL in reader.of("operators")
    running = [node for node in reader.all("script") if node.attributes.get("type") != "application/json"]
    assert ["".join(node.text) for node in running] == [script()]
    assert any(op["op"] == EVIL for op in reader.block("main")["ops"])


NASTY = (
    "</script><script>alert(1)</script>", "<!--<script>", "]]>", "<img src=x onerror=alert(1)>", '" onload="x', "'",
    "&lt;b&gt;", "{{ 7 * 7 }}", "{% raw %}", "\u2028\u2029", "\ud800", "\0", "__proto__", "\u202elive", "a\nb\tc",
    "%s", "#op=x&y",
)  # fmt: skip
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=20))


def everywhere(text: str) -> Summary:
    """A report in which one text stands wherever data may hold one."""
    readings = tuple(Reading(round=k, before=1.0, after=1.1, a_first=k % 2 == 1) for k in range(1, 5))
    left_out = (LeftOut(round=5, reason=text, note=text), LeftOut(round=6, reason=text, note=text, lost=True))
    row = RowReadings(
        name=text, dtype=text, label=text, unit=text, readings=readings, left_out=left_out, timer=text, l2=text,
        counted=False,
    )  # fmt: skip
    pair = KernelPair(
        id=text, name=text, variant=text, constexprs={text: text}, signature={text: text}, rows=(text,), ir=text,
        code=text, histogram=((text, 1, 2),), diff=f"--- A\n+++ B\n-{text}\n+{text}x\n {text}\n", a=None, b=None,
    )  # fmt: skip
    op = OpReadings(
        op=text, directory=text, rows=(row,), rounds=(1, 2, 3, 4), failed=(text,), invalid=(text,), lost=(text,),
        fallbacks=((text, 1),), notes=(text,), markers=((text, text),), verdict=text, kernels=(pair,),
        nothing_note=text,
    )  # fmt: skip
    cell = CellSighting(
        lane=text, op=text, round=1, side="A", start=1.0, end=2.0, throttle=(text,), foreign=(text,), invalid=text
    )
    header = Header(
        title=text,
        metric=Metric.LATENCY,
        a=text,
        b=text,
        axis=text,
        conditions=(text,),
        warnings=(text,),
        screen=(text,),
    )
    measured = Measured(
        header=header, ops=(op, replace(op, directory=f"{text}c", control=True)), planned=text, progress=text,
        reason=text, sides={"A": {f"k{text}": text, "b": {text: [text]}}, "B": {"c": text}}, cells=(cell,),
        notes=(text,), commands=(text,), telemetry=(TelemetryPoint(lane=text, at=1.5, throttle=text),),
    )  # fmt: skip
    return replace(summarise(measured), findings=(text,))


def shape(found: Reader) -> list[str]:
    """The elements, but for what depends on how many parts a list has."""
    return [node.tag for node in found.nodes]


@settings(max_examples=40)
@given(texts)
def test_no_text_changes_the_page_s_elements(text: str) -> None:
    found = read(everywhere(text))
    handlers = [name for node in found.nodes for name in node.attributes if name.startswith("on")]
    assert handlers == []
    if re.search(r"\b[A-Z][A-Z0-9_]+\b", text):
        return  # a word in capitals is a reason of its own, by which what is left out is put together
    plain = read(everywhere("x" if text.strip() else text))
    dull = {"code", "span", "dd", "dt", "div", "p"}
    assert [tag for tag in shape(found) if tag not in dull] == [tag for tag in shape(plain) if tag not in dull]


@settings(max_examples=60)
@given(texts)
def test_a_text_comes_back_from_the_data_as_it_was(text: str) -> None:
    page = to_html(everywhere(text))
    page.encode("utf-8")
    found = Reader(page)
    seen = text.encode("utf-8", "replace").decode("utf-8")
    assert found.block("main")["ops"][0].get("op", "") == seen
    assert found.block("main")["rows"]["columns"]["label"] == [seen, seen]
    if text:
        assert f"-{seen}\n" in found.block("diffs")["0"]
    for node in found.all("script"):
        if node.attributes.get("type") == "application/json":
            assert not set("<>&\u2028\u2029") & set("".join(node.text))


def test_json_in_a_page_holds_no_markup() -> None:
    text = as_json({"</script>": "<!-- & \u2028 \u2029 >", "n": column([1.0])})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"</script>": "<!-- & \u2028 \u2029 >", "n": [1]}


def test_nothing_is_no_key_and_zero_is_one() -> None:
    assert compact([("a", None), ("b", ""), ("c", 0), ("d", []), ("e", False), ("f", 0.0)]) == {"c": 0, "f": 0.0}


# No network, the same bytes, small


def test_the_page_loads_nothing(page: str, reader: Reader) -> None:
    for node in reader.nodes:
        assert not {"src", "srcset", "action", "data", "poster", "style"} & set(node.attributes), node
        assert (node.attributes.get("href") or "#").startswith("#")
        assert node.tag not in {"link", "iframe", "object", "embed", "img", "form", "base"}
    assert "@import" not in style()
    assert "url(" not in style()
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a kind of elements
    assert not re.search(
        r"\b(fetch|XMLHttpRequest|WebSocket|importScripts|sendBeacon|EventSource)\b|import\(", script()
    )


def test_data_reaches_the_page_as_text_alone() -> None:
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser", script()
    )
    template = asset("page.html.j2")
    assert set(re.findall(r"\{\{ ?(\w+) \| safe ?\}\}", template)) == {"style", "script", "json"}
    assert template.count("safe }}") == 3


def test_the_policy_allows_this_style_and_this_script_and_no_more(page: str, reader: Reader) -> None:
    (meta,) = (node for node in reader.all("meta") if node.attributes.get("http-equiv") == "Content-Security-Policy")
    said = dict(part.strip().split(" ", 1) for part in (meta.attributes["content"] or "").split(";"))
    assert said["default-src"] == "'none'"
    (running,) = (node for node in reader.all("script") if "type" not in node.attributes)
    for kind, node in (("script-src", running), ("style-src", reader.all("style")[0])):
        digest = base64.b64encode(hashlib.sha256("".join(node.text).encode()).digest()).decode()
        assert said[kind] == f"'sha256-{digest}'"
    assert page.count(policy()) == 0  # quotes are escaped in an attribute


def test_equal_input_gives_equal_bytes(page: str) -> None:
    assert to_html(summarise(campaign())) == page
    made = to_html(summarise(campaign()), made="2026-11-29")
    assert made != page
    assert made.replace(" on 2026-11-29", "") == page


def test_twenty_thousand_rows_are_a_small_page() -> None:
    one = by_hand.row("4096x4096 k=16 dim=0", Verdict.SLOWER, 1.2345678)
    ops = [by_hand.op(f"operator_{number}", *[one] * 20, verdict=Verdict.SLOWER, percent=1.2) for number in range(1000)]
    page = to_html(by_hand.summary(*ops))
    assert len(page) < 20_000 * 400
    main = Reader(page).block("main")
    assert len(main["rows"]["columns"]["label"]) == 20_000
    assert main["ops"][-1]["first"] == 19_980


def test_the_most_changed_kernels_get_the_room_and_the_rest_is_said() -> None:
    def pair(name: str, lines: int) -> KernelPair:
        return replace(kernel(name), diff="--- A\n+++ B\n" + "".join(f"-old {k}\n+new {k}\n" for k in range(lines)))

    readings = by_hand.op(
        "mm", by_hand.row("x", Verdict.SLOWER, 2.0), kernels=(pair("few", 2), pair("most", 90), pair("some", 9))
    )
    few, most, some = (len(as_json(one.diff)) for one in readings.op.kernels)
    # Beside the most changed one there is room for the smallest, not for the next.
    found = kernels([readings], room=most + some - 1)
    assert few < some
    assert list(found.diffs) == [0, 1]
    assert found.omitted == 1
    assert found.operators == ("mm",)
    omitted = [entry for entry in found.entries if entry.get("omitted")]
    assert [entry["id"] for entry in omitted] == ["some-0123456789abcdef"]
    everything = kernels([readings])
    assert set(everything.diffs) == {0, 1, 2}
    assert everything.omitted == 0


def test_a_diff_without_room_is_said_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zlbench.report.page.kernels.kernels.__defaults__", (10,))
    found = read(summarise(campaign()))
    assert "5 IR diffs found no room in this page" in found.of("overview")
    assert "zlbench diff OP shows them." in found.of("overview")
    assert found.block("diffs") == {}


# Its parts


@given(st.lists(st.floats(-1e300, 1e300) | st.sampled_from([None, math.nan, math.inf, -math.inf])), st.integers(3, 9))
def test_a_column_is_json_with_so_many_digits(values: list[float | None], digits: int) -> None:
    found = json.loads(column(values, digits))
    assert len(found) == len(values)
    for value, short in zip(values, found, strict=True):
        if value is None or not math.isfinite(value):
            assert short is None
        else:
            assert short == pytest.approx(value, rel=10.0 ** (1 - digits), abs=0)
            assert figures(value, digits) == short


@given(st.lists(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4)))
def test_rows_of_numbers_are_json(lists: list[list[float]]) -> None:
    found = json.loads(rows_of(lists))
    assert [len(one) for one in found] == [len(one) for one in lists]


def test_a_logarithm_is_percent_and_infinity_is_nothing() -> None:
    assert percent(math.log(1.02)) == pytest.approx(2.0)
    assert percent(None) is None
    assert json.loads(column([percent(math.inf), percent(1e9), percent(-math.inf)])) == [None, None, -100]


finite = st.floats(-1e6, 1e6)


ordered = st.lists(finite, min_size=3, max_size=3).map(sorted)


@given(st.lists(ordered), st.floats(0.01, 10))
def test_a_strip_stays_on_its_scale(threes: list[list[float]], delta: float) -> None:
    intervals = [(estimate, low, high) for low, estimate, high in threes]
    scale = Scale.of(intervals, delta)
    assert scale.most >= 2 * delta
    assert 0 < scale.band <= 25
    for estimate, low, high in intervals:
        strip = scale.strip((estimate, low, high))
        assert strip is not None
        assert 0 <= strip.low <= strip.at <= strip.high <= 100
        assert strip.cut_low == (low < -scale.most)
        assert strip.cut_high == (high > scale.most)
        # The side of zero on which an estimate lies is seen on the right side of the middle.
        assert (strip.at - 50) * estimate >= 0


def test_most_estimates_are_on_the_scale() -> None:
    intervals = [(one / 10, one / 10 - 0.1, one / 10 + 0.1) for one in range(-20, 21)] + [(900.0, 890.0, 910.0)]
    assert 2 <= Scale.of(intervals, 1.0).most <= 4


def test_what_differs_between_identities_is_told_by_value_and_absence() -> None:
    found = fields({"A": {"side": "A", "x": {"y": None, "z": [1]}, "same": 1, "s": ""},
                    "B": {"side": "B", "x": {"y": "none", "z": [2]}, "same": 1, "more": True}})  # fmt: skip
    told = {one.name: (one.a, one.b, one.differs) for one in found}
    assert told == {
        "x.y": ("none", "none", False), "x.z": ("[1]", "[2]", True), "same": ("1", "1", False), "s": ("", ABSENT, True),
        "more": (ABSENT, "true", True),
    }  # fmt: skip


def test_everything_that_is_left_out_is_listed_with_its_cause() -> None:
    lost = LeftOut(round=1, reason="OOM", note="on B", lost=True)
    mixed = tuple(LeftOut(round=k, reason="TIMER_MISMATCH", note="graph on A, direct on B") for k in (2, 4))
    row = by_hand.row("64x64", Verdict.SLOWER, 2.0, readings={"left_out": (lost, *mixed)})
    few = by_hand.row("8x8", Verdict.INVALID, n=2)
    op = by_hand.op(
        "mm", row, few, failed=("round 5 B: CRASH",), invalid=("round 3: PAIR_THROTTLED: 2 tries",), rerun=3, missing=2,
        lost=("float16 64x64: OOM on B", "float16 9x9: NOT_MEASURED"), why_not="a round failed: round 5 B: CRASH",
    )  # fmt: skip
    found = [(one.kind, one.word, one.row, one.rounds) for one in exclusions([op])]
    assert found == [
        ("cell", "CRASH", -1, ()), ("pair", "PAIR_THROTTLED", -1, ()), ("missing", "", -1, ()), ("rerun", "", -1, ()),
        ("operator", "CRASH", -1, ()), ("lost", "NOT_MEASURED", -1, ()), ("lost", "OOM", 0, (1,)),
        ("row", "TIMER_MISMATCH", 0, (2, 4)), ("invalid", "", 1, ()),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "word"),
    [("round 3: PAIR_THROTTLED: hot", "PAIR_THROTTLED"), ("float16 8x8: OOM on B", "OOM"), ("A and B differ", ""),
     ("", ""), ("IR says SOME_NEW_WORD", "SOME_NEW_WORD")],
)  # fmt: skip
def test_the_word_of_a_cause(text: str, word: str) -> None:
    assert word_of(text) == word


@pytest.mark.parametrize(
    "word", ["FEW_PAIRS", "PAIRS_DISTURBED", "CALIBER_MISMATCH", "order-effect", "uncalibrated", "OOM"]
)
def test_words_of_the_statistics_are_explained(word: str) -> None:
    term = explained(word)
    assert term is not None
    assert term.cause
    assert term.meaning


def test_a_short_dip_is_not_thinned_out() -> None:
    points = [
        TelemetryPoint(
            lane="0", at=float(second), clock_mhz=900.0 if second == 44_444 else 1980.0, temp_c=50.0, power_w=None
        )
        for second in range(60_000)
    ]
    (lane,) = timeline((), points)["lanes"]
    assert lane["read"] == 60_000
    assert len(lane["points"]) <= MOST_POINTS
    assert [44_444, 900, 50, None, 0] in lane["points"]
    times = [point[0] for point in lane["points"]]
    assert times == sorted(times)


def test_few_readings_all_stay() -> None:
    points = [TelemetryPoint(lane="1", at=100.0 + second, clock_mhz=math.nan) for second in (2, 0, 1)]
    (lane,) = timeline((), points)["lanes"]
    assert [point[:2] for point in lane["points"]] == [[0, None], [1, None], [2, None]]


# Colours


def brightness(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((brightness(one), brightness(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def schemes() -> dict[str, dict[str, str]]:
    found = re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in found)
    return {"light": light, "dark": light | dark}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_every_ground(scheme: str) -> None:
    colours = schemes()[scheme]
    inks = ("text", "soft", "link", "slower", "faster", "inconclusive", "quiet", "invalid")
    poor = [
        (ink, ground, round(contrast(colours[ink], colours[ground]), 2))
        for ink in inks
        for ground in ("ground", "raised", "sunk", "mark")
        if contrast(colours[ink], colours[ground]) < 4.5
    ]
    poor += [
        ("text", ground, round(contrast(colours["text"], colours[ground]), 2))
        for ground in ("removed", "added", "removed-word", "added-word")
        if contrast(colours["text"], colours[ground]) < 4.5
    ]
    fills = [name for name in colours if name.endswith("-fill") and name != "on-fill"]
    poor += [
        ("on-fill", fill, round(contrast(colours["on-fill"], colours[fill]), 2))
        for fill in fills
        if contrast(colours["on-fill"], colours[fill]) < 4.5
    ]
    assert poor == []


def test_dark_has_every_colour_that_light_has() -> None:
    found = [
        set(re.findall(r"--([\w-]+): (?:#|rgb)", block)) for block in re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
    ]
    assert found[0] == found[1]


def test_settings_are_said_in_the_words() -> None:
    summary = judged()
    assert summary.inference is not None
    strict = replace(
        summary, inference=replace(summary.inference, settings=Settings(looks=((6, 1.0),), delta=0.005, q=0.1))
    )
    found = read(strict)
    assert "A change below ±0.5 % is too small to matter." in found.of("words")
    assert "at most 10 %" in found.of("words")
    assert found.block("main")["delta"] == 0.5
