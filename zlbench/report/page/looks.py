"""How each verdict looks and is called on the page: the sign says it without colour."""

from __future__ import annotations

from zlbench.report.standing import Standing

LOOKS: dict[Standing, tuple[str, str]] = {
    Standing.SLOWER: ("slower", "▲"),
    Standing.FASTER: ("faster", "▼"),
    Standing.INCONCLUSIVE: ("inconclusive", "?"),
    Standing.NOT_DETECTABLE: ("undetected", "≈"),
    Standing.NO_DIFFERENCE: ("same", "="),
    Standing.INVALID: ("invalid", "✕"),
    Standing.NOT_COMPARABLE: ("apart", "≠"),
    Standing.LOST: ("lost", "∅"),
    Standing.NOT_MEASURED: ("lost", "∅"),
    Standing.UNJUDGED: ("unjudged", "·"),
}
"""Class and sign of each; the sign says it without colour."""


def key_of(one: Standing) -> str:
    """What a verdict is called in the page's address: ``no-difference``."""
    return one.name.lower().replace("_", "-")
