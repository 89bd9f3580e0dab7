"""Does compiling without a device give what a card really runs? Compares both on one machine with a card.

    python benchmarks/deviceless_against_card.py --build "$(command -v python3)" [--ops topk mm …]

Runs the suite on the card (launching everything), then compiles it for the card's architecture with no device in
play, and compares every kernel that the card launched: normalised TTGIR and machine code. An autotuned kernel's
winner is known only on the card, so all configs are compiled without it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from zlbench.ir.fingerprint import fingerprint_dir  # noqa: E402
from zlbench.judge import Kernel, read_index  # noqa: E402
from zlbench.text import columns  # noqa: E402


@dataclass(frozen=True, kw_only=True)
class Side:
    """Kernels of one operator with their normalised IR."""

    kernels: dict[str, Kernel]
    texts: dict[str, str]

    @classmethod
    def read(cls, run_dir: Path) -> Side:
        """Read a run directory."""
        kernels = {kernel.id: kernel for kernel in read_index(run_dir / "ttgir" / "index.tsv") if kernel.launches}
        prints = fingerprint_dir(run_dir / "ttgir").files
        return cls(kernels=kernels, texts={name: prints[kernel.files[0]] for name, kernel in kernels.items()})


def run(out: Path, build: str, ops: list[str], *options: str) -> None:
    """Run `zlbench run`; operators that fail are left out of the comparison and shown as missing."""
    command = [
        sys.executable,
        "-m",
        "zlbench",
        "run",
        *(ops or ["--all"]),
        "--build",
        build,
        "--out",
        str(out),
        *options,
    ]
    env = {**os.environ, "ZLBENCH_ROOT": str(ROOT)}
    subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=False)


def by_operator(out: Path) -> dict[str, Path]:
    """Run directories by operator."""
    return {path.name.rpartition("_")[0]: path for path in sorted(out.glob("*_2*")) if (path / "ttgir").is_dir()}


def main() -> None:
    """Run both ways and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="an interpreter that has torch and triton and sees the card")
    parser.add_argument("--target", default="cuda:90", help="the card's architecture")
    parser.add_argument("--ops", nargs="*", default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        card, compiled = Path(folder, "card"), Path(folder, "compiled")
        run(card, arguments.build, arguments.ops, "--backend", "cuda", "--warmup", "25", "--iter", "20")
        target = ("--backend", "compile", "--target", arguments.target, "--configs", "all")
        run(compiled, arguments.build, arguments.ops, *target)
        without, rows = by_operator(compiled), []
        totals = [0, 0, 0, 0]
        for op, path in by_operator(card).items():
            here, there = Side.read(path), Side.read(without[op])
            both = [name for name in here.kernels if name in there.kernels]
            same_ir = sum(here.texts[name] == there.texts[name] for name in both)
            same_code = sum(here.kernels[name].code == there.kernels[name].code for name in both)
            counts = (len(here.kernels), len(both), same_ir, same_code)
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
            rows.append((op, *map(str, counts)))
        rows.append(("all", *map(str, totals)))
        head = ("op", "launched on the card", "compiled without", "same TTGIR", "same machine code")
        print("\n".join(columns(head, rows, right=frozenset({1, 2, 3, 4}))))


if __name__ == "__main__":
    main()
