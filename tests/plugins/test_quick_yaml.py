"""The parser in C gives what the one in Python gives, and is gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from zlbench_plugins.quick_yaml import parsed_in_c

TEXT = """
softmax:
  shapes: [[64, 64], [4096, !!int "4096"], [1, 2.5, true, null, text]]
  shape_desc: "M, N"   # a comment
Benchmark: &b {shapes: [[1e3, 0x10, 0o7, 1_000]]}
other: *b
"""


def test_the_same_values() -> None:
    before = yaml.safe_load
    expected = yaml.safe_load(TEXT)
    with parsed_in_c():
        assert yaml.safe_load(TEXT) == expected
        assert yaml.safe_load is not before or not hasattr(yaml, "CSafeLoader")
    assert yaml.safe_load is before


def test_the_same_errors_and_files(tmp_path: Path) -> None:
    path = tmp_path / "shapes.yaml"
    path.write_text(TEXT)
    with parsed_in_c():
        with path.open() as stream:
            assert yaml.safe_load(stream)["softmax"]["shapes"][0] == [64, 64]
        with pytest.raises(yaml.YAMLError):
            yaml.safe_load("a: [1, 2")
        with pytest.raises(yaml.YAMLError):
            yaml.safe_load("!!python/object/apply:os.getcwd []")
