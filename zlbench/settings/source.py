"""Where a value came from: every setting remembers it, and `zlbench doctor --explain` prints it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class SourceKind(str, Enum):
    """The four places a value can come from, weakest first."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"

    @property
    def rank(self) -> int:
        """Precedence: a higher rank wins."""
        return list(SourceKind).index(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One value's origin, such as the environment variable ``CELL_TIMEOUT``."""

    kind: SourceKind
    where: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value} {self.where}".rstrip()


DEFAULT = Source(kind=SourceKind.DEFAULT)
