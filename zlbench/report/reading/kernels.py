"""What both sides launched, kernel by kernel: costs, whether IR and machine code are equal, and how the IR differs.

Cheap where nothing changed: no text is read where both sides hold the same bytes by their recorded hash, and none is
looked into further than its normalised hash where they hold the same program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zlbench.ir.diff import unified_diff
from zlbench.ir.errors import IrError
from zlbench.ir.fingerprint import digest, normalised
from zlbench.ir.histogram import histogram, histogram_diff
from zlbench.report.model import KernelCosts, KernelPair
from zlbench.report.reading.kernel_cells import KernelSide, kernel_dirs, whole_number

__all__ = ["kernel_dirs", "kernel_pairs"]

SAME, CHANGED, ONLY_A, ONLY_B, UNKNOWN = "same", "changed", "only A", "only B", "unknown"
MAX_DIFF_LINES = 400


def kernel_pairs(
    a: Path, b: Path, *, stamps: Sequence[str] = (), diffs: bool = True, max_diff_lines: int = MAX_DIFF_LINES,
    judged_equal: bool = False,
) -> tuple[KernelPair, ...]:  # fmt: skip
    """The kernels that either cell launched, in A's order, then those of B alone.

    The hash of the normalised TTGIR is filled in where the texts had to be normalised, so where their bytes differ.

    Args:
        a, b: cell directories; a missing one has launched nothing.
        stamps: patterns of attributes that the change itself writes into the IR, and that are no difference.
        diffs: whether changed kernels get a readable diff, 2 to 15 ms each.
        max_diff_lines: lines of it that are kept; `cut` says that there were more.
        judged_equal: somebody has found the IR of all kernels equal (`Verdict.NO_IR_DIFF`): no text is read again.
    """
    left, right = KernelSide.read(a), KernelSide.read(b)
    compared = _Compared(stamps=tuple(stamps), diffs=diffs, lines=max_diff_lines, judged_equal=judged_equal)
    return tuple(compared.pair(left, right, name) for name in dict.fromkeys((*left.launched, *right.launched)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Compared:
    """How kernels are compared."""

    stamps: tuple[str, ...]
    diffs: bool
    lines: int
    judged_equal: bool

    def pair(self, left: KernelSide, right: KernelSide, name: str) -> KernelPair:
        """One kernel on both sides."""
        a, b = left.of(name), right.of(name)
        teller = left if a is not None else right
        told = teller.records[name]
        pair = KernelPair(
            id=name, name=str(told.get("name") or name), variant=teller.variant(name),
            constexprs=told.get("constexprs") or {}, signature=told.get("signature") or {},
            num_warps=whole_number(told.get("num_warps")), num_stages=whole_number(told.get("num_stages")),
            rows=tuple(dict.fromkeys((*left.launched.get(name, ()), *right.launched.get(name, ())))), a=a, b=b,
        )  # fmt: skip
        if a is None or b is None:
            only = ONLY_A if b is None else ONLY_B
            return replace(pair, ir=only, code=only)
        code = UNKNOWN if not a.code or not b.code else SAME if a.code == b.code else CHANGED
        raw = (left.raw(name), right.raw(name))
        if self.judged_equal or (raw[0] and raw[0] == raw[1]):
            return replace(pair, code=code, ir=SAME)
        paths = (left.path(name), right.path(name))
        if paths[0] is None or paths[1] is None:
            return replace(pair, code=code)
        try:
            return replace(self._by_text(pair, a, b, (paths[0], paths[1])), code=code)
        except (IrError, OSError):
            return replace(pair, code=code)

    def _by_text(self, pair: KernelPair, a: KernelCosts, b: KernelCosts, paths: tuple[Path, Path]) -> KernelPair:
        """Whether a kernel's IR differs, and how.

        Raises:
            IrError: a text is cut off or no IR.
        """
        left, right = (path.read_bytes() for path in paths)
        if left == right:
            return replace(pair, ir=SAME)
        texts = [normalised(data, path, self.stamps) for data, path in zip((left, right), paths, strict=True)]
        hashes = [digest(text) for text in texts]
        pair = replace(pair, a=replace(a, ttgir=hashes[0]), b=replace(b, ttgir=hashes[1]))
        if hashes[0] == hashes[1]:
            return replace(pair, ir=SAME)
        # What is no UTF-8 could not be written into a report.
        texts = [text.encode("utf-8", "surrogateescape").decode(errors="replace") for text in texts]
        counts = histogram_diff(*map(histogram, texts))
        diff = unified_diff(texts[0], texts[1], stamps=self.stamps).splitlines(keepends=True) if self.diffs else []
        return replace(
            pair, ir=CHANGED, histogram=tuple((change.op, change.a, change.b) for change in counts),
            diff="".join(diff[: self.lines]), cut=len(diff) > self.lines,
        )  # fmt: skip
