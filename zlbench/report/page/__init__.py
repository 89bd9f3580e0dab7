"""report.html: one page that holds everything it shows. Pure: a summary in, text out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zlbench.report.summary import Summary

TEMPLATE = "page.html.j2"


def to_html(summary: Summary, *, made: str = "") -> str:
    """The whole report as one page.

    It loads nothing and sends nothing (its Content-Security-Policy forbids both), so it works from a file and in a
    mail. Without JavaScript the overview, the refusals, the operators and the identities are still there.

    Args:
        made: when it was made, as people should read it; equal summaries give equal pages without it.

    Raises:
        PreflightError: jinja2 is not there.
    """
    from zlbench.report.page.document import context
    from zlbench.report.page.render import render

    return render(TEMPLATE, context(summary, made))
