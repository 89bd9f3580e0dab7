"""What of a triton package counts, and when it is read again."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fakes.compilers import make_toy_compiler

from zlbench.builds import contents
from zlbench.builds.contents import Part

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("_C/libtriton.so", Part.NATIVE),
        ("_C/libtriton.cpython-311-x86_64-linux-gnu.so", Part.NATIVE),
        ("_C/libproton.so", None),
        ("_C/libother.so", Part.TOOLS),
        ("_C/libtriton/ir.pyi", None),
        ("__init__.py", Part.PYTHON),
        ("backends/nvidia/compiler.py", Part.PYTHON),
        ("backends/nvidia/bin/ptxas", Part.TOOLS),
        ("backends/nvidia/lib/libdevice.10.bc", Part.TOOLS),
        ("backends/nvidia/driver.c", Part.TOOLS),
        ("plugins/libPlugin.so.1", Part.TOOLS),
        ("plugins/readme.md", None),
        ("README.md", None),
    ],
)
def test_parts(path: str, part: Part | None) -> None:
    assert contents.part_of(path) is part


def package(tmp_path: Path) -> Path:
    more = {
        "backends/nvidia/bin/ptxas": "tool",
        "backends/nvidia/include/cuda.h": "header",
        "__pycache__/x.py": "cache",
    }
    return make_toy_compiler(tmp_path, more=more) / "triton"


def test_caches_and_headers_do_not_count(tmp_path: Path) -> None:
    paths = [found.path for _, found in contents.scan(package(tmp_path))]
    assert paths == ["_C/libtriton.so", "__init__.py", "backends/nvidia/bin/ptxas"]


def test_the_same_content_elsewhere_has_the_same_digests(tmp_path: Path) -> None:
    one, two = (contents.record(package(tmp_path / name)) for name in ("one", "a-much-longer-name"))
    for part in Part:
        assert contents.digest(one, part) == contents.digest(two, part) != ""


def test_renaming_changes_the_digest(tmp_path: Path) -> None:
    folder = package(tmp_path)
    before = contents.digest(contents.record(folder), Part.PYTHON)
    (folder / "__init__.py").rename(folder / "other.py")
    assert contents.digest(contents.record(folder), Part.PYTHON) != before


def test_untouched_files_are_not_read_again(tmp_path: Path) -> None:
    folder = package(tmp_path)
    known = [replace(item, sha256="remembered") for item in contents.record(folder)]
    assert {item.sha256 for item in contents.record(folder, known)} == {"remembered"}
    (folder / "__init__.py").write_text("changed")
    again = contents.record(folder, known)
    assert [item.stamp.path for item in again if item.sha256 != "remembered"] == ["__init__.py"]


def test_a_file_put_back_in_time_with_the_same_size_is_noticed(tmp_path: Path) -> None:
    folder = package(tmp_path)
    library = folder / "_C" / "libtriton.so"
    known = contents.record(folder)
    status = library.stat()
    library.write_bytes(b"evitan")
    os.utime(library, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not contents.fresh(folder, known)
    assert contents.differences(known, contents.record(folder, known)) == ["_C/libtriton.so"]


def test_added_and_lost_files_are_noticed_and_the_library_is_named_first(tmp_path: Path) -> None:
    folder = package(tmp_path)
    known = contents.record(folder)
    assert contents.fresh(folder, known)
    (folder / "_C" / "libtriton.so").unlink()
    (folder / "a.py").touch()
    assert not contents.fresh(folder, known)
    assert contents.differences(known, contents.record(folder)) == ["_C/libtriton.so", "a.py"]
    assert not contents.fresh(tmp_path / "gone", known)


def test_linked_back_ends_count_and_a_loop_ends(tmp_path: Path) -> None:
    folder = package(tmp_path / "tree")
    outside = tmp_path / "third_party" / "amd"
    outside.mkdir(parents=True)
    (outside / "compiler.py").touch()
    (outside / "loop").symlink_to(folder)
    (folder / "backends" / "amd").symlink_to(outside)
    (folder / "dangling.py").symlink_to(tmp_path / "nowhere")
    paths = [found.path for _, found in contents.scan(folder)]
    assert "backends/amd/compiler.py" in paths
    assert len(paths) == 4
