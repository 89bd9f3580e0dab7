"""Find the run directory that a person means: the one named, else the newest."""

from __future__ import annotations

from pathlib import Path

from zlbench import store
from zlbench.cli.app import App
from zlbench.errors import UsageError


def newest_screen(app: App) -> Path | None:
    """The screen that is meant where nobody names one."""
    return store.newest(app.runs, "screen", having="screen.tsv")


def find_screen(app: App, given: Path | None = None) -> Path:
    """Return a screen's directory.

    Raises:
        UsageError: there is none there.
    """
    if given is not None:
        root = (app.cwd / given).resolve()
        if not (root / "screen.tsv").is_file():
            raise UsageError(f"{root} holds no screen.tsv", hint="Give the directory of a screen, runs/screen_….")
        return root
    found = newest_screen(app)
    if found is None:
        raise UsageError(f"no screen in {app.runs}", hint="Make one: nox -s screen -- topk fft   (or give --out DIR)")
    return found
