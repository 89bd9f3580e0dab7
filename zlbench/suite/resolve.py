"""Which benchmark does a person's word mean? Unknown and ambiguous words are refused before anything runs."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from zlbench.errors import UsageError
from zlbench.nearest import unknown
from zlbench.settings.parsers import DTYPE_ALIASES, DTYPES
from zlbench.settings.parsers import dtypes as parse_dtypes

from .names import check_request
from .provider import PREFIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .inventory import Benchmark, Inventory
    from .provider import Provider

_GLOB = frozenset("*?[")
_MANY = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """One benchmark to measure.

    Args:
        op: its one name in this suite; the column `op` and, through `safe_dirname`, the run directory.
        dtypes: what ``OP:FILE:DTYPES`` asked for; empty for the suite's own.
        request: the word that asked for it.
    """

    op: str
    benchmark: Benchmark
    provider: Provider
    dtypes: tuple[str, ...] = ()
    request: str = ""

    @property
    def node_id(self) -> str:
        """The absolute pytest node id: a relative one lets pytest miss the suite's conftest."""
        return f"{self.provider.root}/{self.benchmark.node}"


def resolve_operators(requests: Sequence[str], inventories: Sequence[Inventory]) -> tuple[Selection, ...]:
    """Find the benchmark of every request; with no prefix, the first inventory is meant.

    A benchmark named twice is measured once.

    Raises:
        UsageError: a word is unknown (nearest names), ambiguous (how to name each), or no possible name.
    """
    selections: dict[tuple[str, tuple[str, ...]], Selection] = {}
    for request in requests:
        for selection in _resolve_one(check_request(request), inventories):
            selections.setdefault((selection.node_id, selection.dtypes), selection)
    return tuple(selections.values())


def resolve_all(inventory: Inventory) -> tuple[tuple[Selection, ...], tuple[Selection, ...]]:
    """Return every benchmark to run, and those left out because of an unconditional skip."""
    names = inventory.names()
    every = [Selection(op=names[b], benchmark=b, provider=inventory.provider, request="--all") for b in names]
    return tuple(s for s in every if not s.benchmark.skip), tuple(s for s in every if s.benchmark.skip)


def _resolve_one(request: str, inventories: Sequence[Inventory]) -> Iterable[Selection]:
    inventory, word = _choose_inventory(request, inventories)
    names = inventory.names()
    dtypes: tuple[str, ...] = ()
    if "::" in word:
        found = _by_node(word, inventory)
    elif any(character in _GLOB for character in word):
        found = _by_glob(word, names)
    else:
        operator, file, dtypes = _split(word)
        found = [_by_name(operator, file, inventory, word)]
    if not found:
        raise UsageError(
            unknown(
                "operator", _shown(word), _known_words(inventory), where=f"in {inventory.provider.title}"
            ),
            hint="List them: nox -s screen -- --list",
        )
    return [
        Selection(op=names[b], benchmark=b, provider=inventory.provider, dtypes=dtypes, request=request)
        for b in found
    ]


def _choose_inventory(request: str, inventories: Sequence[Inventory]) -> tuple[Inventory, str]:
    """Split ``vllm:op``; a prefix names a suite, anything else before a colon is an operator."""
    prefix, colon, rest = request.partition(":")
    if not colon or prefix not in PREFIXES or rest.startswith(":"):
        return inventories[0], request
    wanted = PREFIXES[prefix]
    for inventory in inventories:
        if inventory.provider.name == wanted:
            return inventory, rest
    given = ", ".join(inventory.provider.name for inventory in inventories)
    raise UsageError(
        f"{_shown(request)} asks for suite {wanted}, this run has suite {given}",
        hint="Give its checkout: --suite DIR (or FLAGGEMS_DIR).",
    )


