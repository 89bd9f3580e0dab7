"""report.html in a browser, from a file: what its script shows, keeps in the address, prints, and never asks for."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from fakes import by_hand
from fakes import measured as made
from fakes.browser import CHROMIUM, Page, browser
from fakes.measured import EVIL, campaign, kernel

from zlbench.inference.types import Verdict
from zlbench.report.page import to_html
from zlbench.report.prose import wording
from zlbench.report.summary import Summary, summarise

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine (Debian: chromium)")
HOSTILE_DIFF = (
    "--- A\n+++ B\n    tt.load  4 -> 2\n    ttg.convert_layout 3 on both sides\n@@ 12 equal lines @@\n"
    " </script><script>document.title = 'broken'</script>\n-%1 = old <img src=x onerror=alert(1)>\n-%2 = gone\n"
    "+%1 = new <img src=x onerror=alert(1)>\n tt.return\n@@ 1 equal line @@\n"
)


@pytest.fixture(scope="module")
def summary() -> Summary:
    measured = campaign()
    hostile = replace(kernel("evil_kernel"), diff=HOSTILE_DIFF, cut=True)
    ops = tuple(replace(op, kernels=(hostile,)) if op.op == EVIL else op for op in measured.ops)
    return summarise(replace(measured, ops=ops))


@pytest.fixture(scope="module")
def file(summary: Summary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "a report.html"
    path.write_text(to_html(summary), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(started: Page) -> Iterator[Page]:
    """Whatever a test looks at, nothing may complain and nothing but the file be asked for."""
    started.complaints.clear()
    started.requests.clear()
    yield started
    assert started.complaints == []
    assert {urlsplit(address).scheme for address in started.requests} <= {"file", "about"}
    assert len({urlsplit(address).path for address in started.requests if address.startswith("file:")}) <= 1


def state(page: Page) -> dict[str, str]:
    """What the address says."""
    return {key: values[0] for key, values in parse_qs(page.run("location.hash.slice(1)")).items()}


def column(page: Page, number: int, table: str = "#rows-body") -> list[str]:
    return page.texts(f"{table} tbody tr > :nth-child({number})")


def shown(page: Page, selector: str) -> bool:
    return bool(page.run(f"document.querySelector({json.dumps(selector)}).checkVisibility()"))


def test_the_table_of_rows_says_what_the_other_reports_say(page: Page, file: Path, summary: Summary) -> None:
    page.open(file)
    seen = [line.split("\t") for line in page.texts("#rows-body tbody tr")]
    assert len(seen) == 8
    rows = {(op.op.op, row.row.label): row for op in summary.subjects for row in op.rows}
    for op, label, dtype, a, b, change, interval, _, n, signs, noise, verdict in seen:
        row = rows.pop((op, label))
        unit = row.row.unit
        assert (dtype, n, signs) == (row.row.dtype, str(row.n), wording.signs(row))
        assert (a, b) == (wording.value(row.median_a, unit), wording.value(row.median_b, unit))
        assert (change, interval) == (wording.estimate(row), wording.interval(row.result))
        assert noise == ("-/-" if not row.n else wording.noise(row))
        said = wording.short(row.result, summary.header.metric) if row.n else "not comparable"
        assert said in verdict.replace("\u00a0", " ")
    assert rows == {}


def test_what_people_must_see_comes_first(page: Page, file: Path) -> None:
    page.open(file)
    verdicts = (
        "slower",
        "slower",
        "faster",
        "inconclusive",
        "no difference",
        "no difference",
        "no difference",
        "not comparable",
    )
    assert all(word in text for word, text in zip(verdicts, column(page, 12), strict=True))
    assert column(page, 6)[:3] == ["+5.14", "+4.08", "−2.76"]


def test_an_operator_named_script_is_text(page: Page, file: Path) -> None:
    page.open(file, at=f"#op={quote(EVIL)}")
    assert page.texts("#operator h1") == [EVIL]
    assert EVIL in page.run("document.title")
    assert page.run("document.querySelectorAll('main script, main img, main b:not(.tiles b, .counts b)').length") == 0
    sides = [line.split("\t") for line in page.texts("#operator .diff tbody tr")]
    assert sides[0] == ["12 equal lines"]
    assert sides[1][1] == sides[1][3] == "</script><script>document.title = 'broken'</script>"
    assert sides[2] == [
        "14 −", "%1 = old <img src=x onerror=alert(1)>", "14 +", "%1 = new <img src=x onerror=alert(1)>",
    ]  # fmt: skip
    assert sides[3][:2] == ["15 −", "%2 = gone"]
    assert sides[-1] == ["1 equal line"]
    assert (page.texts("#operator .diff del"), page.texts("#operator .diff ins")) == (["old"], ["new"])
    command = f"zlbench diff '{EVIL}'".replace("alert('op')", "alert('\"'\"'op'\"'\"')")
    assert command in " ".join(page.texts("#operator .kernel"))


def test_filters_are_in_the_address_and_come_back_from_it(page: Page, file: Path) -> None:
    page.open(file, at="#verdict=slower,faster&q=mm")
    assert column(page, 1) == ["mm", "mm"]
    assert page.texts("#rows-body output") == ["2 of 8 rows"]
    assert page.run("document.querySelector('#rows-body input[type=search]').value") == "mm"
    left = page.run("history.length")
    pressed = page.texts("#rows-body button[aria-pressed=true]")
    assert [text.split()[1] for text in pressed] == ["slower", "faster"]
    page.click("#rows-body button[aria-pressed=true]")
    assert state(page) == {"verdict": "faster", "q": "mm"}
    assert column(page, 6) == ["−2.76"]
    page.run("document.querySelector('#rows-body input[type=search]').select()")
    page.run("document.querySelector('#rows-body input[type=search]').focus()")
    page.type("GELU inconclusive")
    assert state(page)["q"] == "GELU inconclusive"
    assert column(page, 1) == []
    page.click("#rows-body button[aria-pressed=true]")
    assert column(page, 1) == ["gelu"]
    assert page.run("history.length") == left  # "back" leaves the filters all at once
    kept = page.run("location.hash")
    page.open(file, at=kept)
    assert column(page, 1) == ["gelu"]


@pytest.mark.parametrize(
    ("at", "rows"),
    [("#dtype=float32", 1), ("#in=sort", 2), ("#controls=1", 12), ("#in=softmax", 1), ("#verdict=nonsense", 8),
     ("#dtype=nonsense", 0), ("#q=1024x1024+topk", 1), ("#rows", 8), ("#page=99", 8), ("#sort=nonsense", 8),
     ("#=&==&%", 8)],
)  # fmt: skip
def test_an_address_shows_the_rows_that_it_names(page: Page, file: Path, at: str, rows: int) -> None:
    page.open(file, at=at)
    assert len(column(page, 1)) == rows


def test_a_head_sorts_and_says_so(page: Page, file: Path) -> None:
    page.open(file)
    heads = page.texts("#rows-body thead th")
    change = heads.index("Change %") + 1
    button = f"#rows-body thead th:nth-child({change}) button"
    page.click(button)
    assert state(page) == {"sort": "-change"}
    assert column(page, change)[0] == "+5.14"
    assert column(page, change)[-1] == "-"  # what has no value is last both ways
    assert page.run("[...document.querySelectorAll('#rows-body th[aria-sort]')].map((one) => one.ariaSort)") == [
        "descending"
    ]
    page.click(button)
    assert state(page) == {"sort": "change"}
    assert column(page, change)[0] == "−2.76"
    assert column(page, change)[-1] == "-"


def test_the_operators_can_be_sorted(page: Page, file: Path) -> None:
    page.open(file)
    assert column(page, 1, "#operators")[:2] == [EVIL, "mm"]  # what changed most
    page.click("#operators thead th:nth-child(1) button")
    assert column(page, 1, "#operators")[1] == "bmm control"
    page.click("#operators thead th:nth-child(6) button")
    assert column(page, 1, "#operators")[0] == EVIL
    assert page.run("document.querySelector('#operators th[aria-sort]').ariaSort") == "descending"


def test_an_operator_opens_with_all_that_is_known_of_it(page: Page, file: Path) -> None:
    page.open(file, at="#verdict=slower")
    page.click("#operators a[href='#op=mm']")
    assert state(page) == {"verdict": "slower", "op": "mm"}
    assert not shown(page, "#overview")
    said = page.texts("#operator")[0]
    for word in ("Geometric mean over 2 rows", "38 → 36", "8,192 → 4,096", "ttg.convert_layout 9 → 6", "IR_CHANGED",
                 "of 4096x4096", "1 invalidated, measured again and made good", "throttle"):  # fmt: skip
        assert word in said
    plot = "#operator figure svg"
    assert page.run(f"document.querySelector('{plot}').getAttribute('role')") == "img"
    # Both orders have a shape of their own: six rounds each of two rows.
    assert page.run(f"document.querySelectorAll('{plot} circle.first-a').length") == 6
    assert page.run(f"document.querySelectorAll('{plot} path.first-b').length") == 6
    assert "4096x4096: −2.76 %, interval" in page.run(f"document.querySelector('{plot} desc').textContent")
    assert page.run(f"document.querySelectorAll('{plot} .zero, {plot} .band').length") == 2
    page.run("history.back()")
    page.settle()
    assert shown(page, "#overview")
    assert state(page) == {"verdict": "slower"}


def test_a_row_shows_its_rounds(page: Page, file: Path, summary: Summary) -> None:
    page.open(file, at="#op=mm&row=2")
    readings = summary.subjects[0].rows[1].row.readings
    seen = [line.split("\t") for line in page.texts("#rounds tbody tr")]
    assert [(one[0], one[1]) for one in seen] == [
        ("1", "A"),
        ("2", "B"),
        ("3", "A"),
        ("4", "B"),
        ("5", "A"),
        ("6", "B"),
    ]
    for one, reading in zip(seen, readings, strict=True):
        assert one[2:4] == [wording.value(reading.before, "ms"), wording.value(reading.after, "ms")]
        assert one[4] == wording.percent(reading.after / reading.before - 1)


def test_an_operator_says_what_its_cells_said_and_what_was_left_out(page: Page, file: Path) -> None:
    page.open(file, at="#op=sort&row=2")
    said = page.texts("#operator")[0]
    assert "BENCHMARK_DIRECT_NO_CUDAGRAPH × 6" in said
    assert "phase=capture reason=host sync repeat=1" in said
    assert "Its time holds launch overhead." in said
    assert "TIMER_MISMATCH cuda_graph on A, direct on B" in said
    assert "No round of int64 1024x1024" in said


def test_an_unknown_operator_is_said(page: Page, file: Path) -> None:
    page.open(file, at="#op=tpok")
    assert page.texts("[role=alert]") == ["This report has no operator tpok."]
    assert shown(page, "#overview")


def test_what_was_left_out_can_be_chosen_by_its_cause(page: Page, file: Path) -> None:
    page.open(file)
    assert len(column(page, 1, "#left-out-body")) == 4
    page.click("#overview a[href='#left=TIMER_MISMATCH']")
    assert state(page) == {"left": "TIMER_MISMATCH"}
    assert column(page, 1, "#left-out-body") == ["sort"]
    assert column(page, 5, "#left-out-body") == ["1, 2, 3, 4, 5, 6"]


def test_the_card_over_time_marks_invalidated_pairs(page: Page, file: Path) -> None:
    page.open(file)
    plot = "#card-body svg"
    crosses = f"[...document.querySelectorAll('{plot} text')].filter((one) => one.textContent === '✕').length"
    assert page.run(crosses) == 2
    page.click("#card-body details summary")
    page.click("#card-body thead th:last-child button")
    assert column(page, 11, "#card-body")[:2] == ["throttle", "throttle"]
    page.click("#card-body tbody button")  # brings that cell into view
    assert page.run(crosses) == 2
    for _ in range(8):
        page.run(
            "[...document.querySelectorAll('#card-body button')].find((one) => one.textContent === 'Later').click()"
        )
    page.settle()
    assert page.run(crosses) == 0


def test_controls_have_a_plot(page: Page, file: Path) -> None:
    page.open(file)
    said = page.run("document.querySelector('#controls-body svg desc').textContent")
    assert all(name in said for name in ("softmax", "layer_norm", "bmm", "cumsum"))


def test_a_keyboard_is_enough(page: Page, file: Path) -> None:
    page.open(file)
    page.key("Tab", 9)
    assert page.run("document.activeElement.className") == "skip"
    page.run("document.querySelector('#operators thead button').focus()")
    for _ in range(30):
        page.key("Tab", 9)
        if page.run("document.activeElement.textContent") == "mm":
            break
    assert page.run("document.activeElement.matches(':focus-visible')")
    page.key("Enter", 13)
    assert state(page) == {"op": "mm"}
    assert page.run("document.activeElement.id") == "operator"
    assert page.run("[...document.querySelectorAll('[onclick], div[tabindex]:not([role])')].length") == 0


def test_everything_that_can_be_pressed_has_a_name(page: Page, file: Path) -> None:
    for at in ("", "#op=mm&row=1"):
        page.open(file, at=at)
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        roles = {
            "button",
            "link",
            "textbox",
            "searchbox",
            "combobox",
            "checkbox",
            "table",
            "image",
            "region",
            "navigation",
        }
        pressed = [one for one in nodes if not one["ignored"] and one["role"]["value"] in roles]
        assert len(pressed) > 20
        assert [one for one in pressed if not one.get("name", {}).get("value")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("at", ["", "#op=mm&row=1"])
def test_a_narrow_screen_is_not_wider_than_it_is(page: Page, file: Path, at: str, scheme: str) -> None:
    page.media(scheme=scheme)
    page.open(file, at=at, width=420)
    assert page.run("document.documentElement.scrollWidth") <= 420
    dark = page.run("getComputedStyle(document.body).backgroundColor")
    page.media()
    assert (dark == "rgb(20, 23, 26)") == (scheme == "dark")


def test_paper_has_what_is_folded_on_the_screen(page: Page, file: Path, tmp_path: Path) -> None:
    page.open(file, at="#op=mm")
    assert page.run("document.querySelectorAll('#operator .kernel code').length") == 2
    page.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    # Built before printing: constants, signature and identities of the kernel.
    assert page.run("document.querySelectorAll('#operator .kernel code').length") > 4
    page.media(media="print")
    body = "[...document.querySelectorAll('#operator details')].every((one) => one.lastElementChild.checkVisibility())"
    assert page.run(body)
    assert not shown(page, "nav")
    page.media()


def test_without_script_the_first_screen_is_there(page: Page, file: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.call("Page.navigate", url="about:blank")
        page.call("Page.navigate", url=file.as_uri())
        tree: list[str] = []
        while "TIMER_MISMATCH" not in " ".join(tree):
            nodes = page.call("Accessibility.getFullAXTree")["nodes"]
            tree = [str(one.get("name", {}).get("value", "")) for one in nodes if not one["ignored"]]
        said = " ".join(tree)
        for word in (
            "8 rows in 5 operators",
            "Slower: the largest changes",
            "need JavaScript",
            "lost rows",
            "TOY_FOLD",
        ):
            assert word in said
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


def test_twenty_thousand_rows_are_a_small_document(page: Page, tmp_path: Path) -> None:
    verdicts = (Verdict.SLOWER, Verdict.FASTER, Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE)
    rows = [
        by_hand.row(
            f"{64 * number}x{number}", verdicts[number % 4], number / 10 + 1, dtype=("float16", "bfloat16")[number % 2]
        )
        for number in range(20)
    ]
    ops = [by_hand.op(f"op_{number:04}", *rows, verdict=Verdict.SLOWER, percent=1.5) for number in range(1000)]
    file = tmp_path / "large.html"
    file.write_text(to_html(by_hand.summary(*ops)), encoding="utf-8")
    page.open(file)
    assert page.run("document.getElementsByTagName('*').length") < 6000
    assert page.texts("#rows-body output") == ["20,000 rows"]
    assert len(column(page, 1)) == 50
    page.run("document.querySelector('#rows-body input[type=search]').focus()")
    page.type("op_0500 bfloat16")
    assert page.texts("#rows-body output") == ["10 of 20,000 rows"]
    assert set(column(page, 1)) == {"op_0500"}
    page.run("document.querySelector('#rows-body input[type=search]').select()")
    page.type("op_05")
    assert page.texts("#rows-body output") == ["2,000 of 20,000 rows"]
    page.run(
        "[...document.querySelectorAll('#rows-body .pager button')].find((one) => one.textContent === 'Last').click()"
    )
    assert state(page) == {"q": "op_05", "page": "40"}
    assert "1,951 to 2,000 of 2,000" in page.texts("#rows-body .pager")[0]
    assert len(page.texts("#operators tbody tr")) == 30
    page.click("#operator-more button")
    assert len(page.texts("#operators tbody tr")) == 1000


@pytest.mark.parametrize("effect", [1.0, 3.0])
def test_ticks_of_a_large_change_are_where_they_say(page: Page, tmp_path: Path, effect: float) -> None:
    measured = campaign()
    rows = [made.row(label, ms=1.0, effect=effect) for label in ("1x1", "2x2")]
    large = made.op("large", *rows)
    path = tmp_path / "large.html"
    path.write_text(to_html(summarise(replace(measured, ops=(large, *measured.ops)))), encoding="utf-8")
    page.open(path, at="#op=large")
    ticks = page.run(
        "[...document.querySelectorAll('#operator figure svg text[text-anchor=middle]')]"
        ".filter(e => /^[+−]?[0-9.]+$/.test(e.textContent)).map(e => [Number(e.getAttribute('x')), e.textContent])"
    )
    values = [float(text.replace("−", "-")) for _, text in sorted(ticks)]
    assert len(values) > 2
    assert values == sorted(values)
    assert len({round(later - earlier, 6) for earlier, later in itertools.pairwise(values)}) == 1
