"""Repeated rounds on a fake card: order, record and replay, dead switches, controls, pairs that something disturbed."""

from __future__ import annotations

import json

import pytest
from fakes.bench_rounds import Bench, cells_in_time, row_names, state, table
from fakes.fake_card import FakeCards
from fakes.suites import ToyProject, data, lines

ORDER = ["r1_A", "r1_B", "r2_B", "r2_A", "r3_A", "r3_B", "r4_B", "r4_A", "r5_A", "r5_B", "r6_B", "r6_A"]


@pytest.fixture
def bench(project: ToyProject) -> Bench:
    return Bench(project=project, cards=FakeCards(project.root / "cards"))


def test_six_rounds_abba_one_record_and_replays(bench: Bench) -> None:
    ended = bench.run("toy")
    assert ended.code == 0, ended.text
    assert cells_in_time(bench.root) == [f"toy/{name}" for name in ORDER]
    # What the operators themselves say that they did, in order; x is side A.
    said = bench.project.journal()
    pids = list(dict.fromkeys(line["pid"] for line in said))
    compilers = [next(line["compiler"] for line in said if line["pid"] == pid) for pid in pids]
    assert "".join({"x": "A", "y": "B"}[compiler] for compiler in compilers) == "ABBAABBAABBA"
    specs = {name: data(bench.root / "toy" / name / "cell.json") for name in ORDER}
    assert {name: spec["autotune"] for name, spec in specs.items()} == {
        name: "record" if name == "r1_A" else "replay" for name in ORDER
    }
    assert {spec["replay_from"] for name, spec in specs.items() if name != "r1_A"} == {str(bench.root / "toy/r1_A")}
    assert len({tuple(names) for names in row_names(bench.root).values()}) == 1


def test_what_it_leaves(bench: Bench) -> None:
    ended = bench.run("toy", "--rounds", "2", TELEMETRY_INTERVAL="0.2")
    assert ended.code == 0, ended.text
    root = bench.root
    status = (root / "status.tsv").read_text().splitlines()
    assert status[0].split("\t") == [
        "round", "op", "side", "switch", "rc", "elapsed_s", "success", "failed", "replay_fallback", "no_cudagraph",
        "capture_poisoned",
    ]  # fmt: skip
    assert [(line["round"], line["op"], line["side"], line["switch"], line["rc"], line["success"], line["failed"])
            for line in table(root / "status.tsv")] == [
        (number, "toy", side, "-", "0", "1", "0") for number, side in (("1", "A"), ("1", "B"), ("2", "B"), ("2", "A"))
    ]  # fmt: skip
    assert [(line["op"], line["round"], line["valid"], line["tries"]) for line in table(root / "pairs.tsv")] == [
        ("toy", "1", "1", "1"), ("toy", "2", "1", "1"),
    ]  # fmt: skip
    plan = data(root / "repeat.json")
    assert (plan["metric"], plan["rounds"], plan["screen"]) == ("latency_ms", {"fixed": 2}, None)
    (lane,) = plan["lanes"]
    assert [(op["op"], op["dir"], op["kind"], op["rows"]) for op in lane["ops"]] == [("toy", "toy", "subject", None)]
    assert {name: state(root)[name] for name in ("state", "done", "total", "op", "replay_fallback")} == {
        "state": "finished", "done": 4, "total": 4, "op": "", "replay_fallback": 0,
    }  # fmt: skip
    assert (root / "telemetry.tsv").read_text().startswith("timestamp\tindex\tsm_clock_mhz\t")
    seen = data(root / "toy" / "r2_B" / "telemetry.json")
    assert seen["started"] < seen["ended"]
    assert data(root / "status.json")["exit_code"] == 0


def test_a_root_that_was_named(bench: Bench) -> None:
    ended = bench.run("toy", "--rounds", "1", AB_ROOT="runs/mine")
    assert ended.code == 0, ended.text
    root = bench.project.runs / "mine"
    assert (root / "toy" / "r1_B" / "result.json").is_file()
    again = bench.run("toy", "--rounds", "1", "--root", "runs/mine")
    assert (again.code, f"{root} holds rounds already" in again.err) == (2, True), again.text


