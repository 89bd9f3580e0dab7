"""Command line over environment over file over default; every value keeps its source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zlbench.errors import UsageError

from .commandline import parse_words, program_of
from .option import Arity, Option
from .source import DEFAULT, Source, SourceKind
from .table import BY_NAME, MEASURE, PREDECESSOR_VARIABLES, options_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .project import Project


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One value and where it came from."""

    value: Any
    source: Source


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """The settings of one command; a name that the command does not have is a KeyError, a fault here."""

    command: str
    settings: Mapping[str, Setting]
    help: bool = False
    notes: tuple[str, ...] = ()

    def value(self, name: str) -> Any:
        """Return an option's value."""
        return self.settings[name].value

    def source(self, name: str) -> Source:
        """Return where an option's value came from."""
        return self.settings[name].source

    def text(self, name: str) -> str:
        """Return a value that is a string."""
        value = self.value(name)
        return value if isinstance(value, str) else str(value)

    def flag(self, name: str) -> bool:
        """Return a value that is true or false."""
        return bool(self.value(name))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a value that is a tuple of strings."""
        return tuple(self.value(name))

    def path(self, name: str) -> Path | None:
        """Return a value that is a path, the first of several, or None where it is not set."""
        found = self.paths(name)
        return found[0] if found else None

    def paths(self, name: str) -> tuple[Path, ...]:
        """Return the paths of an option that can be given several times."""
        value = self.value(name)
        return () if value is None else value if isinstance(value, tuple) else (Path(value),)

    def explain(self) -> Iterator[str]:
        """Yield one line a setting: name, value, source."""
        for name, setting in self.settings.items():
            yield f"{name:<23} {shown(setting.value):<28} {setting.source}"


def shown(value: object) -> str:
    """Print a setting's value as a person would type it."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple):
        return " ".join(str(item) for item in value) or "unset"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def resolve(command: str, argv: Sequence[str], *, env: Mapping[str, str], project: Project) -> Resolved:
    """Resolve every option of `command`.

    Raises:
        UsageError: an unknown option or a value that cannot be read; it names option, value and source.
    """
    given = parse_words(command, argv, program=program_of(command, env))
    if given.help:
        return Resolved(command=command, settings={}, help=True)
    options = options_of(command)
    base = {option.name: _resolve_one(option, given.words, env, project, caliber={}) for option in options}
    caliber = project.caliber(base["caliber"].value) if "caliber" in base else None
    if caliber is not None:
        places = {name: Setting(value=value, source=Source(kind=SourceKind.FILE, where=caliber.where[name]))
                  for name, value in caliber.values.items()}  # fmt: skip
        base = {option.name: _resolve_one(option, given.words, env, project, caliber=places) for option in options}
    return Resolved(command=command, settings=base, notes=tuple(_unread(command, env)))


def _resolve_one(
    option: Option,
    words: Mapping[str, tuple[str, ...]],
    env: Mapping[str, str],
    project: Project,
    *,
    caliber: Mapping[str, Setting],
) -> Setting:
    if option.name in words:
        source = Source(kind=SourceKind.COMMAND_LINE, where=option.flag)
        return Setting(value=_parse(option, words[option.name], source), source=source)
    found = option.read_env(env, option.env) if option.env else None
    if found is not None:
        source = Source(kind=SourceKind.ENVIRONMENT, where=found.name)
        return Setting(value=_parse(option, (found.word,), source), source=source)
    if option.name in caliber:
        return caliber[option.name]
    if option.name in project.defaults.values:
        where = project.defaults.where[option.name]
        return Setting(value=project.defaults.values[option.name], source=Source(kind=SourceKind.FILE, where=where))
    return Setting(value=option.default, source=DEFAULT)


def _parse(option: Option, words: tuple[str, ...], source: Source) -> object:
    try:
        if option.arity in (Arity.REPEATED, Arity.POSITIONAL):
            return tuple(item for word in words for item in option.parse(word))
        if len(set(words)) > 1:
            raise ValueError(f"given as {words[0]!r} and as {words[-1]!r}")
        return option.parse(words[-1])
    except ValueError as error:
        raise UsageError(f"{option.name.replace('_', '-')}: {error} ({source})") from error


def _unread(command: str, env: Mapping[str, str]) -> Iterator[str]:
    """Name the predecessor's variables that are set and that this command does not read.

    Said of commands that measure, where one would expect an effect: a variable that a shell exports for them is no news
    to a command that looks at what they left.
    """
    if command not in MEASURE | {"campaign"}:
        return
    read = {name for option in options_of(command) for name in option.env} | {"OP_FILE"}
    for name in PREDECESSOR_VARIABLES:
        if env.get(name, "").strip() and name not in read:
            users = sorted({user for option in BY_NAME.values() if name in option.env for user in option.commands})
            place = f"read by {', '.join(users)}" if users else "read by no command of this version"
            yield f"{name} is set and has no effect on {command} ({place})"
