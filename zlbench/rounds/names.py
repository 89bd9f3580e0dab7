"""Names of what lies in a root of rounds, for those who write it and those who read it. Values alone."""

from __future__ import annotations

import re
from enum import Enum

PLAN = "repeat.json"
STATUS_TSV, PAIRS_TSV = "status.tsv", "pairs.tsv"
FIRST_PAIR = "first_pair.json"
"""How the first pair was judged by IR and code, in the operator's directory."""
SETTLED = "settled.json"
"""Rows that needed no more rounds, and since when."""
CELL = re.compile(r"r(\d+)_([AB])")
"""Directory of a cell below its operator's: round and side."""
MARKERS = ("AUTOTUNE_REPLAY_FALLBACK", "BENCHMARK_DIRECT_NO_CUDAGRAPH", "BENCHMARK_CAPTURE_POISONED")
"""The three that are counted everywhere, in the order of their columns in status.tsv."""
MARKER_COLUMNS = ("replay_fallback", "no_cudagraph", "capture_poisoned")


class Metric(str, Enum):
    """What is compared."""

    LATENCY = "latency_ms"
    COMPILE = "compile_ms"
