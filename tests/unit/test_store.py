"""Files are whole or absent, run directories are never shared, and a full disk says so with a next step."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlbench import store
from zlbench.errors import ExitCode, PartialError, PreflightError, UsageError

NOW = datetime(2026, 11, 29, 12, 15, 0)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    store.write_json(path, {"name": "→"})
    assert path.read_text(encoding="utf-8") == '{\n "name": "→"\n}\n'
    store.write_json(path, {})
    assert store.read_json(path) == {}
    assert [found.name for found in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "screen.tsv"
    store.write_text(path, "old\n")
    real = Path.write_bytes

    def full(self: Path, *args, **kwargs):
        if step == "write_bytes":
            real(self, b"half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, step, full)
        with pytest.raises(PartialError, match="the disk is full"):
            store.write_text(path, "new\n")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "screen.tsv"
    store.write_text(path, "old\n")

    def interrupted(*_args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.write_text(path, "new\n")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


@given(st.text(st.characters(), max_size=30))
def test_any_text_reads_back_as_json(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    store.write_json(path, {"detail": text})
    assert store.read_json(path) == {"detail": text}


def test_a_file_name_outside_of_utf8_can_be_quoted(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    detail = f"No such file: {os.fsdecode(b'/tmp/caf' + bytes([0xE9]))}"
    store.write_json(path, {"detail": detail})
    assert store.read_json(path) == {"detail": detail}
    store.write_text(path, detail)
    assert "udce9" in path.read_text()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"\0\0\0"])
def test_a_file_that_is_no_json_reads_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "torn").write_bytes(content)
    assert store.read_json(tmp_path / "torn") is None
    assert store.read_json(tmp_path / "absent") is None
    assert store.read_json(tmp_path / "torn" / "below") is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk(tmp_path: Path, number: int) -> None:
    error = store.disk_error(OSError(number, os.strerror(number)), tmp_path)
    assert isinstance(error, PartialError)
    assert (error.code, error.marker) == (ExitCode.PARTIAL, "DISK_FULL")
    assert str(tmp_path) in error.message
    assert "--resume" in error.hint


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.ENAMETOOLONG])
def test_a_place_that_cannot_be_written(tmp_path: Path, number: int) -> None:
    error = store.disk_error(OSError(number, os.strerror(number)), tmp_path)
    assert isinstance(error, PreflightError)
    assert (error.code, error.check) == (ExitCode.PREFLIGHT, "out-dir")
    assert error.message == f"{tmp_path} cannot be written: {os.strerror(number)}"
    assert "--out DIR" in error.hint


def test_an_error_without_a_number_keeps_its_words(tmp_path: Path) -> None:
    assert store.disk_error(OSError("odd"), tmp_path).message == f"{tmp_path} cannot be written: odd"


def test_run_directories_of_one_second_stay_apart(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "runs"
    names = [store.create_run_dir(root, "screen", NOW).name for _ in range(3)]
    assert names == ["screen_20261129-121500", "screen_20261129-121500-2", "screen_20261129-121500-3"]
    assert store.create_run_dir(root, "run", NOW).name == "run_20261129-121500"


def test_a_run_directory_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(PreflightError, match="cannot be written"):
        store.create_run_dir(tmp_path / "runs", "screen", NOW)
    with pytest.raises(PreflightError, match="cannot be written"):
        store.write_text(tmp_path / "runs" / "screen.tsv", "")


def test_a_run_directory_belongs_to_one_at_a_time(tmp_path: Path) -> None:
    with store.hold(tmp_path), pytest.raises(UsageError, match="another zlbench"), store.hold(tmp_path):
        raise AssertionError("held twice")
    with store.hold(tmp_path):
        assert store.newest(tmp_path.parent, tmp_path.name, having=".lock") is None


def test_the_newest_run_is_the_one_started_last_that_holds_the_file(tmp_path: Path) -> None:
    day = "screen_20261129"
    names = (
        f"{day}-120001-2",
        f"{day}-120001-10",
        f"{day}-120000",
        f"{day}-120002",
        "screen_zebra",
        "run_20271129-120000",
    )
    for second, name in enumerate(names):
        (tmp_path / name).mkdir()
        if name != f"{day}-120002":
            (tmp_path / name / "plan.json").write_text(json.dumps({}))
        os.utime(tmp_path / name, (second, second))
    assert store.newest(tmp_path, "screen", having="plan.json") == tmp_path / f"{day}-120001-10"
    assert store.newest(tmp_path / "absent", "screen", having="plan.json") is None


def test_who_asks_whether_a_directory_is_held_keeps_nobody_out(tmp_path: Path) -> None:
    assert not store.is_held(tmp_path)
    with store.hold(tmp_path):
        assert store.is_held(tmp_path)
    assert not store.is_held(tmp_path)
    with (tmp_path / ".lock").open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        threading.Timer(0.1, lambda: fcntl.flock(asking, fcntl.LOCK_UN)).start()
        with store.hold(tmp_path):
            assert store.is_held(tmp_path)


def test_the_newest_of_several_kinds_goes_by_the_time_in_the_name(tmp_path: Path) -> None:
    kinds = {"screen": "screen.tsv", "campaign": "screen/screen.tsv"}
    for name, file in (
        ("screen_20261129-120001", "screen.tsv"), ("campaign_20261129-120000", "screen/screen.tsv"),
        ("campaign_20261129-120005", "campaign.json"),
    ):  # fmt: skip
        (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / file).touch()
    assert store.newest_of(tmp_path, kinds) == tmp_path / "screen_20261129-120001"
    (tmp_path / "campaign_20261129-120001" / "screen").mkdir(parents=True)
    (tmp_path / "campaign_20261129-120001" / "screen" / "screen.tsv").touch()
    assert store.newest_of(tmp_path, kinds) == tmp_path / "campaign_20261129-120001"
    assert store.newest_of(tmp_path, {"repeat": "repeat.json"}) is None
