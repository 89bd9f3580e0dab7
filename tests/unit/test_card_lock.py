"""A card has one zlbench at a time: across processes, in words, and free again however its holder ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from zlbench import backend as backends
from zlbench import card_lock
from zlbench.card_lock import folder_of, held, key_of
from zlbench.errors import ExitCode, PreflightError, UsageError
from zlbench.processors import lane_cores
from zlbench.smi import CardFacts

CUDA = backends.get("cuda")
CARD = CardFacts(index=3, uuid="GPU-5EE7c2f1")
KEY = key_of(CUDA, CARD)
PATIENCE_S = 30.0
ROOT = Path(__file__).parents[2]
HOLD = """
import pathlib, subprocess, sys, time
from zlbench.card_lock import held
folder, wait_s, doing = pathlib.Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
try:
    with held("cuda-gpu-5ee7c2f1", folder=folder, what="card 3", directory=pathlib.Path("/runs/theirs"),
              wait_s=wait_s, say=lambda text: print("said", text, flush=True)):
        if doing == "child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            print("child", child.pid, flush=True)
        print("held", flush=True)
        if doing == "nested":
            again = [sys.executable, "-c", sys.argv[4], str(folder), "0", "leave", ""]
            print("inner", subprocess.run(again, stdout=subprocess.PIPE, text=True).stdout.split()[0], flush=True)
        if doing == "raise":
            raise SystemExit(7)
        if doing != "leave":
            sys.stdin.readline()
    print("left", flush=True)
except Exception as error:
    print("refused", error.marker, error, flush=True)
