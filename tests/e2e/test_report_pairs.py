"""`zlbench report` on hand-made pairs and rounds: what may be said of each, with which exit code, and what never is."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fakes import old_runs
from fakes.report_roots import write_pair, write_pairs_tsv, write_plan
from fakes.run_dirs import CALIBER, direct, failed, row, write_run

from zlbench import store
from zlbench.caliber import COMPARED
from zlbench.cells import CellState
from zlbench.cli.main import main

SLOW = ("r5", "r6")
ROUNDS = 6


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A command that has ended, and the report that it wrote."""

    code: int
    out: str
    err: str
    folder: Path | None

    @property
    def data(self) -> dict[str, Any]:
        assert self.folder is not None, self.err
        loaded: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return loaded

    @property
    def op(self) -> dict[str, Any]:
        """The only subject."""
        (found,) = (op for op in self.data["operators"] if not op["control"])
        return dict(found)

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        return {item["name"]: item for item in self.op["rows"]}

    @property
    def written(self) -> str:
        assert self.folder is not None, self.err
        return (self.folder / "report.md").read_text()


Report = Callable[..., Ended]


@pytest.fixture
def report(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Report:
    """Runs the command in this process, in which it may start no other."""

    def nothing(*words: object, **_: object) -> None:
        raise AssertionError(f"a report starts nothing, and this is {words}")

    def run(*words: str) -> Ended:
        before = {*tmp_path.rglob("report.md")}
        for path in before:
            path.unlink()
        code = main(["report", *words], env={"ZLBENCH_CWD": str(tmp_path), "ZLBENCH_ROOT": str(tmp_path)})
        said = capsys.readouterr()
        assert "internal fault" not in said.err
        folders = [path.parent for path in tmp_path.rglob("report.md")]
        assert len(folders) <= 1
        return Ended(code=code, out=said.out, err=said.err, folder=folders[0] if folders else None)

    monkeypatch.setattr(subprocess, "Popen", nothing)
    return run


def six(us: Sequence[float] = (10, 10, 10, 10, 40, 40), factor: float = 1.0, **more: str) -> list[dict[str, Any]]:
    return [row(f"r{number}", value * factor / 1000, **more) for number, value in enumerate(us, 1)]


def excluded(ended: Ended) -> list[tuple[str, str]]:
    return [(name, item["reason"]) for name, one in ended.rows.items() for item in one["left_out"] if not item["lost"]]


# --- the guard comes first -------------------------------------------------------------------------------------------


def other(value: object) -> object:
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    return value + 1 if isinstance(value, int) else f"{value} of another kind"


@pytest.mark.parametrize("field", COMPARED)
def test_each_condition_alone_forbids_a_report(tmp_path: Path, report: Report, field: str) -> None:
    write_run(tmp_path / "a", six())
    write_run(tmp_path / "b", six(factor=1.02), side="B", **{field: other(getattr(CALIBER, field))})
    ended = report("a", "b")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    assert f"[caliber] toy: {field}: before=" in ended.err
    assert "--allow-caliber-mismatch" in ended.err
    assert "exit 4 (not comparable)" in ended.err
    allowed = report("a", "b", "--allow-caliber-mismatch")
    assert allowed.code == 0
    (warning,) = allowed.data["warnings"]
    assert warning.startswith(f"[caliber] toy: {field}: before=")
    assert f"{field}: before=" in allowed.written
    assert f"{field}: before=" in allowed.out


@pytest.mark.parametrize("field", COMPARED)
@pytest.mark.parametrize("sides", ["A", "B", "AB"])
def test_a_condition_that_an_identity_does_not_name_forbids_it(
    tmp_path: Path, report: Report, field: str, sides: str
) -> None:
    for side in "AB":
        path = write_run(tmp_path / side, six(), side=side) / "run_identity.json"
        known = json.loads(path.read_text())
        path.write_text(json.dumps({key: value for key, value in known.items() if key != field or side not in sides}))
    ended = report("A", "B")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    assert f"[caliber] toy: {field}: " in ended.err
    assert "missing" in ended.err


@pytest.mark.parametrize("sides", ["A", "B", "AB"])
def test_without_an_identity_nothing_is_told(tmp_path: Path, report: Report, sides: str) -> None:
    for side in "AB":
        write_run(tmp_path / side, six(), side=side, identity=side not in sides)
    ended = report("A", "B")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    assert "run_identity.json: before=" in ended.err
    allowed = report("A", "B", "--allow-caliber-mismatch")
    assert allowed.code == 0
    assert "run_identity.json" in allowed.data["warnings"][0]


def test_two_records_are_refused(tmp_path: Path, report: Report) -> None:
    for side in "AB":
        write_run(tmp_path / side, six(), side=side, autotune_mode="record")
    ended = report("A", "B")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    assert "RECORD_VS_RECORD" in ended.err


def test_shapes_that_were_not_in_force_are_refused(tmp_path: Path, report: Report) -> None:
    write_run(tmp_path / "a", six())
    write_run(tmp_path / "b", six(), side="B", markers=["SHAPES_NOT_IN_FORCE GluBenchmark ignores them"])
    ended = report("a", "b")
    assert (ended.code, ended.folder) == (4, None)
    assert "SHAPES_NOT_IN_FORCE" in ended.err


# --- pairs: one round, so nothing is claimed -------------------------------------------------------------------------


def test_a_pair_shows_every_row_and_claims_nothing(tmp_path: Path, report: Report) -> None:
    write_run(tmp_path / "a", six())
    write_run(tmp_path / "b", six(factor=1.02), side="B")
    ended = report("a", "b")
    assert ended.code == 0
    assert ended.folder is not None
    assert ended.folder.parent == tmp_path / "runs"
    assert ended.folder.name.startswith("report_")
    assert {path.name for path in (tmp_path / "a").iterdir()}.isdisjoint({"report.md", "report.json"})
    for item in ended.rows.values():
        assert item["measured_mean_pct"] == pytest.approx(2.0)
        assert (item["result"]["verdict"], item["result"]["why"], item["n"]) == ("invalid", "FEW_PAIRS", 1)
    assert (ended.rows["r1"]["median_a"], ended.rows["r1"]["median_b"]) == (pytest.approx(0.010), pytest.approx(0.0102))
    assert ended.op["result"]["verdict"] == "invalid"
    verdicts = ended.data["statistics"]["verdicts"]
    assert (verdicts["slower"], verdicts["faster"], verdicts["invalid"]) == (0, 0, 6)
    (shown,) = [line.split() for line in ended.out.splitlines() if "1x64" in line]
    assert {"10.0", "10.2", "(+2.00)"} <= {*shown}  # in brackets: seen, and not claimed
    assert not re.search("faster|slower", ended.out.partition("row ")[2].partition("columns")[0])


def test_rows_that_one_side_lost_are_listed_and_leave_it_without_a_headline(tmp_path: Path, report: Report) -> None:
    """P8."""
    write_run(tmp_path / "a", six())
    rows = [*six((10.2,) * 4), *(failed(name, "OOM", phase="inputs") for name in SLOW)]
    write_run(tmp_path / "b", rows, side="B", state=CellState.OP_FAILED)
    ended = report("a", "b")
    assert ended.code == 6
    assert "exit 6 (partial)" in ended.err
    measured = {name: item["measured_mean_pct"] for name, item in ended.rows.items() if item["n"]}
    assert measured == dict.fromkeys(("r1", "r2", "r3", "r4"), pytest.approx(2.0))
    assert [(item["reason"], item["note"][:4]) for name in SLOW for item in ended.rows[name]["left_out"]] == [
        ("OOM", "on B"), ("OOM", "on B"),
    ]  # fmt: skip
    assert ended.op["expected_rows"] == 6
    assert "4 of 6 rows" in ended.op["why_no_sum"]
    assert (ended.op["result"], ended.op["measured_mean_pct"]) == (None, None)
    assert ended.data["statistics"]["campaign"]["operators"] == 0
    counts = ended.data["counts"]
    assert (counts["rows"], counts["compared"], counts["lost"]) == (6, 4, 2)
    assert ended.out.count("(+2.00)") == 4
    for text in (ended.out, ended.written):
        assert "OOM" in text
        # Neither the ratio of the naive means (10.2 / 20.0) nor any other headline.
        assert re.findall(r"[−-]49|49(?:\.\d+)? %", text) == []


def test_sides_without_a_common_row_are_no_all_clear(tmp_path: Path, report: Report) -> None:
    """P8."""
    write_run(tmp_path / "a", six())
    rows = [{**item, "row": f"toy|bfloat16|{item['row']}", "dtype": "bfloat16"} for item in six()]
    write_run(tmp_path / "b", rows, side="B")
    ended = report("a", "b")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    assert "ZERO_MATCHED op=toy none of 6 rows of A has a counterpart among 6 rows of B" in ended.err
    assert "bfloat16 1x64: UNEQUAL_ROWS on A" in ended.err


@pytest.mark.parametrize("bad", [0, 0.0, -0.01, math.nan, math.inf, None, "nan", True])
def test_a_latency_that_cannot_be_leaves_its_row_out_and_all_else_finite(
    tmp_path: Path, report: Report, bad: object
) -> None:
    """P8."""
    write_run(tmp_path / "a", six())
    rows = [{**item, "latency_ms": bad if item["row"] == "r3" else item["latency_ms"]} for item in six(factor=1.02)]
    write_run(tmp_path / "b", rows, side="B")
    ended = report("a", "b")
    assert ended.code == 6
    assert excluded(ended) == [("r3", "INVALID_LATENCY")]
    assert ended.rows["r3"]["n"] == 0
    assert ended.op["measured_mean_pct"] == pytest.approx(2.0)
    assert "INVALID_LATENCY" in ended.out
    # JSON of our own has no NaN, and no table has one either.
    json.loads((ended.folder / "report.json").read_text(), parse_constant=pytest.fail)  # type: ignore[operator]
    numbers = [cell for line in (ended.folder / "rows.csv").read_text().splitlines() for cell in line.split(",")]  # type: ignore[operator]
    assert {"nan", "inf", "-inf"}.isdisjoint(numbers)


def test_invalid_latencies_alone_are_nothing_measured(tmp_path: Path, report: Report) -> None:
    write_run(tmp_path / "a", six())
    write_run(tmp_path / "b", six((0,) * 6), side="B")
    ended = report("a", "b")
    assert (ended.code, ended.folder) == (5, None)
    assert "INVALID_LATENCY op=toy" in ended.err


def test_rows_that_print_alike_stay_apart(tmp_path: Path, report: Report) -> None:
    """A plain and a transposed input of one size have other strides, and so other names."""
    for side, factors in (("A", (1.0, 1.0)), ("B", (1.0, 1.5))):
        rows = [
            row(name, 0.010 * factor, label="64x64", shape=[64, 64],
                input={"args": [{"shape": [64, 64], "stride": stride, "dtype": "float16"}], "kwargs": {}})
            for name, factor, stride in zip(("plain", "turned"), factors, ([64, 1], [1, 64]), strict=True)
        ]  # fmt: skip
        write_run(tmp_path / side, rows, side=side)
    ended = report("A", "B")
    assert ended.code == 0
    assert [item["label"] for item in ended.rows.values()] == ["64x64", "64x64"]
    changes = [ended.rows[name]["measured_mean_pct"] for name in ("plain", "turned")]
    assert changes == [pytest.approx(0.0, abs=1e-9), pytest.approx(50.0)]


@pytest.mark.parametrize("sides", ["A", "B", "AB"])
def test_a_name_that_a_side_has_twice_is_no_row_to_compare(tmp_path: Path, report: Report, sides: str) -> None:
    for side in "AB":
        twice = [row("r2", 0.099)] if side in sides else []
        write_run(tmp_path / side, [*six(), *twice], side=side)
    ended = report("A", "B")
    assert ended.code == 0
    assert excluded(ended) == [("r2", "DUPLICATE_ROW")]
    assert "DUPLICATE_ROW" in ended.out
    assert ended.op["measured_mean_pct"] == pytest.approx(0.0, abs=1e-9)


GRAPHS = tuple(f"r{number}" for number in range(1, 5))


def graphs(factor: float = 1.0, third: float = 0.0) -> list[dict[str, Any]]:
    """Four rows; with `third`, the third could not be captured and holds so many times its launch overhead."""
    rows = [row(name, 0.010 * number * factor) for number, name in enumerate(GRAPHS, 1)]
    return [direct("r3", item["latency_ms"] * third) if third and item["row"] == "r3" else item for item in rows]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_fallback_on_one_side_is_excluded_and_its_ratio_is_nowhere(
    tmp_path: Path, report: Report, *, swapped: bool
) -> None:
    """P6."""
    sides = [graphs(), graphs(1.02, third=6.1)]
    a, b = reversed(sides) if swapped else sides
    write_run(tmp_path / "a", a)
    write_run(tmp_path / "b", b, side="B")
    ended = report("a", "b")
    assert ended.code == 0
    assert excluded(ended) == [("r3", "TIMER_MISMATCH")]
    assert ended.rows["r3"]["result"]["why"] == "CALIBER_MISMATCH"
    assert ended.op["measured_mean_pct"] == pytest.approx(-100 / 51 if swapped else 2.0)
    counts = ended.data["counts"]
    assert (counts["rows"], counts["compared"], counts["excluded"]) == (4, 3, 1)
    first = "\n".join(ended.out.splitlines()[:8])
    assert "rows compared 3 of 4" in first
    assert "TIMER_MISMATCH" in ended.out
    assert not any(text in ended.out + ended.written for text in ("510", "522", "83.9", "83.6 %"))


def test_a_fallback_on_both_sides_is_compared_and_kept_out_of_the_aggregate(tmp_path: Path, report: Report) -> None:
    """P6."""
    write_run(tmp_path / "a", graphs(third=6.1))
    write_run(tmp_path / "b", graphs(1.02, third=7.5), side="B")
    ended = report("a", "b")
    assert ended.code == 0
    third = ended.rows["r3"]
    assert (third["timer"], third["counted"], third["n"]) == ("direct", False, 1)
    assert third["measured_mean_pct"] == pytest.approx(100 * (1.02 * 7.5 / 6.1 - 1))
    assert third["result"]["verdict"] == "invalid"  # as every row of a single pair
    assert ended.op["measured_mean_pct"] == pytest.approx(2.0)
    (shown,) = [line for line in ended.out.splitlines() if "3x64" in line]
    assert "direct" in shown


def test_a_side_without_a_row_has_no_report(tmp_path: Path, report: Report) -> None:
    """P7: no file of a comparison that never was."""
    write_run(tmp_path / "a", six())
    write_run(tmp_path / "b", [], side="B", state=CellState.CRASH)
    ended = report("a", "b")
    assert (ended.code, ended.out, ended.folder) == (5, "", None)
    assert "NOTHING_MEASURED op=toy no row was measured on side B" in ended.err
    assert "side B ended with CRASH" in ended.err


def test_a_crashed_side_keeps_its_rows(tmp_path: Path, report: Report) -> None:
    """P5: two of six rows, and no headline."""
    write_run(tmp_path / "a", six())
    write_run(tmp_path / "b", six((10.2, 10.2)), side="B", state=CellState.CRASH)
    ended = report("a", "b")
    assert ended.code == 6
    assert "2 of 6 rows" in ended.op["why_no_sum"]
    assert [item["reason"] for item in ended.rows["r4"]["left_out"]] == ["CRASH"]


# --- where a pair is, and where its report goes ----------------------------------------------------------------------


def test_out_names_the_directory_of_the_report(tmp_path: Path, report: Report) -> None:
    write_run(tmp_path / "a", six())
    write_run(tmp_path / "b", six(), side="B")
    ended = report("a", "b", "--out", "deep/there")
    assert ended.folder == tmp_path / "deep" / "there"
    assert not (tmp_path / "runs").exists()


def screen(tmp_path: Path, **conditions: Any) -> Path:
    root = tmp_path / "runs" / "screen_20261129-120000"
    for op, factor in (("toy", 1.02), ("fft", 1.0)):
        for side in "AB":
            rows = six(factor=factor if side == "B" else 1.0, op=op)
            write_run(root / op / side, rows, side=side, op=op, **conditions)
    (root / "screen.tsv").write_text("op\tverdict\n")
    return root


def test_a_pair_of_a_screen_in_both_spellings_and_the_whole_screen(tmp_path: Path, report: Report) -> None:
    root = screen(tmp_path)
    for words in ((str(root / "toy"),), (str(root / "toy" / "A"), str(root / "toy" / "B"))):
        ended = report(*words)
        assert (ended.code, ended.op["op"], ended.op["measured_mean_pct"]) == (0, "toy", pytest.approx(2.0))
    whole = report(str(root))
    assert whole.code == 0
    assert [op["op"] for op in whole.data["operators"]] == ["fft", "toy"]
    assert not (root / "report.md").exists()


def test_runs_that_only_compiled_have_no_latency(tmp_path: Path, report: Report) -> None:
    for side in "AB":
        rows = [{**item, "latency_ms": None, "timer": "compile"} for item in six()]
        write_run(tmp_path / side, rows, side=side, backend="compile", timer="compile", l2=None)
    ended = report("A", "B")
    assert ended.code == 5
    assert "only compiled" in ended.out
    assert "µs" not in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a",), "is one run; with what is it compared?"),
        (("a", "a"), "both sides are"),
        (("a", "nowhere"), "nowhere is no directory"),
        (("a", "empty"), "is no run directory"),
        (("empty",), "is none of these"),
        (("a", "b", "a"), "3 directories are given"),
        (("rounds", "rounds"), "2 directories are given"),
        ((), "no campaign and no repeated rounds in"),
        (("rounds", "--delta", "0"), "--delta"),
        (("rounds", "--delta", "much"), "--delta"),
    ],
)
def test_what_cannot_be_meant(tmp_path: Path, report: Report, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "empty").mkdir()
    for side in "AB":
        write_run(tmp_path / side.lower(), six(), side=side)
    rounds(tmp_path / "rounds", {"r1": 1.0})
    ended = report(*words)
    assert (ended.code, ended.folder) == (2, None)
    assert said in ended.err
    assert len(ended.err.splitlines()) > 1  # and what to do instead


