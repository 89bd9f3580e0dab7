"""Fingerprint of a run directory, and the comparison of two."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from zlbench.errors import NotComparableError
from zlbench.ir.errors import IrError
from zlbench.ir.fingerprint import IrFingerprint, compare, fingerprint_dir, fingerprint_files
from zlbench.ir.normalise import NORMALISER_VERSION, fingerprint_text

DATA = Path(__file__).parent / "data" / "ttgir"
SOFTMAX = (DATA / "softmax-3.6.0.ttgir").read_text()


def write(root: Path, files: dict[str, str]) -> Path:
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_paths_and_texts_of_all_ttgir_files_below_the_root(tmp_path: Path) -> None:
    root = write(tmp_path, {"r1/k/w4s3.ttgir": SOFTMAX, "r2/k/w4s3.ttgir": SOFTMAX, "index.tsv": "", "r1/x.ptx": ""})
    found = fingerprint_dir(root)
    assert found.files == {name: fingerprint_text(SOFTMAX) for name in ("r1/k/w4s3.ttgir", "r2/k/w4s3.ttgir")}
    assert found.version == NORMALISER_VERSION


def test_the_digest_of_a_run_is_that_of_its_paths_and_texts(tmp_path: Path) -> None:
    other = (DATA / "softmax-3.6.0-otherpath.ttgir").read_text()
    matmul = (DATA / "matmul-3.6.0.ttgir").read_text()
    digests = [
        fingerprint_dir(write(tmp_path / str(index), files)).digest
        for index, files in enumerate(
            [{"a.ttgir": SOFTMAX}, {"a.ttgir": other}, {"b.ttgir": SOFTMAX}, {"a.ttgir": matmul}, {}]
        )
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4


def test_comparison_names_what_differs() -> None:
    a = IrFingerprint(files={"x": "1", "y": "2", "only-a": "3"})
    b = IrFingerprint(files={"x": "1", "y": "9", "only-b": "3"})
    found = compare(a, b)
    assert (found.changed, found.only_a, found.only_b, found.equal) == (
        ("y",),
        ("only-a",),
        ("only-b",),
        ("x",),
    )
    assert not found.same
    assert compare(a, a).same
    assert not compare(a, IrFingerprint(files={})).same


@pytest.mark.parametrize("other", [{"version": NORMALISER_VERSION + 1}, {"stamps": ("ttg.rlc-*",)}])
def test_fingerprints_of_different_kind_are_not_compared(other: dict[str, object]) -> None:
    with pytest.raises(NotComparableError, match="different kind"):
        compare(IrFingerprint(files={}), IrFingerprint(files={}, **other))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        SOFTMAX[: len(SOFTMAX) // 2],
        SOFTMAX[: SOFTMAX.index("tt.return")],
        SOFTMAX[: SOFTMAX.rindex("loc(") + 9],
        "binary \x00\x01",
        "hello\n",
    ],
    ids=["empty", "blank", "half", "no end", "cut in a location", "binary", "no ir"],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_be_judged_is_named_and_never_equal(tmp_path: Path, text: str, workers: int) -> None:
    root = write(tmp_path, {"r/k/bad.ttgir": text, "r/k/good.ttgir": SOFTMAX})
    with pytest.raises(IrError, match=r"bad\.ttgir"):
        fingerprint_dir(root, workers=workers)


def test_a_directory_in_place_of_a_file_and_a_missing_root(tmp_path: Path) -> None:
    (tmp_path / "odd.ttgir").mkdir()
    with pytest.raises(IrError, match=r"odd\.ttgir"):
        fingerprint_files([tmp_path / "odd.ttgir"])
    with pytest.raises(IrError, match="no IR directory"):
        fingerprint_dir(tmp_path / "none")


def test_bytes_that_are_not_utf8_still_tell_files_apart(tmp_path: Path) -> None:
    digests = set()
    for byte in (b"\xff", b"\xfe"):
        path = tmp_path / "k.ttgir"
        path.write_bytes(SOFTMAX.encode().replace(b"cuda:90", b"cuda:" + byte))
        digests |= set(fingerprint_files([path]).values())
    assert len(digests) == 2


def test_many_files_with_any_number_of_workers_and_beside_threads(tmp_path: Path) -> None:
    files = {f"r/k/{n}.ttgir": SOFTMAX.replace("1024", str(2048 + n)) for n in range(1000)}
    root = write(tmp_path, files)
    found = fingerprint_dir(root)
    assert len(set(found.files.values())) == len(files)
    assert fingerprint_dir(root, workers=3) == found
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert fingerprint_dir(root) == found
    finally:
        stop.set()
        thread.join()


def test_an_empty_run_has_no_files(tmp_path: Path) -> None:
    assert fingerprint_dir(tmp_path).files == {}
