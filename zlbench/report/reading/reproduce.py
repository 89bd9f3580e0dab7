"""The command that rounds were measured by, as their directory remembers it. Files are read, nothing is run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from zlbench import store
from zlbench.campaign.record import CAMPAIGN
from zlbench.rounds.names import PLAN
from zlbench.settings.option import Arity
from zlbench.settings.source import SourceKind
from zlbench.settings.table import BY_NAME
from zlbench.settings.words import words_for

_OF_ONE_PLACE = frozenset({"root", "resume", "out"})
"""Where that call wrote; another call writes elsewhere."""
_SAID = frozenset({SourceKind.COMMAND_LINE.value, SourceKind.ENVIRONMENT.value, SourceKind.FILE.value})
"""Sources of settings; a default says itself again."""


def commands_of(root: Path) -> tuple[str, ...]:
    """What can be typed to measure it again, ready for a shell; empty where nothing is remembered.

    Args:
        root: a campaign, or a root of repeated rounds.
    """
    campaign = store.read_json(root / CAMPAIGN)
    if isinstance(campaign, Mapping) and isinstance(campaign.get("words"), Mapping):
        words = words_for("campaign", _texts(campaign["words"]), without=_OF_ONE_PLACE)
        return (_shell("campaign", words, campaign),)
    rounds = store.read_json(root / PLAN)
    if isinstance(rounds, Mapping) and isinstance(rounds.get("settings"), Mapping):
        words = [*_stored(rounds["settings"]), *_screen(rounds)]
        return (_shell("ab_repeat", words, rounds),) if words else ()
    return ()


def _texts(words: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: [str(word) for word in found] for name, found in words.items() if isinstance(found, list)}


def _stored(settings: Mapping[str, Any]) -> Iterator[str]:
    """Settings as flags, also those of the environment and of zlbench.toml, which another checkout may not have."""
    for name, setting in settings.items():
        option = BY_NAME.get(name)
        known = isinstance(setting, Mapping) and setting.get("source") in _SAID
        if option is None or not known or name in _OF_ONE_PLACE:
            continue
        words = [str(word) for word in setting.get("words") or ()]
        if option.arity is Arity.FLAG:
            yield from [option.flag] if words == ["1"] else []
        elif option.arity is Arity.POSITIONAL:
            yield from words
        else:
            yield from (part for word in words for part in (option.flag, word))


def _screen(rounds: Mapping[str, Any]) -> Iterator[str]:
    """The screen that the operators were taken from, where it was not named but found."""
    known = [rounds["settings"].get(name) for name in ("ops", "screen")]
    named = any(isinstance(setting, Mapping) and setting.get("words") for setting in known)
    if rounds.get("screen") and not named:
        yield from ("--screen", str(rounds["screen"]))


def _shell(command: str, words: Iterable[str], record: Mapping[str, Any]) -> str:
    start = str(record.get("cwd") or "")
    return shlex.join(["zlbench", command, *(_from(start, word) for word in words)])


def _from(start: str, word: str) -> str:
    """A path as one would type it from where the call was made."""
    path = Path(word)
    inside = start and path.is_absolute() and path.is_relative_to(start)
    return str(path.relative_to(start)) if inside else word