def test_what_the_predecessor_left_is_read_by_the_same_command(tmp_path: Path, report: Report) -> None:
    old = {f"{number}x64": (0.01 * number, 0.0102 * number) for number in range(1, 4)}
    old_runs.write_rounds(tmp_path / "old", "toy", rounds=ROUNDS, rows=old)
    before = sorted(tmp_path.joinpath("old").rglob("*"))
    ended = report("old")
    assert ended.code == 0
    assert [item["n"] for item in ended.rows.values()] == [ROUNDS] * 3
    assert ended.folder is not None
    assert ended.folder.parent == tmp_path / "runs"
    assert sorted(tmp_path.joinpath("old").rglob("*")) == before


# --- rounds ----------------------------------------------------------------------------------------------------------


def times(ms: Mapping[str, float], number: int, factor: float) -> dict[str, tuple[float, float]]:
    """Both sides' times in a round, with a noise of 0.2 % that is the same in every run of the tests."""
    found = {}
    for name, value in ms.items():
        chance = random.Random(f"{name} {number}")
        a, b = (1 + chance.gauss(0, 0.002) for _ in "AB")
        found[name] = (value * a, value * factor * b)
    return found


def rounds(
    root: Path, ms: Mapping[str, float], *, count: int = ROUNDS, factor: float = 1.1, lane: str = "", op: str = "toy"
) -> Path:
    """A root with one lane and one subject; every row of B takes so many times as long."""
    if not lane:
        write_plan(root, {"0": [(op, "subject")]}, rounds=count)
    for number in range(1, count + 1):
        write_pair(root / lane / op, number, times(ms, number, factor), op=op)
    return root


