"""Record and replay over a tuner of Triton's shape: what is written, what is shown to the tuner, what falls back."""

from __future__ import annotations

import functools
import gc
import json
import math
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from zlbench_plugins import autotune_record, autotune_replay, tuner_database, tuning_meta
from zlbench_plugins.context import CellContext, JsonLines

from zlbench import tuning
from zlbench.cells import CellSpec, read_json_lines


class OutOfResources(Exception):
    pass


@pytest.fixture(autouse=True)
def _files_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cell's process ends with its files open; here the process goes on."""
    made: list[JsonLines] = []
    start = JsonLines.__init__
    monkeypatch.setattr(JsonLines, "__init__", lambda self, path: (start(self, path), made.append(self))[0])
    yield
    for lines in made:
        if lines._stream is not None:
            lines._stream.close()


class Config:
    def __init__(self, kwargs: dict[str, Any], num_warps: int = 4, pre_hook: Any = None) -> None:
        self.kwargs, self.num_warps, self.pre_hook = kwargs, num_warps, pre_hook

    def __str__(self) -> str:
        return f"BLOCK: {self.kwargs.get('BLOCK')}"


class Autotuner:
    """A cache by key, a sweep, the winner's launch. `times` are those of a sweep's configs, `launch` runs one."""

    def __init__(self, times: list[float], launch: Callable[[Config], None] = lambda _: None, name: str = "k") -> None:
        self.configs = [Config({"BLOCK": 16 << number}) for number in range(len(times))]
        self.times, self.launch = times, launch
        self.cache: Any = {}
        self.base_fn = SimpleNamespace(__name__=name, __module__="suite.ops")
        self.nargs: Any = None

    def _bench(self, config: Config) -> list[float]:
        self.launch(config)
        return [self.times[self.configs.index(config)]] * 3

    def run(self, *key: Any) -> Config:
        config = self.configs[0]
        if len(self.configs) > 1:
            if key not in self.cache:
                timings = {config: self._bench(config) for config in self.configs}
                self.cache[key] = min(timings, key=lambda config: timings[config])
                self.configs_timings = timings
            config = self.cache[key]
        self.best_config = config
        self.launch(config)
        return config


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> type[Autotuner]:
    """A Triton that has this autotuner and nothing else; a class of its own, since plugins patch it."""
    cls = type("Autotuner", (Autotuner,), {"run": Autotuner.run, "_bench": Autotuner._bench})
    for name in ("triton", "triton.runtime", "triton.runtime.autotuner"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["triton.runtime.autotuner"], "Autotuner", cls, raising=False)
    monkeypatch.setattr(sys.modules["triton.runtime.autotuner"], "Config", Config, raising=False)
    return cls


class Cell:
    """One cell's process: a context, and the plugin of its mode."""

    def __init__(self, folder: Path, mode: str, source: Path | None = None) -> None:
        spec = CellSpec(
            cell="c", op="op", side="A", node="n", suite_root="s", package="suite", out_dir=str(folder), backend="cuda",
            timer="direct", autotune=mode, replay_from=str(source) if source else None,
        )  # fmt: skip
        self.context = CellContext(spec)
        self.folder = folder
        if mode == "record":
            tuning_meta.write(self.context, "record")
            autotune_record.install(self.context)
        else:
            self.replayer = autotune_replay.install(self.context)
            tuning_meta.write(self.context, "replay", source=str(source), source_digest=self.replayer.digest)

    def row(self, name: str, *calls: Callable[[], Any]) -> list[Any]:
        self.context.begin_row()
        self.context.row = name
        found = [call() for call in calls]
        self.context.end_row({"row": name})
        return found

    def end(self) -> None:
        self.context.patches.undo()

    def records(self) -> list[dict[str, Any]]:
        return read_json_lines(self.folder / tuning.RECORDS)

    def replayed(self) -> list[dict[str, Any]]:
        return read_json_lines(self.folder / tuning.REPLAY)

    def rows(self) -> list[dict[str, Any]]:
        return read_json_lines(self.folder / "rows.jsonl")


