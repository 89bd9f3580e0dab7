"""How long the report of a large campaign takes, against plain parsing of the files that it reads.

    python benchmarks/report_speed.py                         1,000 operators × 20 rows × 6 rounds on both sides
    python benchmarks/report_speed.py --ops 50 --keep DIR     a small one, kept to look at

Writes a campaign as `zlbench campaign` leaves it on a card: every cell with identity, rows, result and telemetry, the
first pair of each operator with its kernels and their TTGIR, of which three quarters differ. `zlbench report` on it
runs in a fresh process, imports included; another fresh process parses the files that a report was seen to open, and
does nothing with them: JSON by json.loads, a file or a line, tables split at tabs, IR read. Both are given in seconds
of the processor, since other programs may be running. Ends with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PATHS = [str(ROOT), *(str(ROOT / name) for name in ("plugins", "backends", "sessions", "tests"))]
sys.path[:0] = PATHS

from fakes.report_roots import write_plan  # noqa: E402
from fakes.run_dirs import BUILDS, CALIBER  # noqa: E402

from zlbench.cells import CellOutcome, CellState  # noqa: E402
from zlbench.identity import RunIdentity  # noqa: E402

RATIO, MEMORY = 5.0, 1e9
DTYPES = ("float16", "float32", "bfloat16")
IR = ("softmax-3.6.0", "softmax-3.6.0", "softmax-3.6.0", "matmul-3.6.0")
CHANGED = 4
"""One kernel in so many is the same on both sides."""

OPENED = """\
import json, os, sys
sys.path[:0] = json.loads(sys.argv[1])
opened, root = set(), sys.argv[2]
def note(event, words):
    if event == "open" and isinstance(words[0], (str, os.PathLike)) and words[1] in ("r", "rb"):
        path = os.fspath(words[0])
        if isinstance(path, str) and path.startswith(root):
            opened.add(path)
sys.addaudithook(note)
from zlbench.cli.main import main
code = main(["report", root])
print(json.dumps({"code": code, "opened": sorted(opened)}), file=sys.stderr)
"""
REPORT = """\
import json, resource, sys, time
sys.path[:0] = json.loads(sys.argv[1])
began = time.process_time(), time.monotonic()
from zlbench.cli.main import main
main(["report", sys.argv[2]])
cpu, wall = time.process_time() - began[0], time.monotonic() - began[1]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak}), file=sys.stderr)
"""
PARSE = """\
import json, sys, time
paths = json.load(open(sys.argv[1]))
began = time.process_time(), time.monotonic()
for path in paths:
    with open(path, "rb") as stream:
        if path.endswith(".jsonl"):
            for line in stream:
                json.loads(line)
        elif path.endswith(".json"):
            json.loads(stream.read())
        elif path.endswith(".tsv"):
            for line in stream:
                line.decode().split("\\t")
        else:
            stream.read()
