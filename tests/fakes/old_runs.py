"""Directories as the predecessor left them, written by hand: logs with the tables of upstream, identities, tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

IDENTITY: dict[str, Any] = {
    "provider": "flag_gems", "backend": "musa", "device": "3", "timer": "cuda_graph", "vendor": "mthreads",
    "bench_level": "core", "shape_mode": "upstream", "tuner_cache": "isolated", "direct_repeat": 1, "dtypes": "",
    "python_hash_seed": 7,
}  # fmt: skip
Line = tuple[str, float | None, float | None, str]
"""Status, Torch's and the operator's latency in ms, the whole input as it is printed."""


def ok(latency: float | None, *sizes: int, baseline: float | None = 1.0) -> Line:
    """A row of one tensor."""
    return ("SUCCESS", baseline, latency, f"[torch.Size({list(sizes)})]")


def table(
    op: str, lines: Iterable[Line], *, dtype: str = "float16", mode: str = "kernel", level: str = "core",
    more: Sequence[str] = (), legend: str = "",
) -> str:  # fmt: skip
    """One table as upstream prints it.

    Args:
        more: columns beside the three, with the same number in each row.
        legend: what a plugin folded out of all rows.
    """
    names = ["Torch Latency (ms)", "Gems Latency (ms)", "Gems Speedup", *more]
    head = " ".join([f"{'Status':<10}", *(f"{name:>20}" for name in names), f"{'Size Detail':>20}\n"])
    text = f"\nOperator: {op}  Performance Test (dtype=torch.{dtype}, mode={mode},level={level})\n"
    text += head + "-" * len(head) + "\n" + (f"{legend}\n" if legend else "")
    for status, baseline, latency, detail in lines:
        values = [_number(baseline, 6), _number(latency, 6), _number(_speedup(baseline, latency), 3)]
        values += [_number(12.5, 3) for _ in more]
        text += f"{status:<10}" + "".join(f"{value:>20}" for value in values) + " " * 10 + f"{detail}\n"
    return text


def _speedup(baseline: float | None, latency: float | None) -> float | None:
    return baseline / latency if baseline is not None and latency else None


def _number(value: float | None, digits: int) -> str:
    return "N/A" if value is None else f"{value:.{digits}f}"


def write_run(
    folder: Path, *tables: str, identity: bool = True, markers: Sequence[str] = (), **conditions: Any
) -> Path:
    """One run: its log and its identity.

    Args:
        conditions: keys that differ from IDENTITY; None leaves one out.
    """
    folder.mkdir(parents=True)
    said = "".join(f"{marker}\n" for marker in markers)
    log = f"===== test session starts =====\n{said}{''.join(tables)}\n.\n===== 1 passed in 12.34s =====\n"
    (folder / "run.log").write_text(log)
    if identity:
        data = {key: value for key, value in {**IDENTITY, **conditions}.items() if value is not None}
        (folder / "run_identity.json").write_text(json.dumps(data))
    return folder


def write_rounds(folder: Path, op: str, *, rounds: int, rows: Mapping[str, tuple[float, float]], **more: Any) -> None:
    """Rounds of one operator, ``folder/r<k>_<side>``: round 1 A records, all others replay.

    Args:
        rows: sizes to the times of A and B in ms; each round is 0.1 % slower than the one before.
    """
    for number in range(1, rounds + 1):
        for index, side in enumerate("AB"):
            lines = [ok(pair[index] * (1 + number / 1000), *map(int, name.split("x"))) for name, pair in rows.items()]
            mode = "record" if (number, side) == (1, "A") else "replay"
            write_run(folder / f"r{number}_{side}", table(op, lines), autotune_mode=mode, **more)


def write_status(root: Path, lines: Iterable[tuple[int, str, str, str, int]], *, card: str | None = None) -> None:
    """status.tsv: round, operator, side, switch, rc of each run in the order of their ends."""
    names = (
        "round", "op", "side", "switch", "rc", "elapsed_s", "success", "failed", "replay_fallback", "no_cudagraph",
        "capture_poisoned",
    )  # fmt: skip
    head = ["card", *names] if card else names
    text = ["\t".join(head)]
    for line in lines:
        words = [*map(str, line), "12.0", "1", "0", "0", "0", "0"]
        text.append("\t".join([card, *words] if card else words))
    (root / "status.tsv").write_text("\n".join(text) + "\n")


def write_screen(root: Path, verdicts: Mapping[str, str]) -> None:
    """screen.tsv with its 19 columns."""
    names = (
        "op", "op_file", "dtypes", "rows_before", "rows_after", "kernels_before", "kernels_after", "cvt_before",
        "cvt_after", "elapsed_before", "elapsed_after", "verdict", "backend", "device", "timer", "bench_level",
        "shape_mode", "tuner_cache", "direct_repeat",
    )  # fmt: skip
    caliber = ("musa", "3", "cuda_graph", "core", "upstream", "isolated", "1")
    root.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(names)]
    lines += ["\t".join((op, op, "", *"11223344", verdict, *caliber)) for op, verdict in verdicts.items()]
    (root / "screen.tsv").write_text("\n".join(lines) + "\n")
