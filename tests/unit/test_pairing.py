"""Does a suite know how to call kernels of a Triton? Read from source alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlbench.suite.pairing import unsuited
from zlbench.suite.provider import Provider

LIBENTRY = """\
import triton
major_version, minor_version = 3, 6
if major_version == 3 and minor_version <= 1:
    OLD = True
class LibEntry:
    def run(self, kernel, grid, args, k_args):
        if {test}:
            kernel[grid](*k_args)
        else:
            kernel[grid](*args)
"""


def suite(root: Path, text: str) -> Provider:
    path = root / "src" / "flag_gems" / "utils" / "libentry.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return Provider(name="flag_gems", root=root, package="flag_gems")


@pytest.mark.parametrize(
    ("test", "version", "refused"),
    [
        ("major_version == 3 and 3 <= minor_version <= 6", "3.6.0", False),
        ("major_version == 3 and 3 <= minor_version <= 6", "3.7.1", True),
        ("major_version == 3 and 3 <= minor_version <= 6", "3.10.0+git1234567", True),
        ("major_version == 3 and 3 <= minor_version <= 6", "4.0.0", True),
        ("major_version == 3 and 3 <= minor_version <= 6", "3.2.0", False),
        ("major_version == 3 and 3 <= minor_version <= 6", "unknown", False),
        ("major_version == 3 and minor_version in (3, 4, 5, 6)", "3.7.1", True),
        ("(major_version == 3 and minor_version >= 3) or major_version > 3", "3.7.1", False),
        ("(major_version == 3 and minor_version >= 3) or major_version > 3", "4.0.0", False),
        ("major_version == 3 and minor_version <= 1", "3.7.1", False),
        ("self.new_launcher", "3.7.1", False),
        ("major_version == 3 and minor_version <= limit()", "3.7.1", False),
    ],
)
def test_a_version_that_the_gate_leaves_out_is_refused(
    tmp_path: Path, test: str, version: str, *, refused: bool
) -> None:
    found = unsuited(suite(tmp_path, LIBENTRY.format(test=test)), version)
    assert (found is not None) is refused


def test_the_reason_names_file_line_and_versions(tmp_path: Path) -> None:
    provider = suite(tmp_path, LIBENTRY.format(test="major_version == 3 and 3 <= minor_version <= 6"))
    text = str(unsuited(provider, "3.7.1"))
    assert f"{provider.package_dir}/utils/libentry.py:7 " in text
    assert "3.3 to 3.6" in text
    assert "this is 3.7.1" in text


def test_a_suite_without_libentry_or_with_a_broken_one_is_none_of_our_business(tmp_path: Path) -> None:
    assert unsuited(Provider(name="directory", root=tmp_path, package="p"), "3.7.1") is None
    assert unsuited(suite(tmp_path, "class LibEntry(:"), "3.7.1") is None
