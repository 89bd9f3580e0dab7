"""``zlbench diff``: the IR of both sides of a screened operator, kernel by kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.campaign.record import CAMPAIGN
from zlbench.cli.app import App
from zlbench.cli.find import find_screen
from zlbench.errors import ExitCode, UsageError
from zlbench.ir.diff import unified_diff
from zlbench.ir.fingerprint import fingerprint_dir
from zlbench.judge import read_index
from zlbench.nearest import unknown
from zlbench.settings import SourceKind
from zlbench.text import plural


def run(app: App) -> ExitCode:
    """Print the difference of every changed kernel, each distinct one once."""
    given, words = _screen_among(app, app.resolved.texts("ops"))
    root = find_screen(app, given)
    plan: dict[str, Any] = store.read_json(root / "plan.json") or {}
    stamps = (*plan.get("axis", {}).get("stamps", ()), *app.resolved.texts("stamps"))
    pairs = {path.parent.name: path.parent for path in sorted(root.glob("*/A"))}
    found = []
    for word in words or tuple(pairs):
        matching = [name for name in pairs if word in (name, name.partition("@")[0], _shown(name))]
        if not matching:
            newest = "" if given is not None else ", the newest screen"
            raise UsageError(
                unknown("operator", word, map(_shown, pairs), where=f"in {root}{newest}"),
                hint="Another screen: --screen DIR, or its directory among the operators.",
            )
        found += matching
    shown = [_Pair(op=name, path=pairs[name], stamps=stamps) for name in found]
    if app.resolved.flag("json"):
        app.json([pair.data() for pair in shown])
        return ExitCode.OK
    for pair in shown:
        for line in pair.lines():
            app.result(line)
    return ExitCode.OK


def _screen_among(app: App, words: Sequence[str]) -> tuple[Path | None, tuple[str, ...]]:
    """The screen that was named, by --screen or by its directory as `compare` takes it; and the operators."""
    given = app.resolved.path("screen")
    screens = [word for word in words if _is_screen(app.cwd / word)]
    pairs = [word for word in words if "/" in word and word not in screens and _is_screen((app.cwd / word).parent)]
    folders = dict.fromkeys([*screens, *(str(Path(word).parent) for word in pairs)])
    if not folders:
        return given, tuple(words)
    if len(folders) > 1 or app.resolved.source("screen").kind is SourceKind.COMMAND_LINE:
        raise UsageError("diff looks into one screen, several are named", hint="Drop all but one.")
    rest = tuple(Path(word).name if word in pairs else word for word in words if word not in screens)
    return Path(next(iter(folders))), rest


def _is_screen(path: Path) -> bool:
    return (path / "screen.tsv").is_file() or (path / CAMPAIGN).is_file()


def _shown(directory: str) -> str:
    """``mm`` as it is, and ``mm@cuda:80`` of the folder of one target."""
    op, at, target = directory.partition("@")
    return f"{op}{at}{target.replace('-', ':', 1)}"


class _Side:
    """The launched kernels of one side, with the normalised IR of each."""

    def __init__(self, ttgir: Path, stamps: tuple[str, ...]) -> None:
        prints = fingerprint_dir(ttgir, stamps).files
        self.ttgir = ttgir
        self.kernels = {
            kernel.id: kernel for kernel in read_index(ttgir / "index.tsv") if kernel.launches and kernel.files
        }
        self.prints = {name: prints.get(kernel.files[0], "") for name, kernel in self.kernels.items()}

    def file(self, kernel: str) -> str:
        """The first place where a kernel stands; a kernel launched for several rows stands under each."""
        return self.kernels[kernel].files[0]

    def text(self, kernel: str) -> str:
        """The IR of a kernel as the compiler wrote it."""
        return (self.ttgir / self.file(kernel)).read_text(encoding="utf-8")


class _Pair:
    """Both sides of one operator, kernel by kernel.

    Kernels are found by what they are, not by their file names: those depend on what else a side has compiled, and a
    side that lost rows has compiled less.
    """

    def __init__(self, *, op: str, path: Path, stamps: tuple[str, ...]) -> None:
        folders = [path / side / "ttgir" for side in ("A", "B")]
        if not all(folder.is_dir() for folder in folders):
            raise UsageError(f"{op} has no IR on both sides", hint="Its verdict in screen.tsv says why.")
        self.op = op
        self.stamps = stamps
        self.a, self.b = (_Side(folder, stamps) for folder in folders)
        both = [name for name in self.a.kernels if name in self.b.kernels]
        self.changed = [name for name in both if self.a.prints[name] != self.b.prints[name]]
        self.equal = [name for name in both if self.a.prints[name] == self.b.prints[name]]
        self.only_a = [self.a.file(name) for name in self.a.kernels if name not in self.b.kernels]
        self.only_b = [self.b.file(name) for name in self.b.kernels if name not in self.a.kernels]

    def lines(self) -> list[str]:
        """The text for one operator."""
        lines = [f"{_shown(self.op)}: {plural(len(self.changed), 'kernel')} changed, {len(self.equal)} equal", ""]
        for name in self.changed:
            others = len(self.a.kernels[name].files) - 1
            also = f"   (the same in {plural(others, 'other row')})" if others else ""
            lines += [f"{self.a.file(name)}{also}", f"    machine code {self._code_word(name)}", self._diff(name), ""]
        lines += [f"only on side A: {file}" for file in self.only_a]
        lines += [f"only on side B: {file}" for file in self.only_b]
        return lines if self.changed else lines + self._below()

    def _diff(self, name: str) -> str:
        return unified_diff(self.a.text(name), self.b.text(name), stamps=self.stamps)

    def _code_word(self, name: str) -> str:
        a, b = self.a.kernels[name].code, self.b.kernels[name].code
        return "unknown" if not a or not b else "same" if a == b else "differs"

    def _below(self) -> list[str]:
        """Kernels whose machine code differs although their IR does not: there is nothing to show here, so say it."""
        words = [self._code_word(name) for name in self.equal for _ in self.a.kernels[name].files]
        differing, unread = words.count("differs"), words.count("unknown")
        if differing:
            return [
                f"The IR is equal, the machine code of {plural(differing, 'file')} differs: the change is below it.",
                "Compare what lies below it: screen again with --keep-binaries, then look into kernels/ of both sides.",
            ]
        return [f"The machine code of {plural(unread, 'file')} is not known on both sides."] if unread else []

    def data(self) -> dict[str, Any]:
        """The same as data; kernels by the file of side A."""
        return {
            "op": self.op,
            "changed": [self.a.file(name) for name in self.changed],
            "only_a": self.only_a,
            "only_b": self.only_b,
            "equal": [self.a.file(name) for name in self.equal],
            "diffs": {self.a.file(name): self._diff(name) for name in self.changed},
        }
