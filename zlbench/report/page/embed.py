"""Put data, style and script into one page so that nothing in them can become markup, and nothing leaves the page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from zlbench.report.page.numbers import Json

STYLE = "page.css"
SCRIPTS = (
    "base.js", "state.js", "table.js", "plots.js", "rows.js", "filter.js", "lists.js", "diff.js", "timeline.js",
    "operator.js", "page.js",
)  # fmt: skip
"""In this order; together they are one script."""
_ESCAPES = (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


def as_json(value: Any) -> str:
    """JSON that may stand in ``<script type="application/json">``: it holds no ``<``, ``>``, ``&``."""
    if isinstance(value, Json):
        return value
    if isinstance(value, Mapping) and any(isinstance(item, (Json, Mapping)) for item in value.values()):
        return "{" + ",".join(f"{as_json(str(key))}:{as_json(item)}" for key, item in value.items()) + "}"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    return text


@cache
def asset(name: str) -> str:
    """A file of this package."""
    return (files(__package__) / name).read_text(encoding="utf-8")


@cache
def style() -> str:
    """What stands in the page's only <style>."""
    return "\n" + asset(STYLE)


@cache
def script() -> str:
    """What stands in the page's only <script> that runs."""
    # A block keeps its names to itself: none of them becomes the window's.
    return "\n".join(['\n"use strict";', "{", *(asset(f"js/{name}") for name in SCRIPTS), "}\n"])


@cache
def policy() -> str:
    """The page's Content-Security-Policy: this style and this script by their hashes, and no network at all."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script())}",
            f"style-src {_hash(style())}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


class Table:
    """Values by number, each once, in the order in which they came: what repeats is written once."""

    def __init__(self) -> None:
        self._index: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        """The number of a value."""
        return self._index.setdefault(value, len(self._index))

    @property
    def values(self) -> list[Any]:
        """All of them, by number."""
        return list(self._index)


def compact(entries: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping without what is empty."""
    return {key: value for key, value in entries if not _empty(value)}


def _empty(value: Any) -> bool:
    """0 is a number, not nothing."""
    return value is None or value is False or (isinstance(value, (str, tuple, list, dict)) and not value)
