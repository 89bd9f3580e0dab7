"""What ``--fail-on`` asks for: the grammar alone, so that a bad one is refused before anything is measured."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from zlbench.nearest import unknown


class Watched(str, Enum):
    """What is looked at. The first two are verdicts of the statistics, the others exact costs of kernels."""

    SLOWER = "slower"
    FASTER = "faster"
    REGISTERS = "registers"
    SPILLS = "spills"
    SHARED = "shared"
    INSTRUCTIONS = "instructions"

    @property
    def timed(self) -> bool:
        """Whether it is a matter of statistics, and in percent alone."""
        return self in (Watched.SLOWER, Watched.FASTER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """One threshold.

    Args:
        most: what is still let pass, from 0: a fraction where `relative`, else a number. More than it is a finding.
    """

    what: Watched
    most: float = 0.0
    relative: bool = True

    def __str__(self) -> str:
        return self.what.value if not self.most and self.relative else f"{self.what.value}>{self.allowed}"

    @property
    def allowed(self) -> str:
        """The threshold as it was written: ``2%``, ``64``."""
        return f"{round(100 * self.most, 9):g}%" if self.relative else f"{self.most:g}"


GRAMMAR = (
    "Write METRIC, METRIC>NUMBER% or METRIC>NUMBER, such as slower>2%, faster>5%, spills>0 or registers>10%. METRIC is "
    "slower or faster (of rows and operators, in percent), registers, spills, shared or instructions (of an "
    "operator's kernels together, B against A)."
)
_GATE = re.compile(r"(?P<what>[a-z_]+)(?:\s*>\s*(?P<number>\d+(?:\.\d+)?|\.\d+)\s*(?P<percent>%)?)?", re.IGNORECASE)


def read_gate(text: str) -> Gate:
    """Read one expression.

    Raises:
        ValueError: it is none; the message says what is wrong with it and how one is written.
    """
    found = _GATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text[:60]!r} is no threshold. {GRAMMAR}")
    word = found["what"].lower()
    if word not in [watched.value for watched in Watched]:
        raise ValueError(f"{unknown('metric', found['what'][:60], [one.value for one in Watched])} {GRAMMAR}")
    what, number = Watched(word), found["number"]
    if what.timed and number is not None and not found["percent"]:
        raise ValueError(f"{text[:60]!r}: how much {what.value} is said in percent: {what.value}>{number}%. {GRAMMAR}")
    if number is None:
        return Gate(what=what)
    relative = found["percent"] is not None
    return Gate(what=what, most=float(number) / 100 if relative else float(number), relative=relative)
