"""What differs between side A and side B: builds, switch values, or both. Everything else is the caliber."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNSET_WORD = "unset"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# zlbench itself sets these for every cell; a switch of this name would be overwritten without a word.
RESERVED = frozenset({"TRITON_CACHE_DIR", "TRITON_HOME", "FLAGGEMS_CACHE_DIR", "PYTHONPATH", "PATH", "HOME"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    """One environment variable with its value on either side; None is unset, which is not "0"."""

    name: str
    a: str | None
    b: str | None

    def __str__(self) -> str:
        return f"{self.name} {shown(self.a)} → {shown(self.b)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A or B: a build as the user named it, and the value of every declared switch."""

    label: str
    build: str
    switches: tuple[tuple[str, str | None], ...] = ()

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return `base` with the switches applied; an unset switch is removed."""
        env = dict(base)
        for name, value in self.switches:
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        return env


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """A pair of sides and what may differ between them.

    Args:
        stamps: patterns of IR attributes that the switch writes and that are no change (``ttg.rlc-*``).
        null_test: both sides are meant to be equal.
    """

    name: str
    a: Side
    b: Side
    stamps: tuple[str, ...] = ()
    null_test: bool = False

    @property
    def sides(self) -> tuple[Side, Side]:
        """A, then B."""
        return (self.a, self.b)

    @property
    def switches(self) -> tuple[Switch, ...]:
        """The declared switches with both values."""
        b = dict(self.b.switches)
        return tuple(Switch(name=name, a=value, b=b.get(name)) for name, value in self.a.switches)

    @property
    def differs_in_build(self) -> bool:
        """Whether the sides name different builds."""
        return self.a.build != self.b.build

    @property
    def describe(self) -> str:
        """One word or two for the head of a table: ``build``, ``switch DISABLE_MMA_V3``, ``null test``."""
        if self.null_test:
            return "null test"
        parts = ["build"] if self.differs_in_build else []
        parts += [f"switch {switch.name}" for switch in self.switches if switch.a != switch.b]
        return " and ".join(parts) or "nothing"


def axis_of_plan(plan: Mapping[str, Any]) -> Axis | None:
    """The axis that a screen or rounds declared; None where there is no plan: then sides may differ in anything."""
    known = plan.get("axis")
    if not known or set(known.get("sides", ())) != {"A", "B"}:
        return None
    a, b = (
        Side(label=label, build=json.dumps(side["build"], sort_keys=True), switches=tuple(side["switches"].items()))
        for label, side in sorted(known["sides"].items())
    )
    return Axis(name=known["name"], a=a, b=b, stamps=tuple(known["stamps"]), null_test=known["null_test"])


def shown(value: object) -> str:
    """Print a value; None is ``unset``."""
    return UNSET_WORD if value is None else str(value)


def parse_switch(text: str) -> Switch:
    """Read one switch: ``NAME`` (0 against 1), ``NAME=x`` (unset against x), ``NAME=x,y`` (x against y).

    >>> parse_switch("DISABLE_MMA_V3=unset,1")
    Switch(name='DISABLE_MMA_V3', a=None, b='1')

    Raises:
        UsageError: not an environment variable's name, more than two values, or equal values.
    """
    name, equals, values = text.partition("=")
    if not _IDENTIFIER.fullmatch(name):
        raise UsageError(
            f"{name[:60]!r} is not the name of an environment variable (in switch {text[:80]!r})",
            hint="A switch is NAME, NAME=x or NAME=x,y.",
        )
    if name in RESERVED:
        raise UsageError(
            f"{name} cannot be a switch: zlbench sets it for every cell itself",
            hint="Switches are variables that the compiler or the suite reads.",
        )
    if any(ord(character) < 32 or ord(character) == 127 for character in values):
        raise UsageError(f"the value of switch {name} contains a control character")
    if not equals:
        return Switch(name=name, a="0", b="1")
    given = values.split(",")
    if len(given) == 1:
        given = [UNSET_WORD, *given]
    if len(given) > 2:
        raise UsageError(
            f"switch {text} has {len(given)} values, an axis has two sides",
            hint=f"Compare two of them: {name}={given[0]},{given[1]}",
        )
    a, b = (None if value == UNSET_WORD else value for value in given)
    if a == b:
        raise UsageError(
            f"switch {text} has the same value on both sides", hint=f"Try {name} (0 against 1) or {name}=x,y."
        )
    return Switch(name=name, a=a, b=b)


def parse_switches(texts: Iterable[str]) -> tuple[Switch, ...]:
    """Read several switches.

    Raises:
        UsageError: one is malformed, or a name occurs twice.
    """
    switches = tuple(parse_switch(text) for text in texts)
    names = [switch.name for switch in switches]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"switch {', '.join(twice)} is given twice", hint="Give each switch once: NAME=x,y.")
    return switches


def make_axis(
    *,
    name: str,
    a: str,
    b: str,
    switches: Iterable[Switch] = (),
    stamps: Iterable[str] = (),
    null_test: bool = False,
) -> Axis:
    """Put builds and switches together to two sides."""
    declared = tuple(switches)
    return Axis(
        name=name,
        a=Side(label="A", build=a, switches=tuple((switch.name, switch.a) for switch in declared)),
        b=Side(label="B", build=b, switches=tuple((switch.name, switch.b) for switch in declared)),
        stamps=tuple(stamps),
        null_test=null_test,
    )
