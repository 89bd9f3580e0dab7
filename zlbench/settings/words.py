"""Back from settings to the words of a command line: what was asked for, to be said again to another command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .option import Arity, Option
from .source import SourceKind
from .table import OPTIONS, options_of

if TYPE_CHECKING:
    from .resolve import Resolved

COMMAND_LINE = frozenset({SourceKind.COMMAND_LINE})
GIVEN = COMMAND_LINE | {SourceKind.ENVIRONMENT}
"""What somebody asked for in this call; the file and the defaults say it again by themselves."""


def given_words(
    resolved: Resolved, sources: frozenset[SourceKind] = GIVEN, *, without: Iterable[str] = ()
) -> dict[str, list[str]]:
    """Words by option, for those that come from one of the sources."""
    left_out = {*without}
    found: dict[str, list[str]] = {}
    for option in OPTIONS:
        setting = resolved.settings.get(option.name)
        if setting is None or setting.source.kind not in sources or option.name in left_out:
            continue
        found[option.name] = _words(option, setting.value)
    return found


def words_for(command: str, given: Mapping[str, Iterable[str]], *, without: Iterable[str] = ()) -> list[str]:
    """The words that a command understands, operators first."""
    left_out = {*without}
    names = [option.name for option in options_of(command) if option.name in given and option.name not in left_out]
    return [word for name in names for word in given[name]]


def _words(option: Option, value: Any) -> list[str]:
    if option.arity is Arity.FLAG:
        return [option.flag] if value else []
    if option.arity is Arity.POSITIONAL:
        return [str(item) for item in value]
    values = value if isinstance(value, tuple) else (value,)
    return [word for item in values for word in (option.flag, f"{item:g}" if isinstance(item, float) else str(item))]
