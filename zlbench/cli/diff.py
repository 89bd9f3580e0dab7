"""``zlbench diff``: the IR of both sides of a screened operator, kernel by kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.cli.app import App
from zlbench.cli.find import find_screen
from zlbench.errors import ExitCode, UsageError
from zlbench.ir.diff import unified_diff
from zlbench.ir.fingerprint import IrComparison, compare, fingerprint_dir
from zlbench.judge import Kernel, read_index
from zlbench.nearest import unknown
from zlbench.text import plural


def run(app: App) -> ExitCode:
    """Print the difference of every changed kernel, each distinct one once."""
    root = find_screen(app, app.resolved.path("screen"))
    plan: dict[str, Any] = store.read_json(root / "plan.json") or {}
    stamps = (*plan.get("axis", {}).get("stamps", ()), *app.resolved.texts("stamps"))
    pairs = {path.parent.name: path.parent for path in sorted(root.glob("*/A"))}
    wanted = app.resolved.texts("ops") or tuple(pairs)
    found = []
    for word in wanted:
        matching = [name for name in pairs if name == word or name.partition("@")[0] == word]
        if not matching:
            raise UsageError(unknown("operator", word, pairs, where=f"in {root}"), hint="See its screen.tsv.")
        found += matching
    shown = [_Pair(op=name, path=pairs[name], stamps=stamps) for name in found]
    if app.resolved.flag("json"):
        app.json([pair.data() for pair in shown])
        return ExitCode.OK
    for pair in shown:
        for line in pair.lines():
            app.result(line)
    return ExitCode.OK


class _Pair:
    """Both sides of one operator."""

    def __init__(self, *, op: str, path: Path, stamps: tuple[str, ...]) -> None:
        self.op = op
        self.a, self.b = path / "A" / "ttgir", path / "B" / "ttgir"
        self.stamps = stamps
        self.comparison = self._compare()
        self.kernels = {
            side: {file: kernel for kernel in read_index(folder / "index.tsv") for file in kernel.files}
            for side, folder in (("A", self.a), ("B", self.b))
        }

    def _compare(self) -> IrComparison:
        if not self.a.is_dir() or not self.b.is_dir():
            raise UsageError(f"{self.op} has no IR on both sides", hint="Its verdict in screen.tsv says why.")
        return compare(fingerprint_dir(self.a, self.stamps), fingerprint_dir(self.b, self.stamps))

    def distinct(self) -> list[tuple[str, list[str]]]:
        """Changed files, one for each distinct kernel, with the other places where the same kernel stands."""
        groups: dict[str, list[str]] = {}
        for file in self.comparison.changed:
            kernel = self.kernels["A"].get(file)
            groups.setdefault(kernel.id if kernel else file, []).append(file)
        return [(files[0], files[1:]) for files in groups.values()]

    def lines(self) -> list[str]:
        """The text for one operator."""
        comparison = self.comparison
        distinct = self.distinct()
        equal = {kernel.id for file in comparison.equal if (kernel := self.kernels["A"].get(file))}
        lines = [f"{self.op}: {plural(len(distinct), 'kernel')} changed, {len(equal)} equal", ""]
        for file, others in distinct:
            also = f"   (the same in {plural(len(others), 'other row')})" if others else ""
            lines += [f"{file}{also}", *self._code_line(file)]
            lines += [unified_diff(self._text(self.a, file), self._text(self.b, file), stamps=self.stamps), ""]
        lines += [f"only on side A: {file}" for file in comparison.only_a]
        lines += [f"only on side B: {file}" for file in comparison.only_b]
        if not distinct:
            lines += self._below()
        return lines

    def _code_line(self, file: str) -> list[str]:
        a, b = (self.kernels[side].get(file) for side in ("A", "B"))
        if a is None or b is None:
            return []
        if not a.code or not b.code:
            return ["    machine code unknown"]
        return [f"    machine code {'same' if a.code == b.code else 'differs'}"]

    def _below(self) -> list[str]:
        """Kernels whose machine code differs although their IR does not: there is nothing to show here, so say it."""
        differing = [
            file for file in self.comparison.equal
            if self._code(file, "A") and self._code(file, "B") and self._code(file, "A") != self._code(file, "B")
        ]  # fmt: skip
        unread = {file for file in self.comparison.equal if not self._code(file, "A") or not self._code(file, "B")}
        if not differing:
            return [f"The machine code of {plural(len(unread), 'file')} is not known on both sides."] if unread else []
        return [
            f"The IR is equal, the machine code of {plural(len(differing), 'file')} differs: the change is below it.",
            "Compare what lies below it: screen again with --keep-binaries, then look into kernels/ of both sides.",
        ]

    def _code(self, file: str, side: str) -> str:
        kernel: Kernel | None = self.kernels[side].get(file)
        return kernel.code if kernel else ""

    def data(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "op": self.op,
            "changed": list(self.comparison.changed),
            "only_a": list(self.comparison.only_a),
            "only_b": list(self.comparison.only_b),
            "equal": list(self.comparison.equal),
            "diffs": {
                file: unified_diff(self._text(self.a, file), self._text(self.b, file), stamps=self.stamps)
                for file, _ in self.distinct()
            },
        }

    @staticmethod
    def _text(folder: Path, file: str) -> str:
        return (folder / file).read_text(encoding="utf-8")
