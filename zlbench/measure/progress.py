"""The line that is said of every finished cell."""

from __future__ import annotations

from collections.abc import Mapping

from zlbench.cells import CellOutcome, CellSpec, CellState
from zlbench.measure.runner import Clock
from zlbench.text import counted, seconds


def progress_line(
    clock: Clock, spec: CellSpec, outcome: CellOutcome, *, reused: bool, others: Mapping[str, CellOutcome] | None = None
) -> str:
    """``[1/6] A topk       24 kernels    8.1 s``; a cell that did not end well says how.

    Args:
        others: outcomes of the other sides; what one of them said already is not said again.
    """
    width = len(str(clock.total))
    target = f" {spec.target}" if "@" in spec.cell else ""
    text = f"[{clock.done:>{width}}/{clock.total}] {spec.side} {spec.op + target:<24} "
    text += counted(outcome.kernels, "kernel")
    took = "kept" if reused else seconds(outcome.elapsed_s)
    text += f" {took:>9}"
    if outcome.state is not CellState.OK:
        same = [side for side, o in (others or {}).items() if (o.state, o.detail) == (outcome.state, outcome.detail)]
        said = f"as {same[0]}" if same and outcome.detail else outcome.detail
        text += f"   {outcome.state.value} {said}"[:200]
    left = clock.left_s
    if left is not None and clock.done < clock.total:
        text += f"   left about {seconds(left)}"
    return text
