"""The one way in which plugins replace things of other packages: recorded, verified, undone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Patch:
    """One replaced attribute."""

    owner: Any
    name: str
    before: Any
    after: Any

    @property
    def label(self) -> str:
        """Readable name of what was replaced, such as ``Autotuner.run``."""
        owner = getattr(self.owner, "__name__", type(self.owner).__name__)
        return f"{owner}.{self.name}"


class PatchSet:
    """Attributes that a plugin replaced, in the order in which it did so."""

    def __init__(self) -> None:
        self._patches: list[Patch] = []
        self._adopted: list[PatchSet] = []

    def set(self, owner: Any, name: str, value: Any) -> Any:
        """Replace ``owner.name`` and return what stood there (None where nothing did)."""
        before = vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else getattr(owner, name, _ABSENT)
        setattr(owner, name, value)
        self._patches.append(Patch(owner, name, before, value))
        return None if before is _ABSENT else before

    def not_in_force(self) -> list[str]:
        """Names of replaced attributes that somebody has replaced again since."""
        latest = {(id(patch.owner), patch.name): patch for patch in self._patches}
        return [label for other in self._adopted for label in other.not_in_force()] + [
            patch.label
            for patch in latest.values()
            if vars(patch.owner).get(patch.name, getattr(patch.owner, patch.name, _ABSENT)) is not patch.after
        ]

    def adopt(self, other: PatchSet) -> None:
        """Count what `other` has replaced, and goes on replacing, as ours; it is `other` that puts it back."""
        self._adopted.append(other)

    def labels(self) -> list[str]:
        """Names of everything replaced, for the run's identity."""
        return [
            *(label for other in self._adopted for label in other.labels()),
            *(patch.label for patch in self._patches),
        ]

    def undo(self) -> None:
        """Put everything back, last replaced first."""
        while self._patches:
            patch = self._patches.pop()
            if patch.before is _ABSENT:
                delattr(patch.owner, patch.name)
            else:
                setattr(patch.owner, patch.name, patch.before)


def subclasses(cls: type[Any]) -> list[type[Any]]:
    """Return every class below another one, each once, and what else such classes are mixed from."""
    found: dict[type[Any], None] = {}
    children: list[type[Any]] = cls.__subclasses__()
    for child in children:
        found |= {**dict.fromkeys(child.__mro__), **dict.fromkeys(subclasses(child))}
    return [other for other in found if other is not cls and other is not object and other not in cls.__mro__]