cpu, wall = time.process_time() - began[0], time.monotonic() - began[1]
print(json.dumps({"cpu": cpu, "wall": wall}), file=sys.stderr)
"""


def make_campaign(root: Path, *, ops: int, rows: int, rounds: int) -> None:
    """Write the campaign; the last twentieth of its operators are controls."""
    controls = max(4, ops // 20) if ops > 4 else 0
    names = [(f"op_{number:04}", "control" if number >= ops - controls else "subject") for number in range(ops)]
    write_plan(root / "rounds", {"0": names}, rounds=rounds)
    (root / "campaign.json").write_text(json.dumps({"schema_version": 1, "state": "finished", "steps": []}))
    at = 1_764_000_000.0
    status = [
        "round\top\tside\tswitch\trc\telapsed_s\tsuccess\tfailed\treplay_fallback\tno_cudagraph\tcapture_poisoned"
    ]
    pairs, telemetry = ["op\tround\tvalid\tcause\ttries\tnote"], []
    texts = [(ROOT / "tests/unit/data/ttgir" / f"{name}.ttgir").read_text() for name in IR]
    for index, (name, kind) in enumerate(names):
        folder = root / "rounds" / name
        write_kernels(folder, name, texts[index % len(texts)], same=kind == "control" or index % CHANGED == 0)
        effect = 0.0 if kind == "control" else random.Random(name).choice((0.0, 0.0, 0.02, -0.03))
        for number in range(1, rounds + 1):
            for side in "AB" if number % 2 else "BA":
                write_cell(folder / f"r{number}_{side}", name, side, number, rows=rows, effect=effect, at=at)
                telemetry.append(sample_line(at))
                at += 2.0
                status.append(f"{number}\t{name}\t{side}\t-\t0\t1.8\t{rows}\t0\t0\t0\t0")
            pairs.append(f"{name}\t{number}\t1\t-\t1\t")
        verdict = "NO_IR_DIFF" if kind == "control" else "IR_CHANGED"
        code = "same" if kind == "control" else "changed"
        write_json(folder / "first_pair.json", {
            "schema_version": 1, "verdict": verdict, "machine_code": code, "reason": "", "dead_switch": False,
            "not_comparable": "", "notes": [],
        })  # fmt: skip
    head = "timestamp\tindex\tsm_clock_mhz\tmem_clock_mhz\ttemp_c\tpower_w\tutil_pct\tuuid\tthrottle\tprocesses"
    for file, lines in (("status.tsv", status), ("pairs.tsv", pairs), ("telemetry.tsv", [head, *telemetry])):
        (root / "rounds" / file).write_text("\n".join(lines) + "\n")


def write_cell(path: Path, op: str, side: str, number: int, *, rows: int, effect: float, at: float) -> None:
    """One cell with as much in its files as a real one has."""
    path.mkdir(parents=True, exist_ok=True)
    lines = [row_line(op, index, side, number, effect) for index in range(rows)]
    (path / "rows.jsonl").write_text("".join(lines))
    write_json(
        path / "result.json", CellOutcome(state=CellState.OK, returncode=0, elapsed_s=1.8, rows_ok=rows).to_json()
    )
    write_json(path / "telemetry.json", {
        "started": at, "ended": at + 1.8, "samples": 1, "busy": 1, "sm_clock_mhz": 1980.0, "sm_clock_min_mhz": 1980.0,
        "mem_clock_mhz": 3201.0, "temp_c": 52.0, "temp_max_c": 53.0, "power_w": 540.0, "throttle": [], "foreign": [],
        "foreign_cores": None,
    })  # fmt: skip
    recorded = side == "A" and number == 1
    identity = RunIdentity(
        op=op, side=side, caliber=replace(CALIBER, autotune_mode="record" if recorded else "replay"),
        build=BUILDS[side], provider="flag_gems", vendor="nvidia", device_name="NVIDIA H200",
        device_uuid="GPU-5d1e0000-0000-0000-0000-000000000000", card_settings={"power_limit_w": 700.0},
        foreign_processes=(), tuner_choices=rows, compile_cache="isolated",
        plugin_names=("zlbench_plugins.device", "zlbench_plugins.rows", "zlbench_plugins.timer"),
        hooks={"compilation.listener": True, "launch_enter_hook": True, "autotuner": True}, zlbench="0.1.0",
    )  # fmt: skip
    (path / "run_identity.json").write_text(identity.to_json())


def row_line(op: str, index: int, side: str, number: int, effect: float) -> str:
    """A line of rows.jsonl."""
    dtype, shape = DTYPES[index % len(DTYPES)], [64 << index % 7, 512 + 64 * index]
    noise = random.Random(f"{op} {index} {side} {number}").gauss(0, 0.003)
    ms = 0.004 * (1 + index) * (1 + noise + (effect if side == "B" else 0.0))
    tensor = {"shape": shape, "stride": [shape[1], 1], "dtype": dtype}
    row = {
        "op": op, "dtype": dtype, "shape": shape, "shape_index": index, "origin": "upstream", "sequence": index,
        "label": f"{shape[0]}x{shape[1]}", "input": {"args": [tensor, tensor], "kwargs": {"dim": -1}},
        "row": f"{op}|{dtype}|{index:012x}", "timer": "cuda_graph", "latency_ms": ms, "baseline_ms": None, "l2": "warm",
        "baseline_timer": None, "baseline_fallback": None, "baseline_error": None, "baseline_independent": True,
        "fallback": None, "compile_ms": 312.5, "elapsed_s": 0.2913, "config": "5f1c9a2e7b3d", "status": "SUCCESS",
        "kernels": [{"kernel": f"{op}_kernel-{index % 2:016x}", "launches": 12, "grids": [[shape[0], 1, 1]]}],
    }  # fmt: skip
    return json.dumps(row, separators=(",", ":")) + "\n"


def write_kernels(folder: Path, op: str, text: str, *, same: bool) -> None:
    """Two kernels on both sides of the first pair, with TTGIR and costs."""
    for side in "AB":
        cell = folder / f"r1_{side}"
        (cell / "kernels").mkdir(parents=True)
        lines, costs = [], {}
        for number in range(2):
            kernel = f"{op}_kernel-{number:016x}"
            changed = text if side == "A" or same else re.sub("( *)tt.return", r"\1gpu.barrier\n\1tt.return", text)
            (cell / "kernels" / f"{kernel}.ttgir").write_text(changed.replace("_kernel", f"_{op}_{number}_kernel"))
            code = f"{op} {number} {'A' if same else side}".encode().hex()[:64]
            lines.append(json.dumps({
                "kernel": kernel, "name": f"{op}_kernel", "module": f"flag_gems.ops.{op}", "constexprs": {"BLOCK": 512},
                "signature": {"x_ptr": "*fp16", "n": "i32"}, "specialisation": {"x_ptr": "div16"}, "num_warps": 4,
                "num_stages": 3, "num_ctas": 1, "maxnreg": None, "hash": code, "cache_hit": False, "during": "row",
                "ttgir_sha256": code, "binary": f"{kernel}.cubin", "code": code, "compile_ms": 130.0, "shared": 4096,
                "stages_ms": {"ttir": 11.9, "ttgir": 27.2, "llir": 48.3, "ptx": 18.4, "cubin": 31.9},
            }))  # fmt: skip
            costs[kernel] = {"registers": 38, "spills": 0, "instructions": 410, "mix": {"FFMA": 120, "MOV": 90}}
        (cell / "kernels.jsonl").write_text("\n".join(lines) + "\n")
        write_json(cell / "costs.json", costs)


def sample_line(at: float) -> str:
    """A line of telemetry.tsv."""
    minutes, seconds = divmod(at - 1_764_000_000.0, 60)
    hours, minutes = divmod(int(minutes), 60)
    stamp = f"2026-11-{10 + hours // 24:02}T{hours % 24:02}:{minutes:02}:{seconds:06.3f}+00:00"
    return f"{stamp}\t0\t1980\t3201\t52\t540.0\t99\tGPU-5d1e0000-0000-0000-0000-000000000000\tnone\tnone"


def write_json(path: Path, data: Any) -> None:
    """As the store writes."""
    path.write_text(json.dumps(data, indent=1) + "\n")


def files_of(root: Path) -> list[str]:
    """What a report opens of a campaign; those of its own that lie there already are not read."""
    ended = ran(OPENED, json.dumps(PATHS), str(root))
    if ended["code"]:
        raise SystemExit(f"the report ended with {ended['code']}")
    written = {path.name for path in root.iterdir() if path.name.startswith(("report.", "rows."))}
    return [path for path in ended["opened"] if Path(path).name not in written and Path(path).is_file()]


def ran(code: str, *words: str) -> dict[str, Any]:
    """Run a program; what it says of itself is the last line on standard error."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument(
        "--times", type=int, default=3, help="each is run so often, in turn; the fastest of each counts"
    )
    parser.add_argument("--keep", type=Path, help="write the campaign here; used as it is if it is there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zlbench-report-") as folder:
        root = (given.keep or Path(folder)).resolve() / "campaign_20261129-101010"
        if not root.is_dir():
            make_campaign(root, ops=given.ops, rows=given.rows, rounds=given.rounds)
        opened = files_of(root)
        listed = Path(folder) / "files.json"
        listed.write_text(json.dumps(opened))
        tries = [(ran(REPORT, json.dumps(PATHS), str(root)), ran(PARSE, str(listed))) for _ in range(given.times)]
        report, plain = (min((one[index] for one in tries), key=lambda found: found["cpu"]) for index in (0, 1))
        size = sum(path.stat().st_size for path in root.iterdir() if path.is_file())
    ratio = report["cpu"] / plain["cpu"]
    print(
        f"{given.ops} operators × {given.rows} rows × {given.rounds} rounds, both sides; {len(opened)} files are read"
    )
    print(f"plain parsing  {plain['cpu']:7.2f} s of the processor, {plain['wall']:7.2f} s")
    print(f"report         {report['cpu']:7.2f} s of the processor, {report['wall']:7.2f} s")
    print(f"ratio          {ratio:7.2f}   target {RATIO:g}")
    print(f"peak memory    {report['peak'] / 1e6:7.0f} MB   target {MEMORY / 1e6:g}; files written {size / 1e6:.1f} MB")
    return int(ratio > RATIO or report["peak"] > MEMORY)


if __name__ == "__main__":
    raise SystemExit(main())