def test_workers_stay_over_all_rounds(bench: Bench) -> None:
    """The compiler is imported once a side, whatever the number of cells."""
    package = bench.project.root / "counting"
    package.mkdir()
    (package / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'zlbench_plugins.worker' in ' '.join(sys.orig_argv):\n"
        f"    open({str(package / 'starts')!r}, 'a').write('worker\\n')\n"
    )
    path = f"{package}:{bench.env['PYTHONPATH']}"
    assert bench.run("toy", "other", "--rounds", "3", PYTHONPATH=path).code == 0
    assert (package / "starts").read_text().split() == ["worker", "worker"]


def test_a_dead_switch_ends_after_the_first_pair(bench: Bench) -> None:
    bench.project.table(fold_is="9")
    words = ("toy", "other", "--build", "x", "--switch", "TOY_FOLD", "--rounds", "3")
    ended = bench.run(*words)
    assert ended.code == 5, ended.text
    assert "SWITCH_NO_IR_DIFF op=toy switch=TOY_FOLD" in ended.err
    assert sorted(cells_in_time(bench.root)) == ["other/r1_A", "other/r1_B", "toy/r1_A", "toy/r1_B"]
    assert {line["switch"] for line in table(bench.root / "status.tsv")} == {"TOY_FOLD=0", "TOY_FOLD=1"}
    assert state(bench.root)["total"] == 4
    again = bench.run("--resume", str(bench.root))
    assert (again.code, len(cells_in_time(bench.root))) == (5, 4), again.text


@pytest.mark.parametrize(("words", "env"), [(("--allow-no-ir-diff",), {}), ((), {"SWITCH_ALLOW_NO_IR_DIFF": "1"})])
def test_a_switch_of_the_run_time_is_measured_on(bench: Bench, words: tuple[str, ...], env: dict[str, str]) -> None:
    bench.project.table(fold_is="9")
    ended = bench.run("toy", "--build", "x", "--switch", "TOY_FOLD", "--rounds", "2", *words, **env)
    assert ended.code == 0, ended.text
    assert "SWITCH_NO_IR_DIFF op=toy" in ended.err
    assert len(cells_in_time(bench.root)) == 4


def equal_code(bench: Bench, *ops: str) -> None:
    """Edit the screen: these operators have the same machine code on both sides."""
    path = bench.project.screen / "screen.tsv"
    head, *rows = (line.split("\t") for line in path.read_text().splitlines())
    for row in rows:
        if row[0] in ops:
            row[head.index("machine_code")] = "same"
            row[head.index("verdict")] = "NO_IR_DIFF"
    path.write_text("\n".join("\t".join(row) for row in (head, *rows)) + "\n")


def test_a_screen_gives_subjects_and_controls(bench: Bench) -> None:
    assert bench.screen("toy", "other", "third").code == 0
    equal_code(bench, "other", "third")
    planned = bench.run("--screen", str(bench.project.screen), "--rounds", "2", "--dry-run")
    assert planned.code == 0, planned.text
    assert "plan: 1 operator, 2 controls · 2 rounds · 1 lane" in planned.out
    assert "about" in planned.out
    assert not list(bench.project.runs.glob("repeat_*"))
    ended = bench.run("--screen", str(bench.project.screen), "--rounds", "2")
    assert ended.code == 0, ended.text
    (lane,) = data(bench.root / "repeat.json")["lanes"]
    assert {op["op"]: op["kind"] for op in lane["ops"]} == {"toy": "subject", "other": "control", "third": "control"}
    assert "UNCALIBRATED controls=2: the screen has no more operators with equal machine code" in ended.text
    assert len(cells_in_time(bench.root)) == 12
    # The screen's own settings are those of its rounds.
    assert data(bench.root / "toy" / "r2_B" / "cell.json")["quick"] is True
    assert data(bench.root / "toy" / "r2_B" / "cell.json")["backend"] == "fakecard"


def test_no_controls_is_said_with_its_consequence(bench: Bench) -> None:
    assert bench.screen("toy", "other").code == 0
    equal_code(bench, "other")
    ended = bench.run("--screen", str(bench.project.screen), "--rounds", "1", "--controls", "0")
    assert ended.code == 0, ended.text
    assert "UNCALIBRATED controls=0: --controls 0; what the sides differ in besides the change is not" in ended.text
    assert cells_in_time(bench.root) == ["toy/r1_A", "toy/r1_B"]


