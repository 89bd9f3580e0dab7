"""What ran on both sides, with what it costs, and the IR diffs as far as the page has room for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zlbench.report.model import KernelCosts, KernelPair
from zlbench.report.page.embed import Table, as_json, compact
from zlbench.report.summary import OpSummary

ROOM = 4_000_000
"""Bytes of IR diffs in a page, as they are written."""
_HASH = 16
"""Digits of a hash that are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernels:
    """Kernels of a page.

    Args:
        entries: one a kernel, operators in order; `words` are the texts that they name by number.
        diffs: by number of the kernel.
        omitted: changed kernels whose diff found no room; operators: of which these are.
    """

    entries: list[dict[str, Any]]
    words: list[str]
    diffs: Mapping[int, str]
    omitted: int = 0
    operators: tuple[str, ...] = ()


def kernels(ops: Sequence[OpSummary], room: int = ROOM) -> Kernels:
    """Collect them. The most changed kernels get the room for diffs first."""
    pairs = [(number, op.op.op, pair) for number, op in enumerate(ops) for pair in op.op.kernels]
    diffs, without = _diffs([pair for _, _, pair in pairs], room)
    words = Table()
    words("")
    return Kernels(
        entries=[
            _entry(number, pair, words, omitted=index in without) for index, (number, _, pair) in enumerate(pairs)
        ],
        words=words.values,
        diffs=diffs,
        omitted=len(without),
        operators=tuple(dict.fromkeys(name for index, (_, name, _) in enumerate(pairs) if index in without)),
    )


def _diffs(pairs: Sequence[KernelPair], room: int) -> tuple[dict[int, str], set[int]]:
    changed = [index for index, pair in enumerate(pairs) if pair.diff]
    found: dict[int, str] = {}
    without: set[int] = set()
    for index in sorted(changed, key=lambda index: (-_changed_lines(pairs[index].diff), index)):
        size = len(as_json(pairs[index].diff).encode("utf-8", "replace"))
        if size <= room:
            room -= size
            found[index] = pairs[index].diff
        else:
            without.add(index)
    return {index: found[index] for index in sorted(found)}, without


def _changed_lines(diff: str) -> int:
    return sum(line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- ")) for line in diff.splitlines())


def _entry(number: int, pair: KernelPair, words: Table, *, omitted: bool) -> dict[str, Any]:
    texts = (pair.name, pair.variant, _pairs(pair.constexprs), _pairs(pair.signature), pair.ir, pair.code)
    return compact(
        (
            ("op", number),
            ("id", pair.id),
            ("w", [words(text) for text in texts]),
            ("warps", pair.num_warps),
            ("stages", pair.num_stages),
            ("rows", [words(row) for row in pair.rows]),
            ("a", _costs(pair.a)),
            ("b", _costs(pair.b)),
            ("ops", list(pair.histogram)),
            ("cut", pair.cut),
            ("omitted", omitted),
        )
    )


def _pairs(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _costs(costs: KernelCosts | None) -> list[Any] | None:
    if costs is None:
        return None
    numbers: Iterable[int | None] = (costs.registers, costs.spills, costs.shared, costs.instructions)
    return [*numbers, costs.code[:_HASH], costs.ttgir[:_HASH]]
