"""The digest of our own measuring code: what is in it, and what is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import zlbench_backends
import zlbench_plugins

from zlbench.measure.identity import code_digest, measuring_code

FOLDERS = [Path(str(package.__file__)).parent for package in (zlbench_plugins, zlbench_backends)]


def test_it_is_of_our_plugins_and_backends_wherever_they_lie(tmp_path: Path) -> None:
    copies = [Path(shutil.copytree(folder, tmp_path / folder.name)) for folder in FOLDERS]
    before = code_digest(copies)
    assert code_digest(FOLDERS) == before == measuring_code()
    (copies[0] / "__pycache__").mkdir(exist_ok=True)
    (copies[0] / "__pycache__" / "rows.cpython-311.pyc").write_bytes(b"x")
    assert code_digest(copies) == before
    with (copies[0] / "rows.py").open("a") as stream:
        stream.write("# changed")
    assert code_digest(copies) != before
