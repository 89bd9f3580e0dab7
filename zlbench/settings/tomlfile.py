"""Reads a TOML file so that every complaint about it names file, line and column."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zlbench.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_POSITION = re.compile(r" \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class TomlFile:
    """A parsed file with its text, so that a key's line can be found for a message."""

    path: Path
    text: str
    data: dict[str, Any]

    def at(self, section: str, key: str = "") -> str:
        """Return ``zlbench.toml:12``; the line of the section where the key's own cannot be found."""
        line = _line_of(self.text, section, key)
        return f"{self.path.name}:{line}" if line else self.path.name


def read_toml(path: Path) -> TomlFile:
    """Read and parse.

    Raises:
        UsageError: unreadable, not UTF-8, or malformed: ``zlbench.toml:3:7: …``.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        return TomlFile(path=path, text=text, data=tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        position = _POSITION.search(message)
        if position:
            line, column = int(position[1]), int(position[2])
            message = message[: position.start()]
        else:
            line, column = text.count("\n") + 1, 1
        raise UsageError(
            f"{path.name}:{line}:{column}: {message}", hint=f"Correct {path}; the format is TOML (toml.io)."
        ) from error
    except RecursionError as error:
        raise UsageError(f"{path.name}: nested too deeply", hint=f"Correct {path}.") from error


def _line_of(text: str, section: str, key: str) -> int:
    """Return the 1-based line of a key, else of its section, else 0. Good enough for a message."""
    wanted = re.sub(r"[\s\"']", "", section)
    inside = section == ""
    found = 0
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            name = re.sub(r"[\s\"']", "", stripped.partition("#")[0]).strip("[]")
            inside = name == wanted
            if inside or (wanted and name.startswith(f"{wanted}.")):
                found = found or number
        elif inside and key and re.match(rf"[\"']?{re.escape(key)}[\"']?\s*[=.]", stripped):
            return number
    return found