"""


class Process:
    """Another zlbench that wants the card."""

    def __init__(self, folder: Path, wait_s: float = 0, doing: str = "hold") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder), str(wait_s), doing, HOLD],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        self.process.communicate("\n")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(*args: object, **more: object) -> Process:
        started.append(Process(tmp_path, *args, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for item in started:
        item.process.kill()
        item.process.communicate()


def mine(folder: Path, wait_s: float = 0, said: list[str] | None = None) -> AbstractContextManager[None]:
    say = (lambda _: None) if said is None else said.append
    return held(KEY, folder=folder, what="card 3", directory=folder / "runs", wait_s=wait_s, say=say)


def refusal(folder: Path, wait_s: float = 0) -> PreflightError:
    with pytest.raises(PreflightError) as caught, mine(folder, wait_s):
        pass
    return caught.value


def test_the_key_is_what_the_card_is_not_what_it_is_called() -> None:
    assert key_of(CUDA, CARD) == key_of(CUDA, CardFacts(index=0, uuid="gpu-5ee7C2F1")) == "cuda-gpu-5ee7c2f1"
    assert key_of(CUDA, CardFacts(index=3)) == key_of(CUDA, "3") == "cuda-3"
    assert key_of(backends.get("musa"), CardFacts(index=3)) == "musa-3"
    assert "/" not in key_of(CUDA, "../../etc/passwd")


def test_a_second_one_is_refused_with_who_holds_it(tmp_path: Path, start: Callable[..., Process]) -> None:
    other = start()
    assert other.says() == "held"
    error = refusal(tmp_path)
    assert (error.marker, error.check, error.code) == ("CARD_IN_USE", "card-free", ExitCode.PREFLIGHT)
    assert f"card 3 is in use by pid {other.process.pid} (" in error.message
    assert "in /runs/theirs since 20" in error.message
    assert "--wait-for-card" in error.hint


def test_it_says_who_holds_it(tmp_path: Path) -> None:
    with mine(tmp_path):
        text = json.loads((tmp_path / f"{KEY}.lock").read_text())
        assert set(text) == {"pid", "command", "directory", "since"}
        assert (text["pid"], text["directory"]) == (os.getpid(), str(tmp_path / "runs"))
    assert (tmp_path / f"{KEY}.lock").read_text() == ""


def test_of_two_in_the_same_moment_one_gets_it(start: Callable[..., Process]) -> None:
    words = sorted(item.says().split()[0] for item in [start() for _ in range(4)])
    assert words == ["held", "refused", "refused", "refused"]


def test_whoever_waits_gets_it_next_and_says_so_once(start: Callable[..., Process]) -> None:
    holder = start()
    assert holder.says() == "held"
    other = start(wait_s=PATIENCE_S)
    said = other.says()
    assert said.startswith(f"said card 3 is in use by pid {holder.process.pid} (")
    assert said.endswith("waiting 30 s at most")
    holder.leave()
    assert other.says() == "held"
    other.leave()


def test_waiting_has_an_end(tmp_path: Path, start: Callable[..., Process]) -> None:
    assert start().says() == "held"
    assert refusal(tmp_path, 0.3).message.endswith(", also after 0.3 s")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_is_free_however_its_holder_ended(
    tmp_path: Path, start: Callable[..., Process], number: signal.Signals
) -> None:
    other = start()
    assert other.says() == "held"
    other.process.send_signal(number)
    other.process.wait()
    with mine(tmp_path):
        assert json.loads((tmp_path / f"{KEY}.lock").read_text())["pid"] == os.getpid()


def test_it_is_free_after_an_error(tmp_path: Path, start: Callable[..., Process]) -> None:
    other = start(doing="raise")
    other.process.wait()
    with mine(tmp_path):
        pass


def test_a_child_of_the_holder_does_not_keep_it(tmp_path: Path, start: Callable[..., Process]) -> None:
    other = start(doing="child")
    child = int(other.says().split()[1])
    try:
        assert other.says() == "held"
        other.process.kill()
        other.process.wait()
        os.kill(child, 0)
        with mine(tmp_path):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # it has come to us where this process adopts orphans
            os.waitpid(child, 0)


def test_the_holder_and_its_children_may_enter_again(tmp_path: Path, start: Callable[..., Process]) -> None:
    with mine(tmp_path):
        with mine(tmp_path):
            pass
        assert start().says() == "held"  # a child of ours
    other = start(doing="nested")
    assert [other.says(), other.says()] == ["held", "inner held"]
    other.leave()


def test_leaving_the_inner_block_keeps_the_outer_one(tmp_path: Path) -> None:
    with mine(tmp_path):
        with mine(tmp_path):
            pass
        assert json.loads((tmp_path / f"{KEY}.lock").read_text())["pid"] == os.getpid()
        assert list(card_lock._KEPT.values()) == [1]
    assert not card_lock._KEPT


def test_a_file_that_somebody_removed_keeps_nobody_out_and_nobody_in(
    tmp_path: Path, start: Callable[..., Process]
) -> None:
    other = start()
    assert other.says() == "held"
    (tmp_path / f"{KEY}.lock").unlink()
    with mine(tmp_path):
        assert (tmp_path / f"{KEY}.lock").exists()


@pytest.mark.parametrize("text", ["", "garbage", "[]", '{"pid": "x"}'])
def test_a_holder_that_says_nothing_is_another_zlbench(
    tmp_path: Path, start: Callable[..., Process], text: str
) -> None:
    other = start()
    assert other.says() == "held"
    (tmp_path / f"{KEY}.lock").write_text(text)
    assert "card 3 is in use by another zlbench" in refusal(tmp_path).message


def test_a_holder_that_is_about_to_say_who_it_is_is_waited_for(tmp_path: Path, start: Callable[..., Process]) -> None:
    """Between its lock and its name: two that start together must not be told of a stranger."""
    other = start()
    assert other.says() == "held"
    lock = tmp_path / f"{KEY}.lock"
    text = lock.read_text()
    lock.write_text("")
    late = threading.Timer(0.2, lock.write_text, [text])
    late.start()
    try:
        assert f"in use by pid {other.process.pid} (" in refusal(tmp_path).message
    finally:
        late.join()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / f"{KEY}.lock").symlink_to(tmp_path / "precious")
    assert "whether card 3 is free cannot be told" in refusal(tmp_path).message
    assert (tmp_path / "precious").read_text() == "mine"


def test_the_folder_is_for_everybody(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        folder = folder_of({"ZLBENCH_CARD_LOCKS": str(tmp_path / "locks")})
        assert folder == tmp_path / "locks"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
        with mine(folder):
            assert stat.S_IMODE((folder / f"{KEY}.lock").stat().st_mode) == 0o666
    finally:
        os.umask(old)


def test_where_there_is_no_folder_for_all_there_is_one_for_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(card_lock, "SHARED", tmp_path / "file")
    assert folder_of({}) is None
    assert folder_of({"XDG_RUNTIME_DIR": str(tmp_path)}) is None  # a file of that name is there as well
    (tmp_path / "run").mkdir()
    assert folder_of({"XDG_RUNTIME_DIR": str(tmp_path / "run")}) == tmp_path / "run" / "file"
    assert folder_of({"ZLBENCH_CARD_LOCKS": str(tmp_path / "file")}) is None


# ---- processors of lanes without a device


def cores(root: Path, *siblings: str) -> Path:
    for number, text in enumerate(siblings):
        folder = root / f"sys/devices/system/cpu/cpu{number}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(text + "\n")
    return root


def test_lanes_have_physical_cores_of_their_own_first(tmp_path: Path) -> None:
    root = cores(tmp_path, "0,1", "0,1", "2,3", "2,3")
    assert lane_cores(2, allowed={0, 1, 2, 3}, root=root) == (0, 2)
    assert lane_cores(3, allowed={0, 1, 2, 3}, root=root) == (0, 2, 1)
    assert lane_cores(2, allowed={1, 3}, root=root) == (1, 3)
    assert lane_cores(2, allowed={4, 9}, root=root) == (4, 9)
    assert lane_cores(0) == ()


def test_more_lanes_than_processors_are_refused() -> None:
    with pytest.raises(UsageError, match="3 lanes were asked for, and this process may use 2 processors"):
        lane_cores(3, allowed={4, 7})