@pytest.fixture
def recorded(triton: type[Autotuner], tmp_path: Path) -> Path:
    """A record in which the third of four configs won, for two keys."""
    cell = Cell(tmp_path / "recorded", "record")
    tuner = triton([4.0, 3.0, 1.0, 2.0])
    cell.row("r1", lambda: tuner.run(1), lambda: tuner.run(1))
    cell.row("r2", lambda: tuner.run(2), lambda: tuner.run(1))
    cell.end()
    return cell.folder


def test_one_line_for_each_key_and_row(recorded: Path) -> None:
    found = read_json_lines(recorded / tuning.RECORDS)
    assert [(line["row"], line["key"], line["source"], line["swept"]) for line in found] == [
        ("r1", [1], "sweep", 4),
        ("r2", [2], "sweep", 4),
        ("r2", [1], "memory", 0),
    ]
    assert {line["config"]["kwargs"]["BLOCK"] for line in found} == {64}
    assert found[0]["timings"] == {"BLOCK: 16": 4.0, "BLOCK: 32": 3.0, "BLOCK: 64": 1.0, "BLOCK: 128": 2.0}
    assert (found[0]["tuner"], found[0]["kernel"], found[0]["module"]) == ("triton", "k", "suite.ops")


def test_a_line_is_on_the_disk_before_the_next_kernel(triton: type[Autotuner], tmp_path: Path) -> None:
    cell = Cell(tmp_path, "record")
    triton([1.0, 2.0]).run(1)
    assert len(cell.records()) == 1
    cell.end()


def test_ties_single_configs_and_sweeps_without_a_time(triton: type[Autotuner], tmp_path: Path, capsys: Any) -> None:
    cell = Cell(tmp_path, "record")
    triton([2.0, 1.0, 1.0, 1.0], name="tied").run(1)
    triton([1.0], name="single").run(1)
    triton([math.inf, math.inf], name="dead").run(1)
    tied, single, dead = cell.records()
    assert (tied["ties"], tied["config"]["kwargs"]["BLOCK"]) == (2, 32)
    assert (single["source"], single["key"], single["configs"]) == ("single", None, 1)
    assert (dead["all_failed"], dead["timings"]) == (True, {"BLOCK: 16": None, "BLOCK: 32": None})
    assert capsys.readouterr().err == "TUNE_ALL_FAILED kernel=dead key=[1] configs=2\n"
    assert tuning.markers(cell.folder) == ["TUNE_ALL_FAILED 1 kernel: dead"]
    cell.end()


def test_a_winner_that_cannot_be_launched_is_recorded_all_the_same(triton: type[Autotuner], tmp_path: Path) -> None:
    cell = Cell(tmp_path, "record")
    tuner = triton([2.0, 1.0])
    tuner.run(1)
    tuner.launch = lambda _: (_ for _ in ()).throw(OutOfResources)
    with pytest.raises(OutOfResources):
        cell.row("r", lambda: tuner.run(1))
    assert [line["config"]["kwargs"]["BLOCK"] for line in cell.records()] == [32, 32]
    cell.end()


def test_a_replay_sweeps_nothing_whatever_the_times_are(
    triton: type[Autotuner], recorded: Path, tmp_path: Path, capsys: Any
) -> None:
    cell = Cell(tmp_path / "b", "replay", recorded)
    launched: list[int] = []
    tuner = triton([1.0, 2.0, 3.0, 4.0], lambda config: launched.append(config.kwargs["BLOCK"]))
    cell.row("r1", lambda: tuner.run(1))
    (chosen,) = cell.row("r2", lambda: tuner.run(2))
    assert chosen is tuner.configs[2]
    assert launched == [64, 64]
    assert [(line["outcome"], line["swept"]) for line in cell.replayed()] == [("hit", 0)] * 2
    assert not (cell.folder / tuning.RECORDS).exists()
    assert cell.rows()[0]["config"] == read_json_lines(recorded / "rows.jsonl")[0]["config"]
    assert capsys.readouterr().err == ""
    assert tuning.source_digest(cell.folder) == tuning.source_digest(recorded)
    assert tuning.choice_lines(tuning.read_choices(cell.folder)) == ["replayed 2 of 2 autotune choices: k 2"]
    cell.end()


