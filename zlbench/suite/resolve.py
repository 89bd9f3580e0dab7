"""Which benchmark does a person's word mean? Unknown and ambiguous words are refused before anything runs."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from zlbench.errors import UsageError
from zlbench.nearest import nearest, unknown
from zlbench.settings.parsers import DTYPE_ALIASES, DTYPES
from zlbench.settings.parsers import dtypes as parse_dtypes

from .names import check_request
from .provider import PREFIXES, WHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .inventory import Benchmark, Inventory
    from .provider import Provider

_GLOB = frozenset("*?[")
_MANY = 12
_LIST_THEM = "List them: nox -s screen -- --list"


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

    A benchmark named twice is measured once, with the dtypes of both requests.

    Raises:
        UsageError: a word is unknown (nearest names), ambiguous (how to name each), or no possible name.
    """
    indexes = [_Index(inventory=inventory, names=inventory.names()) for inventory in inventories]
    selections: dict[str, Selection] = {}
    for request in requests:
        for selection in _resolve_one(check_request(request), indexes):
            first = selections.setdefault(selection.node_id, selection)
            selections[selection.node_id] = replace(first, dtypes=_union(first.dtypes, selection.dtypes))
    return tuple(selections.values())


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Both requests' dtypes in order; none means the suite's own, which no list can narrow."""
    return tuple(dict.fromkeys((*one, *other))) if one and other else ()


def resolve_all(inventory: Inventory) -> tuple[tuple[Selection, ...], tuple[Selection, ...]]:
    """Return every benchmark to run, and those left out because of an unconditional skip."""
    names = inventory.names()
    every = [Selection(op=names[b], benchmark=b, provider=inventory.provider, request="--all") for b in names]
    return tuple(s for s in every if not s.benchmark.skip), tuple(s for s in every if s.benchmark.skip)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Index:
    """An inventory with its names, made once for all requests."""

    inventory: Inventory
    names: dict[Benchmark, str]

    @property
    def title(self) -> str:
        return self.inventory.provider.title

    @property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        return self.inventory.benchmarks

    @property
    def hint(self) -> str:
        """What to do about a word that fits nothing: it may stand in a file that could not be read."""
        return "\n".join((_LIST_THEM, *self.inventory.unread()))

    def words(self) -> set[str]:
        """Return everything that a person may have meant."""
        return set(self.names.values()).union(*({*b.op_names, *b.markers, b.stem} for b in self.benchmarks))


def _resolve_one(request: str, indexes: Sequence[_Index]) -> Iterable[Selection]:
    index, word = _choose_suite(request, indexes)
    dtypes: tuple[str, ...] = ()
    if ".py::" in word:
        found = _by_node(word, index)
    elif any(character in _GLOB for character in word):
        found = _by_glob(word, index)
    else:
        operator, file, dtypes = _split(word)
        found = [_by_name(operator, file, index, word)]
    if not found:
        raise UsageError(unknown("operator", _shown(word), index.words(), where=f"in {index.title}"), hint=index.hint)
    provider = index.inventory.provider
    return [Selection(op=index.names[b], benchmark=b, provider=provider, dtypes=dtypes, request=request) for b in found]


def _choose_suite(request: str, indexes: Sequence[_Index]) -> tuple[_Index, str]:
    """Split ``vllm:op``; a prefix names a suite, anything else before a colon is an operator."""
    prefix, colon, rest = request.partition(":")
    if not colon or prefix not in PREFIXES or rest.startswith(":"):
        return indexes[0], request
    wanted = PREFIXES[prefix]
    for index in indexes:
        if index.inventory.provider.name == wanted:
            return index, rest
    given = ", ".join(index.inventory.provider.name for index in indexes)
    raise UsageError(
        f"{_shown(request)} asks for suite {wanted}, this run has suite {given}",
        hint=WHERE[wanted],
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
        return operator, file.removesuffix(".py"), parse_dtypes(dtypes)
    except ValueError as error:
        raise UsageError(f"{_shown(word)}: {error}") from error


def _by_node(word: str, index: _Index) -> list[Benchmark]:
    path, _, function = word.partition("::")
    function = function.partition("[")[0]
    wanted = PurePosixPath(path).parts
    root = PurePosixPath(str(index.inventory.provider.root))
    found = [
        benchmark
        for benchmark in index.benchmarks
        if benchmark.function == function and (root / "benchmark" / benchmark.file).parts[-len(wanted) :] == wanted
    ]
    if not found:
        nodes = [benchmark.node for benchmark in index.benchmarks]
        close = nearest(f"benchmark/{wanted[-1]}::{function}", nodes)
        ending = f" Nearest: {', '.join(close)}." if close else ""
        raise UsageError(f"no benchmark {_shown(word)} in {index.title}.{ending}", hint=index.hint)
    return found


def _by_glob(word: str, index: _Index) -> list[Benchmark]:
    return [b for b, name in index.names.items() if fnmatch.fnmatchcase(name, word) and not b.skip]


def _by_name(operator: str, file: str, index: _Index, word: str) -> Benchmark:
    """Return the benchmark that the word fits best: exact names before short ones, the file's name last."""
    stem = file.removeprefix("test_")
    candidates = [b for b in index.benchmarks if not file or b.path == file] or [
        b for b in index.benchmarks if stem in (b.stem, b.path)
    ]
    if not candidates:
        files = {f"test_{benchmark.stem}.py" for benchmark in index.benchmarks}
        raise UsageError(
            unknown("benchmark file", _shown(f"test_{stem}.py"), files),
            hint="\n".join(
                (
                    f"{_shown(word)} means test_{_shown(operator)} of benchmark/test_{_shown(stem)}.py.",
                    *index.inventory.unread(),
                )
            ),
        )
    tests: tuple[Callable[[Benchmark], bool], ...] = (
        # Whole first: another benchmark of the file may be called what stands before the @.
        lambda b: bool(file) and index.names[b] == f"{operator}@{file}",
        lambda b: index.names[b] == operator,
        lambda b: operator in (b.short, b.function),
        lambda b: b.op_name == operator,
        lambda b: operator in b.markers,
        lambda b: operator in b.op_names,
        # A name that only running the suite would complete: to_copy_*_to_*.
        lambda b: any("*" in name and fnmatch.fnmatchcase(operator, name) for name in b.op_names),
        lambda b: _bare(b.short) == operator,
        lambda b: b.stem == operator,
    )
    for test in tests:
        found = [benchmark for benchmark in candidates if test(benchmark)]
        # Of several, the one in the file of that name is meant; a file with several of them settles nothing.
        for meant in (found, [benchmark for benchmark in found if benchmark.stem == operator]):
            if len(meant) == 1:
                return meant[0]
        if found:
            raise _ambiguous(word, found, index)
    known = {index.names[b] for b in candidates} if file else index.words()
    place = f"in benchmark/test_{_shown(stem)}.py" if file else f"in {index.title}"
    raise UsageError(unknown("operator", _shown(operator), known, where=place), hint=index.hint)


def _bare(short: str) -> str:
    """Drop what suites put around an operator's name in a function's name."""
    for prefix in ("perf_", "benchmark_"):
        short = short.removeprefix(prefix)
    for suffix in ("_benchmark", "_perf"):
        short = short.removesuffix(suffix)
    return short


def _ambiguous(word: str, found: list[Benchmark], index: _Index) -> UsageError:
    lines = [f"{index.names[b]:<32} {b.node}" for b in found[:_MANY]]
    if len(found) > _MANY:
        lines.append(f"… and {len(found) - _MANY} more")
    return UsageError(f"{_shown(word)} fits {len(found)} benchmarks; name one of them:", hint="\n".join(lines))


def _shown(word: str) -> str:
    return word if len(word) <= 80 else f"{word[:77]}…"
