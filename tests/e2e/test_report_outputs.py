"""The files of a report: which are always written, which on request, and that they are the same the next time."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from fakes.report_roots import write_pair, write_plan

from zlbench.cli.main import main
from zlbench.report.exports.data import schema
from zlbench.report.outputs import EXPORTS
from zlbench.settings.parsers import several_of
from zlbench.settings.table import BY_NAME

ALWAYS = {"report.md", "rows.csv", "report.json"}
EXPORTED = {
    "junit.xml", "A.pytest-benchmark.json", "B.pytest-benchmark.json", "A.go-bench.txt", "B.go-bench.txt",
}  # fmt: skip


@pytest.fixture
def rounds(tmp_path: Path) -> Path:
    """Rounds of two operators; mm is slower by 5 %."""
    root = tmp_path / "runs" / "repeat_20261129-101010"
    write_plan(root, {"0": [("mm", "subject"), ("topk", "subject")]}, rounds=6)
    for number in range(1, 7):
        wave = 1 + 0.0004 * (number % 3)
        write_pair(root / "mm", number, {"r1": (wave, 1.05 * (2 - wave))}, op="mm")
        write_pair(root / "topk", number, {"r1": (wave, 2 - wave), "r2": (2.0, 2.0 * wave)}, op="topk")
    return root


def report(root: Path, *words: str) -> int:
    env = {"ZLBENCH_ROOT": str(root.parents[1]), "ZLBENCH_CWD": str(root.parents[1])}
    return main(["report", str(root), *words], env=env)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_is_always_written_and_what_on_request(rounds: Path, tmp_path: Path) -> None:
    out = tmp_path / "plain"
    assert report(rounds, "--out", str(out)) == 0
    assert set(files(out)) >= ALWAYS
    assert not EXPORTED & set(files(out))
    assert report(rounds, "--out", str(out), "--export", "junit,go", "--export", "pytest-benchmark") == 0
    assert set(files(out)) >= ALWAYS | EXPORTED


def test_the_same_rounds_give_the_same_bytes(rounds: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        out = tmp_path / name
        words = ("--out", str(out), "--export", ",".join(EXPORTS), "--receipts", str(out / "receipts"))
        assert report(rounds, *words) == 0
        found.append(files(out) | files(out / "receipts"))
    assert found[0] == found[1]


def test_report_json_is_what_its_schema_says_on_disk_and_on_stdout(
    rounds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(rounds, "--json", "--fail-on", "slower>2%") == 7
    printed, written = json.loads(capsys.readouterr().out), json.loads((rounds / "report.json").read_text())
    for data in (printed, written):
        jsonschema.Draft202012Validator(schema()).validate(data)
    assert (printed["exit_code"], printed["directory"]) == (7, "runs/repeat_20261129-101010")
    assert {key: value for key, value in printed.items() if key not in ("exit_code", "directory")} == {
        key: value for key, value in written.items() if key not in ("exit_code", "directory")
    }
    assert {(found["directory"], found["row"]) for found in printed["regressions"]} == {("mm", ""), ("mm", "r1")}


def test_what_a_gate_found_fails_in_junit_which_comes_by_itself(rounds: Path) -> None:
    assert report(rounds, "--fail-on", "slower>2%") == 7
    root = ET.parse(rounds / "junit.xml").getroot()
    assert (root.get("failures"), root.get("errors")) == ("2", "0")
    failed = {case.get("classname") for case in root.iter("testcase") if case.find("failure") is not None}
    assert failed == {"mm"}


def test_receipts_can_be_checked(rounds: Path, tmp_path: Path) -> None:
    assert report(rounds, "--receipts", "for the pull request") == 0
    found = files(tmp_path / "for the pull request")
    sums = dict(line.split("  ")[::-1] for line in found.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in found.items()}
    assert "README.md" in sums


def test_receipts_overwrite_nothing_that_is_not_a_bundle(
    rounds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "LICENSE").write_text("theirs")
    (folder / "README.md").write_text("theirs")
    assert report(rounds, "--receipts", "repository") == 2
    error = capsys.readouterr().err
    assert "repository/README.md" in error, "what would be lost comes first"
    assert "a new or an empty folder" in error
    assert files(folder) == {"LICENSE": b"theirs", "README.md": b"theirs"}
    assert not (rounds / "report.md").exists()
    (folder / "README.md").unlink()
    assert report(rounds, "--receipts", "repository") == 2
    assert "repository/LICENSE" in capsys.readouterr().err
    assert report(rounds, "--receipts", "repository/LICENSE") == 2
    assert files(folder) == {"LICENSE": b"theirs"}


def test_receipts_replace_a_bundle_that_is_whole_and_no_other(rounds: Path, tmp_path: Path) -> None:
    folder = tmp_path / "receipts"
    folder.mkdir()
    assert report(rounds, "--receipts", "receipts") == 0
    first = files(folder)
    (folder / "README.md").write_text("old")
    assert report(rounds, "--receipts", "receipts") == 0
    assert files(folder) == first
    (folder / "kernels.csv").unlink()
    assert report(rounds, "--receipts", "receipts") == 2, "one is missing"
    (folder / "kernels.csv").write_bytes(first["kernels.csv"])
    for sums in (b"\xff", b"", first["SHA256SUMS"] + first["SHA256SUMS"].splitlines()[0][:66] + b"release.tar\n"):
        (folder / "SHA256SUMS").write_bytes(sums)
        assert report(rounds, "--receipts", "receipts") == 2
        assert (folder / "SHA256SUMS").read_bytes() == sums


def test_receipts_do_not_go_where_the_report_goes(rounds: Path, tmp_path: Path) -> None:
    assert report(rounds, "--out", str(tmp_path / "out"), "--receipts", "out") == 2
    assert not (tmp_path / "out").exists()


def test_one_line_says_where_the_receipts_went(rounds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(rounds, "--receipts", "for them") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "for them" in line] == ["receipts: for them"]
    assert report(rounds, "--receipts", "for them", "--json") == 0
    json.loads(capsys.readouterr().out)


def test_no_export_of_an_earlier_report_stands_beside_a_newer_one(rounds: Path, tmp_path: Path) -> None:
    out = tmp_path / "plain"
    assert report(rounds, "--out", str(out), "--export", ",".join(EXPORTS)) == 0
    (out / "notes.txt").write_text("theirs")
    assert report(rounds, "--out", str(out), "--export", "go") == 0
    assert EXPORTED & set(files(out)) == {"A.go-bench.txt", "B.go-bench.txt"}
    assert report(rounds, "--out", str(out)) == 0
    assert not EXPORTED & set(files(out))
    assert set(files(out)) >= ALWAYS | {"notes.txt"}


def test_files_of_others_that_have_the_name_of_an_export_stay(rounds: Path, tmp_path: Path) -> None:
    out = tmp_path / "plain"
    assert report(rounds, "--out", str(out), "--export", ",".join(EXPORTS)) == 0
    junit = '<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"></testsuites>'
    theirs = {name: junit if name == "junit.xml" else '{"version": "5.1.0"}' for name in EXPORTED}
    for name, text in theirs.items():
        (out / name).write_text(text)
    assert report(rounds, "--out", str(out)) == 0
    assert {name: (out / name).read_text() for name in EXPORTED} == theirs


def test_an_unknown_format_is_refused_before_anything_is_read(rounds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(rounds, "--export", "junti") == 2
    assert "Nearest: junit" in capsys.readouterr().err
    assert not (rounds / "report.json").exists()


def test_the_option_knows_every_format() -> None:
    assert BY_NAME["export"].parse(",".join(EXPORTS)) == EXPORTS
    with pytest.raises(ValueError, match="none of a, b"):
        several_of("a", "b")("a,c")