def test_what_is_in_the_cache_already_makes_way(triton: type[Autotuner], recorded: Path, tmp_path: Path) -> None:
    cell = Cell(tmp_path / "b", "replay", recorded)
    tuner = triton([1.0, 2.0, 3.0, 4.0])
    tuner.cache[1,] = tuner.configs[0]
    assert tuner.run(1) is tuner.configs[2]
    assert tuner.cache == {(1,): tuner.configs[2]}  # for who looks into it: still a plain dict
    cell.end()


def test_a_missing_key_is_tuned_here_and_said_once(
    triton: type[Autotuner], recorded: Path, tmp_path: Path, capsys: Any
) -> None:
    cell = Cell(tmp_path / "b", "replay", recorded)
    tuner = triton([1.0, 2.0, 3.0, 4.0])
    tuner.cache[7,] = tuner.configs[3]
    cell.row("r1", lambda: tuner.run(7), lambda: tuner.run(7))
    cell.row("r2", lambda: tuner.run(7))
    assert capsys.readouterr().err == "AUTOTUNE_REPLAY_FALLBACK reason=key_missing kernel=k key=[7]\n"
    assert [(line["outcome"], line["reason"], line["swept"], line["row"]) for line in cell.replayed()] == [
        ("miss", "key_missing", 4, "r1"),
        ("miss", "key_missing", 0, "r2"),
    ]
    assert [row["replay_fallback"] for row in cell.rows()] == ["k key_missing"] * 2
    assert tuning.markers(cell.folder) == [
        "REPLAYED_NOTHING none of 1 choices: every kernel was tuned anew",
        "AUTOTUNE_REPLAY_FALLBACK 1 of 1 choices tuned anew: k (key_missing 1)",
    ]
    cell.end()


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OutOfResources("x"), "compile_failed"), (TypeError("x"), "config_unknown"), (KeyError("x"), "config_unknown")],
)
def test_a_config_that_fails_is_taken_away_and_tuned_anew(
    triton: type[Autotuner], recorded: Path, tmp_path: Path, capsys: Any, error: Exception, reason: str
) -> None:
    cell = Cell(tmp_path / "b", "replay", recorded)
    tries: list[int] = []

    def launch(config: Config) -> None:
        tries.append(config.kwargs["BLOCK"])
        if len(tries) == 1:
            raise error

    tuner = triton([1.0, 2.0, 3.0, 4.0], launch)
    cell.row("r1", lambda: tuner.run(1), lambda: tuner.run(1))
    assert tries == [64, 16, 32, 64, 128, 16, 16]
    assert tuner.cache == {(1,): tuner.configs[0]}
    assert capsys.readouterr().err == f"AUTOTUNE_REPLAY_FALLBACK reason={reason} kernel=k key=[1]\n"
    (event,) = read_json_lines(cell.folder / "events.jsonl")
    assert (event["reason"], event["row"]) == (reason, "r1")
    cell.end()


def test_a_row_that_fails_although_it_was_tuned_anew_leaves_its_line(
    triton: type[Autotuner], recorded: Path, tmp_path: Path
) -> None:
    cell = Cell(tmp_path / "b", "replay", recorded)

    def launch(config: Config) -> None:
        raise OutOfResources(f"no room for {config}")

    with pytest.raises(OutOfResources):
        cell.row("r1", lambda: triton([1.0, 2.0, 3.0, 4.0], launch).run(1))
    cell.context.end_row({"row": "r1", "status": "FAILED"})
    (line,) = cell.replayed()
    assert (line["outcome"], line["reason"], line["key"], line["row"]) == ("miss", "compile_failed", [1], "r1")
    assert line["config"] is None
    assert cell.rows()[0]["replay_fallback"] == "k compile_failed"
    assert tuning.read_choices(cell.folder).fallbacks == {"k": {"compile_failed": 1}}
    cell.end()


