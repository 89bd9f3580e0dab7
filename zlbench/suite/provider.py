"""Recognises a benchmark suite from its directory: `benchmark/conftest.py` and one package under `src/`."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from zlbench.errors import PreflightError
from zlbench.nearest import nearest
from zlbench.resources import builtin_suite

BUILTIN = "builtin"
# Package → name of the provider (features R12). Any other package of the same shape is a plain "directory".
PACKAGES = {"zlbench_builtin": BUILTIN, "flag_gems": "flag_gems", "flaggems_vllm": "flaggems_vllm"}
# What people write before the colon, as in vllm:fused_marlin_moe.
PREFIXES = {
    BUILTIN: BUILTIN,
    "main": "flag_gems",
    "gems": "flag_gems",
    "flag_gems": "flag_gems",
    "vllm": "flaggems_vllm",
    "flaggems_vllm": "flaggems_vllm",
}
_OLD_HARNESS = "performance_utils.py"
"""What FlagGems had in place of base.py until 2025."""
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """One suite: where it is and which package its benchmarks import."""

    name: str
    root: Path
    package: str

    @property
    def benchmark_dir(self) -> Path:
        """The folder with conftest.py and the test files."""
        return self.root / "benchmark"

    @property
    def source_dir(self) -> Path:
        """The folder that must be on the import path."""
        return self.root / "src"

    @property
    def package_dir(self) -> Path:
        """The suite's own package."""
        return self.source_dir / self.package

    @property
    def title(self) -> str:
        """How messages name the suite: ``suite builtin`` or ``suite flag_gems (/x/FlagGems)``."""
        return f"suite {self.name}" if self.name == BUILTIN else f"suite {self.name} ({self.root})"


WHERE = {
    BUILTIN: "It comes with zlbench: leave --suite and FLAGGEMS_DIR out.",
    "flag_gems": "It is a checkout of flagos-ai/FlagGems on GitHub: --suite DIR (or FLAGGEMS_DIR).",
    "flaggems_vllm": "That is FlagGems' operators for vLLM, a checkout of its own, flagos-ai/FlagGems-vllm on GitHub: "
    "--suite DIR (or FLAGGEMS_DIR).",
}
"""How one gets a suite that a prefix asks for."""


def find_provider(suite: str, *, cwd: Path, given: str = "") -> Provider:
    """Return the suite that a word or a directory names.

    Args:
        given: where the word comes from, for messages.

    Raises:
        PreflightError: ``check=suite-directory``, with what was found and what is missing.
    """
    if suite == BUILTIN:
        return _recognise(builtin_suite())
    root = (cwd / Path(suite).expanduser()).resolve()
    if not root.is_dir():
        close = nearest(suite, [BUILTIN])
        known = f" Nearest: {close[0]}." if close else ""
        wanted = (
            "set FLAGGEMS_DIR or --suite to a checkout" if suite in PREFIXES else "--suite is builtin or a checkout"
        )
        place = f" ({given})" if given else ""
        raise PreflightError(f"no suite directory {root}{place}.{known}", check="suite-directory", hint=f"{wanted}.")
    return _recognise(root)


def _recognise(root: Path) -> Provider:
    if not (root / "benchmark" / "conftest.py").is_file():
        hint = "A suite is a directory with benchmark/conftest.py and src/<package>/."
        if root.name == "benchmark":
            hint += f" Did you mean {root.parent}?"
        raise PreflightError(f"{root} has no benchmark/conftest.py", check="suite-directory", hint=hint)
    if (root / "benchmark" / _OLD_HARNESS).is_file() and not (root / "benchmark" / "base.py").is_file():
        raise PreflightError(
            f"{root} is a FlagGems of the older layout (benchmark/{_OLD_HARNESS}, no benchmark/base.py)",
            check="suite-directory",
            hint="Its benchmarks have no Benchmark class that could be measured row by row: take a checkout of 2026.",
        )
    packages = sorted(path.parent.name for path in (root / "src").glob("*/__init__.py"))
    known = [package for package in packages if package in PACKAGES]
    chosen = known or packages
    if len(chosen) != 1:
        found = ", ".join(chosen) or "none"
        raise PreflightError(
            f"{root}/src must hold one package, found: {found}",
            check="suite-directory",
            hint="A suite is a directory with benchmark/conftest.py and src/<package>/.",
        )
    return Provider(name=PACKAGES.get(chosen[0], "directory"), root=root, package=chosen[0])


def suite_commit(root: Path) -> str | None:
    """Return the commit checked out, read from `.git` without starting a process; None outside git."""
    git = root / ".git"
    try:
        if git.is_file():  # a worktree or submodule: "gitdir: …"
            git = (root / git.read_text(encoding="utf-8").partition(":")[2].strip()).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return head if _COMMIT.fullmatch(head) else None
        ref = head.partition(":")[2].strip()
        common = git / "commondir"
        shared = (git / common.read_text(encoding="utf-8").strip()).resolve() if common.is_file() else git
        for base in (git, shared):
            if (base / ref).is_file():
                return (base / ref).read_text(encoding="utf-8").strip()
        packed = (shared / "packed-refs").read_text(encoding="utf-8").splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {ref}")), None)
    except (OSError, UnicodeDecodeError, ValueError):
        return None


def content_hash(provider: Provider) -> str:
    """Return a digest over path and content of the suite's Python and YAML files."""
    digest = hashlib.sha256()
    for folder in (provider.benchmark_dir, provider.package_dir):
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".yaml", ".yml") and "__pycache__" not in path.parts and path.is_file():
                content = path.read_bytes()
                digest.update(f"{path.relative_to(provider.root).as_posix()}\0{len(content)}\0".encode())
                digest.update(content)
    return digest.hexdigest()[:16]
