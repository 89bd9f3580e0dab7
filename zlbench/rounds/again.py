"""Is the same asked again? A root of rounds, or the screen that operators come from, against what is asked now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from zlbench.axis import shown
from zlbench.errors import NotComparableError
from zlbench.guard import BUILD_FACTS
from zlbench.rounds.plan import RepeatPlan
from zlbench.settings import Resolved, SourceKind
from zlbench.settings.stored import restored, stored

_OF_THE_DRIVER = frozenset(
    """cell_timeout wait_for_card telemetry_interval json color debug out root resume jobs dry_run screen force_pairing
    list""".split()  # noqa: SIM905 - a name a line would be a screen
)
"""Options that may be others when rounds go on: they are not part of what is measured."""
_OF_THE_SCREEN = frozenset(
    """ops ops_file all list out resume dry_run json debug color jobs allow_caliber_mismatch cell_timeout
    wait_for_card""".split()  # noqa: SIM905
)
"""Options of a screen that its rounds do not take over."""


def with_screen_settings(resolved: Resolved, plan: Mapping[str, Any]) -> Resolved:
    """Take over what a screen was asked, where somebody asked it and this command line says nothing else."""
    known = restored(resolved.command, plan.get("settings") or {})
    taken = {
        name: setting
        for name, setting in known.items()
        if name not in _OF_THE_SCREEN
        and setting.source.kind is not SourceKind.DEFAULT
        and resolved.source(name).kind is not SourceKind.COMMAND_LINE
    }
    if _names_builds(resolved):
        taken = {name: setting for name, setting in taken.items() if name not in _BUILDS}
    return replace(resolved, settings={**resolved.settings, **taken})


_BUILDS = frozenset({"axis", "a", "b", "build", "switch", "null_test"})


def _names_builds(resolved: Resolved) -> bool:
    """Whether this command line says what differs: then it says all of it."""
    return any(resolved.source(name).kind is SourceKind.COMMAND_LINE for name in _BUILDS)


def as_planned(resolved: Resolved, plan: RepeatPlan, root: Path) -> Resolved:
    """The settings of a root's plan; from this call come those that are not part of what is measured.

    Raises:
        NotComparableError: the command line asks for something else.
    """
    known = restored(resolved.command, plan.settings)
    now = stored(resolved)
    other = []
    for name, setting in resolved.settings.items():
        if setting.source.kind is not SourceKind.COMMAND_LINE or name in _OF_THE_DRIVER or name not in known:
            continue
        before = plan.settings[name]["words"]
        if now[name]["words"] != before:
            other.append(f"  {name} {_text(before)} then, {_text(now[name]['words'])} now")
    if other:
        raise NotComparableError(
            f"{root} was started with other settings:\n" + "\n".join(other),
            hint="What is finished in there answers another question.\nLeave them out, or start anew.",
        )
    mine = {
        name: setting
        for name, setting in resolved.settings.items()
        if name not in known or (name in _OF_THE_DRIVER and setting.source.kind is not SourceKind.DEFAULT)
    }
    return replace(resolved, settings={**known, **mine})


def _text(words: list[str] | None) -> str:
    return "unset" if words is None else " ".join(words) or "unset"


def refuse_other_axis(before: Mapping[str, Any], after: Mapping[str, Any], *, where: str) -> None:
    """Compare builds and switches with those of a screen, or of a root's plan.

    Args:
        before, after: as in a screen's plan.json.

    Raises:
        NotComparableError: they differ.
    """
    found = list(_differences(before, after))
    if found:
        raise NotComparableError(
            f"{where} has other sides:\n" + "\n".join(found),
            hint="Its verdicts and what is finished in there belong to other compilers or switches.\n"
            "Name the same ones, or start with a new screen.",
        )


def same_axis(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether builds and switches are the same."""
    return not list(_differences(before, after))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for label in ("A", "B"):
        was, now = (_facts((axis.get("sides") or {}).get(label) or {}) for axis in (before, after))
        for name in dict.fromkeys((*was, *now)):
            if was.get(name) != now.get(name):
                yield f"  side {label}: {name} {_short(was.get(name))} then, {_short(now.get(name))} now"


def _facts(side: Mapping[str, Any]) -> dict[str, Any]:
    build = side.get("build")
    known = build if isinstance(build, Mapping) else {}
    facts = {f"build {name}": known.get(name) for name in (*BUILD_FACTS, "torch")}
    return facts | {f"switch {name}": shown(value) for name, value in (side.get("switches") or {}).items()}


def _short(value: object) -> str:
    text = shown(value)
    return text[:12] if len(text) == 64 and " " not in text else text


def refuse_other_environment(plan: RepeatPlan, environment: tuple[str, ...], root: Path) -> None:
    """Compare the variables that compilers and suites read.

    Raises:
        NotComparableError: they differ.
    """
    gone, new = set(plan.environment) - set(environment), set(environment) - set(plan.environment)
    if gone or new:
        lines = [f"  {item} then, not now" for item in sorted(gone)] + [f"  {item} now" for item in sorted(new)]
        raise NotComparableError(
            f"{root} was started with other variables:\n" + "\n".join(lines),
            hint="Both sides read them. Set them as they were, or start anew.",
        )
