"""More rounds than were planned: a plan that goes on is given a higher number, and remembers the one that it had.

Whoever asks for more rounds has seen what there is, or could have: going on until something stands out makes false
differences. So the former number is a look at the rows like any other, and the report shares its error probability
between them. A lower number would leave out what is measured, and is refused.
"""

from __future__ import annotations

from pathlib import Path

from zlbench.errors import NotComparableError
from zlbench.partition_plan import Kind
from zlbench.rounds.driver import ends_of
from zlbench.rounds.plan import RepeatPlan, Schedule
from zlbench.settings import Resolved, SourceKind
from zlbench.settings.stored import restored, stored
from zlbench.text import in_words, plural


def option_of(plan: RepeatPlan) -> str:
    """The option that tells a plan's number of rounds."""
    known = restored("ab_repeat", plan.settings).get("until_settled")
    return "max_rounds" if known is not None and known.value else "rounds"


def raised(resolved: Resolved, plan: RepeatPlan, root: Path) -> RepeatPlan:
    """The plan with as many rounds as the command line asks for; itself where it asks for none, or for as many.

    Raises:
        NotComparableError: it asks for fewer.
    """
    name = option_of(plan)
    setting = resolved.settings.get(name)
    if setting is None or setting.source.kind is not SourceKind.COMMAND_LINE:
        return plan
    if not is_raised(plan, int(setting.value), root):
        return plan
    return plan.with_more(int(setting.value), {**plan.settings, name: stored(resolved)[name]})


def is_raised(plan: RepeatPlan, wanted: int, root: Path) -> bool:
    """Whether a number is higher than that of a plan.

    Raises:
        NotComparableError: it is lower.
    """
    planned = plan.schedule.rounds
    if wanted < planned:
        flag = f"--{option_of(plan).replace('_', '-')}"
        raise NotComparableError(
            f"{root} has {plural(planned, 'round')} in its plan, {flag} {wanted} asks for fewer:\n"
            + "\n".join(_finished(plan, root)),
            hint="Rounds can be added, none is taken away: leaving out what is measured would choose among results.\n"
            f"Leave {flag} out to go on with {planned}, or start anew.",
        )
    return wanted > planned


def _finished(plan: RepeatPlan, root: Path) -> list[str]:
    """What is there of each operator that is measured for itself."""
    return [
        f"  {end.label}: {plural(end.rounds, 'round')} finished"
        for end in ends_of(plan, root)
        if end.kind is Kind.SUBJECT
    ]


def explained(before: Schedule, now: Schedule) -> str:
    """What a higher number means, in one line."""
    looks = in_words([str(look) for look in now.looks])
    shares = in_words([f"{weight:g}" for weight in now.weights])
    return (
        f"rounds: {before.rounds} were planned, now {now.rounds}; that is another look at the same rows, so the report "
        f"shares its error probability between the looks after {looks} rounds ({shares})"
    )
