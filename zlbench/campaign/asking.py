"""What ``campaign --resume`` may ask: judged as a whole before a word of it is written into campaign.json.

A step would refuse it as well, but by then the campaign would remember the words, and be refused for ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zlbench.campaign.record import ROUNDS, Record, StepState
from zlbench.campaign.steps import with_rounds
from zlbench.errors import NotComparableError
from zlbench.rounds.names import PLAN
from zlbench.rounds.plan import RepeatPlan
from zlbench.rounds.raising import option_of
from zlbench.settings import Resolved, resolve
from zlbench.settings.project import Project
from zlbench.settings.resolve import shown
from zlbench.settings.stored import restored
from zlbench.settings.table import BY_NAME
from zlbench.settings.words import words_for

_RUNNING = frozenset({"cell_timeout", "wait_for_card", "telemetry_interval", "jobs", "force_pairing"})
"""Options of how it is run; no number is another one by them."""
_MEASURING = frozenset({"screen", "partition", "ab_repeat"})


def asked_again(
    root: Path, record: Record, given: Mapping[str, Sequence[str]], resolved: Resolved, project: Project
) -> Record:
    """The campaign with what this call says otherwise; the steps that it is for wait again.

    Args:
        given: words of this call, by option; `resolved` has their values.

    Raises:
        NotComparableError: they ask another question than the campaign answers, or take rounds away.
    """
    planned = RepeatPlan.read(root / ROUNDS) if (root / ROUNDS / PLAN).is_file() else None
    raising = None if planned is None else option_of(planned)
    asked = [name for name in given if not (name in _RUNNING or _of_report(name) or name == raising)]
    before = _before(record, planned, project)
    other = [name for name in asked if resolved.value(name) != before.get(name)]
    # What only the rounds are told is free until they are planned.
    late = [name for name in other if planned is None and "screen" not in BY_NAME[name].commands]
    refused = [name for name in other if name not in late]
    if refused:
        raise NotComparableError(
            f"{root} was started with other settings:\n"
            + "\n".join(
                f"  {name} {shown(before.get(name))} then, {shown(resolved.value(name))} now" for name in refused
            ),
            hint="What is finished in there answers another question.\nLeave them out, or start another campaign.",
        )
    again = replace(record, words=with_rounds(root, {**record.words, **given}, given))
    if late:
        again = _waiting(again, "partition", "ab_repeat", "report")
    if any(_of_report(name) for name in given):
        again = _waiting(again, "report")
    return again


def _of_report(name: str) -> bool:
    """Whether an option only says what is told, and where."""
    return not BY_NAME[name].commands & _MEASURING


def _before(record: Record, planned: RepeatPlan | None, project: Project) -> Mapping[str, Any]:
    """Value by option: from the campaign's words, else from its rounds' plan, else from file and defaults."""
    started = resolve("campaign", words_for("campaign", record.words), env={}, project=project).settings
    known = {} if planned is None else restored("ab_repeat", planned.settings)
    settings = {**started, **{name: setting for name, setting in known.items() if name not in record.words}}
    return {name: setting.value for name, setting in settings.items()}


def _waiting(record: Record, *names: str) -> Record:
    for name in names:
        record = record.with_step(name, state=StepState.WAITING, exit_code=None, note="")
    return record
