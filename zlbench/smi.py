"""What a vendor's tool says of its cards: the values, and how it is asked.

Parsers take the tool's text and never raise: what is no answer parses to nothing, what is not stated is None.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

TELEMETRY_COLUMNS = (
    "timestamp", "index", "sm_clock_mhz", "mem_clock_mhz", "temp_c", "power_w", "util_pct", "uuid", "throttle",
    "processes",
)  # fmt: skip
"""Columns of telemetry.tsv. Scripts of the predecessor read the first seven by position."""

POWER_CAP = frozenset({"sw_power_cap"})
"""Reasons that follow from what a kernel draws: at its power limit a card lowers its clocks for good."""
NOT_THROTTLING = frozenset({"gpu_idle", "applications_clocks_setting", "display_clock_setting"})
"""Reasons that are no throttle: nothing runs, or somebody has set the clocks. Any other word of a tool is one."""

CARD = "{card}"
"""Stands in `Query.pin` for the card that is asked about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One card at one moment."""

    index: int
    sm_clock_mhz: float | None = None
    mem_clock_mhz: float | None = None
    temp_c: float | None = None
    power_w: float | None = None
    util_pct: float | None = None
    uuid: str = ""
    throttle: str = ""
    """Reasons why its clocks are lowered, in the tool's words, with ``+`` between; "" where it states none."""
    processes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CardFacts:
    """What stays as it is while a card is measured.

    Args:
        settings: clocks (``…_mhz``) and limits (``…_w``) that somebody can set, by name.
    """

    index: int
    uuid: str = ""
    name: str = ""
    driver: str = ""
    memory_used_mb: float | None = None
    settings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class CardProcess:
    """A process that uses a card, as the tool sees it.

    Args:
        pid: None where the tool would not say, as in a container.
        card: UUID or index of the card, "" where the tool does not say which.
    """

    pid: int | None
    name: str = ""
    memory_mb: float | None = None
    card: str = ""


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Query(Generic[T]):
    """One question to the tool.

    Args:
        argv: the command for all cards.
        parse: its output as values; never raises.
        pin: arguments that ask about one card, with `CARD` in the place of its name; left out as a whole otherwise.
        otherwise: the question to another tool, where this one is not installed.
    """

    argv: tuple[str, ...]
    parse: Callable[[str], list[T]]
    pin: tuple[str, ...] = ()
    otherwise: Query[T] | None = None

    def command(self, card: str = "") -> tuple[str, ...]:
        """Return the command for one card, or for all."""
        return (*self.argv, *(part.replace(CARD, card) for part in self.pin)) if card else self.argv


_JSON_START = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
_NUMBER = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)")


def number(value: object) -> float | None:
    """Return the number at the start of a value such as ``477.68W``, ``36C`` or ``87 %``; None where there is none."""
    if isinstance(value, Mapping):  # amd-smi: {"value": 87, "unit": "W"}
        value = value.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = _NUMBER.match(str(value))
    return float(found.group(1)) if found and len(found.group(1)) < 30 else None


def whole(value: object) -> int | None:
    """Return the whole number at the start of a value, None where there is none."""
    found = number(value)
    return None if found is None else int(found)


def word(value: object) -> str:
    """Return a stated value; "" for what tools print where they know nothing: N/A, [N/A], [Not Found]."""
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    bare = text.strip("[]").lower()
    return "" if bare in {"n/a", "not found", "not supported", "unknown error", "insufficient permissions"} else text


def csv_rows(text: str, columns: int) -> Iterator[list[str]]:
    """Yield the lines that have as many fields as were asked for; a banner or an error has not."""
    for line in text.splitlines():
        fields = [part.strip() for part in line.split(",")]
        if len(fields) == columns:
            yield fields


def json_value(text: str) -> Any:
    """Return the JSON that begins with a line of a tool's output, which may warn before it; None for none."""
    for start in itertools.islice(_JSON_START.finditer(text), 20):
        try:
            return json.JSONDecoder().raw_decode(text, start.end() - 1)[0]
        except (ValueError, RecursionError):
            continue
    return None


def at(value: Any, *path: str) -> Any:
    """Walk into nested mappings; keys are compared without case and surrounding blanks. None where there is none."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        wanted = key.strip().lower()
        value = next((item for name, item in value.items() if str(name).strip().lower() == wanted), None)
    return value
