"""``--list``: the operators of a suite, by the names that can be given."""

from __future__ import annotations

from zlbench.cli.app import App
from zlbench.errors import ExitCode
from zlbench.suite.inventory import read_inventory
from zlbench.suite.provider import find_provider
from zlbench.suite.resolve import resolve_all
from zlbench.text import columns, plural


def list_operators(app: App) -> ExitCode:
    """Print every operator with its file and test function."""
    provider = find_provider(app.resolved.text("suite"), cwd=app.cwd, given=str(app.resolved.source("suite")))
    inventory = read_inventory(provider, cache=app.home / f"inventory-{provider.name}.json")
    usual, skipped = resolve_all(inventory)
    for line in inventory.unread():
        app.talk(f"note: {line}")
    if app.resolved.flag("json"):
        app.json([{"op": item.op, "node": item.node_id, "skip": item.benchmark.skip} for item in (*usual, *skipped)])
        return ExitCode.OK
    rows = [(item.op, item.benchmark.node, item.benchmark.skip or "") for item in (*usual, *skipped)]
    for line in columns(("op", "test", "always skipped because"), rows):
        app.result(line)
    app.talk(f"{plural(len(usual), 'operator')} in {provider.title}")
    return ExitCode.OK