def test_an_error_that_is_not_the_configs_goes_up(triton: type[Autotuner], recorded: Path, tmp_path: Path) -> None:
    cell = Cell(tmp_path / "b", "replay", recorded)
    tries: list[Config] = []

    def launch(config: Config) -> None:
        tries.append(config)
        raise RuntimeError("an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal"):
        triton([1.0, 2.0, 3.0, 4.0], launch).run(1)
    assert len(tries) == 1
    assert not (cell.folder / "events.jsonl").exists()
    cell.end()


def test_a_config_that_cannot_be_made_again(
    triton: type[Autotuner], recorded: Path, tmp_path: Path, capsys: Any
) -> None:
    path = recorded / tuning.RECORDS
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["config"]["ctas"] = 2
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:1]))
    cell = Cell(tmp_path / "b", "replay", recorded)
    assert triton([1.0, 2.0, 3.0, 4.0]).run(1).kwargs == {"BLOCK": 16}
    assert "reason=config_unknown kernel=k" in capsys.readouterr().err
    cell.end()


def test_a_config_from_outside_the_list_is_made_again(triton: type[Autotuner], recorded: Path, tmp_path: Path) -> None:
    path = recorded / tuning.RECORDS
    path.write_text(path.read_text().replace('"BLOCK":64', '"BLOCK":48'))
    cell = Cell(tmp_path / "b", "replay", recorded)
    assert triton([1.0, 2.0, 3.0, 4.0]).run(1).kwargs == {"BLOCK": 48}
    cell.end()


def test_a_process_that_began_anew_chose_by_row(triton: type[Autotuner], tmp_path: Path) -> None:
    folder = tmp_path / "a"
    for row, times in (("r1", [1.0, 2.0]), ("r2", [2.0, 1.0])):
        cell = Cell(folder, "record")
        tuner = triton(times)
        cell.row(row, lambda tuner=tuner: tuner.run(1))
        cell.end()
    cell = Cell(tmp_path / "b", "replay", folder)
    tuner = triton([1.0, 2.0])
    found = [cell.row(row, lambda: tuner.run(1))[0].kwargs["BLOCK"] for row in ("r1", "r2", "r3")]
    assert found == [16, 32, 16]
    assert len(cell.replayed()) == 3
    cell.end()


def test_the_same_name_in_another_module_is_another_kernel(triton: type[Autotuner], tmp_path: Path) -> None:
    cell = Cell(tmp_path / "a", "record")
    tuners = [triton([1.0, 2.0]), triton([2.0, 1.0])]
    tuners[1].base_fn.__module__ = "suite.fused"
    cell.row("r1", *(lambda tuner=tuner: tuner.run(1) for tuner in tuners))
    cell.end()
    again = Cell(tmp_path / "b", "replay", cell.folder)
    again.row("r1", *(lambda tuner=tuner: tuner.run(1) for tuner in tuners))
    assert [line["config"]["kwargs"]["BLOCK"] for line in again.replayed()] == [16, 32]
    again.end()


def test_a_sweep_that_was_not_asked_for_is_visible(
    triton: type[Autotuner], recorded: Path, tmp_path: Path, capsys: Any
) -> None:
    cell = Cell(tmp_path / "b", "replay", recorded)
    tuner = triton([1.0, 2.0, 3.0, 4.0])
    tuner._bench(tuner.configs[0])
    assert capsys.readouterr().err == "AUTOTUNE_REPLAY_FALLBACK reason=swept kernel=k key=null\n"
    cell.end()


def test_a_tuner_that_overrides_run_is_seen_once(triton: type[Autotuner], tmp_path: Path) -> None:
    cell = Cell(tmp_path, "record")

    class LateTuner(triton):  # type: ignore[misc,valid-type]
        def run(self, *key: Any) -> Config:
            return super().run(*key)

    assert cell.records() == []
    autotune_record.pytest_runtest_setup.__globals__["_hooks"].install()
    tuner = LateTuner([1.0, 2.0])
    for _ in range(3):
        assert tuner.run(1) is tuner.configs[0]
    assert len(cell.records()) == 1
    assert type(tuner.cache) is dict
    cell.end()