def _split(word: str) -> tuple[str, str, tuple[str, ...]]:
    """Split ``OP``, ``OP:FILE``, ``OP:FILE:DTYPES``, ``OP::DTYPES`` and ``OP@FILE``."""
    operator, _, rest = word.partition(":")
    file, _, dtypes = rest.partition(":")
    if "@" in operator and not file:
        operator, _, file = operator.partition("@")
    if file and not dtypes and all(name in DTYPES or name in DTYPE_ALIASES for name in file.split(",")):
        raise UsageError(
            f"{_shown(word)}: the second part is a file, not a dtype",
            hint=f"Write {operator}::{file} for dtypes.",
        )
    try:
        return operator, file.removeprefix("test_").removesuffix(".py"), parse_dtypes(dtypes)
    except ValueError as error:
        raise UsageError(f"{_shown(word)}: {error}") from error


def _by_node(word: str, inventory: Inventory) -> list[Benchmark]:
    path, _, function = word.partition("::")
    function = function.partition("[")[0]
    wanted = PurePosixPath(path).parts
    found = []
    for benchmark in inventory.benchmarks:
        parts = PurePosixPath(str(inventory.provider.root), "benchmark", benchmark.file).parts
        if benchmark.function == function and wanted and parts[-len(wanted) :] == wanted:
            found.append(benchmark)
    if not found:
        nodes = [benchmark.node for benchmark in inventory.benchmarks]
        raise UsageError(
            unknown("benchmark", _shown(word), nodes, where=f"in {inventory.provider.title}"),
            hint="List them: nox -s screen -- --list",
        )
    return found


def _by_glob(word: str, names: dict[Benchmark, str]) -> list[Benchmark]:
    return [
        benchmark
        for benchmark, name in names.items()
        if fnmatch.fnmatchcase(name, word) and not benchmark.skip
    ]


def _by_name(operator: str, file: str, inventory: Inventory, word: str) -> Benchmark:
    """Return the benchmark that the word fits best: exact names before short ones, the file's name last."""
    names = inventory.names()
    candidates = [b for b in inventory.benchmarks if not file or b.stem == file]
    if file and not candidates:
        stems = {benchmark.stem for benchmark in inventory.benchmarks}
        raise UsageError(
            unknown("benchmark file", _shown(f"test_{file}.py"), (f"test_{stem}.py" for stem in stems)),
            hint=f"{_shown(word)} means test_{_shown(operator)} of benchmark/test_{_shown(file)}.py.",
        )
    tests: tuple[Callable[[Benchmark], bool], ...] = (
        lambda b: names[b] == operator,
        lambda b: operator in (b.short, b.function),
        lambda b: b.op_name == operator,
        lambda b: operator in b.markers,
        lambda b: _bare(b.short) == operator,
        lambda b: b.stem == operator,
    )
    for test in tests:
        found = [benchmark for benchmark in candidates if test(benchmark)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _ambiguous(word, found, names)
    known = [names[b] for b in candidates] if file else _known_words(inventory)
    place = f"in benchmark/test_{file}.py" if file else f"in {inventory.provider.title}"
    raise UsageError(
        unknown("operator", _shown(operator), known, where=place), hint="List them: nox -s screen -- --list"
    )


def _bare(short: str) -> str:
    """Drop what suites put around an operator's name in a function's name."""
    for prefix in ("perf_", "benchmark_"):
        short = short.removeprefix(prefix)
    for suffix in ("_benchmark", "_perf"):
        short = short.removesuffix(suffix)
    return short


def _ambiguous(word: str, found: list[Benchmark], names: dict[Benchmark, str]) -> UsageError:
    lines = [f"{names[b]:<32} {b.node}" for b in found[:_MANY]]
    if len(found) > _MANY:
        lines.append(f"… and {len(found) - _MANY} more")
    return UsageError(
        f"{_shown(word)} fits {len(found)} benchmarks; name one of them:", hint="\n".join(lines)
    )


def _known_words(inventory: Inventory) -> set[str]:
    words = set(inventory.names().values())
    return (
        words
        | {b.op_name for b in inventory.benchmarks if b.op_name}
        | {b.stem for b in inventory.benchmarks}
    )


def _shown(word: str) -> str:
    return word if len(word) <= 80 else f"{word[:77]}…"