def test_rounds_have_verdicts(tmp_path: Path, report: Report) -> None:
    rounds(tmp_path / "repeat_1", {"r1": 0.01, "r2": 0.02}, factor=1.1)
    ended = report("repeat_1")
    assert ended.code == 0
    assert ended.folder == tmp_path / "repeat_1"
    assert [item["result"]["verdict"] for item in ended.rows.values()] == ["slower", "slower"]
    assert ended.op["result"]["verdict"] == "slower"
    assert ended.op["result"]["estimate_pct"] == pytest.approx(10, abs=0.5)
    again = report("repeat_1")
    assert (again.written, again.data) == (ended.written, ended.data)


def test_delta_is_what_nobody_cares_about(tmp_path: Path, report: Report) -> None:
    rounds(tmp_path / "repeat_1", {"r1": 0.01}, factor=1.0)
    strict, lax = (report("repeat_1", "--delta", word).rows["r1"]["result"] for word in ("0.01", "5%"))
    assert lax["verdict"] == "no difference"
    assert "5" in lax["what"]
    assert strict["verdict"] != "no difference"


@pytest.mark.parametrize("first", ["A", "B"])
def test_a_fixed_order_gives_no_verdict(tmp_path: Path, report: Report, first: str) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01})
    started(root, lambda number: first)
    ended = report("repeat_1")
    assert ended.code == 0
    result = ended.rows["r1"]["result"]
    assert (result["verdict"], result["why"]) == ("invalid", "ORDER_CONFOUNDED")
    assert "ORDER_CONFOUNDED" in ended.out
    started(root, lambda number: "AB"[number % 2])
    assert report("repeat_1").rows["r1"]["result"]["verdict"] == "slower"


