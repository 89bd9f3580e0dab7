"""Drive `zlbench` as a person does: a process of its own, real compilers, files read back from the run directory."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zlbench.builds.environment import installed
from zlbench.builds.manifest import Manifest
from zlbench.settings.project import DEFAULT_PAIR
from zlbench.settings.table import PREDECESSOR_VARIABLES

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW = DEFAULT_PAIR
# An operator that the pair touches for certain: 3.9.0 adds a fence to matmuls, 3.7.1 moves layouts of convolutions.
TOUCHED = "mm" if NEW == "triton-3.9.0" else "conv2d"
# Variables of the caller that would steer the command or the compiler.
_FOREIGN = ("PYTEST", "TRITON_", "ZL", "NOX_", "DISABLE_", "FLAGGEMS")
_FOREIGN_NAMES = frozenset({"PYTHONPATH", "PYTHONHOME", *PREDECESSOR_VARIABLES})


def made_builds(home: Path) -> dict[str, Manifest]:
    """Builds of the default pair that have been made, by name."""
    return {manifest.name: manifest for manifest in installed(home) if manifest.name in (OLD, NEW)}


@dataclass(frozen=True, kw_only=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def root(self) -> Path:
        """The run directory that the last lines name."""
        return Path(next(line for line in self.out.splitlines() if line.endswith("/screen.tsv"))).parent

    def table(self) -> dict[str, dict[str, str]]:
        """The screen.tsv, by directory (the operator, with its target where there are several)."""
        return read_table(self.root)


def read_table(root: Path) -> dict[str, dict[str, str]]:
    with (root / "screen.tsv").open(encoding="utf-8", newline="") as stream:
        return {row["directory"]: row for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)}


def verdicts(root: Path) -> dict[str, str]:
    return {op: row["verdict"] for op, row in read_table(root).items()}


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines of a file that may be written to right now."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def read_index(cell: Path) -> list[dict[str, str]]:
    with (cell / "ttgir" / "index.tsv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def raw_ir(cell: Path) -> dict[str, bytes]:
    """Stored IR files by path below the cell's `ttgir`."""
    folder = cell / "ttgir"
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.ttgir"))}


@dataclass(kw_only=True)
class Zlbench:
    """The command with its builds; every call writes below `out`."""

    home: Path
    out: Path
    env: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(_FOREIGN) and key not in _FOREIGN_NAMES
        }
        return {**kept, "ZLBENCH_HOME": str(self.home), "OUT_DIR": str(self.out), **self.env}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "zlbench", *words], cwd=ROOT, env=self.environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, *words: str) -> Done:
        with self.start(*words) as process:
            out, err = process.communicate()
        return Done(code=process.returncode, out=out, err=err)

    def fine(self, *words: str) -> Done:
        """Run and require exit 0."""
        done = self(*words)
        assert done.code == 0, done.text
        return done


def copy_tree(site: Path, to: Path, *, without: str = "", edit: tuple[str, str] | None = None) -> Path:
    """Copy the triton package of an installed wheel without touching it: large files are shared as hard links.

    Args:
        without: a folder of the package to leave out.
        edit: a file of the package, and the words whose lines are removed from the copy.
    """
    for folder, folders, names in os.walk(site / "triton"):
        relative = Path(folder).relative_to(site)
        folders[:] = [name for name in folders if name != "__pycache__" and str(relative / name) != f"triton/{without}"]
        (to / relative).mkdir(parents=True, exist_ok=True)
        for name in names:
            _link_or_copy(Path(folder, name), to / relative / name)
    if edit is not None:
        path = to / "triton" / edit[0]
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if edit[1] not in line]
        assert len(kept) == len(lines) - 1, f"{edit[1]} stands in {len(lines) - len(kept)} lines of {path}"
        path.unlink()  # never write through the link
        path.write_text("".join(kept), encoding="utf-8")
    return to


def _link_or_copy(source: Path, target: Path) -> None:
    if source.stat().st_size > 1_000_000:
        try:
            os.link(source, target)
        except OSError:  # another file system
            shutil.copy2(source, target)
    else:
        shutil.copy2(source, target)


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of modification of every file below a folder, and the folders themselves."""
    found = {}
    for base, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(base, name)
            status = path.lstat()
            found[str(path.relative_to(folder))] = (status.st_size if name in names else -1, status.st_mtime_ns)
    return found
