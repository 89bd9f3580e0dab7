"""How much sooner is a screen's verdict than that of two cold processes an operator, measured the usual way?

    python benchmarks/screen_against_cold_pairs.py --suite ../FlagGems --a "$(command -v python3)" --b tree topk mm …

The usual way: for each operator and side one process that starts from nothing, warms every call up for 1,000 ms,
measures for 100 ms, and times the Torch baseline of every row; side B replays the configs of side A. Both ways record
the same IR, and the verdicts must agree. Needs a card, on which both ways run one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from zlbench.pair import judge_pair  # noqa: E402
from zlbench.text import columns  # noqa: E402


def zlbench(*words: str) -> subprocess.CompletedProcess[str]:
    """Run one command of this checkout to its end."""
    env = {**os.environ, "ZLBENCH_ROOT": str(ROOT)}
    command = [sys.executable, "-m", "zlbench", *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def screened(options: argparse.Namespace, out: Path) -> tuple[float, dict[str, str]]:
    """Seconds of one screen over all operators, and its verdicts."""
    started = time.monotonic()
    done = zlbench("screen", *options.ops, "--a", options.a, "--b", options.b, *common(options), "--out", str(out))
    took = time.monotonic() - started
    (screen,) = out.glob("screen_*/screen.json")
    found: dict[str, Any] = json.loads(screen.read_text(encoding="utf-8"))
    print(done.stdout)
    if done.returncode not in (0, 6):
        print(done.stderr[-2000:], file=sys.stderr)
    return took, {item["op"]: item["verdict"] for item in found["operators"]}


def cold(options: argparse.Namespace, out: Path, op: str) -> tuple[float, str]:
    """Seconds and verdict of one operator by two cold processes."""
    usual = ("--warmup", "1000", "--iter", "100", "--baseline", "all")
    started = time.monotonic()
    for side, build in (("A", options.a), ("B", options.b)):
        replay = () if side == "A" else ("--replay-from", str(_run_dir(out / "A")))
        done = zlbench("run", op, "--build", build, *common(options), *usual, *replay, "--out", str(out / side))
        if done.returncode not in (0, 1, 6):
            print(done.stderr[-2000:], file=sys.stderr)
    took = time.monotonic() - started
    pair = out / "pair"
    pair.mkdir()
    for side in ("A", "B"):
        (pair / side).symlink_to(_run_dir(out / side), target_is_directory=True)
    return took, judge_pair(pair, op=op, axis=None).judgement.verdict.value


def _run_dir(out: Path) -> Path:
    (found,) = (path.parent for path in out.glob("*/result.json"))
    return found


def common(options: argparse.Namespace) -> tuple[str, ...]:
    """Options that both ways share."""
    return ("--suite", options.suite, "--backend", options.backend, "--level", "core", *options.more.split())


def main() -> None:
    """Measure both ways and print seconds an operator, their ratio, and the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="+")
    parser.add_argument("--suite", default="builtin")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--a", required=True)
    parser.add_argument("--b", required=True)
    parser.add_argument("--cold", type=int, default=0, help="take only the first N operators the usual way; 0: all")
    parser.add_argument("--out", type=Path, help="keep the run directories here")
    parser.add_argument("--more", default="", help="further options for both ways, in one word")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or Path(temporary)
        seconds, verdicts = screened(options, folder / "screen")
        usual = options.ops[: options.cold or None]
        pairs = {op: cold(options, folder / "cold" / op, op) for op in usual}
    rows = [(op, f"{took:.1f}", verdict, verdicts.get(op, "none")) for op, (took, verdict) in pairs.items()]
    for line in columns(("op", "cold pair s", "its verdict", "screen's verdict"), rows):
        print(line)
    a_pair = sum(took for took, _ in pairs.values()) / len(pairs)
    screened_pair = seconds / len(options.ops)
    agree = sum(verdict == verdicts.get(op) for op, (_, verdict) in pairs.items())
    print(f"screen of {len(options.ops)} operators: {screened_pair:.1f} s an operator, start included")
    print(f"cold pairs of {len(pairs)} of them: {a_pair:.1f} s an operator")
    print(f"ratio {a_pair / screened_pair:.1f}; verdicts agree in {agree} of {len(pairs)}")


if __name__ == "__main__":
    main()