def test_controls_are_exempt_from_the_check_of_the_switch(bench: Bench) -> None:
    bench.project.table(fold_is="9")
    switch = ("--build", "x", "--switch", "TOY_FOLD")
    assert bench.project.run("screen", "toy", "other", *switch, "--backend", "fakecard", "--quick", env=bench.env).code
    ended = bench.run("toy", "--screen", str(bench.project.screen), "--rounds", "2")
    assert ended.code == 5, ended.text
    assert {line["op"] for line in table(bench.root / "status.tsv")} == {"toy", "other"}
    assert len(list((bench.root / "other").glob("r*_[AB]"))) == 4
    assert "SWITCH_NO_IR_DIFF op=other" not in ended.text


def test_a_screen_of_other_compilers_is_refused(bench: Bench) -> None:
    assert bench.screen("toy").code == 0
    ended = bench.run("--screen", str(bench.project.screen), "--a", "y", "--b", "x")
    assert ended.code == 4, ended.text
    assert "side A: build version 3.6.0 then, 3.7.1 now" in ended.err
    assert not list(bench.project.runs.glob("repeat_*")), "nothing is left behind"


def test_nothing_to_measure_is_said(bench: Bench) -> None:
    assert bench.screen("toy").code == 0
    equal_code(bench, "toy")
    ended = bench.run("--screen", str(bench.project.screen))
    assert ended.code == 5
    assert "has no operator with other machine code" in ended.err


@pytest.mark.parametrize(("words", "said"), [
    (("toy", "--devices", "0", "--gpus", "1"), "--devices and --gpus are both given"),
    (("toy", "--devices", "0,7"), "no card named 7"),
    (("toy", "--rounds", "4", "--until-settled"), "--rounds fixes their number"),
    (("toy", "--max-rounds", "8"), "--max-rounds goes with --until-settled"),
    (("--resume", "nowhere"), "holds no repeat.json to go on with"),
    ((), "no screen in"),
])  # fmt: skip
def test_what_cannot_be_meant(bench: Bench, words: tuple[str, ...], said: str) -> None:
    ended = bench.run(*words)
    assert (ended.code, said in ended.err) == (2, True), ended.text
    assert not list(bench.project.runs.glob("repeat_*"))


# --- what disturbs a pair --------------------------------------------------------------------------------------------


def kept(bench: Bench) -> list[str]:
    return sorted(path.name for path in (bench.root / "toy").glob("*.invalid*"))


def test_a_pair_beside_somebody_else_is_measured_again(bench: Bench) -> None:
    bench.project.trouble({"compiler": "y", "at": "call", "do": "busy_once"})
    ended = bench.run("toy", "--rounds", "2")
    assert ended.code == 0, ended.text
    assert "PAIR_FOREIGN_PROCESS toy round 1: B: pid=4242 name=train; measured again (1 of 2)" in ended.err
    pairs = {line["round"]: line for line in table(bench.root / "pairs.tsv")}
    assert (pairs["1"]["valid"], pairs["2"]["valid"], pairs["2"]["tries"]) == ("1", "1", "1")
    assert int(pairs["1"]["tries"]) > 1
    assert kept(bench)[:2] == ["r1_A.invalid1", "r1_A.invalid2"] or kept(bench) == ["r1_A.invalid1", "r1_B.invalid1"]
    assert len(table(bench.root / "status.tsv")) == 4, "one line a cell that counts"
    # The record that is replayed is that of the pair that counts.
    a, b = (data(bench.root / "toy" / name / "run_identity.json") for name in ("r1_A", "r1_B"))
    assert a["autotune_source"] == b["autotune_source"]


def test_a_pair_that_stays_invalid_is_kept_as_such(bench: Bench) -> None:
    bench.project.trouble({"compiler": "y", "at": "call", "do": "busy"})
    ended = bench.run("toy", "--rounds", "1", "--retries", "1")
    assert ended.code == 6, ended.text
    (line,) = table(bench.root / "pairs.tsv")
    assert (line["valid"], line["cause"], line["tries"]) == ("0", "PAIR_FOREIGN_PROCESS", "2")
    assert kept(bench) == ["r1_A.invalid1", "r1_B.invalid1"]
    (end,) = data(bench.root / "status.json")["operators"]
    assert (end["invalid"], end["headline"]) == (1, False)