def test_in_a_loop_every_new_key_is_seen_and_what_the_suite_puts_there_counts(
    triton: type[Autotuner], tmp_path: Path
) -> None:
    cell = Cell(tmp_path, "record")
    tuner = triton([1.0, 2.0])
    calls: list[Callable[[], Any]] = [lambda: tuner.run(1)] * 3 + [lambda: tuner.run(2)] * 3 + [lambda: tuner.run(1)]
    cell.row("r1", *calls)
    assert [line["key"] for line in cell.records()] == [[1], [2]]
    tuner.cache[1,] = tuner.configs[1]
    assert cell.row("r1", calls[0]) == [tuner.configs[1]]
    del tuner.cache[1,]
    assert cell.row("r2", calls[0], calls[0]) == [tuner.configs[0]] * 2
    cell.end()


def test_a_loop_ends_with_an_error_of_the_launch_as_without_us(triton: type[Autotuner], tmp_path: Path) -> None:
    cell = Cell(tmp_path, "record")
    tuner = triton([1.0, 2.0])
    cell.row("r1", *[lambda: tuner.run(1)] * 2)
    tuner.launch = lambda _: (_ for _ in ()).throw(KeyError("no such argument"))
    cell.context.row = "r1"
    with pytest.raises(KeyError, match="no such argument"):
        tuner.run(1)
    assert type(tuner.cache) is dict
    cell.end()


def test_digests_do_not_depend_on_times_rows_or_order(recorded: Path) -> None:
    records = tuning.read_records(recorded)
    slower = [{**record, "timings": {}, "row": "other", "swept": 9} for record in reversed(records)]
    assert tuning.digest(slower) == tuning.digest(records)
    assert tuning.digest(records[:1]) != tuning.digest(records)
    assert tuning.digest([{**records[0], "config": {}}]) != tuning.digest(records[:1])


def test_a_lock_that_a_killed_cell_held_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class LibEntry:
        def __init__(self) -> None:
            self.lock: Any = multiprocessing.Lock()

    module = ModuleType("suite.utils.libentry")
    module.LibEntry, module.LibTuner = LibEntry, Autotuner  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "suite.utils.libentry", module)
    entry = LibEntry()
    assert entry.lock.acquire()
    assert tuner_database.own_locks() == 1
    with entry.lock:
        assert entry.lock.locked()


def test_an_entry_forgets_its_kernels_before_each_row(
    monkeypatch: pytest.MonkeyPatch, triton: type[Autotuner], tmp_path: Path
) -> None:
    class LibEntry:
        def __init__(self, tuner: Any) -> None:
            self.tuner, self.kernel_cache = tuner, ({}, {})

        def run(self, number: int) -> Any:
            if "i32" not in self.kernel_cache[0]:
                self.kernel_cache[0]["i32"] = self.tuner.run(number)
            return self.kernel_cache[0]["i32"]

    module = ModuleType("suite.utils.libentry")
    module.LibEntry = LibEntry  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "suite.utils.libentry", module)
    early = LibEntry(triton([2.0, 1.0], name="early"))
    tuner_database.own_locks()
    gc.freeze()  # as the process does that cells are forked from
    try:
        cell = Cell(tmp_path, "record")
        tuner_database.ask_in_every_row(cell.context)
        tuner_database.ask_in_every_row(cell.context)
        late = LibEntry(triton([2.0, 1.0], name="late"))
        for number in (1, 2):
            cell.row(f"r{number}", *[functools.partial(entry.run, number) for entry in (early, late)] * 2)
        cell.end()
    finally:
        gc.unfreeze()
    assert [(line["row"], line["kernel"], line["key"]) for line in cell.records()] == [
        ("r1", "early", [1]), ("r1", "late", [1]), ("r2", "early", [2]), ("r2", "late", [2]),
    ]  # fmt: skip
    assert all(row["config"] for row in cell.rows())