def started(root: Path, first: Callable[[int], str]) -> None:
    """Say in each cell when it started."""
    for path in (root / "toy").glob("r?_?"):
        number, side = int(path.name[1]), path.name[3]
        at = 1000.0 * number + 10 * (side != first(number))
        store.write_json(path / "telemetry.json", {"started": at, "ended": at + 8})


def test_an_order_that_only_the_table_tells(tmp_path: Path, report: Report) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01})
    lines = ["round\top\tside\tswitch\trc\telapsed_s\tsuccess\tfailed\treplay_fallback\tno_cudagraph\tcapture_poisoned"]
    lines += [f"{number}\ttoy\t{side}\t-\t0\t8.0\t1\t0\t0\t0\t0" for number in range(1, ROUNDS + 1) for side in "BA"]
    (root / "status.tsv").write_text("\n".join(lines) + "\n")
    assert report("repeat_1").rows["r1"]["result"]["why"] == "ORDER_CONFOUNDED"


def test_another_caliber_in_one_round_forbids_the_report(tmp_path: Path, report: Report) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01})
    identity = root / "toy" / "r3_B" / "run_identity.json"
    known = json.loads(identity.read_text())
    identity.write_text(json.dumps({**known, "driver": "580"}))
    ended = report("repeat_1")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    assert "[caliber] toy: driver: before=575.57 after=580" in ended.err
    allowed = report("repeat_1", "--allow-caliber-mismatch")
    assert (allowed.code, len(allowed.data["warnings"])) == (0, 1)
    identity.unlink()
    assert "run_identity.json: before=present after=missing" in report("repeat_1").err


