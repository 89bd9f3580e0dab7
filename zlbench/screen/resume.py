"""Going on with a screen: what it was asked, whether the same is asked now, and the words that ask for it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.axis import shown
from zlbench.cells import REQUEST
from zlbench.errors import NotComparableError, UsageError
from zlbench.measure.runner import finished_outcome
from zlbench.settings import Resolved, SourceKind
from zlbench.settings.resolve import Setting
from zlbench.settings.words import COMMAND_LINE, given_words

PLAN = "plan.json"
_BUILD_FACTS = ("version", "identity", "torch", "python", "env")


def with_planned_operators(resolved: Resolved, root: Path) -> Resolved:
    """Take the operators, each with its dtypes, from the screen's plan; those named now come after them.

    A screen can grow, but it does not lose what it holds.

    Raises:
        UsageError: the screen was stopped before it had a plan.
    """
    if resolved.flag("all"):
        return resolved
    named = tuple(resolved.value("ops") or ())
    more = bool(named) or resolved.path("ops_file") is not None
    plan: Mapping[str, Any] = store.read_json(root / PLAN) or {}
    # Dtypes on this command line ask a question of their own, which is then compared with the plan's.
    own = resolved.source("dtypes").kind is SourceKind.COMMAND_LINE
    names = tuple(dict.fromkeys(_word(cell, dtypes=not own) for cell in plan.get("cells", ())))
    if not names and more:
        return resolved
    if not names:
        raise UsageError(f"{root} was stopped before it had a plan", hint="Name its operators again, or start anew.")
    ops = Setting(value=tuple(dict.fromkeys((*names, *named))), source=resolved.source("resume"))
    return replace(resolved, settings={**resolved.settings, "ops": ops})


def _word(cell: Mapping[str, Any], *, dtypes: bool) -> str:
    return f"{cell['op']}::{','.join(cell['dtypes'])}" if dtypes and cell.get("dtypes") else str(cell["op"])


def words_again(resolved: Resolved) -> list[str]:
    """Return what the command line said, as words, without ``--resume``."""
    given = given_words(resolved, COMMAND_LINE, without=("resume",))
    return [word for words in given.values() for word in words]


def refuse_other_question(root: Path, plan: Mapping[str, Any]) -> None:
    """Compare a new plan with that of the cells that are finished and would be kept.

    Raises:
        NotComparableError: they were measured with another build, switch or setting.
    """
    before = store.read_json(root / PLAN)
    found = list(_differences(root, before, json.loads(json.dumps(plan)))) if before else []
    if found:
        raise NotComparableError(
            f"{root} was started with other settings:\n" + "\n".join(found),
            hint="What is finished in there answers another question.\nGive its settings again, or start a new screen.",
        )


def _differences(root: Path, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    kept = [cell for cell in after["cells"] if finished_outcome(root / cell["cell"]) is not None]
    for label in sorted({cell["side"] for cell in kept}):
        was, now = (_facts(plan["axis"]["sides"][label]) for plan in (before, after))
        yield from (f"  side {label}: {text}" for text in _unequal(was, now))
    planned = {cell["cell"]: cell for cell in before["cells"]}
    for cell in kept:
        # The cell's own request, not the plan's: a plan in between may have been for other operators.
        was = store.read_json(root / cell["cell"] / REQUEST) or planned.get(cell["cell"]) or {}
        unequal = list(_unequal(was, cell))
        if unequal:
            yield f"  {cell['cell']}: {', '.join(unequal)}"
            return


def _facts(side: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {f"build {name}": _short(side["build"].get(name)) for name in _BUILD_FACTS}
    return facts | {f"switch {name}": value for name, value in side["switches"].items()}


def _short(value: object) -> str:
    """Twelve digits of a hash tell two compilers apart and fit on a line; anything else is shown whole."""
    text = str(value)
    return text[:12] if len(text) == 64 and " " not in text else text


def _unequal(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*was, *now)):
        if was.get(name) != now.get(name):
            yield f"{name} {shown(was.get(name))} then, {shown(now.get(name))} now"
