"""Fill the template: jinja2 belongs to the interpreter that makes reports, and is asked for only here."""

from __future__ import annotations

from typing import Any

from zlbench.errors import PreflightError
from zlbench.report.page.embed import asset


def render(template: str, context: dict[str, Any]) -> str:
    """Everything in `context` is escaped unless the template says that it is safe.

    Raises:
        PreflightError: jinja2 is not there.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise PreflightError(
            f"jinja2 cannot be imported, and report.html is made with it: {error}",
            check="driver-imports",
            hint="A report needs it beside nox and zlbench: pip install 'jinja2>=3.1'.",
        ) from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    page = environment.from_string(asset(template)).render(context)
    # Half of a surrogate pair, which a file name that is no UTF-8 leaves in a text, has no form in a file.
    return page.encode("utf-8", "replace").decode("utf-8")