def test_settled_rows_need_no_more_rounds(tmp_path: Path, report: Report) -> None:
    root = tmp_path / "repeat_1"
    write_plan(root, {"0": [("toy", "subject")]}, rounds=8)
    plan = store.read_json(root / "repeat.json")
    store.write_json(root / "repeat.json", {**plan, "rounds": {"looks": [4, 8]}})
    for number in range(1, 9):
        rows = {"r1": 0.01, "r2": 0.02} if number <= 4 else {"r2": 0.02}
        write_pair(root / "toy", number, times(rows, number, 1.1))
    settled = {"after": 4, "rounds": None, "rows": {"r1": {"why": "effect"}}, "left": ["r2"]}
    store.write_json(root / "toy" / "settled.json", settled)
    ended = report("repeat_1")
    assert ended.code == 0
    assert [(item["n"], item["result"]["verdict"]) for item in ended.rows.values()] == [(4, "slower"), (8, "slower")]
    assert (ended.op["lost_rows"], ended.op["missing_rounds"]) == ([], 0)
    looks = ended.data["statistics"]["settings"]["looks"]
    assert looks == [{"rounds": 4, "weight": 0.1}, {"rounds": 8, "weight": 0.9}]


def test_an_operator_of_which_all_rows_are_settled_lacks_no_rounds(tmp_path: Path, report: Report) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01}, count=4)
    plan = store.read_json(root / "repeat.json")
    store.write_json(root / "repeat.json", {**plan, "rounds": {"looks": [4, 8, 16]}})
    assert report("repeat_1").code == 6  # twelve rounds are missing
    store.write_json(root / "toy" / "settled.json", {"after": 4, "rounds": 4, "rows": {"r1": {}}, "left": []})
    assert report("repeat_1").code == 0


