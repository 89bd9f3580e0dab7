"""What is measured in rounds: controls, lanes, the plan as a file, settings that come back, how it all ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench.cells import CellOutcome, CellState
from zlbench.errors import ExitCode, UsageError
from zlbench.partition_plan import Kind, Piece
from zlbench.rounds.choose import calibration_note, choose_controls
from zlbench.rounds.names import Metric
from zlbench.rounds.plan import RepeatLane, RepeatPlan, Schedule, with_controls
from zlbench.rounds.records import End, exit_code
from zlbench.rounds.status import STATUS_COLUMNS, Table, write_merged
from zlbench.screen.candidates import Candidate
from zlbench.settings import load_project, resolve
from zlbench.settings.stored import restored, stored


def candidate(name: str, seconds: float | None, *, code: str = "same", verdict: str = "NO_IR_DIFF") -> Candidate:
    return Candidate(
        op=name, op_file=f"test_{name}", directory=name, verdict=verdict, code=code, backend="cuda", pair_s=seconds
    )


def names(found: list[Candidate]) -> list[str]:
    return [item.directory for item in found]


SCREEN = [
    candidate("slow", 90.0), candidate("b", 2.0), candidate("a", 2.0), candidate("changed", 1.0, code="changed"),
    candidate("ir", 3.0, verdict="IR_CHANGED"), candidate("unknown", None), candidate("c", 4.0), candidate("d", 5.0),
    candidate("no", 0.5, verdict="NO_ROWS"),
]  # fmt: skip


def test_controls_are_cheap_and_equal() -> None:
    assert names(choose_controls(SCREEN, taken=["a"], asked=3, subjects_s=0)) == ["b", "ir", "c"]
    assert names(choose_controls(SCREEN, taken=[], asked=None, subjects_s=0)) == ["a", "b", "ir", "c"]
    # More than four where they cost little beside what is measured anyway.
    assert names(choose_controls(SCREEN, taken=[], asked=None, subjects_s=100)) == ["a", "b", "ir", "c", "d"]
    assert names(choose_controls(SCREEN, taken=[], asked=99, subjects_s=0))[-2:] == ["slow", "unknown"]
    assert choose_controls(SCREEN, taken=[], asked=0, subjects_s=100) == []


@given(st.permutations(SCREEN), st.floats(0, 1e4))
def test_the_order_of_the_table_says_nothing_about_controls(screen: list[Candidate], subjects_s: float) -> None:
    one, other = (choose_controls(item, taken=[], asked=None, subjects_s=subjects_s) for item in (screen, SCREEN))
    assert names(one) == names(other)
    assert 4 <= len(one) <= 8


@pytest.mark.parametrize(
    ("count", "asked", "screen", "said"),
    [
        (4, None, Path("s"), ""),
        (0, 0, Path("s"), "UNCALIBRATED controls=0: --controls 0; what the sides differ in besides the change"),
        (2, 2, Path("s"), "UNCALIBRATED controls=2: --controls 2;"),
        (2, None, Path("s"), "UNCALIBRATED controls=2: the screen has no more operators"),
        (0, None, None, "UNCALIBRATED controls=0: no screen to take them from"),
    ],
)
def test_too_few_controls_are_said(count: int, asked: int | None, screen: Path | None, said: str) -> None:
    assert calibration_note(count, asked=asked, screen=screen).startswith(said)
    assert bool(said) == bool(calibration_note(count, asked=asked, screen=screen))


def piece(name: str, seconds: float, kind: Kind = Kind.SUBJECT, **more: Any) -> Piece:
    return Piece(op=name, directory=name, kind=kind, seconds=seconds, **more)


def plan(**more: Any) -> RepeatPlan:
    lanes = (
        RepeatLane(lane="0", card="GPU-1", index=0, uuid="GPU-1", ops=(piece("a", 6.0, rows=("x", "y"), shards=2),)),
        RepeatLane(lane="1", card="GPU-2", index=1, uuid="GPU-2", ops=(piece("a", 6.0, rows=("z",), shard=2, shards=2),
                                                                      piece("c", 2.0, Kind.CONTROL))),
    )  # fmt: skip
    values: dict[str, Any] = {
        "metric": Metric.LATENCY, "schedule": Schedule(looks=(6,)), "lanes": lanes, "axis": {"name": "x", "sides": {}},
        "settings": {}, "words": ("a::float16", "c"), "screen": "/runs/screen_x", "cwd": "/here",
        "environment": ("TRITON_DEBUG=1",), "notes": ("UNCALIBRATED controls=1: …",),
    }  # fmt: skip
    return RepeatPlan(**{**values, **more})


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(looks=(6,)), Schedule.until_settled(16), Schedule.until_settled(5), Schedule(looks=(6,)).more(8),
        Schedule(looks=(6,)).more(8).more(9), Schedule.until_settled(16).more(24), Schedule.until_settled(4).more(8),
    ],
)  # fmt: skip
def test_a_plan_comes_back_as_it_was(tmp_path: Path, schedule: Schedule) -> None:
    one = plan(schedule=schedule)
    one.write(tmp_path)
    assert RepeatPlan.read(tmp_path) == one
    data = json.loads((tmp_path / "repeat.json").read_text())
    kept = {"extended": list(schedule.raised)} if schedule.raised else {}
    number = {"fixed": schedule.rounds} if schedule.fixed else {"looks": list(schedule.looks)}
    assert data["rounds"] == {**number, **kept}


def test_each_raise_is_a_look_with_half_of_what_the_last_one_had() -> None:
    one = Schedule(looks=(6,)).more(8)
    assert (one.looks, one.weights, one.fixed, one.settling) == ((6, 8), (0.5, 0.5), True, ())
    assert (one.more(12).looks, one.more(12).weights) == ((6, 8, 12), (0.5, 0.25, 0.25))
    other = Schedule.until_settled(16).more(24)
    assert (other.looks, other.fixed, other.settling) == ((4, 8, 16, 24), False, (4, 8, 16))
    assert other.weights == pytest.approx((0.1, 0.3, 0.3, 0.3))


@given(
    start=st.one_of(st.builds(lambda n: Schedule(looks=(n,)), st.integers(1, 20)),
                    st.builds(Schedule.until_settled, st.integers(1, 20))),
    steps=st.lists(st.integers(1, 9), max_size=6),
)  # fmt: skip
def test_shares_of_a_raised_plan_add_up_and_never_grow(start: Schedule, steps: list[int]) -> None:
    at_the_end = [start.weights[-1]]
    now = start
    for step in steps:
        before, now = now, now.more(now.rounds + step)
        assert sum(now.weights) == pytest.approx(1.0)
        assert all(new <= old for new, old in zip(now.weights, before.weights, strict=False))
        assert (now.looks[: len(before.looks)], now.fixed) == (before.looks, start.fixed)
        at_the_end.append(now.weights[-1])
    # Who stops at the first number at which something stands out errs with no more than these together.
    assert sum(at_the_end) < 2 * start.weights[-1] + 1e-9


def test_more_rounds_take_more_time() -> None:
    one = plan(schedule=Schedule(looks=(6,)))
    grown = one.with_more(9, {"rounds": {"words": ["9"]}})
    assert [lane.seconds for lane in grown.lanes] == pytest.approx([1.5 * lane.seconds for lane in one.lanes])
    assert grown.settings == {"rounds": {"words": ["9"]}}


def test_a_directory_without_a_plan_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no repeated rounds"):
        RepeatPlan.read(tmp_path)


def test_a_lane_has_a_folder_of_its_own_only_beside_others(tmp_path: Path) -> None:
    two = plan()
    assert [two.folder(tmp_path, lane).name for lane in two.lanes] == ["0", "1"]
    one = plan(lanes=two.lanes[:1])
    assert one.folder(tmp_path, one.lanes[0]) == tmp_path
    assert (two.named(Kind.SUBJECT), two.named(Kind.CONTROL)) == (["a"], ["c"])


def test_controls_go_where_least_is_to_be_done() -> None:
    lanes = (RepeatLane(lane="0", ops=(piece("a", 10.0),)), RepeatLane(lane="1", ops=(piece("b", 4.0),)))
    controls = [piece("c", 3.0, Kind.CONTROL), piece("d", 5.0, Kind.CONTROL), piece("e", 3.0, Kind.CONTROL)]
    filled = with_controls(lanes, controls)
    assert [[one.directory for one in lane.ops] for lane in filled] == [["a", "e"], ["b", "d", "c"]]


def test_settings_come_back(tmp_path: Path) -> None:
    project = load_project(tmp_path, {})
    words = ["topk", "fft::float16", "--rounds", "4", "--devices", "0,1", "--switch", "X=1", "--l2", "warm", "--quick",
             "--autotune", "0", "--cell-timeout", "12.5", "--dtypes", "fp16", "--target", "cuda:80"]  # fmt: skip
    one = resolve("ab_repeat", words, env={"TELEMETRY_INTERVAL": "0.25", "SCREEN": "runs/x"}, project=project)
    data = json.loads(json.dumps(stored(one)))
    back = restored("ab_repeat", data)
    assert {name: setting.value for name, setting in back.items()} == {name: one.value(name) for name in back}
    assert {name: str(setting.source) for name, setting in back.items()} == {
        name: str(one.source(name)) for name in back
    }
    assert back["telemetry_interval"].value == 0.25
    assert "resume" not in back
    # A screen's settings serve rounds as far as they have the same options.
    screen = resolve("screen", ["topk", "--quick", "--share-cache"], env={}, project=project)
    assert "share_cache" not in restored("ab_repeat", stored(screen))


# --- how it ends -----------------------------------------------------------------------------------------------------


def end(name: str, *states: CellState, kind: Kind = Kind.SUBJECT, **more: Any) -> End:
    failed = {f"r{number}_A": CellOutcome(state=state, returncode=1) for number, state in enumerate(states, start=1)}
    values: dict[str, Any] = {
        "directory": name, "kind": kind, "shard": 1, "rounds": 6, "wanted": 6, "invalid": 0, "dead": False,
        "not_comparable": "", "settled": 0, "failed": failed,
    }  # fmt: skip
    return End(**{**values, **more})


GOOD, DEAD = end("good"), end("dead", dead=True, rounds=1)
FAILED, CRASHED = end("failed", CellState.OP_FAILED), end("crashed", CellState.CRASH, rounds=5)
LATE, OTHER = end("late", CellState.TIMEOUT, rounds=0), end("other", not_comparable="level", rounds=1)
CONTROL = end("control", kind=Kind.CONTROL)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([GOOD, CONTROL], ExitCode.OK),
        ([GOOD, DEAD], ExitCode.OK),
        ([DEAD, DEAD, CONTROL], ExitCode.NOTHING_MEASURED),
        ([GOOD, FAILED], ExitCode.OP_FAILED),
        ([FAILED], ExitCode.OP_FAILED),
        ([GOOD, CRASHED], ExitCode.PARTIAL),
        ([CRASHED], ExitCode.PARTIAL),
        ([LATE], ExitCode.TIMEOUT),
        ([GOOD, LATE], ExitCode.PARTIAL),
        ([GOOD, OTHER], ExitCode.NOT_COMPARABLE),
        ([GOOD, end("left", rounds=3)], ExitCode.PARTIAL),
        ([end("disturbed", invalid=1)], ExitCode.PARTIAL),
        ([end("settled", rounds=4, wanted=4, settled=9)], ExitCode.OK),
        ([end("skipped", CellState.SKIPPED, rounds=1)], ExitCode.NOTHING_MEASURED),
        ([GOOD, end("control", CellState.OP_FAILED, kind=Kind.CONTROL)], ExitCode.OP_FAILED),
    ],
)
def test_exit_codes(ends: list[End], code: ExitCode) -> None:
    assert exit_code(ends) is code


def test_only_a_whole_operator_has_a_headline() -> None:
    assert [one.headline for one in (GOOD, DEAD, FAILED, CRASHED, LATE, OTHER)] == [True, *[False] * 5]


# --- tables ----------------------------------------------------------------------------------------------------------


def line(number: int, side: str, rc: int = 0) -> dict[str, object]:
    return {**dict.fromkeys(STATUS_COLUMNS, 0), "round": number, "op": "mm", "side": side, "switch": "-", "rc": rc}


def test_a_line_is_appended_and_one_of_the_same_cell_replaced(tmp_path: Path) -> None:
    table = Table.status(tmp_path)
    for one in (line(1, "A"), line(1, "B", rc=-9), line(2, "B"), line(1, "B")):
        table.put(one)
    words = [text.split("\t")[:5] for text in (tmp_path / "status.tsv").read_text().splitlines()[1:]]
    assert words == [["1", "mm", "A", "-", "0"], ["2", "mm", "B", "-", "0"], ["1", "mm", "B", "-", "0"]]
    assert Table.status(tmp_path).lines == table.lines


@given(cut=st.integers(0, 200))
def test_a_table_cut_anywhere_has_its_whole_lines_and_can_be_gone_on_with(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    table = Table.status(folder)
    for one in (line(1, "A"), line(1, "B"), line(2, "B")):
        table.put(one)
    whole = (folder / "status.tsv").read_bytes()
    (folder / "status.tsv").write_bytes(whole[:cut])
    again = Table.status(folder)
    assert list(again.lines.values()) == list(table.lines.values())[: len(again.lines)]
    again.put(line(9, "A"))
    assert list(Table.status(folder).lines.values())[-1]["round"] == "9"


def test_lanes_are_merged_with_the_card_first(tmp_path: Path) -> None:
    for name in "01":
        (tmp_path / name).mkdir()
        Table.status(tmp_path / name).put(line(1, "A"))
    write_merged(tmp_path, [(name, tmp_path / name) for name in "01"])
    head, *rows = (text.split("\t") for text in (tmp_path / "status.tsv").read_text().splitlines())
    assert head == ["card", *STATUS_COLUMNS]
    assert [row[0] for row in rows] == ["0", "1"]
