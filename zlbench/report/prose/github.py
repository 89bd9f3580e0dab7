"""What a GitHub Actions run is told: annotations of regressions, and the page of the step."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from zlbench.report.gate import Regression
from zlbench.report.prose.wording import clean
from zlbench.text import plural

SHOWN = 10
"""GitHub shows so many errors of a step."""
SUMMARY_LIMIT = 1024 * 1024
"""Bytes of a step's page; of a longer one GitHub shows nothing."""
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def in_actions(env: Mapping[str, str]) -> bool:
    """Whether a runner of GitHub Actions reads along."""
    return env.get("GITHUB_ACTIONS") == "true"


def annotations(found: Sequence[Regression]) -> list[str]:
    """Workflow commands, one a line: an error for each of the first regressions, and a notice that counts all."""
    if not found:
        return []
    lines = [
        f"::error title={_property(one.name)}::{_data(f'{one.text} (--fail-on {one.gate})')}" for one in found[:SHOWN]
    ]
    more = len(found) - SHOWN
    gates = ", ".join(dict.fromkeys(f"--fail-on {one.gate}" for one in found))
    said = f"{plural(len(found), 'regression')} beyond {gates}"
    rest = f", {more} of them not shown as errors; the report has all" if more > 0 else ""
    return [*lines, f"::notice title=zlbench::{_data(said + rest)}"]


def write_step_summary(text: str, env: Mapping[str, str]) -> str:
    """Append to the page of the step, where there is one.

    Returns:
        a warning, where it could not be written: a report is not worth less for it. Else nothing.
    """
    name = env.get(STEP_SUMMARY, "")
    if not name:
        return ""
    path, data = Path(name), text.encode("utf-8", "replace")
    try:
        there = path.stat().st_size if path.exists() else 0
        if there + len(data) > SUMMARY_LIMIT:
            return f"{STEP_SUMMARY}: not written, as {there + len(data)} bytes are more than GitHub shows of a step"
        with path.open("ab") as stream:
            stream.write(data)
    except (OSError, ValueError) as error:
        return f"{STEP_SUMMARY}: {path} cannot be written: {error}"
    return ""


def _data(text: str) -> str:
    """The text of a workflow command; the runner turns these three back, and no other."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """A property of a workflow command, which a colon or a comma would end."""
    return _data(clean(text)).replace(":", "%3A").replace(",", "%2C")