def test_shards_of_an_operator_are_one(tmp_path: Path, report: Report) -> None:
    root = tmp_path / "repeat_1"
    write_plan(root, {"0": [("toy", "subject")], "1": [("toy", "subject")]}, rounds=ROUNDS)
    for lane, name in (("0", "r1"), ("1", "r2")):
        rounds(root, {name: 0.01}, lane=lane)
    ended = report("repeat_1")
    assert ended.code == 0
    assert [(name, item["n"]) for name, item in ended.rows.items()] == [("r1", ROUNDS), ("r2", ROUNDS)]
    assert (ended.op["result"]["rows"], ended.op["result"]["rounds"]) == (2, ROUNDS)


def test_a_pair_that_stayed_invalid_is_left_out_and_said(tmp_path: Path, report: Report) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01})
    write_pair(root / "toy", 7, {"r1": (0.01, 0.09)})
    plan = store.read_json(root / "repeat.json")
    store.write_json(root / "repeat.json", {**plan, "rounds": {"fixed": 7}})
    write_pairs_tsv(root, *(("toy", number, int(number < 7), "-" if number < 7 else "PAIR_THROTTLED", 3)
                            for number in range(1, 8)))  # fmt: skip
    ended = report("repeat_1")
    assert ended.code == 6
    assert (ended.rows["r1"]["n"], ended.rows["r1"]["result"]["verdict"]) == (6, "slower")
    assert ended.rows["r1"]["measured_largest_pct"] < 12
    assert "round 7: PAIR_THROTTLED" in ended.op["invalid_pairs"][0]
    assert "PAIR_THROTTLED" in ended.out


def test_too_many_invalid_pairs_are_the_reason(tmp_path: Path, report: Report) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01})
    write_pairs_tsv(root, *(("toy", number, 0, "PAIR_THROTTLED", 3) for number in (1, 2, 3)))
    ended = report("repeat_1")
    result = ended.rows["r1"]["result"]
    assert (ended.code, result["verdict"], result["why"]) == (6, "invalid", "PAIRS_DISTURBED")


def test_an_operator_with_a_failed_round_keeps_its_rows_and_has_no_headline(tmp_path: Path, report: Report) -> None:
    """A5. What is said of other operators does not depend on it."""
    root = tmp_path / "repeat_1"
    write_plan(root, {"0": [("toy", "subject"), ("well", "subject")]}, rounds=5)
    for op in ("toy", "well"):
        for number in range(1, 6):
            if (op, number) != ("toy", 5):
                write_pair(root / op, number, times({"r1": 0.01}, number, 1.1), op=op)
    write_run(root / "toy" / "r5_A", [row("r1", 0.01)], autotune_mode="replay")
    write_run(root / "toy" / "r5_B", [], side="B", state=CellState.TIMEOUT)
    ended = report("repeat_1")
    assert ended.code == 6
    toy, well = ended.data["operators"]
    assert toy["failed"] == ["round 5 B: CELL_TIMEOUT"]
    assert (toy["result"], toy["measured_mean_pct"], "a round failed" in toy["why_no_sum"]) == (None, None, True)
    assert (toy["rows"][0]["n"], toy["rows"][0]["result"]["verdict"]) == (4, "slower")
    assert well["result"]["verdict"] == "slower"
    assert ended.data["statistics"]["campaign"]["operators"] == 1
    assert "CELL_TIMEOUT" in ended.out


def test_rounds_that_are_not_at_their_end_are_partial(tmp_path: Path, report: Report) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01}, count=5)
    plan = store.read_json(root / "repeat.json")
    store.write_json(root / "repeat.json", {**plan, "rounds": {"fixed": 6}})
    ended = report("repeat_1")
    assert (ended.code, ended.op["missing_rounds"]) == (6, 1)
    assert "not at their end: 1 operator lacks rounds" in ended.out


def test_a_dead_switch_has_no_delta(tmp_path: Path, report: Report) -> None:
    """P3."""
    root = tmp_path / "repeat_1"
    write_plan(root, {"0": [("toy", "subject")]}, rounds=ROUNDS)
    write_pair(root / "toy", 1, {"r1": (0.010, 0.013)})
    note = "SWITCH_NO_IR_DIFF op=toy switch=TOY_FOLD"
    store.write_json(root / "toy" / "first_pair.json", {
        "verdict": "NO_IR_DIFF", "machine_code": "same", "dead_switch": True, "not_comparable": "", "notes": [note],
    })  # fmt: skip
    ended = report("repeat_1")
    assert ended.code == 5
    assert (ended.op["nothing"], ended.op["ir_verdict"]) == ("SWITCH_NO_IR_DIFF", "NO_IR_DIFF")
    for text in (ended.out, ended.written):
        assert "SWITCH_NO_IR_DIFF" in text
        assert "30" not in text


def test_a_row_on_both_timers_over_rounds_has_those_of_one(tmp_path: Path, report: Report) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01}, count=5)
    for side in "AB":
        write_run(root / "toy" / f"r6_{side}", [direct("r1", 0.05)], side=side, autotune_mode="replay")
    plan = store.read_json(root / "repeat.json")
    store.write_json(root / "repeat.json", {**plan, "rounds": {"fixed": 6}})
    ended = report("repeat_1")
    item = ended.rows["r1"]
    assert (ended.code, item["n"], item["timer"], item["counted"]) == (0, 5, "cuda_graph", True)
    assert [(left["round"], left["reason"]) for left in item["left_out"]] == [(6, "TIMER_MISMATCH")]


