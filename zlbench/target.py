"""What is compiled for: a Triton backend and an architecture, such as ``cuda:90`` or ``hip:gfx942``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .nearest import unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

# Lanes a warp: CDNA (gfx9) runs 64 a wavefront, every CUDA architecture 32.
# zlbench_backends.compile_only holds the properties of a card for each of these.
KNOWN_TARGETS: dict[str, int] = {
    "cuda:80": 32,
    "cuda:86": 32,
    "cuda:89": 32,
    "cuda:90": 32,
    "cuda:100": 32,
    "cuda:120": 32,
    "hip:gfx90a": 64,
    "hip:gfx942": 64,
    "hip:gfx950": 64,
}
ALIASES = {"nvidia": "cuda", "amd": "hip", "rocm": "hip"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One compile target.

    Args:
        backend: Triton's name of the backend, ``cuda`` or ``hip``.
        arch: compute capability × 10 as a number for cuda, the gfx name for hip.
        warp_size: lanes a warp (wavefront).
    """

    backend: str
    arch: int | str
    warp_size: int

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"


def parse_target(text: str) -> Target:
    """Read ``cuda:90``; also ``sm_90``, ``sm90``, ``gfx942`` and ``nvidia:90``.

    Raises:
        ValueError: no such target; the sentence names the nearest.
    """
    word = text.strip().lower()
    backend, colon, arch = word.partition(":")
    if not colon and word.startswith("sm"):
        backend, arch = "cuda", word[2:].lstrip("_")
    elif not colon and word.startswith("gfx"):
        backend, arch = "hip", word
    backend = ALIASES.get(backend, backend)
    name = f"{backend}:{arch}"
    if name not in KNOWN_TARGETS:
        shown = text.strip()[:60]
        raise ValueError(unknown("target", shown, KNOWN_TARGETS))
    return Target(backend=backend, arch=int(arch) if backend == "cuda" else arch, warp_size=KNOWN_TARGETS[name])


def parse_targets(text: str | Iterable[str]) -> tuple[Target, ...]:
    """Read several targets, split at commas or blanks; one named twice counts once.

    Raises:
        ValueError: none is named, or one does not exist.
    """
    words = text.replace(",", " ").split() if isinstance(text, str) else list(text)
    if not words:
        raise ValueError("no target is named")
    return tuple(dict.fromkeys(parse_target(word) for word in words))
