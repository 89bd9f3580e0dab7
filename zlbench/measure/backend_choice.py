"""Which device family a command measures on, and why: what ``--backend auto`` means."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zlbench import backend as backends
from zlbench import cards
from zlbench.backend import Backend
from zlbench.builds.spec import Build

AUTO = "auto"
_COMPILE = "compile"


def choose(word: str, builds: Iterable[Build], *, root: Path = Path("/")) -> tuple[Backend, str]:
    """Return the family and, where nobody named one, why it is this one.

    A card is taken only where every side runs an interpreter that somebody made, with a torch of their own: the
    environments that zlbench makes hold a torch without a device.

    Args:
        root: where device files are looked for.

    Raises:
        UsageError: there is no such family.
    """
    if word.strip().lower() != AUTO:
        return backends.get(word), ""
    compile_only = backends.get(_COMPILE)
    here = [backend for backend in backends.available().values() if cards.present(backend, root)]
    if not here:
        return compile_only, "no card found"
    if any(build.python is None for build in builds):
        hint = f"the builds hold a CPU torch; --backend {here[0].name} with --build /path/to/python measures"
        return compile_only, hint
    return here[0], f"{here[0].name}: {here[0].device_files[0]} is there, and the builds bring their own torch"