def test_without_scipy_it_says_what_to_install(tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds(tmp_path / "repeat_1", {"r1": 0.01})
    monkeypatch.setitem(sys.modules, "scipy", None)
    ended = report("repeat_1")
    assert (ended.code, ended.out, ended.folder) == (3, "", None)
    assert "PREFLIGHT_FAILED check=driver-imports" in ended.err
    assert "pip install 'scipy>=1.11'" in ended.err


def with_identity(root: Path, numbers: Sequence[int], change: Mapping[str, Any], *, sides: str = "AB") -> None:
    """Let the cells of these rounds say something else of themselves."""
    for path in (root / f"r{number}_{side}" / "run_identity.json" for number in numbers for side in sides):
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


@pytest.mark.parametrize(
    ("field", "value", "sides"),
    [
        ("driver", "999", "AB"),
        ("torch", "9.9", "AB"),
        ("suite_hash", "9" * 64, "AB"),
        ("bench_level", "comprehensive", "AB"),
        ("shapes_hash", "feedfeedfeed", "AB"),
        ("device_uuid", "GPU-0ther", "AB"),
        ("build.native_sha256", "f" * 64, "B"),
        ("build.version", "3.9.0", "A"),
        ("switch TOY_FOLD", "1", "AB"),
    ],
)
def test_a_side_that_is_another_in_later_rounds_forbids_the_report(
    tmp_path: Path, report: Report, field: str, value: str, sides: str
) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01}, factor=1.05)
    change: dict[str, Any] = {field: value}
    if field.startswith("build."):
        known = json.loads((root / "toy" / f"r4_{sides}" / "run_identity.json").read_text())["build"]
        change = {"build": {**known, field.removeprefix("build."): value}}
    elif field.startswith("switch "):
        change = {"switches": {field.removeprefix("switch "): value}}
    with_identity(root / "toy", (4, 5, 6), change, sides=sides)
    ended = report("repeat_1")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    for side in sides:
        (line,) = [line for line in ended.err.splitlines() if f"{field}: before=" in line and f"side {side}" in line]
        assert f"after={value}  side {side} in rounds 1 and 4" in line
    allowed = report("repeat_1", "--allow-caliber-mismatch")
    assert (allowed.code, len(allowed.data["warnings"])) == (0, len(sides))


def test_operators_of_two_suites_forbid_the_report(tmp_path: Path, report: Report) -> None:
    root = tmp_path / "repeat_1"
    write_plan(root, {"0": [("toy", "subject"), ("well", "subject")]}, rounds=ROUNDS)
    for op in ("toy", "well"):
        for number in range(1, ROUNDS + 1):
            write_pair(root / op, number, times({"r1": 0.01}, number, 1.1), op=op)
    assert report("repeat_1").code == 0
    with_identity(root / "well", range(1, ROUNDS + 1), {"suite_hash": "9" * 64})
    ended = report("repeat_1")
    assert (ended.code, ended.folder) == (4, None)
    assert "side A unlike toy" in ended.err
    # What an operator has of its own may be another.
    with_identity(root / "well", range(1, ROUNDS + 1), {"suite_hash": "ab" * 32, "shapes_hash": "feedfeedfeed"})
    assert report("repeat_1").code == 0


def test_lanes_have_a_card_each(tmp_path: Path, report: Report) -> None:
    root = tmp_path / "repeat_1"
    write_plan(root, {"0": [("toy", "subject")], "1": [("toy", "subject")]}, rounds=ROUNDS)
    for lane, name in (("0", "r1"), ("1", "r2")):
        rounds(root, {name: 0.01}, lane=lane)
    with_identity(root / "1" / "toy", range(1, ROUNDS + 1), {"device_uuid": "GPU-0ther"})
    assert report("repeat_1").code == 0
    with_identity(root / "1" / "toy", (ROUNDS,), {"device_uuid": "GPU-third"})
    ended = report("repeat_1")
    assert (ended.code, ended.folder) == (4, None)
    assert "device_uuid: before=GPU-0ther after=GPU-third" in ended.err


def watched(root: Path, interval: str = "5.0") -> Path:
    """Let the plan say that the card was looked at while the rounds ran."""
    plan = store.read_json(root / "repeat.json")
    asked = {"telemetry_interval": {"words": [interval], "source": "default", "where": ""}}
    store.write_json(root / "repeat.json", {**plan, "settings": asked})
    return root


