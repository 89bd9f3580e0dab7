"""The nox sessions of zlbench, as a library: another repository's noxfile needs three lines to have them."""

from __future__ import annotations

from pathlib import Path


def register(root: Path) -> None:
    """Register every session for the project in `root`, which may hold a zlbench.toml."""
    # nox is imported here and not above: `bootstrap` must work where there is no nox yet.
    from zlbench_sessions import develop, measure

    measure.register(root)
    if (root / "zlbench" / "__init__.py").is_file():
        develop.register(root)
