"""One setting, declared once: command line, environment, file key, help and default in one record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Group(str, Enum):
    """The headings under which --help lists options."""

    WHAT = "what is measured"
    COMPARE = "what differs between A and B"
    HOW = "how it is measured"
    RUN = "how the work is done"
    OUTPUT = "what is shown and kept"


class Arity(str, Enum):
    """How many words an option takes on the command line."""

    FLAG = "flag"
    ONE = "one"
    REPEATED = "repeated"
    POSITIONAL = "positional"
    OPTIONAL = "optional"
    """With a word or without; without one it means the newest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvValue:
    """A word found in the environment and the variable's name."""

    name: str
    word: str


def first_set(env: Mapping[str, str], names: tuple[str, ...]) -> EnvValue | None:
    """Return the first variable that is set. An empty variable counts as unset, as in the predecessor."""
    return next((EnvValue(name=name, word=env[name]) for name in names if env.get(name, "").strip()), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One setting.

    Args:
        name: the Python name; the flag is ``--name`` with dashes.
        parse: turns one word into a value, raises ValueError with a sentence. With REPEATED and POSITIONAL
            options it returns a tuple and the tuples of all words are joined.
        env: environment variables, first that is set wins.
        key: key in ``[defaults]`` of zlbench.toml (and in ``[caliber.NAME]`` where `caliber` is true).
        featured: one of the ten options that ``--help`` shows first.
    """

    name: str
    help: str
    group: Group
    commands: frozenset[str]
    parse: Callable[[str], Any]
    default: Any = None
    arity: Arity = Arity.ONE
    bare: str = ""
    """The word that an OPTIONAL one without a word stands for."""
    metavar: str = ""
    env: tuple[str, ...] = ()
    read_env: Callable[[Mapping[str, str], tuple[str, ...]], EnvValue | None] = first_set
    key: str = ""
    caliber: bool = False
    featured: bool = False

    @property
    def flag(self) -> str:
        """The long flag, or the metavar of a positional."""
        return self.metavar if self.arity is Arity.POSITIONAL else f"--{self.name.replace('_', '-')}"