@pytest.mark.parametrize("torn", ["no file", "a head alone", "half a line", "no UTF-8"])
def test_a_pair_that_nobody_judged_does_not_count(tmp_path: Path, report: Report, torn: str) -> None:
    root = watched(rounds(tmp_path / "repeat_1", {"r1": 0.01}, factor=1.0))
    write_pairs_tsv(root, *(("toy", number, 1, "-", 1) for number in range(1, ROUNDS + 1)))
    assert (report("repeat_1").code, report("repeat_1").rows["r1"]["n"]) == (0, ROUNDS)
    whole = (root / "pairs.tsv").read_bytes()
    lines = whole.splitlines(keepends=True)
    if torn == "no file":
        (root / "pairs.tsv").unlink()
        left = 0
    else:
        kept = {"a head alone": lines[:1], "half a line": [*lines[:5], lines[5][:6]], "no UTF-8": [b"\xff\xfe\n"]}[torn]
        (root / "pairs.tsv").write_bytes(b"".join(kept))
        left = 4 if torn == "half a line" else 0
    ended = report("repeat_1")
    if not left:
        assert ended.code == 5
        assert "not judged" in ended.err + ended.out
        return
    assert (ended.code, ended.rows["r1"]["n"]) == (6, left)
    assert ended.op["invalid_pairs"] == [f"round {number}: not judged" for number in (5, 6)]
    assert "not judged" in ended.out


def test_where_nobody_looked_at_the_card_no_line_says_nothing(tmp_path: Path, report: Report) -> None:
    watched(rounds(tmp_path / "repeat_1", {"r1": 0.01}, factor=1.0), interval="0.0")
    assert report("repeat_1").code == 0


def test_the_newest_pair_of_running_rounds_is_not_judged_yet(tmp_path: Path, report: Report) -> None:
    root = watched(rounds(tmp_path / "repeat_1", {"r1": 0.01}, factor=1.0))
    write_pairs_tsv(root, *(("toy", number, 1, "-", 1) for number in range(1, ROUNDS)))
    with store.hold(root):
        ended = report("repeat_1")
    assert (ended.code, ended.op["invalid_pairs"], ended.op["missing_rounds"]) == (6, [], 1)
    assert "not at their end: the rounds are running" in ended.out
    assert report("repeat_1").op["invalid_pairs"] == ["round 6: not judged"]


OURS = ("report.md", "report.html", "report.json", "rows.csv", "junit.xml", "A.go-bench.txt", "B.pytest-benchmark.json")


@pytest.mark.parametrize("out", [False, True])
def test_a_refused_report_leaves_no_former_one_in_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], out: bool
) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01})
    folder = tmp_path / "there" if out else root

    def told(*more: str) -> tuple[int, str]:
        words = ["report", "repeat_1", *(("--out", "there") if out else ()), *more]
        code = main(words, env={"ZLBENCH_CWD": str(tmp_path), "ZLBENCH_ROOT": str(tmp_path)})
        return code, capsys.readouterr().err

    assert told("--export", "junit", "--export", "go", "--export", "pytest-benchmark")[0] == 0
    (folder / "notes.txt").write_text("somebody's own")
    former = {name: (folder / name).read_bytes() for name in OURS}
    with_identity(root / "toy", (4,), {"driver": "999"})
    code, err = told()
    assert code == 4
    assert {name: (folder / f"{name}.before").read_bytes() for name in OURS} == former
    assert not any((folder / name).exists() for name in OURS)
    assert (folder / "notes.txt").is_file()
    assert "report.md.before" in err
    assert told()[0] == 4  # there is nothing left to move
    assert (folder / "report.md.before").read_bytes() == former["report.md"]
    with_identity(root / "toy", (4,), {"driver": "575.57"})
    assert told()[0] == 0
    assert (folder / "report.md").read_bytes() == former["report.md"]


def test_rounds_whose_first_pair_cannot_be_compared_have_no_report(tmp_path: Path, report: Report) -> None:
    root = rounds(tmp_path / "repeat_1", {"r1": 0.01}, count=1)
    told = {"verdict": "CACHE_NOT_FRESH", "dead_switch": False, "not_comparable": "a shared cache", "notes": []}
    store.write_json(root / "toy" / "first_pair.json", told)
    ended = report("repeat_1")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    assert "NOT_COMPARABLE op=toy a shared cache" in ended.err
    assert report("repeat_1", "--allow-caliber-mismatch").code == 0


def test_rounds_without_a_row_in_common_have_no_report(tmp_path: Path, report: Report) -> None:
    root = tmp_path / "repeat_1"
    write_plan(root, {"0": [("toy", "subject")]}, rounds=2)
    for number in (1, 2):
        write_pair(root / "toy", number, {"r1": (0.01, None), "r2": (None, 0.01)})
    ended = report("repeat_1")
    assert (ended.code, ended.out, ended.folder) == (4, "", None)
    assert "ZERO_MATCHED op=toy" in ended.err


def test_a_control_that_cannot_be_compared_leaves_a_part(tmp_path: Path, report: Report) -> None:
    root = tmp_path / "repeat_1"
    write_plan(root, {"0": [("toy", "subject"), ("well", "control")]}, rounds=ROUNDS)
    for number in range(1, ROUNDS + 1):
        write_pair(root / "toy", number, times({"r1": 0.01}, number, 1.1))
        write_pair(root / "well", number, {"r1": (0.01, None), "r2": (None, 0.01)}, op="well")
    ended = report("repeat_1")
    assert (ended.code, ended.rows["r1"]["result"]["verdict"]) == (6, "slower")
    assert "ZERO_MATCHED" in ended.written
