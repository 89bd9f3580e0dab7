"""P4 TUNER-INHERIT: a winner that another compiler chose must not pass for one of this side; and a replay replays."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.suites import data, lines, wait_until_gone
from fakes.tuned_suites import TIMES, TunedProject, blocks, records, replayed

SHARED = ("--isolate-tuner-cache", "0")


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TunedProject]:
    yield TunedProject(tmp_path, home=tmp_path_factory.mktemp("home"))
    assert wait_until_gone(str(tmp_path)) == []


def test_each_side_sweeps_for_itself_in_a_cache_of_its_own(project: TunedProject) -> None:
    a, b = (project.measured("tuned", "--build", build) for build in ("x", "y"))
    assert (blocks(records(a)), blocks(records(b))) == ([64, 64], [512, 512])
    for run in (a, b):
        assert [(record["swept"], record["source"], record["ties"]) for record in records(run)] == [(6, "sweep", 0)] * 2
        identity = data(run / "run_identity.json")
        assert (identity["tuner_entries_before"], identity["tuner_entries_after"]) == (0, 2)
    ended = project.compare(a, b)
    assert ended.code == 4
    assert "RECORD_VS_RECORD" in ended.text
    assert "TUNER_CACHE_SHARED" not in ended.text
    assert not project.cache.exists()


def test_an_inherited_winner_is_named_with_its_compiler(project: TunedProject) -> None:
    a, b = (project.measured("tuned", "--build", build, *SHARED) for build in ("x", "y"))
    assert blocks(records(b)) == [64, 64]
    assert [(record["swept"], record["source"]) for record in records(b)] == [(0, "database")] * 2
    assert {record["writer"].partition(",")[0] for record in records(b)} == {"x (triton 3.6.0"}
    assert [data(run / "run_identity.json")["tuner_entries_after"] for run in (a, b)] == [2, 2]
    ended = project.compare(a, b)
    assert ended.code == 4
    assert "RECORD_VS_RECORD" in ended.text
    assert "TUNER_CACHE_SHARED winners chosen by x (triton 3.6.0, libtriton " in ended.text


def test_its_own_winner_of_an_earlier_run_is_a_warning(project: TunedProject) -> None:
    first = project.measured("tuned", "--build", "x", *SHARED)
    again = project.measured("tuned", "--build", "x", *SHARED)
    assert [record["swept"] for record in records(again)] == [0, 0]
    assert data(again / "run_identity.json")["tuner_foreign"] == []
    assert "TUNER_CACHE_SHARED" not in (again / "result.json").read_text()
    ended = project.compare(first, again)
    assert "[caliber] warning" in ended.text
    assert "TUNER_CACHE_SHARED" in ended.text


def test_times_that_another_compiler_stored_are_no_sweep_of_ones_own(project: TunedProject) -> None:
    project.measured("tuned", "--build", "x", *SHARED)
    database = next(project.cache.glob("config_cache/*.db"))
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM tuned_kernel")
    b = project.measured("tuned", "--build", "y", *SHARED)
    assert blocks(records(b)) == [64, 64]
    assert [(record["swept"], record["source"]) for record in records(b)] == [(0, "stored times")] * 2
    assert "x (triton 3.6.0" in data(b / "run_identity.json")["tuner_foreign"][0]


def test_four_workers_at_once_on_one_database(project: TunedProject) -> None:
    project.toy.table(
        shapes=[[number, 64] for number in range(1, 9)],
        latency_ms={"float16": [0.01 * number for number in range(1, 9)]},
    )
    project.measured("toy", "--build", "y")  # the build is looked at once, not four times
    # Each with locks of its own, or they would not be let on one card at once.
    locks = [str(project.cache.parent / f"locks{number}") for number in range(4)]
    started = [project.start("run", "tuned", "--build", "y", *SHARED, ZLBENCH_CARD_LOCKS=folder) for folder in locks]
    ended = [one.end() for one in started]
    assert [one.code for one in ended] == [0] * 4, [one.text for one in ended if one.code]
    runs = sorted(project.toy.runs.glob("tuned_*"))
    assert len(runs) == 4
    for run in runs:
        assert data(run / "result.json")["state"] == "OK"
        assert blocks(records(run)) == [512] * 8
        assert "locked" not in (run / "run.log").read_text()


def test_a_database_that_somebody_holds_is_waited_for(project: TunedProject) -> None:
    project.measured("tuned", "--build", "x", *SHARED)
    database = sqlite3.connect(next(project.cache.glob("config_cache/*.db")), isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    started = project.start("run", "tuned", "--build", "y", *SHARED)
    until = time.monotonic() + 30
    while not (events := [*project.toy.runs.glob("tuned_*/events.jsonl")])[1:] and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1.0)  # its first row asks the database now
    database.execute("ROLLBACK")
    database.close()
    ended = started.end()
    assert ended.code == 0, ended.text
    assert len(events) == 2


@pytest.mark.parametrize("op", ["tuned", "stock"])
def test_a_sweep_without_any_time_is_marked_and_not_replayed(project: TunedProject, op: str) -> None:
    project.toy.table(tune_ms={"x": ["inf"] * 6, "y": TIMES["y"]})
    a = project.measured(op, "--build", "x")
    assert all(record["all_failed"] for record in records(a))
    assert (a / "run.log").read_text().count("TUNE_ALL_FAILED kernel=") == 2
    assert f"TUNE_ALL_FAILED 1 kernel: {op}_kernel" in data(a / "result.json")["markers"]
    b = project.measured(op, "--build", "y", "--replay-from", str(a), code=1)
    assert "REPLAYED_NOTHING none of 2 choices: every kernel was tuned anew" in data(b / "result.json")["markers"]
    assert blocks(replayed(b)) == [512, 512]
    assert {line["reason"] for line in replayed(b)} == {"tune_all_failed"}
    assert (b / "run.log").read_text().count("AUTOTUNE_REPLAY_FALLBACK reason=tune_all_failed") == 2


@pytest.mark.parametrize("op", ["tuned", "stock", "entry"])
def test_in_a_screen_b_replays_what_a_recorded(project: TunedProject, op: str) -> None:
    ended = project.run("screen", op)
    assert ended.code == 0, ended.text
    a, b = (project.toy.screen / op / side for side in "AB")
    assert (blocks(records(a)), blocks(replayed(b))) == ([64, 64], [64, 64])
    assert {(line["outcome"], line["swept"]) for line in replayed(b)} == {("hit", 0)}
    assert not (b / "autotune_records" / "records.jsonl").exists()
    identities = [data(cell / "run_identity.json") for cell in (a, b)]
    assert [identity["autotune_mode"] for identity in identities] == ["record", "replay"]
    assert len({identity["autotune_source"] for identity in identities}) == 1
    assert {identity["flagtree_aabs"] for identity in identities} == {"0"}
    rows = [[row.get("config") for row in lines(cell / "rows.jsonl")] for cell in (a, b)]
    assert None not in rows[0]
    assert rows[0] == rows[1]
    assert "AUTOTUNE_REPLAY_FALLBACK" not in ended.text
    # Only the winner was used; what the sweep tried stands in the index.
    assert [line.split("\t")[2] for line in (a / "ttgir/index.tsv").read_text().splitlines()[1:]].count("used") == 1


@pytest.mark.parametrize("op", ["tuned", "stock", "entry"])
def test_a_config_that_b_cannot_run_is_tuned_anew_and_said(project: TunedProject, op: str) -> None:
    project.toy.table(too_large={"y": [64]})
    ended = project.run("screen", op)
    assert (
        f"AUTOTUNE_REPLAY_FALLBACK op={op} side=B 2 of 2 choices tuned anew: {op}_kernel (compile_failed 2)"
        in ended.text
    )
    b = project.toy.screen / op / "B"
    assert blocks(replayed(b)) == [512, 512]
    assert {(line["outcome"], line["reason"]) for line in replayed(b)} == {("miss", "compile_failed")}
    assert {row.get("replay_fallback") for row in lines(b / "rows.jsonl")} == {f"{op}_kernel compile_failed"}
    (operator,) = data(project.toy.screen / "screen.json")["operators"]
    assert (operator["verdict"], operator["replay_fallbacks"]) == ("IR_CHANGED", 2)
    assert f"the config of {op}_kernel was not replayed but tuned anew" in operator["reason"]


def test_a_key_without_a_record_is_tuned_here(project: TunedProject) -> None:
    a = project.measured("stock", "--build", "x")
    project.toy.table(shapes=[[1, 64], [3, 64]])
    ended = project.run("run", "stock", "--build", "x", "--replay-from", str(a))
    assert ended.code == 0
    assert "replayed 1 of 2 autotune choices: stock_kernel 1" in ended.out
    assert "AUTOTUNE_REPLAY_FALLBACK 1 of 2 choices tuned anew: stock_kernel (key_missing 1)" in ended.out


def test_a_record_that_lost_its_end_is_replayed_as_far_as_it_goes(project: TunedProject) -> None:
    a = project.measured("stock", "--build", "x")
    path = a / "autotune_records" / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    b = project.measured("stock", "--build", "y", "--replay-from", str(a))
    assert [line["outcome"] for line in replayed(b)] == ["hit", "miss"]


def test_what_cannot_be_replayed_is_refused_before_anything_runs(project: TunedProject, tmp_path: Path) -> None:
    a = project.measured("stock", "--build", "x")
    b = project.measured("stock", "--build", "y", "--replay-from", str(a))
    meta = json.loads((a / "autotune_records" / "meta.json").read_text())
    other = tmp_path / "other"
    (other / "autotune_records").mkdir(parents=True)
    (other / "autotune_records" / "meta.json").write_text(json.dumps({**meta, "backend": "musa"}))
    cases = {
        str(tmp_path / "nowhere"): "is not a directory",
        str(tmp_path): "holds no record of autotune choices of stock",
        str(b): f"is itself a replay (of {a})",
        str(other): "was recorded with backend musa, this run has fakecard",
    }
    before = len(project.toy.journal())
    ended = project.run("run", "stock", "tuned", "--build", "y", "--replay-from", str(a))
    assert ended.code == 3
    assert f"no record of tuned is named: {a} is a record of stock" in ended.err
    for source, said in cases.items():
        ended = project.run("run", "stock", "--build", "y", "--replay-from", source)
        assert ended.code == 3
        assert "PREFLIGHT_FAILED check=replay-source" in ended.err
        assert said in ended.err
    ended = project.toy.run("run", "toy", "--build", "y", env={"REPLAY_FROM": str(a)})
    assert ended.code == 3
    assert "nothing is tuned with no device" in ended.err
    assert len(project.toy.journal()) == before


def test_another_record_than_a_made_is_not_comparable(project: TunedProject) -> None:
    a = project.measured("stock", "--build", "x")
    project.toy.table(tune_ms={"x": TIMES["y"], "y": TIMES["y"]})
    other = project.measured("stock", "--build", "x")
    b = project.measured("stock", "--build", "y", "--replay-from", str(other))
    ended = project.compare(a, b)
    assert ended.code == 4
    assert "autotune_source" in ended.text
    assert project.compare(other, b).code != 4


def test_without_autotune_a_screen_is_refused_and_neither_plugin_is_loaded(project: TunedProject) -> None:
    ended = project.run("screen", "stock", ZL_ENABLE_AUTOTUNE="0")
    assert ended.code == 3
    assert "PREFLIGHT_FAILED check=one-choice" in ended.err
    assert project.toy.journal() == []
    ended = project.run("screen", "stock", "--allow-caliber-mismatch", ZL_ENABLE_AUTOTUNE="0")
    assert "RECORD_VS_RECORD" in ended.text
    for side in "AB":
        cell = project.toy.screens()[-1] / "stock" / side
        assert not (cell / "autotune_records").exists()
        assert not [name for name in data(cell / "cell.json")["plugins"] if "record" in name or "replay" in name]


def test_a_run_that_dies_leaves_its_choices(project: TunedProject) -> None:
    project.toy.trouble({"do": "segv", "at": "call", "op": "stock", "dtype": "float16", "shape": 2})
    ended = project.run("run", "stock", "--build", "x", GEMS_VENDOR="Other")
    assert ended.code == 6
    (run,) = project.toy.runs.glob("stock_*")
    assert data(run / "run_identity.json")["vendor"] == "other"
    assert blocks(records(run)) == [64]
    b = project.measured("stock", "--build", "x", "--replay-from", str(run), code=6)
    assert [line["outcome"] for line in replayed(b)] == ["hit"]


def test_times_of_two_cards_are_not_compared(project: TunedProject) -> None:
    a = project.measured("stock", "--build", "x", "--device", "0")
    same, other = (
        project.measured("stock", "--build", "y", "--device", card, "--replay-from", str(a)) for card in "01"
    )
    assert project.compare(a, same).code == 0
    ended = project.compare(a, other)
    assert ended.code == 4
    assert "stock: device_uuid: before=FAKE-00000000-0000 after=FAKE-00000001-0000" in ended.text
    allowed = project.compare(a, other, "--allow-caliber-mismatch")
    assert allowed.code == 0
    assert "device_uuid" in allowed.text
    project.cards.change(0, clock=1200.0)
    slower = project.measured("stock", "--build", "y", "--device", "0", "--replay-from", str(a))
    ended = project.compare(a, slower)
    assert ended.code == 4
    assert "stock: card sm_clock_max_mhz: before=1980.0 after=1200.0" in ended.text


def test_each_operator_replays_its_own_record(project: TunedProject) -> None:
    a = {op: project.measured(op, "--build", "x") for op in ("stock", "tuned")}
    given = (",".join(map(str, a.values())), *("--replay-from", str(a["stock"])))
    ended = project.run("run", "stock", "tuned", "--build", "y", "--replay-from", *given)
    assert ended.code == 0, ended.text
    assert ended.out.count("replayed 2 of 2 autotune choices") == 2
    project.run("screen", "stock", "tuned")
    ended = project.run("run", "stock", "tuned", "--build", "y", REPLAY_FROM=str(project.toy.screen))
    assert ended.code == 0, ended.text
    assert ended.out.count("replayed 2 of 2 autotune choices") == 2


def test_two_records_of_what_nobody_tunes_are_compared(project: TunedProject) -> None:
    a, b = (project.measured("toy", "--build", build) for build in ("x", "y"))
    assert [data(run / "run_identity.json")["tuner_choices"] for run in (a, b)] == [0, 0]
    ended = project.compare(a, b)
    assert ended.code == 0, ended.text


def test_a_forced_pairing_stays_with_its_numbers(project: TunedProject) -> None:
    path = project.toy.suite / "src" / "toygems" / "utils" / "libentry.py"
    start = "    def run(self, n, dtype):\n"
    gate = "if major_version == 3 and 3 <= minor_version <= 5:\n            return\n"
    versions = "major_version, minor_version = 3, 6\n"
    path.write_text(path.read_text().replace(start, f"{start}        {versions}        {gate}"))
    refused = project.run("run", "entry", "--build", "x")
    assert refused.code == 3
    assert "check=suite-suits-compiler" in refused.err
    compiled = project.toy.run("screen", "toy", "--quick", "--backend", "compile")
    (note,) = [line for line in compiled.err.splitlines() if "not measured" in line]
    assert note.startswith(
        "note: suite directory can be compiled, not measured, on side A (triton 3.6.0) and side B (tri"
    )
    a = project.measured("entry", "--build", "x", "--force-pairing")
    b = project.measured("entry", "--build", "y", "--force-pairing", "--replay-from", str(a))
    assert "libentry.py" in data(a / "run_identity.json")["forced_pairing"]
    assert "FORCED_PAIRING op=entry side=A,B " in project.compare(a, b).text.replace("\n", " ")
    assert "FORCED_PAIRING op=entry side=A,B " in project.run("screen", "entry", "--force-pairing").text


def test_a_plugin_that_was_changed_measures_in_another_way(project: TunedProject, tmp_path: Path) -> None:
    paths = os.pathsep.join([str(tmp_path), project.cards.pythonpath()])
    runs = []
    for text in ("", "", "# changed\n"):
        (tmp_path / "toy_plugin.py").write_text(text)
        before = set(project.toy.runs.glob("toy_*"))
        ended = project.run("run", "toy", "--build", "x", "--extra-plugins", "toy_plugin", PYTHONPATH=paths)
        assert ended.code == 0, ended.text
        runs += [*set(project.toy.runs.glob("toy_*")) - before]
    assert project.compare(*runs[:2]).code == 0
    ended = project.compare(*runs[1:])
    assert ended.code == 4
    assert "[caliber] toy: plugins: before=" in ended.text
