"""The predecessor's planning example: minutes of six rounds, of which its README gives three."""

from __future__ import annotations

from zlbench.partition_plan import RowCost, Work

ROUNDS = 6
CARDS = [str(number) for number in range(8)]
START_UP_S = 24.0
"""Of a pair, both cells: chosen; a process, torch, the suite, and its end."""

GIVEN = {"topk": (70.6, 24), "sort": (43.4, 25), "rand": (13.0, 15)}
"""Minutes and rows. The rows of topk are chosen."""
CHOSEN = {
    "fft": 11.6, "mm": 10.4, "addmm": 9.6, "col2im": 8.8, "bmm": 8.1, "index_put": 7.4, "cumsum": 6.7, "gather": 6.0,
    "scatter": 5.4, "softmax": 4.8, "layer_norm": 4.2, "embedding": 3.6, "tanh": 3.0,
}  # fmt: skip
"""Thirteen lighter operators, 12 rows each."""


def work(name: str, minutes: float, *, rows: int) -> Work:
    """An operator that takes so many minutes in six rounds, its rows all alike."""
    seconds = minutes * 60 / ROUNDS
    each = max(0.0, seconds - START_UP_S) / rows
    costs = tuple(RowCost(name=f"{name}-{number}", seconds=each) for number in range(rows))
    return Work(op=name, directory=name, pair_s=seconds, rows=costs)


def example() -> list[Work]:
    """All sixteen."""
    given = [work(name, minutes, rows=rows) for name, (minutes, rows) in GIVEN.items()]
    return given + [work(name, minutes, rows=12) for name, minutes in CHOSEN.items()]
