"""``--list``: the operators of a suite, by the names that can be given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlbench.cli.app import App
from zlbench.errors import ExitCode
from zlbench.suite.inventory import read_inventory
from zlbench.suite.provider import find_provider
from zlbench.suite.resolve import Selection, resolve_all
from zlbench.text import plural

_WIDEST = (28, 40)
"""Blanks that a column is filled up with at most: one name of ninety letters must not push every line aside."""


def list_operators(app: App) -> ExitCode:
    """Print every operator with its file and test function."""
    provider = find_provider(app.resolved.text("suite"), cwd=app.cwd, given=str(app.resolved.source("suite")))
    inventory = read_inventory(provider, cache=app.home / f"inventory-{provider.name}.json")
    usual, skipped = resolve_all(inventory)
    for line in inventory.unread():
        app.talk(f"note: {line}")
    if app.resolved.flag("json"):
        app.json([{"op": item.op, "node": item.node_id, "markers": item.benchmark.markers,
                   "skip": item.benchmark.skip} for item in (*usual, *skipped)])  # fmt: skip
        return ExitCode.OK
    for line in _lines([*usual, *skipped]):
        app.result(line)
    app.talk(f"{plural(len(usual), 'operator')} in {provider.title}")
    return ExitCode.OK


def _lines(selections: Sequence[Selection]) -> Iterator[str]:
    """Name, test and the further names of every operator: its markers, where they are others."""
    rows = [("op", "test below benchmark/", "markers that name it as well")]
    for item in selections:
        benchmark = item.benchmark
        others = [marker for marker in benchmark.markers if marker != item.op]
        skip = f"always skipped: {benchmark.skip}" if benchmark.skip else ""
        rows.append(
            (item.op, benchmark.node.removeprefix("benchmark/"), "  ".join(filter(None, (" ".join(others), skip))))
        )
    widths = [min(most, max(len(row[index]) for row in rows)) for index, most in enumerate(_WIDEST)]
    for op, node, rest in rows:
        yield f"{op:<{widths[0]}}  {node:<{widths[1]}}  {rest}".rstrip()
