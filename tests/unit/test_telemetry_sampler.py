"""The sampler with tools that work, fail, hang or are not there; and its process: kept alive, never left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.fake_card import FakeCards, uuid
from fakes.smi import asked, make_tool

from zlbench import backend as backends
from zlbench import cards, proctree
from zlbench.smi import CardProcess
from zlbench.telemetry import supervise
from zlbench.telemetry.host import Host
from zlbench.telemetry.lines import HOST, Foreign, Reading
from zlbench.telemetry.read import read
from zlbench.telemetry.sampler import CardSampler, Log, foreign, sample
from zlbench.telemetry.supervise import Telemetry

CUDA = backends.get("cuda")
TOOL = {"clocks.sm": "cuda_telemetry.csv", "compute-apps": "cuda_processes.csv"}
HERE = "pid:[4026531836]"
PATIENCE_S = 30.0
ROOT = Path(__file__).parents[2]
BROKEN = [("exit 1", "failed with status 1"), ("echo '<html>'", "says nothing"), ("exec sleep 600", "did not answer")]


def until(true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def alive(pid: int) -> bool:
    return any(entry.pid == pid and entry.state not in "ZX" for entry in proctree.table())


def sampler(env: dict[str, str], card: str = "", *, ours: frozenset[int] = frozenset()) -> CardSampler:
    return CardSampler(CUDA, card, env, lambda: set(ours))


# ---- one reading


def test_a_reading_of_all_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zlbench.telemetry.sampler._namespace", lambda: HERE)
    found, reason = sampler(make_tool(tmp_path / "bin", "nvidia-smi", TOOL)).readings()
    assert reason == ""
    assert [(r.index, r.sm_clock_mhz, r.throttle) for r in found] == [
        ("0", 1980, ("sw_power_cap",)), ("1", 345, ("gpu_idle",)), ("2", None, ()),
    ]  # fmt: skip
    assert found[0].foreign == (Foreign(pid=777),)
    assert found[1].foreign == (Foreign(pid=41233, name="python"), Foreign(pid=41300, name="serve"))
    assert found[2].foreign == ()


@pytest.mark.parametrize("card", ["1", "GPU-5ee7c2f1-0000-1111-2222-333344446666"])
def test_one_card_alone_is_asked_about(tmp_path: Path, card: str) -> None:
    ours = frozenset({41233})
    (found,), _ = sampler(make_tool(tmp_path / "bin", "nvidia-smi", TOOL), card, ours=ours).readings()
    assert found.index == "1"
    assert found.foreign == (Foreign(pid=41300, name="serve"),)
    assert all(line.endswith(f"-i {card}") for line in asked(tmp_path / "bin"))


@pytest.mark.parametrize(("otherwise", "said"), BROKEN)
def test_a_tool_of_no_use_gives_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, otherwise: str, said: str
) -> None:
    monkeypatch.setattr(cards, "PATIENCE_S", 0.3)
    found, reason = sampler(make_tool(tmp_path / "bin", "nvidia-smi", {}, otherwise=otherwise)).readings()
    assert found == []
    assert said in reason


@pytest.mark.parametrize(("otherwise", "_said"), BROKEN)
def test_clocks_are_known_where_processes_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, otherwise: str, _said: str
) -> None:
    monkeypatch.setattr(cards, "PATIENCE_S", 0.3)
    tool = {"clocks.sm": "cuda_telemetry.csv"}
    found, _ = sampler(make_tool(tmp_path / "bin", "nvidia-smi", tool, otherwise=otherwise), "0").readings()
    assert [reading.sm_clock_mhz for reading in found] == [1980]
    # Garbage is the answer of a tool that runs: it names nobody.
    assert found[0].foreign == (() if "html" in otherwise else None)


def process(pid: int | None) -> CardProcess:
    return CardProcess(pid=pid, name="python")


@pytest.mark.parametrize(
    ("pids", "namespace", "others"),
    [
        ([], "pid:[1]", ()),
        ([5, 6], HERE, (6,)),
        ([6], HERE, (6,)),
        ([5, 6], "pid:[1]", (6,)),
        ([6], "pid:[1]", None),
        ([6], "", None),
        ([5, None], HERE, None),
    ],
)
def test_ids_of_another_namespace_are_not_believed(
    pids: list[int | None], namespace: str, others: tuple[int, ...] | None
) -> None:
    found = foreign([process(pid) for pid in pids], {5}, namespace=namespace)
    assert (None if found is None else tuple(item.pid for item in found)) == others


def test_the_host_is_read_where_there_is_no_card() -> None:
    code = "import time; end = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    busy = subprocess.Popen([sys.executable, "-c", code])
    try:
        theirs, ours = Host(set), Host(lambda: {busy.pid})
        assert theirs.reading().foreign is None  # nothing to compare with yet
        ours.reading()
        ticks = next(entry.ticks for entry in proctree.table() if entry.pid == busy.pid)
        until(
            lambda: next(e.ticks for e in proctree.table() if e.pid == busy.pid) >= ticks + 20, "the child got no time"
        )
        seen, known = theirs.reading(), ours.reading()
        assert seen.index == HOST
        assert busy.pid in [process.pid for process in seen.foreign or ()]
        assert busy.pid not in [process.pid for process in known.foreign or ()]
        assert 0 <= (seen.util_pct or 0) <= 100
    finally:
        busy.kill()
        busy.wait()


def test_frequency_and_throttles_of_a_host(tmp_path: Path) -> None:
    def put(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    host = Host(set, tmp_path)
    assert host.reading().sm_clock_mhz is None
    for number, khz in enumerate((2_000_000, 3_000_000)):
        put(f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_cur_freq", f"{khz}\n")
        put(f"sys/devices/system/cpu/cpu{number}/thermal_throttle/core_throttle_count", "0\n")
    put("proc/stat", "cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 1\n")
    assert (host.reading().sm_clock_mhz, host.reading().throttle) == (2500, ())
    put("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3\n")
    put("proc/stat", "cpu  130 0 0 110 0 0 0 0 0 0\ncpu0 1\n")
    found = host.reading()
    assert (found.throttle, found.util_pct) == (("cpu_thermal",), 75.0)


# ---- the loop


def loop(path: Path, answers: list[tuple[list[Reading], str]]) -> None:
    left: Iterator[tuple[list[Reading], str]] = iter(answers)
    sample(lambda: next(left), Log(path), 0.001, alive=lambda: left.__length_hint__() > 0)  # type: ignore[attr-defined]


def test_what_is_wrong_is_said_once_and_it_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = [Reading(at=1_700_000_000.0, index="0")]
    loop(tmp_path / "t", [([], "no tool"), (good, ""), ([], "it hangs"), (good, "")])
    assert capsys.readouterr().out == "TELEMETRY_OFF no tool\n"
    assert read(tmp_path / "t") == good * 2


def test_a_place_that_cannot_be_written_ends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = [Reading(at=1_700_000_000.0, index="0")]
    loop(tmp_path / "no" / "t", [(good, ""), (good, "")])
    assert capsys.readouterr().out.count("TELEMETRY_OFF") == 1


# ---- its process


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCards:
    found = FakeCards(tmp_path / "cards")
    monkeypatch.syspath_prepend(str(found.folder))
    monkeypatch.setattr(supervise, "_LOOK_S", 0.05)
    return found


def telemetry(tmp_path: Path, said: list[str], *, interval_s: float = 0.05, name: str = "fakecard") -> Telemetry:
    env = {"PATH": os.environ["PATH"]}
    return Telemetry(
        tmp_path, backend=replace(CUDA, name=name), card=uuid(1), interval_s=interval_s, env=env, say=said.append
    )


def test_readings_come_until_the_end(tmp_path: Path, fake: FakeCards) -> None:
    fake.busy(1, "/opt/train", card=1)
    said: list[str] = []
    with telemetry(tmp_path, said) as handle:
        until(lambda: len(read(handle.path)) >= 3, "no readings came")
        pid = handle.pid
    assert pid is not None
    assert not alive(pid)
    readings = read(tmp_path / "telemetry.tsv")
    assert {(reading.index, reading.uuid, reading.sm_clock_mhz) for reading in readings} == {("1", uuid(1), 1980.0)}
    assert (said, handle.reason, handle.starts, handle.pid) == ([], "", 1, None)
    assert [entry for entry in proctree.table() if entry.parent == os.getpid() and entry.state == "Z"] == []


def test_a_sampler_that_was_killed_is_started_again(tmp_path: Path, fake: FakeCards) -> None:
    said: list[str] = []
    with telemetry(tmp_path, said) as handle:
        until(lambda: read(handle.path), "no readings came")
        first = handle.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        until(lambda: handle.pid not in (first, None), "it was not started again")
        before = len(read(handle.path))
        until(lambda: len(read(handle.path)) > before, "no readings came afterwards")
        assert (handle.starts, said) == (2, [])
    assert (tmp_path / "telemetry.tsv").read_text().count("timestamp") == 1


def test_a_sampler_that_always_dies_is_given_up(tmp_path: Path, fake: FakeCards) -> None:
    said: list[str] = []
    with telemetry(tmp_path, said, name="no such family") as handle:
        until(lambda: handle.reason, "it was never given up")
    assert handle.starts == supervise.RESTARTS + 1
    assert len(said) == 1
    assert said[0].startswith("TELEMETRY_OFF the sampler ended 6 times")
    assert "no such family" in (tmp_path / "telemetry.log").read_text()


def test_a_tool_that_fails_is_said_once_and_comes_back(tmp_path: Path, fake: FakeCards) -> None:
    fake.tool("fails")
    said: list[str] = []
    with telemetry(tmp_path, said) as handle:
        until(lambda: said, "nothing was said")
        assert read(handle.path) == []
        fake.tool("ok")
        until(lambda: read(handle.path), "it did not go on")
    assert len(said) == 1
    assert "could not talk to the driver" in said[0]


def test_a_tool_that_hangs_does_not_hold_up_the_end(tmp_path: Path, fake: FakeCards) -> None:
    fake.tool("hang")
    with telemetry(tmp_path, []) as handle:
        until(fake.asked, "the tool was not asked")
        tools = [entry.pid for entry in proctree.table() if entry.parent == handle.pid]
    assert len(tools) == 1
    assert not alive(tools[0])


def test_a_sampler_killed_while_its_tool_hangs_leaves_nothing(tmp_path: Path, fake: FakeCards) -> None:
    fake.tool("hang")
    with telemetry(tmp_path, []) as handle:
        until(fake.asked, "the tool was not asked")
        first = handle.pid
        assert first is not None
        (tool,) = (entry.pid for entry in proctree.table() if entry.parent == first)
        os.kill(first, signal.SIGKILL)
        until(lambda: not alive(tool), "the tool outlived the sampler")
        until(lambda: handle.pid not in (first, None), "it was not started again")
    assert [entry for entry in proctree.table() if entry.parent == os.getpid() and entry.state == "Z"] == []


def test_a_cell_that_ends_while_the_tool_answers_is_still_ours(tmp_path: Path) -> None:
    ours = iter([{41233, 41300}, set()])
    env = make_tool(tmp_path / "bin", "nvidia-smi", TOOL)
    (found,), _ = CardSampler(CUDA, "1", env, lambda: next(ours)).readings()
    assert found.foreign == ()


def test_nothing_is_started_where_it_is_off(tmp_path: Path, fake: FakeCards) -> None:
    with telemetry(tmp_path, [], interval_s=0) as handle:
        assert (handle.pid, handle.reason, handle.starts) == (None, "switched off", 0)
    assert not handle.path.exists()


def test_a_folder_that_is_not_there_ends_nothing(tmp_path: Path, fake: FakeCards) -> None:
    said: list[str] = []
    with telemetry(tmp_path / "none", said):
        pass
    assert len(said) == 1
    assert said[0].startswith("TELEMETRY_OFF the sampler cannot be started")


def test_it_ends_with_a_driver_that_was_killed(tmp_path: Path) -> None:
    code = f"""
import os, pathlib, time
from zlbench import backend
from zlbench.telemetry.supervise import Telemetry
handle = Telemetry(pathlib.Path({str(tmp_path)!r}), backend=backend.get("compile"), card="", interval_s=0.05,
                   env=os.environ, say=print)
with handle:
    while not handle.path.exists():
        time.sleep(0.01)
    print(handle.pid, flush=True)
    time.sleep(600)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "backends")])}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        pid = int(driver.stdout.readline())
        assert alive(pid)
        driver.kill()
    until(lambda: not alive(pid), "the sampler outlived its driver")