def test_a_pair_with_one_hot_side_is_measured_again(bench: Bench) -> None:
    hot = {"compiler": "y", "at": "call", "do": "throttle_once"}
    bench.project.trouble(hot, {"compiler": "x", "at": "call", "do": "cool"})
    ended = bench.run("toy", "--rounds", "1", TELEMETRY_INTERVAL="0.1")
    assert ended.code == 0, ended.text
    assert "PAIR_THROTTLED toy round 1: on one side: hw_thermal_slowdown; measured again" in ended.err
    assert "r1_B.invalid1" in kept(bench)
    assert data(bench.root / "toy" / "r1_B.invalid1" / "telemetry.json")["throttle"] == ["hw_thermal_slowdown"]


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_failed_round_costs_the_headline_and_keeps_the_others(bench: Bench) -> None:
    bench.project.trouble({"compiler": "y", "op": "toy", "at": "call", "do": "segv"})
    ended = bench.run("toy", "other", "--rounds", "2")
    assert ended.code == 6, ended.text
    ends = {end["op"]: end for end in data(bench.root / "status.json")["operators"]}
    assert (ends["other"]["headline"], ends["toy"]["headline"]) == (True, False)
    assert ends["toy"]["failed"]["r1_B"]["state"] == "CRASH"
    status = {(line["op"], line["round"], line["side"]): line["rc"] for line in table(bench.root / "status.tsv")}
    assert status["toy", "1", "B"] == "-11"
    assert ("toy", "2", "B") not in status, "without a first pair there is nothing to go on with"
    before = (bench.root / "toy" / "r1_A" / "result.json").stat().st_mtime_ns
    bench.project.trouble()
    again = bench.run("--resume", str(bench.root))
    assert again.code == 0, again.text
    assert (bench.root / "toy" / "r1_A" / "result.json").stat().st_mtime_ns == before
    assert len(table(bench.root / "status.tsv")) == 8
    assert {line["rc"] for line in table(bench.root / "status.tsv")} == {"0"}


def test_a_row_that_fails_on_one_side_leaves_the_others(bench: Bench) -> None:
    bench.project.trouble({"compiler": "y", "op": "toy", "dtype": "float16", "shape": 2, "at": "call", "do": "error"})
    words = ("ab_repeat", "toy", "--rounds", "2", "--backend", "fakecard")
    ended = bench.project.run(*words, env=bench.env)
    assert ended.code == 1, ended.text
    assert {line["failed"] for line in table(bench.root / "status.tsv") if line["side"] == "B"} == {"1"}
    names = row_names(bench.root)
    assert {len(found) for found in names.values()} == {10}
    assert len(cells_in_time(bench.root)) == 4


def test_a_time_limit_ends_the_operator(bench: Bench) -> None:
    bench.project.trouble({"compiler": "x", "op": "toy", "at": "call", "do": "hang"})
    ended = bench.run("toy", "--rounds", "2", "--cell-timeout", "2")
    assert ended.code == 124, ended.text
    assert "CELL_TIMEOUT" in ended.text


def test_a_hanging_cell_goes_with_its_grandchild_before_the_next_operator_begins(bench: Bench) -> None:
    hang = {"compiler": "y", "op": "other", "at": "call", "do": "hang"}
    bench.project.trouble(hang, {"op": "toy", "at": "call", "do": "witness"})
    ended = bench.run("other", "toy", "--rounds", "2", "--cell-timeout", "8")
    assert ended.code == 6, ended.text
    assert "CELL_TIMEOUT" in ended.text
    assert "other: no more rounds after 1: CELL_TIMEOUT" in ended.err
    ends = {end["op"]: end for end in data(bench.root / "status.json")["operators"]}
    assert (ends["other"]["exit_code"], ends["toy"]["exit_code"]) == (124, 0)
    assert ends["other"]["failed"]["r1_B"]["state"] == "CELL_TIMEOUT"
    assert cells_in_time(bench.root) == ["other/r1_A", "other/r1_B", *(f"toy/{name}" for name in ORDER[:4])]
    (grandchild,) = (bench.project.suite / "grandchildren").read_text().split()
    assert grandchild.isdecimal()
    assert (bench.project.suite / "witness").read_text() == "none", "it was dead when the next cell ran"


# --- what nobody saw -------------------------------------------------------------------------------------------------


