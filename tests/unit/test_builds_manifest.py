"""The record of a build."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from zlbench.builds.contents import FileRecord, Part, Stamp
from zlbench.builds.manifest import Manifest, load, same_compiler
from zlbench.builds.spec import BuildKind

if TYPE_CHECKING:
    from pathlib import Path

STAMP = Stamp(path="__init__.py", size=1, modified_ns=2, changed_ns=3)
MANIFEST = Manifest(
    name="a",
    kind=BuildKind.WHEEL,
    spec_digest="0" * 64,
    interpreter="/base/bin/python",
    python_version="3.11.7",
    pythonpath=("/site", "/tools"),
    triton_path="/site/triton",
    triton_version="3.6.0",
    native_path="/site/triton/_C/libtriton.so",
    native_sha256="1f3c9a2e" + "0" * 56,
    python_sha256="b" * 64,
    tools_sha256="c" * 64,
    commit="abcdef1",
    dirty=False,
    env={"X": "1"},
    stamps=(STAMP,),
    files=(FileRecord(stamp=STAMP, part=Part.PYTHON, sha256="d" * 64),),
)


def test_it_comes_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "manifest.json"
    MANIFEST.save(path)
    assert load(path) == MANIFEST
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": 0}', '{"schema": 1, "kind": "wheel"}'])
def test_what_is_no_manifest_counts_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    assert load(path) is None
    with pytest.raises(ValueError, match=r"."):
        Manifest.from_json(text)


def test_none_and_false_stay_apart() -> None:
    assert json.loads(replace(MANIFEST, dirty=None).to_json())["dirty"] is None
    assert Manifest.from_json(MANIFEST.to_json()).dirty is False


@pytest.mark.parametrize("part", ["native_sha256", "python_sha256", "tools_sha256"])
def test_every_part_tells_compilers_apart(part: str) -> None:
    other = replace(MANIFEST, **{part: "e" * 64})  # type: ignore[arg-type]
    assert not same_compiler(MANIFEST, other)


def test_place_and_version_do_not() -> None:
    assert same_compiler(MANIFEST, replace(MANIFEST, name="b", triton_path="/other", triton_version="9"))


def test_the_fingerprint_has_what_a_run_records() -> None:
    found = MANIFEST.fingerprint()
    assert found["import_path"] == "/site/triton"
    assert found["identity"] == MANIFEST.identity
    assert MANIFEST.label == "triton 3.6.0  libtriton 1f3c9a2e"
