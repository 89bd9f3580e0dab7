"""``zlbench explain WORD``: cause, what it means for the numbers, next step."""

from __future__ import annotations

from dataclasses import asdict

from zlbench.cli.app import App
from zlbench.errors import ExitCode
from zlbench.markers import MARKERS, find, overview


def run(app: App) -> ExitCode:
    """Explain each word; without one, list all of them."""
    words = app.resolved.texts("words")
    together = " ".join(words)  # some are called by several words, such as: op failed, no difference
    called = {code.label for code in ExitCode} | {name.casefold() for name in MARKERS}
    markers = [find(together)] if together.casefold() in called else [find(word) for word in words]
    if app.resolved.flag("json"):
        app.json([{**asdict(marker), "kind": marker.kind.value} for marker in markers or MARKERS.values()])
    elif not words:
        app.result(overview())
    else:
        for marker in markers:
            app.result(str(marker))
    return ExitCode.OK
