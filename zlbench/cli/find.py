"""Find the run directory that a person means: the one named, else the newest."""

from __future__ import annotations

from pathlib import Path

from zlbench import store
from zlbench.campaign.record import CAMPAIGN, SCREEN
from zlbench.cli.app import App
from zlbench.errors import UsageError
from zlbench.report.reading.load import is_rounds
from zlbench.rounds.names import PLAN

_ROUNDS = "Give the directory of a campaign (runs/campaign_…) or of repeated rounds (runs/repeat_…)."


def newest_screen(app: App) -> Path | None:
    """The screen that is meant where nobody names one; that of a campaign is one like the others."""
    found = store.newest_of(app.runs, {"screen": "screen.tsv", "campaign": f"{SCREEN}/screen.tsv"})
    return found / SCREEN if found is not None and found.name.startswith("campaign_") else found


def newest_campaign(app: App) -> Path | None:
    """The campaign that was started last."""
    return store.newest(app.runs, "campaign", having=CAMPAIGN)


def find_screen(app: App, given: Path | None = None) -> Path:
    """Return a screen's directory.

    Raises:
        UsageError: there is none there.
    """
    if given is not None:
        root = (app.cwd / given).resolve()
        if (root / CAMPAIGN).is_file():
            root /= SCREEN
        if not (root / "screen.tsv").is_file():
            raise UsageError(f"{root} holds no screen.tsv", hint="Give the directory of a screen, runs/screen_….")
        return root
    found = newest_screen(app)
    if found is None:
        raise UsageError(f"no screen in {app.runs}", hint="Make one: nox -s screen -- topk fft   (or give --out DIR)")
    return found


def find_rounds(app: App) -> Path:
    """The campaign or the root of repeated rounds that is meant: the one named, else the newest.

    Raises:
        UsageError: there is none.
    """
    given = app.resolved.value("of")
    if len(given) > 1:
        raise UsageError(f"{len(given)} directories are given, one is looked at", hint=_ROUNDS)
    if given:
        root: Path = (app.cwd / given[0]).resolve()
        if not is_rounds(root):
            raise UsageError(f"{root} holds neither {PLAN} nor {CAMPAIGN}", hint=_ROUNDS)
        return root
    found = store.newest_of(app.runs, {"repeat": PLAN, "campaign": CAMPAIGN})
    if found is None:
        raise UsageError(f"no campaign and no repeated rounds in {app.runs}", hint=_ROUNDS)
    return found
