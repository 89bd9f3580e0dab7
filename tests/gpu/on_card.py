"""Drive `zlbench` on the machine's card as a person does, on the embedded suite with a few faulty operators added."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A finished command."""

    code: int
    text: str
    out: Path
    """Where its run directories are."""

    def run_dir(self, op: str) -> Path:
        (found,) = self.out.glob(f"{op}_*")
        return found


@dataclass(frozen=True, kw_only=True)
class Card:
    """The machine's card, reached through the commands that a person types."""

    interpreter: str
    backend: str
    suite: Path
    folder: Path

    def zlbench(self, command: str, *words: str) -> Ended:
        out = self.folder / f"out-{len(list(self.folder.glob('out-*')))}"
        argv = [sys.executable, "-m", "zlbench", command, *words, "--suite", str(self.suite), "--out", str(out)]
        argv += ["--build", self.interpreter, "--backend", self.backend]
        env = {**os.environ, "ZLBENCH_HOME": str(self.folder / "home"), "ZLBENCH_ROOT": str(ROOT)}
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
        logs = "".join(path.read_text(errors="replace")[-3000:] for path in sorted(out.rglob("run.log")))
        text = done.stdout + done.stderr
        if done.returncode:
            print(logs)
        return Ended(code=done.returncode, text=text, out=out)
