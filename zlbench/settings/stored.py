"""Settings as plain data and back: a directory remembers what it was asked, so that the same is asked again later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .option import Arity, Option
from .resolve import Resolved, Setting
from .source import Source, SourceKind
from .table import options_of

_OF_ONE_CALL = frozenset({"resume", "dry_run", "json", "debug", "color", "list"})
"""Options that say nothing of what is measured."""


def stored(resolved: Resolved) -> dict[str, Any]:
    """Every setting as the words that its option reads, with its source."""
    found = {}
    for option in options_of(resolved.command):
        if option.name in _OF_ONE_CALL or option.name not in resolved.settings:
            continue
        setting = resolved.settings[option.name]
        source = setting.source
        found[option.name] = {"words": words_of(option, setting.value), "source": source.kind.value,
                              "where": source.where}  # fmt: skip
    return found


def words_of(option: Option, value: Any) -> list[str] | None:
    """The words that an option parses to this value; None where it has none."""
    if value is None:
        return None
    if option.arity in (Arity.REPEATED, Arity.POSITIONAL):
        return [str(item) for item in value]
    return [str(int(value)) if isinstance(value, bool) else str(value)]


def restored(command: str, data: Mapping[str, Any]) -> dict[str, Setting]:
    """Settings of a command from `stored`, possibly another command's; what it does not have is left out."""
    found = {}
    for option in options_of(command):
        known = data.get(option.name)
        if not isinstance(known, Mapping):
            continue
        source = Source(kind=SourceKind(known["source"]), where=str(known["where"]))
        found[option.name] = Setting(value=_value(option, known["words"]), source=source)
    return found


def _value(option: Option, words: list[str] | None) -> Any:
    if words is None:
        return None
    if option.arity in (Arity.REPEATED, Arity.POSITIONAL):
        return tuple(item for word in words for item in option.parse(word))
    return option.parse(words[0])
