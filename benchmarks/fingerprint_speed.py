"""How long the fingerprint of many TTGIR files takes, against `sha256sum` over the same files.

    python benchmarks/fingerprint_speed.py [--files 10000] [--rounds 5]

Makes the files from the recorded kernels of the tests: every file gets its own function name, value names, line
numbers and constants, so that no two are equal, neither as they are nor normalised. Both programs are started
fresh and in turn, once each to warm the page cache, then `--rounds` times. Ends with 1 if the target is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ("softmax-3.6.0", "softmax-3.9.0", "matmul-3.6.0", "matmul-3.9.0", "search-3.6.0")
TARGET = 5.0
FINGERPRINT = """\
import sys
from pathlib import Path
from zlbench.ir.fingerprint import fingerprint_dir
found = fingerprint_dir(Path(sys.argv[1]))
print(len(found.files), len(set(found.files.values())))
"""


def make_files(folder: Path, number: int) -> int:
    """Write the files; returns their size in bytes."""
    texts = [(ROOT / "tests" / "unit" / "data" / "ttgir" / f"{name}.ttgir").read_text() for name in SAMPLES]
    size = 0
    for index in range(number):
        text = _varied(texts[index % len(texts)], index)
        path = folder / f"row{index % 50}" / f"kernel{index % len(texts)}" / f"v{index}.ttgir"
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_text(text)
    return size


def _varied(text: str, index: int) -> str:
    text = re.sub(r"@(\w+)_kernel", rf"@\g<1>_{index}_kernel", text)
    text = re.sub(r'(\.py":)(\d+)', lambda match: f"{match[1]}{int(match[2]) + index % 97}", text)
    text = re.sub(r"%(rm|rn|offs|row|acc|lo|mid)\b", rf"%\g<1>v{index % 31}", text)
    return re.sub(r"(arith\.constant )(\d+)( : i32)", lambda m: f"{m[1]}{int(m[2]) + index}{m[3]}", text)


def seconds(command: list[str]) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    return time.perf_counter() - start, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if shutil.which("sha256sum") is None:
        print("sha256sum is not installed: nothing to compare with")
        return 1
    with tempfile.TemporaryDirectory(prefix="zlbench-speed-") as name:
        size = make_files(Path(name), options.files)
        hashing = ["sha256sum", *map(str, sorted(Path(name).rglob("*.ttgir")))]
        fingerprinting = [sys.executable, "-c", FINGERPRINT, name]
        times: dict[str, list[float]] = {"sha256sum": [], "fingerprint": []}
        for turn in range(options.rounds + 1):
            for label, command in (("sha256sum", hashing), ("fingerprint", fingerprinting)):
                took, out = seconds(command)
                if turn:
                    times[label].append(took)
                if label == "fingerprint" and out.split() != [str(options.files)] * 2:
                    print(f"expected {options.files} files that all differ, found: {out.strip()}")
                    return 1
    middle = {label: median(values) for label, values in times.items()}
    ratio = middle["fingerprint"] / middle["sha256sum"]
    cores = len(os.sched_getaffinity(0))
    print(f"{options.files} files, {size / 1e6:.0f} MB, all different; {cores} cores; median of {options.rounds}")
    for label, values in times.items():
        print(f"{label:<12} {middle[label]:6.2f} s   ({min(values):.2f} to {max(values):.2f})")
    print(f"ratio        {ratio:6.2f}     target: at most {TARGET:g}: {'met' if ratio <= TARGET else 'MISSED'}")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