def test_pairs_that_the_sampler_missed_are_counted(bench: Bench) -> None:
    """The cells of a toy take less than a second; the first reading may fall into the first of them."""
    ended = bench.run("toy", "--rounds", "3", TELEMETRY_INTERVAL="100")
    assert ended.code == 0, ended.text
    notes = [line["note"] for line in table(bench.root / "pairs.tsv")]
    missed = sum("neither side was seen at work" in note for note in notes)
    assert missed >= 2, notes
    assert f"in {missed} of 3 pairs neither side was seen at work" in ended.out
    assert "(next time: --telemetry-interval 1)" in ended.out
    (end,) = data(bench.root / "status.json")["operators"]
    assert end["unseen"] == missed
    off = bench.run("toy", "--rounds", "1", TELEMETRY_INTERVAL="0")
    assert "seen at work" not in off.out, "who switches it off knows"


# --- fewer rows ------------------------------------------------------------------------------------------------------


def test_settled_rows_are_dropped_and_not_lost(bench: Bench) -> None:
    """Times are those of a table, so equal: every row is settled at the first look."""
    words = ("ab_repeat", "toy", "--until-settled", "--max-rounds", "8", "--backend", "fakecard")
    ended = bench.project.run(*words, env=bench.env)
    assert ended.code == 0, ended.text
    settled = data(bench.root / "toy" / "settled.json")
    assert (settled["rounds"], len(settled["rows"]), settled["left"]) == (4, 10, [])
    assert {row["why"] for row in settled["rows"].values()} == {"no effect"}
    assert len(cells_in_time(bench.root)) == 8
    (end,) = data(bench.root / "status.json")["operators"]
    assert (end["rounds"], end["wanted"], end["settled"]) == (4, 4, 10)
    assert bench.run("--resume", str(bench.root)).code == 0
    assert len(cells_in_time(bench.root)) == 8


def test_rows_without_a_valid_pair_are_not_settled(bench: Bench) -> None:
    bench.project.trouble({"compiler": "y", "at": "call", "do": "busy"})
    ended = bench.run("toy", "--until-settled", "--max-rounds", "5", "--retries", "0")
    assert ended.code == 6, ended.text
    assert len(cells_in_time(bench.root)) == 10
    assert data(bench.root / "toy" / "settled.json")["rows"] == {}


def test_rows_that_settle_leave_the_others_to_go_on(bench: Bench) -> None:
    """One row fails on side B in every second cell, so that it has too few pairs at the first look."""
    flaky = {"compiler": "y", "op": "toy", "dtype": "float16", "shape": 2, "at": "call", "do": "error_every_second"}
    bench.project.trouble(flaky)
    words = ("ab_repeat", "toy", "--until-settled", "--max-rounds", "6", "--backend", "fakecard")
    ended = bench.project.run(*words, env=bench.env)
    assert ended.code == 1, ended.text
    settled = data(bench.root / "toy" / "settled.json")
    assert (len(settled["rows"]), len(settled["left"])) == (9, 1)
    assert row_names(bench.root)["toy/r5_A"] == settled["left"]
    result = data(bench.root / "toy" / "r5_A" / "result.json")
    assert (result["rows_ok"], result["rows_left_out"], result["rows_not_measured"]) == (1, 9, 0)


def test_rows_of_a_shard_are_measured_and_the_others_counted_as_left_out(bench: Bench) -> None:
    assert bench.project.run("screen", "toy", "--backend", "fakecard", env=bench.env).code == 0
    rows = [row["row"] for row in lines(bench.project.screen / "toy" / "A" / "rows.jsonl")]
    plan = {
        "screen": str(bench.project.screen),
        "lanes": [
            {"lane": name, "card": name, "ops": [{"op": "toy", "dir": "toy", "kind": "subject", "seconds": 1.0,
                                                  "rows": part, "shard": number, "shards": 2}]}
            for number, (name, part) in enumerate((("0", rows[:3]), ("1", rows[3:])), start=1)
        ],
    }  # fmt: skip
    path = bench.project.root / "partition.json"
    path.write_text(json.dumps(plan))
    ended = bench.project.run("ab_repeat", str(path), "--rounds", "1", env=bench.env)
    assert ended.code == 0, ended.text
    names = row_names(bench.root)
    assert names["0/toy/r1_A"] == names["0/toy/r1_B"] == rows[:3]
    assert names["1/toy/r1_A"] == names["1/toy/r1_B"] == rows[3:]
    result = data(bench.root / "0" / "toy" / "r1_A" / "result.json")
    assert (result["rows_ok"], result["rows_left_out"], result["rows_not_measured"]) == (3, 7, 0)
